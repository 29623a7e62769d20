"""Description of a tensor: shape and layout, dtype and device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.device import CPU
from ..core.formats import check_memory_format, is_formatted
from ..core.layout import Layout, normal_dim
from ..core.types import Size, TensorType, contiguous_format, device, dtype, layout, memory_format, size_of, strided
from ..devices import recording

if TYPE_CHECKING:
    from ..ops.signatures import Methods  # the methods that the op table attaches to Tensor
    from .tensor import Tensor
else:
    Methods = object


def _never(reason: str) -> Any:
    """Return a property that is False for every tensor."""
    return property(lambda self: False, doc=f"Always False: {reason}.")


class Description(Methods):
    """Fields of Tensor, and the part of it that describes the tensor."""

    __slots__ = ()

    # Elements: ``_layout`` has their type, shape and strides; element ``index`` is at ``_storage[_offset +
    # sum(index * stride)]``.
    # Graph: ``_edge`` is the node that made this tensor with its output index, or None for a leaf; ``_accumulator`` is
    # a leaf's weak reference to its AccumulateGrad; ``_view``, ``_root`` and ``_seen`` relate a view to its base (see
    # ``autograd/views.py``); ``_counter`` is a list of one int that counts in-place changes, shared by all tensors on
    # the same memory; ``_shared`` is true if a gradient's memory has other users; ``_duals`` has the tangents by level;
    # ``_mapped`` describes the batch that a tensor without memory represents (see ``ops/batching/batches.py``);
    # ``_origin`` is the origin of a tensor that requires no gradient (see ``autograd/locations.py``).

    if TYPE_CHECKING:  # get_type_hints(Tensor) would need the classes
        _accumulator: Any
        _counter: list[int]
        _duals: dict[Any, Tensor]  # in forward mode, otherwise absent
        _edge: Any
        _grad: Any
        _grad_type: TensorType | None  # if ``grad_dtype`` was set, otherwise absent
        _hooks: Any
        _layout: Layout
        _mapped: Any  # under ``vmap``, otherwise absent
        _offset: int
        _origin: str  # if known, otherwise absent
        _requires_grad: int
        _root: Tensor  # of a view, otherwise absent
        _seen: int  # of a view, otherwise absent
        _shared: bool
        _storage: Any
        _view: Any

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return size_of(self._layout.shape)

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one dimension."""
        shape = self._layout.shape
        return size_of(shape) if dim is None else shape[normal_dim(dim, len(shape))]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._layout.shape)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return len(self._layout.shape)

    def numel(self) -> int:
        """Return the number of elements."""
        return self._layout.size

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Return the step, in elements, from one index to the next: for every dimension, or for one."""
        strides = self._layout.strides
        return strides if dim is None else strides[normal_dim(dim, len(strides))]

    def storage_offset(self) -> int:
        """Return the offset of the first element in the storage, in elements."""
        recording.place_read(self._storage, "storage_offset()")
        return self._offset

    def is_contiguous(self, memory_format: memory_format = contiguous_format) -> bool:
        """Return True if the elements are dense in row-major order, or in that of another memory format."""
        if memory_format is contiguous_format:
            return self._layout.contiguous
        check_memory_format(memory_format)
        return is_formatted(self._layout, memory_format)

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return self._layout.type.dtype

    @property
    def device(self) -> device:
        """The device that stores the elements."""
        return self._layout.type.device

    def is_floating_point(self) -> bool:
        """Return True if the elements are floating-point numbers."""
        return self._layout.type.dtype.is_floating_point

    def is_signed(self) -> bool:
        """Return True if the elements may be negative."""
        return self._layout.type.dtype.is_signed

    @property
    def layout(self) -> layout:
        """The storage scheme of the elements: ``numgrad.strided``."""
        return strided

    @property
    def is_cuda(self) -> bool:
        """True if the elements are on a GPU."""
        return self._layout.type.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """True if the elements are in the CPU's memory."""
        return self._layout.type.device.type == "cpu"

    is_sparse: bool = _never("every element is stored")
    is_nested: bool = _never("all rows are of one length")
    is_quantized: bool = _never("there are no quantized dtypes")
    is_meta: bool = _never("every tensor has elements")
    is_sparse_csr: bool = _never("every element is stored")
    is_mkldnn: bool = _never("all tensors are strided")
    is_mps: bool = _never("there are no Apple GPUs")
    is_xpu: bool = _never("there are no Intel GPUs")
    is_xla: bool = _never("there are no TPUs")
    is_ipu: bool = _never("there are no IPUs")

    def get_device(self) -> int:
        """Return the index of the GPU that stores the elements, or -1 for the CPU."""
        return -1 if self._layout.type.device.index is None else self._layout.type.device.index

    def is_complex(self) -> bool:
        """Return True if the elements are complex numbers."""
        return self._layout.type.dtype.is_complex

    def element_size(self) -> int:
        """Return the size of an element in bytes."""
        return self._layout.type.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes."""
        return self._layout.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self._layout.size * self._layout.type.dtype.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first element, or 0 for an empty tensor."""
        if not self._layout.size:
            return 0
        if self.is_cuda:
            recording.values_read("another library, which asks for an address,")
            return self._storage.address + self._offset * self._layout.type.dtype.itemsize
        recording.place_read(self._storage, "data_ptr()")
        return self._as_array().ctypes.data

    @property
    def name(self) -> None:
        """Always None; exists because PyTorch's tensors have it."""
        return None

    @property
    def _flat(self) -> Any:
        """The slice of the memory with exactly this tensor's elements in row-major order; None if their order differs,
        or if the tensor has no memory of its own."""
        layout, storage, offset = self._layout, self._storage, self._offset
        if not layout.contiguous or hasattr(self, "_mapped"):
            return None
        return storage if storage.size == layout.size else storage[offset : offset + layout.size]

    def _array(self) -> np.ndarray:
        """Return the elements as a NumPy array on the same memory."""
        if recording.recorder is not None:
            recording.values_read("reading its elements")
        return self._as_array()

    def _as_array(self) -> np.ndarray:
        """Return the array as ``_array`` does, for callers that read no element."""
        layout = self._layout
        memory = self._storage
        if memory.__class__ is not np.ndarray:
            if layout.type.device is not CPU:
                raise TypeError(
                    f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                    "host memory first."
                )
            memory = memory.data  # fails for examples under ``vmap``, which have no memory
        if self._flat is not None:
            return self._flat.reshape(layout.shape)
        item = layout.type.dtype.itemsize
        steps = tuple([stride * item for stride in layout.strides])
        return np.ndarray(layout.shape, layout.type.numpy, memory, self._offset * item, steps)
