"""Operands of the steps of plans: buffers, tensors, numbers and the other arguments of kernels and host functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.layout import Layout
from .buffers import DeviceBuffer


class Input(NamedTuple):
    """Memory of one of the call's tensors, given by its position among the operands of the launch."""

    number: int


class SizeOf(NamedTuple):
    """Number of elements of an input, for plans that serve tensors of any size."""

    number: int


class New:
    """Memory that each run allocates: a result if the plan returns it, a temporary buffer otherwise.

    Attributes:
        size: number of elements, an int or ``SizeOf``; None if the host function that makes it chooses the size.
        dtype: dtype of the elements.
        shape: shape of the tensor that uses the memory; an out-of-memory error shows it.
        zeroed: True if the elements are zeros at first.
    """

    __slots__ = ("dtype", "shape", "size", "zeroed")

    def __init__(self, size: int | SizeOf | None, dtype: np.dtype, shape: tuple[int, ...], zeroed: bool = False):
        self.size = size
        self.dtype = dtype
        self.shape = shape
        self.zeroed = zeroed


class Buffer(NamedTuple):
    """``size`` adjacent elements of an input or of new memory.

    ``start`` counts from the first element of the input, or of the new memory, for which it may be ``Scaled``.  A
    buffer of an input without a size extends to the end of the memory; the size of another operand then limits what the
    kernel reads.  A buffer of new memory without a size has as many elements as a host function has made.
    """

    memory: Any  # Input or New
    size: Any  # int, SizeOf or None
    dtype: np.dtype
    start: Any = 0

    def part(self, start: int, size: int) -> Buffer:
        """Return the buffer of ``size`` of its elements, beginning at element ``start``."""
        return Buffer(self.memory, size, self.dtype, self.start + start)

    def view(self, dtype: np.dtype) -> Buffer:
        """Return the same memory as elements of another dtype of the same item size."""
        return Buffer(self.memory, self.size, dtype, self.start)


class Storage(NamedTuple):
    """All memory of an input, for a kernel that takes an offset and strides."""

    number: int
    dtype: np.dtype

    def view(self, dtype: np.dtype) -> Storage:
        """Return the same memory as elements of another dtype of the same item size."""
        return Storage(self.number, dtype)


class Offset(NamedTuple):
    """Position of an input's element number ``start`` in its memory."""

    number: int
    start: int = 0


class Given(NamedTuple):
    """Operand of the call, passed unchanged: a Python number of the class ``kind``, or a tensor for a host function."""

    number: int
    kind: Any = None


class Scaled(NamedTuple):
    """Position in new memory: ``step`` times a number of the call, in elements."""

    number: int
    step: int


class InputNumber(NamedTuple):
    """The single element of an input, which each run reads as a number."""

    number: int


class GeneratorState(NamedTuple):
    """State of a generator that is an operand of the call: the array of this dtype in its attribute ``name``."""

    number: int
    name: str
    dtype: np.dtype


class Array(NamedTuple):
    """Input as a NumPy array of its shape and strides, for a host function; a copy if the input is on a GPU."""

    number: int


class Report(NamedTuple):
    """Memory in which a kernel reports an error."""


class Bounds(NamedTuple):
    """Error of a step whose report is set: one of ``indices`` is neither in ``range(low, high)`` nor ``ignored``."""

    indices: Buffer
    low: int
    high: int
    ignored: int | None = None


class TensorRef(NamedTuple):
    """Tensor of a plan: a layout on the memory of an input or on new memory, beginning at element ``start``."""

    memory: Any  # Input or New
    layout: Layout
    start: Any = 0  # as in Buffer

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self.layout.shape

    @property
    def type(self) -> Any:
        """Dtype and device."""
        return self.layout.type

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.layout.size

    def viewed(self, layout: Layout, delta: int = 0) -> TensorRef:
        """Return the view of this layout that begins ``delta`` elements later."""
        return TensorRef(self.memory, layout, self.start + delta)


#: Classes of operands that a kernel takes as arrays.
_ARRAYS = frozenset({Buffer, Storage, GeneratorState, np.ndarray, DeviceBuffer})


def kernel_type(operand: Any, report: np.dtype) -> Any:
    """Return the type that a kernel is compiled for: an array's dtype, the dtype ``report``, or a number's class."""
    kind = operand.__class__
    if kind in _ARRAYS:
        return operand.dtype
    if kind is Offset or kind is Scaled:
        return int
    if kind is Given:
        return operand.kind
    return report if kind is Report else kind
