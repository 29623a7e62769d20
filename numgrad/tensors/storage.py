"""Storages: the memory of tensors as a shared sequence of elements or bytes, for older PyTorch programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.types import device, dtype

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["TypedStorage", "UntypedStorage"]


class UntypedStorage:
    """Bytes of a tensor's memory; equal for tensors that share it."""

    __module__ = "numgrad"

    def __init__(self, elements: Tensor):
        if isinstance(elements, int):
            raise TypeError("storages are those of tensors: allocate memory with empty()")
        self._elements = elements  # the whole memory as a 1-D tensor

    @property
    def device(self) -> device:
        """The device of the memory."""
        return self._elements.device

    @property
    def is_cuda(self) -> bool:
        """True if the memory is on a GPU."""
        return self._elements.is_cuda

    def data_ptr(self) -> int:
        """Return the address of the first byte, or 0 if there is none."""
        return self._elements.data_ptr()

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return self._elements.nbytes

    def element_size(self) -> int:
        """Return 1, the size of a byte."""
        return 1

    def __len__(self) -> int:
        return self.nbytes()

    size = __len__

    def _bytes(self) -> np.ndarray:
        return self._elements._host_array().view(np.uint8)

    def __getitem__(self, index: Any) -> Any:
        value = self._bytes()[index]
        return value.tolist() if isinstance(index, slice) else int(value)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """Return the bytes as ints."""
        return self._bytes().tolist()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (self.data_ptr(), len(self)) == (other.data_ptr(), len(other))

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes()))

    def _title(self) -> str:
        return f"[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"

    def __repr__(self) -> str:
        return "\n".join([*[f" {element}" for element in self.tolist()], self._title()])


class TypedStorage(UntypedStorage):
    """Elements of a tensor's memory, returned by ``tensor.storage()``, for reading and writing by index."""

    __module__ = "numgrad"

    @property
    def dtype(self) -> dtype:
        """The dtype of the elements."""
        return self._elements.dtype

    def untyped(self) -> UntypedStorage:
        """Return the bytes of the elements."""
        return UntypedStorage(self._elements)

    def element_size(self) -> int:
        """Return the size of an element in bytes."""
        return self._elements.element_size()

    def __len__(self) -> int:
        return self._elements.numel()

    size = __len__

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements[index].item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._elements[index] = value

    def tolist(self) -> list[Any]:
        """Return the elements as Python numbers."""
        return self._elements.tolist()

    def _title(self) -> str:
        return f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"
