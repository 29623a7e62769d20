"""The memory of tensors as PyTorch's older programs ask for it: a row of elements, or of bytes, that tensors share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .types import device, dtype

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["TypedStorage", "UntypedStorage"]


class UntypedStorage:
    """The bytes of a tensor's memory; equal to that of another tensor that shares it."""

    __module__ = "numgrad"

    def __init__(self, elements: Tensor):
        self._elements = elements  # all of the memory as a tensor of one dimension

    @property
    def device(self) -> device:
        """Where the memory is."""
        return self._elements.device

    @property
    def is_cuda(self) -> bool:
        """Whether that is a GPU."""
        return self._elements.is_cuda

    def data_ptr(self) -> int:
        """The address of the first byte; 0 of none."""
        return self._elements.data_ptr()

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self._elements.nbytes

    def element_size(self) -> int:
        """1: of a byte."""
        return 1

    def __len__(self) -> int:
        return self.nbytes()

    size = __len__

    def _bytes(self) -> np.ndarray:
        return self._elements._host_array().view(np.uint8)

    def __getitem__(self, index: Any) -> Any:
        found = self._bytes()[index]
        return found.tolist() if isinstance(index, slice) else int(found)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return self._bytes().tolist()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (self.data_ptr(), len(self)) == (other.data_ptr(), len(other))

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes()))

    def _title(self) -> str:
        return f"[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"

    def __repr__(self) -> str:
        return "\n".join([*[f" {one}" for one in self.tolist()], self._title()])


class TypedStorage(UntypedStorage):
    """The elements of a tensor's memory, which ``tensor.storage()`` gives: they can be read and written by number."""

    __module__ = "numgrad"

    @property
    def dtype(self) -> dtype:
        """Of what dtype they are."""
        return self._elements.dtype

    def untyped(self) -> UntypedStorage:
        """Their bytes."""
        return UntypedStorage(self._elements)

    def element_size(self) -> int:
        """Bytes of an element."""
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
        """The elements as Python numbers."""
        return self._elements.tolist()

    def _title(self) -> str:
        return f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"
