"""Reports of kernels: an index out of bounds, for which the host raises an error when it next waits for the GPU.

Note [Reports]
Waiting for a check of indices would take longer than most kernels that use them.  So kernels skip an index that is out
of bounds, and note it in a report, in memory that the host and every GPU can access.  The functions that wait for a GPU
(reading a value, ``numgrad.cuda.synchronize``) check the report afterwards, and raise an IndexError if there is one.
The report keeps the first such index until the error is raised.

Kernels report an invalid value, such as a probability above 1, in the same way, as the number of a message.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

from .. import buffers
from ..buffers import FIXED, DeviceBuffer
from . import runtime

#: Length of a report.  Its elements are a code (0 if there is no report, 1 for an index, or the number of a message),
#: the index, and the index's lower and upper bound.
LENGTH = 4

_FIRST_MESSAGE = 2
_FOUND = "(reported by the GPU for an operation that was called earlier)"

_INT64 = np.dtype(np.int64)

_Report = ctypes.c_int64 * LENGTH

_report: Any = None
_making = threading.RLock()  # reentrant: finalizers that the garbage collector runs here may report

#: The buffer of each GPU, all on the same memory.
_buffers: dict[int, DeviceBuffer] = {}

_messages: list[str] = []


def report_buffer(device: int) -> DeviceBuffer:
    """Return the buffer in which kernels on a GPU note an index."""
    buffer = _buffers.get(device)
    if buffer is None:
        with _making:
            buffer = _buffers[device] = DeviceBuffer(_memory(device), LENGTH, _INT64, device, FIXED)
    return buffer


def message_number(message: str) -> int:
    """Return the number of a message in a report; messages are kept, so there must be few."""
    with _making:
        if message not in _messages:
            _messages.append(message)
        return _FIRST_MESSAGE + _messages.index(message)


def _memory(device: int) -> int:
    """Return the address of the report, which is allocated at the first call."""
    global _report
    if _report is None:
        report = _Report.from_address(runtime.driver.allocate_pinned(ctypes.sizeof(_Report), device))
        report[:] = [0] * LENGTH
        _report = report
        buffers.after_waiting.append(raise_reported)
    return ctypes.addressof(_report)


def raise_reported() -> None:
    """Raise an error if kernels have reported one.

    Raises:
        IndexError: an index was out of bounds.
        RuntimeError: a value was invalid for its operation.
    """
    if _report[0]:
        number, index, low, high = _report
        _report[0] = 0
        if number >= _FIRST_MESSAGE:
            raise RuntimeError(f"{_messages[number - _FIRST_MESSAGE]} {_FOUND}")
        bounds = "" if low in (0, -high) else f", where the lowest is {low}"
        raise IndexError(f"index {index} is out of bounds for dimension with size {high}{bounds} {_FOUND}")
