"""GPUs under PyTorch's newer names, for programs that use any available accelerator.

Example:
    >>> import numgrad as torch
    >>> device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
    >>> torch.ones(2).to(device).tolist()
    [1.0, 1.0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .core.missing import found_later as _found_later
from .core.types import device as _device
from .cuda import current_device as current_device_index
from .cuda import (
    current_stream,
    device_count,
    empty_cache,
    is_available,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    set_stream,
    synchronize,
)
from .cuda import device as device_index
from .cuda import mem_get_info as get_memory_info
from .cuda import set_device as set_device_index

__all__ = [
    "current_accelerator", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache",
    "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_index",
    "set_stream", "synchronize",
]


def current_accelerator(check_available: bool = False) -> _device | None:
    """Return the type of the accelerator: "cuda", without an index, or None if there is none.

    Args:
        check_available: accepted as in PyTorch; the presence of a GPU is always checked.
    """
    return _device("cuda") if is_available() else None


if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "accelerator")
