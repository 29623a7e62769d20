"""Views whose elements may overlap: sliding windows, and any strides at all.

Note [The gradient of a view in any strides]
``as_strided`` reads a storage that one geometry (sizes, strides, offset) has written.  Written, because elements of the
input may share memory themselves: then each of the n elements that lie in one place is taken to hold an n-th of it.
So as a linear map it is: add the input into zeroed memory by the input's geometry, divide by how many elements lie in
each place, read by the output's geometry.  Its transpose is the same with the two geometries exchanged, the division
staying: one operation, ``restrided``, is the gradient of ``as_strided`` and of itself.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any

from ..._layout import Layout, layout_of, normal_dim, numel, overlaps_itself
from ..._tensor import Tensor, strided
from ..copying import contiguous_op, write
from ..creation.filled import ones
from ..lookup import lookup
from ..new import zeros_of
from ..planned import planned
from ..pointwise.arithmetic import add, div
from ..table import attach, operation, public
from .parts import select_op
from .views import view_of

__all__ = ["add_strided", "as_strided", "as_strided_op", "strided_arguments", "unfold"]

#: Sizes, strides and offset.
Geometry = tuple[tuple[int, ...], tuple[int, ...], int]


def add_strided(target: Tensor, values: Tensor) -> None:
    """Add ``values`` to ``target``, of their shape, whose elements may share memory.

    What overlaps is added one after the other: a loop over as few dimensions, of as few indices, as will do.
    """
    shape, strides = target._layout.shape, target._layout.strides
    if numel(shape) == 0:
        return
    together: list[int] = []
    for dim in sorted(range(len(shape)), key=lambda d: -shape[d]):
        tried = [*together, dim]
        if not overlaps_itself(tuple([shape[d] for d in tried]), tuple([strides[d] for d in tried])):
            together = tried
    apart = [d for d in range(len(shape)) if d not in together]
    for index in itertools.product(*[range(shape[d]) for d in apart]):
        part, addend = target, values
        for dim, place in zip(reversed(apart), reversed(index), strict=True):
            part, addend = select_op.function(part, dim, place), select_op.function(addend, dim, place)
        write(part, add(part, addend))


# -- any strides --------------------------------------------------------------------------------------------------


@planned("AsStridedBackward0", view=True)
def as_strided_op(
    input: Layout, size: tuple[int, ...], stride: tuple[int, ...], start: int, geometry: Geometry
) -> tuple[Layout, int]:
    """``start`` counts from the input's first element; ``geometry`` is the input's, as seen from there."""
    if not _steps_agree(input, geometry):
        raise RuntimeError(
            f"a view by as_strided of a tensor with gaps in its memory (shape {list(input.shape)}) cannot follow a "
            "change in place; clone() that tensor before"
        )
    return layout_of(input.type, size, stride), start


def _steps_agree(input: Layout, geometry: Geometry) -> bool:
    return all(
        extent < 2 or step == wanted
        for extent, step, wanted in zip(input.shape, input.strides, geometry[1], strict=True)
    )


@as_strided_op.gradient("input")
def _(grad, size, stride, start, geometry):
    return restrided(grad, (size, stride, start), geometry, geometry)


@operation("AsStridedBackwardBackward0", linear=True)
def restrided(input: Tensor, source: Geometry, target: Geometry, counted: Geometry) -> Tensor:
    """The input added into zeroed memory by one geometry and read by another.

    Each place is divided by the number of elements that ``counted``, the source or the target, has there.
    """
    lowest = min(source[2], target[2])
    extent = max(_end(source), _end(target)) - lowest
    memory = zeros_of((extent,), input._layout.type)
    add_strided(_read(memory, source, lowest), input)
    if overlaps_itself(counted[0], counted[1]):
        counts = zeros_of((extent,), input._layout.type)
        single = ones((), dtype=input.dtype, device=input.device)
        add_strided(_read(counts, counted, lowest), view_of(single, counted[0], (0,) * len(counted[0])))
        part = _read(memory, counted, lowest)
        write(part, div(part, _read(counts, counted, lowest)))
    out = _read(memory, target, lowest)
    return out if out._flat is not None else contiguous_op.function(out)


@restrided.gradient("input")
def _(grad, source, target, counted):
    return restrided(grad, target, source, counted)


def _end(geometry: Geometry) -> int:
    shape, strides, offset = geometry
    if numel(shape) == 0:
        return offset
    return offset + 1 + sum([(extent - 1) * step for extent, step in zip(shape, strides, strict=True)])


def _read(memory: Tensor, geometry: Geometry, lowest: int) -> Tensor:
    shape, strides, offset = geometry
    return strided(memory._storage, shape, strides, offset - lowest, memory._layout.type)


def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the input's storage in any sizes and strides, which count elements; it may overlap itself.

    Raises:
        RuntimeError: there are not as many strides as sizes, a number is negative, or the storage is too small.
    """
    return as_strided_op(input, *strided_arguments(input, size, stride, storage_offset))


