"""What kernels report: an index that leads outside, which is raised when the host next waits for the GPU.

Note [Reports]
Waiting for the answer to a check of indices would take longer than most kernels that use them.  So kernels follow no
index that leads outside, and note it in a report, which lies in memory that the host and every GPU can reach.
Whatever waits for a GPU (reading a value, ``numgrad.cuda.synchronize``) looks at the report afterwards, and raises an
IndexError if there is one.  The first is kept, and forgotten when it has been raised.

What kernels find in values, such as a probability above 1, they report in the same way, as a message by its number.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

from .. import rows
from ..rows import FIXED, DeviceRow
from . import runtime

#: The numbers of a report: 0 if there is none, 1 for an index, or that of a message; the index, and the bounds, low and
#: high, that it is not in.
LENGTH = 4

_FIRST_MESSAGE = 2
_FOUND = "(found on the GPU, by an operation that had been called before this one)"

_INT64 = np.dtype(np.int64)

_Report = ctypes.c_int64 * LENGTH

_report: Any = None
_making = threading.RLock()  # what the collector of garbage runs here may report, too

#: The row of each GPU, all on the same memory.
_rows: dict[int, DeviceRow] = {}

_messages: list[str] = []


def report_row(device: int) -> DeviceRow:
    """The row that kernels on a GPU note an index in."""
    row = _rows.get(device)
    if row is None:
        with _making:
            row = _rows[device] = DeviceRow(_memory(device), LENGTH, _INT64, device, FIXED)
    return row


def message_number(message: str) -> int:
    """What stands for a message in a report; messages are kept, so that there must be few."""
    with _making:
        if message not in _messages:
            _messages.append(message)
        return _FIRST_MESSAGE + _messages.index(message)


def _memory(device: int) -> int:
    """The address of the report, which is made when it is first asked for."""
    global _report
    if _report is None:
        report = _Report.from_address(runtime.driver.allocate_pinned(ctypes.sizeof(_Report), device))
        report[:] = [0] * LENGTH
        _report = report
        rows.after_waiting.append(raise_reported)
    return ctypes.addressof(_report)


def raise_reported() -> None:
    """Raise what kernels have reported.

    Raises:
        IndexError: one has met an index that leads outside.
        RuntimeError: one has met a value that its operation refuses.
    """
    if _report[0]:
        number, index, low, high = _report
        _report[0] = 0
        if number >= _FIRST_MESSAGE:
            raise RuntimeError(f"{_messages[number - _FIRST_MESSAGE]} {_FOUND}")
        bounds = "" if low in (0, -high) else f", where the lowest is {low}"
        raise IndexError(f"index {index} is out of bounds for dimension with size {high}{bounds} {_FOUND}")
