"""A GPU that runs nothing, for looking at kernels where there is none: all that is read from it is zero.

It has the functions of ``driver.py``, most of them the simulator's.  Kernels have as many threads as on a real GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from .handles import StreamHandle
from .simulated import (
    allocate,
    allocate_pinned,
    copy_to_device,
    copy_within,
    create_event,
    create_stream,
    default_stream,
    destroy_event,
    device_count,
    device_of,
    device_properties,
    driver_version,
    elapsed_time,
    event_is_done,
    external_stream,
    fill_bytes,
    free,
    free_pinned,
    memory_info,
    record_event,
    stream_is_done,
    synchronize,
    synchronize_device,
    use,
    wait_for_event,
    wait_on_stream,
)

__all__ = [
    "allocate", "allocate_pinned", "copy_to_device", "copy_to_host", "copy_within", "create_event", "create_stream",
    "default_stream", "destroy_event", "device_count", "device_of", "device_properties", "driver_version",
    "elapsed_time", "event_is_done", "external_stream", "fill_bytes", "free", "free_pinned", "load", "memory_info",
    "record_event", "stream_is_done", "synchronize", "synchronize_device", "use", "wait_for_event", "wait_on_stream",
]


def copy_to_host(target: int, source: int, size: int, stream: StreamHandle) -> None:
    """Put zeros where what is in the memory of the GPU is wanted."""
    ctypes.memset(target, 0, size)


def load(name: str, text: str, arguments: Sequence[Any]) -> Callable[..., None]:
    """A kernel that does nothing when it is launched."""

    def launch(*given: Any) -> None:
        pass

    kernel: Any = launch
    kernel.occupancy = lambda device: (256, 1024)
    kernel.prepare = lambda device: None
    return kernel
