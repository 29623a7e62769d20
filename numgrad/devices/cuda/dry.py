"""A GPU that runs nothing, for the inspection of kernels without a GPU: all values read from it are zero.

This module has the functions of ``driver.py``, most of them from the simulator.  Kernels have as many threads as on a
real GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from .runtime import StreamHandle
from .simulated import *  # noqa: F403


def copy_to_host(  # type: ignore[no-redef]
    target: int, source: int, size: int, stream: StreamHandle
) -> None:
    """Write zeros instead of the contents of the GPU's memory."""
    ctypes.memset(target, 0, size)


def load(name: str, text: str, arguments: Sequence[Any]) -> Callable[..., None]:  # type: ignore[no-redef]
    """Return the launch function of a kernel, which does nothing."""

    def launch(*arguments: Any) -> None:
        pass

    kernel: Any = launch
    kernel.occupancy = lambda device: (256, 1024)
    kernel.prepare = lambda device: None
    return kernel
