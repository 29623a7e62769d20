"""Buffers in the memory of a GPU, such as ``_flat`` and ``_storage`` of a tensor on a GPU.

They have the attributes of one-dimensional NumPy arrays that the rest of numgrad uses.  This module imports nothing of
CUDA: the first buffer exists after the process has begun to use a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .recording import on_gpu, repeatable, values_read

#: The modules that copy and allocate memory, once a GPU is in use: ``cuda.driver`` or ``cuda.simulated``, and
#: ``cuda.memory``.
_driver: Any = None
_memory: Any = None

#: Functions that are called after the host has waited for a GPU: they raise the errors that kernels have reported.
after_waiting: list[Callable[[], None]] = []


def waited() -> None:
    """Call the functions in ``after_waiting``, after the host has waited for a GPU."""
    values_read("waiting for a GPU")
    for function in after_waiting:
        function()


def set_driver(driver: Any, memory: Any) -> None:
    """Set the modules that copy and allocate memory."""
    global _driver, _memory
    _driver, _memory = driver, memory


class Memory:
    """A piece of a GPU's memory from numgrad's allocator."""

    __slots__ = ("__weakref__",)

    address: int
    device: int
    nbytes: int


#: The ``block`` of a buffer whose memory stays allocated until the process ends.
FIXED = object()


class DeviceBuffer:
    """A buffer: ``size`` contiguous elements of one dtype from ``address`` on in the memory of GPU number ``device``.

    ``block`` owns the memory: a block of the allocator, or another object.
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
        """Number of bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Number of bytes of all elements."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, part: slice) -> DeviceBuffer:
        start, stop, step = part.indices(self.size)
        if step != 1:
            raise IndexError("slices of a buffer on a GPU must have the step 1")
        return DeviceBuffer(
            self.address + start * self.dtype.itemsize, max(stop - start, 0), self.dtype, self.device, self.block
        )

    def view(self, dtype: Any) -> DeviceBuffer:
        """Return a buffer on the same memory, with elements of another dtype."""
        element = np.dtype(dtype)
        return DeviceBuffer(self.address, self.nbytes // element.itemsize, element, self.device, self.block)

    def copy(self) -> DeviceBuffer:
        """Return a new buffer with the same elements."""
        out = _memory.empty_buffer(self.size, self.dtype, self.device)
        out.put(self)
        return out

    def put(self, source: DeviceBuffer) -> None:
        """Overwrite the elements with those of a buffer of the same length and dtype."""
        if self.size:
            on_gpu(_put, (self, source), (self,))

    def host(self) -> np.ndarray:
        """Return the elements in an array, after all launched work has run."""
        array = np.empty(self.size, self.dtype)
        if self.size:
            _memory.download(self, array)
            waited()
        return array

    def tolist(self) -> list[Any]:
        """Return the elements as Python numbers, after all launched work has run."""
        return self.host().tolist()

    def item(self, index: int) -> Any:
        """Return an element as a Python number, after all launched work has run."""
        return self[index : index + 1].host().item()

    def load(self, array: np.ndarray) -> DeviceBuffer:
        """Overwrite the elements with those of a contiguous array, and return the buffer."""
        if self.size:
            _memory.upload(self, array)
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> DeviceBuffer:
        return self.copy()

    def __repr__(self) -> str:
        return f"<DeviceBuffer of {self.size} {self.dtype} on cuda:{self.device}>"


@repeatable
def _put(target: DeviceBuffer, source: DeviceBuffer) -> None:
    stream = _memory.stream(target.device)
    if _memory.side_streams:
        _memory.note_uses(stream, (target, source))
    _driver.copy_within(target.address, source.address, target.nbytes, stream)
