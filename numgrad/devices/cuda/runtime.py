"""Which GPUs there are, which one is the current, and which driver they are used by."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["begin", "check_device", "current_device", "set_device"]

#: What runs kernels and keeps memory: ``simulated.py``, ``driver.py`` or ``dry.py``.
driver: Any = None


class _Current(threading.local):
    device = 0


_current = _Current()


def begin(chosen: Any) -> None:
    """Use this driver from now on."""
    global driver
    driver = chosen


def is_dry() -> bool:
    """Whether nothing is run at all."""
    return driver is not None and driver.__name__.endswith(".dry")


def current_device() -> int:
    """The number of the GPU that new tensors of this thread are made on where none is named."""
    return _current.device


def check_device(device: int) -> None:
    """Raise an error for the number of a GPU that there is not.

    Raises:
        RuntimeError: there is no such GPU.
    """
    if not 0 <= device < driver.device_count():
        raise RuntimeError(
            f"CUDA error: invalid device ordinal: there is no GPU {device} among {driver.device_count()}"
        )


def set_device(device: int) -> None:
    """Make a GPU the current one of this thread.

    Raises:
        RuntimeError: there is no such GPU.
    """
    check_device(device)
    _current.device = device