def strided_arguments(
    input: Tensor, size: Any, stride: Any, storage_offset: int | None
) -> tuple[tuple[int, ...], tuple[int, ...], int, Geometry]:
    """What ``as_strided_op`` takes for what users give; raises as :func:`as_strided`."""
    sizes, steps = [tuple(map(operator.index, numbers)) for numbers in (size, stride)]
    if len(sizes) != len(steps):
        raise RuntimeError(f"mismatch in length of strides and shape (size {list(sizes)}, stride {list(steps)})")
    if any(step < 0 for step in steps):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(steps)}"
        )
    if any(extent < 0 for extent in sizes):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {list(sizes)}")
    offset = input._offset if storage_offset is None else operator.index(storage_offset)
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    needed = _end((sizes, steps, offset))
    if numel(sizes) and needed > input._storage.size:
        item = input.element_size()
        raise RuntimeError(
            f"setStorage: sizes {list(sizes)}, strides {list(steps)}, storage offset {offset}, and itemsize {item} "
            f"requiring a storage size of {needed * item} are out of bounds for storage of size "
            f"{input._storage.size * item}"
        )
    return sizes, steps, offset - input._offset, (input._layout.shape, input._layout.strides, 0)


# -- sliding windows ----------------------------------------------------------------------------------------------


@planned("UnfoldBackward0", view=True)
def unfold_op(input: Layout, dimension: int, size: int, step: int) -> tuple[Layout, int]:
    shape, strides = input.shape, input.strides
    if not shape:
        return layout_of(input.type, (size,), (1,)), 0
    count = (shape[dimension] - size) // step + 1
    own = strides[dimension]
    sizes = (*shape[:dimension], count, *shape[dimension + 1 :], size)
    return layout_of(input.type, sizes, (*strides[:dimension], own * step, *strides[dimension + 1 :], own)), 0


@unfold_op.gradient("input")
def _(grad, input_shape, dimension, size, step):
    return unfold_backward(grad, input_shape, dimension, size, step)


@operation("UnfoldBackwardBackward0", inputs=["grad_output"], linear=True)
def unfold_backward(grad_output: Tensor, shape: tuple[int, ...], dimension: int, size: int, step: int) -> Tensor:
    """Zeros of ``shape`` with the gradients of the windows added in their places."""
    out = zeros_of(shape, grad_output._layout.type)
    add_strided(unfold_op.function(out, dimension, size, step), grad_output)
    return out


@unfold_backward.gradient("grad_output")
def _(grad, dimension, size, step):
    return unfold_op(grad, dimension, size, step)


@lookup
def unfold(self: Layout, dimension: int, size: int, step: int) -> Any:
    """The windows of ``size`` indices of a dimension, ``step`` apart, as a last dimension; a view.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: a window is larger than the dimension or negative, or the step is not positive.
    """
    dim = normal_dim(dimension, len(self.shape))
    extent = self.shape[dim] if self.shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > extent:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {extent} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return unfold_op, (dim, size, step)


public(as_strided)
attach("unfold", unfold)
