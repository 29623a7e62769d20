"""What a tensor is besides its numbers: shape and layout, dtype and device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .layout import normal_dim
from .types import Size, contiguous_format, device, dtype, layout, memory_format, size_of, strided


class Description:
    """The part of Tensor that describes it."""

    __slots__ = ()

    if TYPE_CHECKING:  # the fields of Tensor

        def __getattr__(self, name: str) -> Any: ...

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return size_of(self._layout.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        shape = self._layout.shape
        return size_of(shape) if dim is None else shape[normal_dim(dim, len(shape))]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._layout.shape)

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self._layout.shape)

    def numel(self) -> int:
        """The number of elements."""
        return self._layout.size

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """The step, in elements, from one index to the next: of every dimension, or of one."""
        strides = self._layout.strides
        return strides if dim is None else strides[normal_dim(dim, len(strides))]

    def storage_offset(self) -> int:
        """The place of the first element in the storage, in elements."""
        return self._offset

    def is_contiguous(self, memory_format: memory_format = contiguous_format) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        if memory_format is not contiguous_format:
            raise RuntimeError(f"is_contiguous() does not support memory format {memory_format}")
        return self._layout.contiguous

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return self._layout.type.dtype

    @property
    def device(self) -> device:
        """Where the elements lie."""
        return self._layout.type.device

    def is_floating_point(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return self._layout.type.dtype.is_floating_point

    def is_signed(self) -> bool:
        """Whether the elements may be negative."""
        return self._layout.type.dtype.is_signed

    @property
    def layout(self) -> layout:
        """How the elements are stored: ``numgrad.strided``."""
        return strided

    @property
    def is_cuda(self) -> bool:
        """Whether the elements lie on a GPU."""
        return self._layout.type.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether the elements lie in the CPU's memory."""
        return self._layout.type.device.type == "cpu"

    @property
    def is_sparse(self) -> bool:
        """Always False: every element is stored."""
        return False

    @property
    def is_nested(self) -> bool:
        """Always False: all rows are of one length."""
        return False

    @property
    def is_quantized(self) -> bool:
        """Always False: there are no quantized dtypes."""
        return False

    @property
    def is_meta(self) -> bool:
        """Always False: every tensor has elements."""
        return False

    def get_device(self) -> int:
        """The number of the GPU that the elements lie on, -1 for the CPU."""
        return -1 if self._layout.type.device.index is None else self._layout.type.device.index

    def is_complex(self) -> bool:
        """Whether the elements are complex numbers."""
        return self._layout.type.dtype.is_complex

    def element_size(self) -> int:
        """Bytes per element."""
        return self._layout.type.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self._layout.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._layout.size * self._layout.type.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element; 0 where there is none."""
        if not self._layout.size:
            return 0
        if self.is_cuda:
            return self._storage.address + self._offset * self._layout.type.dtype.itemsize
        return self._array().ctypes.data
