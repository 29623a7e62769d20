"""Operands of the steps of plans: buffers, tensors, numbers and what else a kernel or a host function takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.layout import Layout
from .rows import DeviceRow


class Input(NamedTuple):
    """The memory of one of the call's tensors, by its position among the operands of the launch."""

    number: int


class SizeOf(NamedTuple):
    """Number of elements of an input, where a plan serves tensors of any size."""

    number: int


class New:
    """Memory that each run allocates: for a result, or for a temporary buffer if the plan does not return it.

    Attributes:
        size: number of elements, an int or ``SizeOf``; None if the host function that makes it decides that.
        dtype: of the elements.
        shape: that of the tensor that it is for, which an error of missing memory names.
        zeroed: whether its elements are zeros at first.
    """

    __slots__ = ("dtype", "shape", "size", "zeroed")

    def __init__(self, size: int | SizeOf | None, dtype: np.dtype, shape: tuple[int, ...], zeroed: bool = False):
        self.size = size
        self.dtype = dtype
        self.shape = shape
        self.zeroed = zeroed


class Buffer(NamedTuple):
    """``size`` adjacent elements of an input or of new memory.

    ``start`` counts from the first element of the input, or of the new memory; there it may be ``Scaled``.  Without a
    size a buffer of an input extends to the end of its memory: a kernel that runs over other operands reads no more
    than it needs.  One of new memory is all that a host function has made.
    """

    memory: Any  # Input or New
    size: Any  # int, SizeOf or None
    dtype: np.dtype
    start: Any = 0

    def part(self, start: int, size: int) -> Buffer:
        """``size`` of its elements from ``start`` on."""
        return self._replace(start=self.start + start, size=size)

    def view(self, dtype: np.dtype) -> Buffer:
        """The same memory as elements of another dtype of the same length."""
        return self._replace(dtype=dtype)


class Storage(NamedTuple):
    """All memory of an input, for a kernel that takes offset and strides."""

    number: int
    dtype: np.dtype


class Offset(NamedTuple):
    """Position of an input's first element in its memory, and ``start`` elements on."""

    number: int
    start: int = 0


class Given(NamedTuple):
    """An operand of the call as it is: a Python number of the class ``kind``; for a host function a tensor."""

    number: int
    kind: Any = None


class Scaled(NamedTuple):
    """Position in new memory that a number of the call says: ``step`` elements for each 1 of it."""

    number: int
    step: int


class Value(NamedTuple):
    """The one element of an input, which each run reads as a number."""

    number: int


class State(NamedTuple):
    """An array of this dtype in which a generator, an operand of the call, keeps its state: its attribute ``name``."""

    number: int
    name: str
    dtype: np.dtype


class Array(NamedTuple):
    """An input as a NumPy array of its shape and strides, for a host function; of a GPU a copy."""

    number: int


class Report(NamedTuple):
    """Memory in which a kernel notes that something is wrong."""


class Bounds(NamedTuple):
    """The error to raise if a step's report is set: one of ``indices`` is not in ``range(low, high)``, nor ``ignored``.
    """

    indices: Buffer
    low: int
    high: int
    ignored: int | None = None


class TensorRef(NamedTuple):
    """A tensor of a plan: a layout on the memory of an input, or on new memory, ``start`` elements on."""

    memory: Any  # Input or New
    layout: Layout
    start: Any = 0  # as in Buffer

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        return self.layout.shape

    @property
    def type(self) -> Any:
        """Its dtype and device."""
        return self.layout.type

    @property
    def size(self) -> int:
        """Number of its elements."""
        return self.layout.size

    def viewed(self, layout: Layout, delta: int = 0) -> TensorRef:
        """The view of this layout that begins ``delta`` elements later."""
        return TensorRef(self.memory, layout, self.start + delta)


#: The classes of operands that are arrays of a dtype for a kernel.
_ARRAYS = frozenset({Buffer, Storage, State, np.ndarray, DeviceRow})


def kernel_type(operand: Any, report: np.dtype) -> Any:
    """The type that a kernel is compiled for: the dtype of an array, a ``report``'s included, or a number's class."""
    kind = operand.__class__
    if kind in _ARRAYS:
        return operand.dtype
    if kind is Offset or kind is Scaled:
        return int
    if kind is Given:
        return operand.kind
    return report if kind is Report else kind
