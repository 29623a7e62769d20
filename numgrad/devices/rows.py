"""Rows of elements in the memory of a GPU: what ``_flat`` and ``_storage`` of a tensor on a GPU are.

They have what the rest of numgrad asks of NumPy's rows on the CPU.  This module imports nothing of CUDA: a process has
its first row when it has begun to use a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .recording import on_gpu, values_read

#: What copies and fills memory: the module ``cuda.driver`` or ``cuda.simulated``, once a GPU is in use.
_driver: Any = None
_memory: Any = None

#: Called when the host has waited for a GPU: they raise what kernels have reported meanwhile.
after_waiting: list[Callable[[], None]] = []


def waited() -> None:
    """Call the functions that wanted to know when the host has waited for a GPU."""
    values_read("waiting for a GPU")
    for function in after_waiting:
        function()


def set_driver(driver: Any, memory: Any) -> None:
    """Set the modules that read, write and allocate rows."""
    global _driver, _memory
    _driver, _memory = driver, memory


class Memory:
    """A piece of a GPU's memory that numgrad's allocator gave."""

    __slots__ = ("__weakref__",)

    address: int
    device: int
    nbytes: int


#: The ``block`` of a row that stays where it is for as long as the process runs.
FIXED = object()


class DeviceRow:
    """``size`` elements of one dtype, one after another, from ``address`` in the memory of GPU number ``device``.

    ``block`` keeps the memory: the allocator's block, or whatever object lent it.
    """

    __slots__ = ("address", "block", "device", "dtype", "size")

    def __init__(self, address: int, size: int, dtype: np.dtype, device: int, block: Any):
        self.address = address
        self.size = size
        self.dtype = dtype
        self.device = device
        self.block = block

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, part: slice) -> DeviceRow:
        start, stop, step = part.indices(self.size)
        if step != 1:
            raise IndexError("a part of a row on a GPU has no step")
        return DeviceRow(
            self.address + start * self.dtype.itemsize, max(stop - start, 0), self.dtype, self.device, self.block
        )

    def view(self, dtype: Any) -> DeviceRow:
        """The same memory as elements of another dtype."""
        element = np.dtype(dtype)
        return DeviceRow(self.address, self.nbytes // element.itemsize, element, self.device, self.block)

    def copy(self) -> DeviceRow:
        """Another row with the same elements."""
        out = _memory.empty_row(self.size, self.dtype, self.device)
        out.put(self)
        return out

    def put(self, source: DeviceRow) -> None:
        """Overwrite the elements with those of a row of the same length and dtype."""
        if self.size:
            on_gpu(_put, (self, source), (self,))

    def host(self) -> np.ndarray:
        """The elements in an array of NumPy's, once all that was launched before has run."""
        array = np.empty(self.size, self.dtype)
        if self.size:
            _memory.download(self, array)
            waited()
        return array

    def tolist(self) -> list[Any]:
        """The elements as Python numbers, in the same way."""
        return self.host().tolist()

    def item(self, index: int) -> Any:
        """One element as a Python number, once all that was launched before has run."""
        return self[index : index + 1].host().item()

    def load(self, array: np.ndarray) -> DeviceRow:
        """Overwrite the elements with those of a contiguous array of NumPy's; returns the row."""
        if self.size:
            _memory.upload(self, array)
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> DeviceRow:
        return self.copy()

    def __repr__(self) -> str:
        return f"<DeviceRow of {self.size} {self.dtype} on cuda:{self.device}>"


def _put(target: DeviceRow, source: DeviceRow) -> None:
    here = _memory.stream(target.device)
    if _memory.side_streams:
        _memory.note_uses(here, (target, source))
    _driver.copy_within(target.address, source.address, target.nbytes, here)
