"""Which GPUs there are, and which one is the current."""

from __future__ import annotations

import threading
from typing import Any

from numgrad_kernels.cuda import adapter

__all__ = ["begin", "current_device", "set_device"]

#: What runs kernels and keeps memory: ``simulated.py`` or ``driver.py``.
driver: Any = None


class _Current(threading.local):
    device = 0


_current = _Current()


def begin() -> None:
    """Find the GPUs.

    Raises:
        RuntimeError: there is no driver, or no GPU.
    """
    global driver
    if adapter.is_simulated():
        from . import simulated

        driver = simulated
        return
    raise RuntimeError("Found no NVIDIA driver on your system.")


def current_device() -> int:
    """The number of the GPU that new tensors are made on where none is named."""
    return _current.device


def set_device(device: int) -> None:
    """Make a GPU the current one of this thread."""
    _current.device = device
