"""Views whose elements may overlap: sliding windows, and arbitrary strides.

Note [The gradient of a view in any strides]
``as_strided`` reads a storage that one geometry (sizes, strides, offset) has written.  The geometry that has written it
matters because elements of the input may share memory: then each of the n elements at one location in memory counts as
an n-th of the number there.  As a linear map, the operation adds the input into zeroed memory by the input's geometry,
divides by the number of elements at each location, and reads by the output's geometry.  Its transpose is the same with
the two geometries exchanged and an unchanged division.  So one operation, ``restrided``, is the gradient of
``as_strided`` and of itself.

On a view, ``as_strided`` may show elements that the view does not have.  It is then recorded as a view of the base.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from ...autograd.grad_mode import GRAD, LEVELS, state
from ...core.layout import Layout, layout_of, numel, overlaps_itself, span
from ...devices import Plan, TensorRef, add_overlapping, filler
from ...devices.recording import place_read
from ...tensors.tensor import Tensor
from ..batching.batches import is_batched, is_mapped, physical, size_of
from ..memory.copying import contiguous_op
from ..pointwise.arithmetic import div
from ..table.arguments import Dim
from ..table.checks import check
from ..table.dispatch import caller
from ..table.lookup import lookup, operation
from ..table.op import attach

#: Sizes, strides and offset.
Geometry = tuple[tuple[int, ...], tuple[int, ...], int]


# -- any strides --------------------------------------------------------------------------------------------------


@operation("AsStridedBackward0", view=True)
def as_strided_op(
    input: Layout, size: tuple[int, ...], stride: tuple[int, ...], start: int, geometry: Geometry
) -> tuple[Layout, int]:
    """Return a view in arbitrary strides.

    ``start`` counts from the input's first element; ``geometry`` is the input's, relative to that element.
    """
    dims = zip(input.shape, input.strides, geometry[1], strict=True)
    check(
        all(extent <= 1 or step == dense for extent, step, dense in dims),
        "a view by as_strided of a tensor with gaps in its memory (shape {}) cannot follow a change in place; clone() "
        "that tensor before", input,
    )
    return layout_of(input.type, size, stride), start


@as_strided_op.batched
def _(input, size, stride, start, geometry):
    check(
        is_shown(size, stride, start, geometry),
        "vmap: as_strided({}, {}) of an example of shape {} with strides {} reaches memory outside of the example. "
        "Use other views, such as unfold() or indexing, instead.", size, stride, geometry[0], geometry[1],
    )
    whole = physical(input)
    step = whole._layout.strides[0]
    return as_strided(whole, (size_of(input), *size), (step, *stride), whole._offset + start)


@as_strided_op.gradient("input")
def _(grad, size, stride, start, geometry):
    return restrided(grad, (size, stride, start), geometry, geometry)


@operation("AsStridedBackwardBackward0", aten="as_strided_backward", linear=True)
def restrided(p: Plan, input: TensorRef, source: Geometry, target: Geometry, counted: Geometry) -> TensorRef:
    """Return the input added into zeroed memory by one geometry and read by another.

    The sum at each location is divided by the number of elements that ``counted``, the source or the target, has there.
    """
    source, target, counted = [(*geometry[:2], geometry[2] * bool(numel(geometry[0])))
                               for geometry in (source, target, counted)]
    type, lowest = input.type, min(source[2], target[2])
    row = layout_of(type, (max(_end(source), _end(target)) - lowest,))

    def shown(memory: TensorRef, geometry: Geometry) -> TensorRef:
        return memory.viewed(layout_of(type, *geometry[:2]), geometry[2] - lowest)

    sums = p.new_tensor(row, zeroed=True)
    add_overlapping(p, input, shown(sums, source))
    if overlaps_itself(*counted[:2]):
        counts, ones = p.new_tensor(row), p.new(1, type.numpy)
        for buffer in (p.contiguous(counts), ones):
            p.fill(buffer, 1)
        shared = shown(counts, counted)
        p.pointwise(filler(int, type.numpy), [0], shared)
        single = layout_of(type, shared.shape, (0,) * len(shared.shape))
        add_overlapping(p, TensorRef(ones.memory, single), shared)
        div.op.build(p, sums, counts, into=sums)
    seen = shown(sums, target)
    return seen if seen.layout.contiguous else contiguous_op.build(p, seen)


@restrided.gradient("input")
def _(grad, source, target, counted):
    return restrided(grad, target, source, counted)


def _end(geometry: Geometry) -> int:
    shape, strides, offset = geometry
    return offset + span(shape, strides)


@functools.lru_cache(maxsize=256)
def is_shown(size: tuple[int, ...], stride: tuple[int, ...], start: int, whole: Geometry) -> bool:
    """Return True if all elements of a view are also elements of the tensor from which it is made."""
    part, reach = (size, stride, start), _end(whole)
    if not numel(size):
        return True
    if start < 0 or _end(part) > reach:
        return False
    if numel(whole[0]) == reach and not overlaps_itself(*whole[:2]):
        return True
    return not (_map(part, reach) & ~_map(whole, reach)).any()


def _map(geometry: Geometry, size: int) -> np.ndarray:
    """Return a mask of the locations that a geometry reaches in ``size`` elements of memory."""
    shape, strides, offset = geometry
    result = np.zeros(size, np.bool_)
    result[offset] = True
    for extent, step in zip(shape, strides, strict=True):
        done = 1  # number of indices of this dimension done
        while step and done < extent:
            more = min(done, extent - done)
            result[more * step :] |= result[: -more * step].copy()
            done += more
    return result


@lookup
def as_strided(input: Layout, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """Return a view of the input's storage in any sizes and strides; it may overlap itself.

    Strides count elements.  If the view shows elements that the input, itself a view, does not have, it is recorded as
    a view of the input's base.

    Raises:
        RuntimeError: if the numbers of strides and sizes differ, a number is negative, or the storage is too small.

    Example:
        >>> import numgrad
        >>> numgrad.as_strided(numgrad.arange(5), (3, 2), (1, 1))
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
    """
    arguments = *_checked_steps(size, stride), storage_offset or 0, (input.shape, input.strides, 0)
    end, at_front = _end(arguments[:3]), caller(as_strided_op.prepared((input, *arguments)))
    inside = storage_offset is None and end <= span(input.shape, input.strides)

    def call(input: Tensor) -> Tensor:
        if not inside:
            place_read(input._storage, "as_strided()")
        mode = state.mode
        if mode & LEVELS or (mode & GRAD and input.requires_grad):
            return _of_base(input, *strided_arguments(input, *arguments[:2], storage_offset))
        if end > input._storage.size or input._offset or arguments[2] < 0:
            return as_strided_op(input, *strided_arguments(input, *arguments[:2], storage_offset))
        return at_front(input)

    return call, ()


def _of_base(
    input: Tensor, size: tuple[int, ...], stride: tuple[int, ...], start: int, geometry: Geometry
) -> Tensor:
    """Return the view, recorded on the input, or on its base if it shows elements that the input does not have.

    Raises:
        RuntimeError: if it does, and the input is not connected with the base by views alone.
    """
    view = input._view
    if state.mode & GRAD and view is not None and not input.is_leaf and not is_mapped(input):
        base, whole = input._root, input._root._layout
        before = input._offset - base._offset  # offset of the input in its base
        more = not is_shown(whole.shape, whole.strides, -before, geometry)  # the base has other elements besides
        if more and not is_shown(size, stride, start, geometry):
            check(
                not view.hides_tangent(),
                "as_strided({}, {}) shows elements that the tensor of shape {} does not have, and cannot be recorded: "
                "call it on the tensor that this is a view of", size, stride, geometry[0],
            )
            return as_strided_op(base, size, stride, start + before, (whole.shape, whole.strides, 0))
    return as_strided_op(input, size, stride, start, geometry)


def _checked_steps(size: Any, stride: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    sizes, steps = [tuple(map(operator.index, numbers)) for numbers in (size, stride)]
    check(len(sizes) == len(steps), "mismatch in length of strides and shape (size {}, stride {})", sizes, steps)
    check(
        all(step >= 0 for step in steps),
        "as_strided: Negative strides are not supported at the moment, got strides: {}", steps,
    )
    if any(extent < 0 for extent in sizes):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {list(sizes)}")
    return sizes, steps


def strided_arguments(
    input: Tensor, size: Any, stride: Any, storage_offset: int | None
) -> tuple[tuple[int, ...], tuple[int, ...], int, Geometry]:
    """Return the arguments of ``as_strided_op`` from those of a user; raise as :func:`as_strided`."""
    sizes, steps = _checked_steps(size, stride)
    offset = input._offset if storage_offset is None else operator.index(storage_offset)
    check(
        storage_offset is None or not is_batched(input) or input._view is None,
        "vmap: as_strided() with a storage_offset of a view of an example: where that lies is not known. Call it on "
        "the example itself.",
    )
    check(offset >= 0, "Tensor: invalid storage offset {}", offset)
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


@operation("UnfoldBackward0", public=True, view=True, export=False)
def unfold_op(input: Layout, dimension: Dim, size: int, step: int) -> tuple[Layout, int]:
    """Return the windows of ``size`` indices of a dimension, ``step`` apart, as a last dimension; a view.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if a window is larger than the dimension or negative, or the step is not positive.
    """
    shape, strides = input.shape, input.strides
    extent = shape[dimension] if dimension < len(shape) else 1
    check(size >= 0, "size is {} but must be >= 0", size)
    check(size <= extent, "maximum size for tensor at dimension {} is {} but size is {}", dimension, extent, size)
    check(step > 0, "step is {} but must be > 0", step)
    if dimension == len(shape):  # for a tensor without dimensions
        return layout_of(input.type, (*shape, size), (*strides, 1)), 0
    count = (shape[dimension] - size) // step + 1
    stride = strides[dimension]
    sizes = (*shape[:dimension], count, *shape[dimension + 1 :], size)
    return layout_of(input.type, sizes, (*strides[:dimension], stride * step, *strides[dimension + 1 :], stride)), 0


@unfold_op.gradient("input")
def _(grad, input_shape, dimension, size, step):
    return unfold_backward(grad, input_shape, dimension, size, step)


@operation("UnfoldBackwardBackward0", inputs=["grad_output"], linear=True, dims=["dimension"], shapes=["shape"])
def unfold_backward(
    p: Plan, grad_output: TensorRef, shape: tuple[int, ...], dimension: int, size: int, step: int
) -> TensorRef:
    """Return zeros of ``shape`` with the gradients of the windows added at their positions."""
    out = p.new_tensor(layout_of(grad_output.type, shape), zeroed=True)
    windows, _ = unfold_op.prepare(out.layout, dimension, size, step)
    add_overlapping(p, grad_output, out.viewed(windows))
    return out


@unfold_backward.gradient("grad_output")
def _(grad, dimension, size, step):
    return unfold_op(grad, dimension, size, step)


attach("unfold", unfold_op.public)
