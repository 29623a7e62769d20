"""A GPU that runs nothing, for looking at kernels where there is none: all that is read from it is zero.

It has the functions of ``driver.py``, most of them the simulator's.  Kernels have as many threads as on a real GPU.
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
    """Put zeros where what is in the memory of the GPU is wanted."""
    ctypes.memset(target, 0, size)


def load(name: str, text: str, arguments: Sequence[Any]) -> Callable[..., None]:  # type: ignore[no-redef]
    """A kernel that does nothing when it is launched."""

    def launch(*given: Any) -> None:
        pass

    kernel: Any = launch
    kernel.occupancy = lambda device: (256, 1024)
    kernel.prepare = lambda device: None
    return kernel
