"""Layouts: type, shape and strides of tensors, and functions of shapes and strides.

Shapes and strides are tuples of ints, in elements.
"""

from __future__ import annotations

import functools
import math
import operator
import os
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .types import TensorType

Ints = tuple[int, ...]


class Layout:
    """Type, shape and strides of a tensor.  Equal layouts are one object: compare them with ``is``.

    Attributes:
        type: dtype and device; None if any type is accepted.
        shape, strides: as tuples.
        size: the number of elements.
        contiguous: True if the elements follow one another in row-major order.
        row_major: True if the strides, including those of dimensions of size 1, are the row-major strides.
    """

    __slots__ = ("__weakref__", "contiguous", "row_major", "shape", "size", "strides", "type")

    type: TensorType
    shape: Ints
    strides: Ints
    size: int
    contiguous: bool
    row_major: bool

    def __repr__(self) -> str:
        type_name = "any type" if self.type is None else self.type.name
        return f"<Layout of {type_name}, shape {list(self.shape)}, strides {list(self.strides)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return layout_of, (self.type, self.shape, self.strides)


#: All layouts in use, by their types, shapes and strides.
_layouts: dict[Any, weakref.ref[Layout]] = {}
_interning = threading.RLock()  # a thread that holds it may free a layout


def _renew_lock() -> None:
    """Renew the lock in a forked child: a thread that does not exist here may have held it."""
    global _interning
    _interning = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


@functools.lru_cache(maxsize=8192)  # most layouts recur even if nothing holds them in between
def layout_of(type: TensorType | None, shape: Ints, strides: Ints | None = None) -> Layout:
    """Return the layout with these strides; None stands for row-major ones.

    Raises:
        RuntimeError: a size, a stride or the number of elements exceeds 64 bits.
    """
    extents = tuple(map(int, shape))  # NumPy ints compare equal to ints, so the interned layout must not contain them
    row_major, size = contiguous_strides(extents), numel(extents)
    steps = row_major if strides is None else tuple(map(int, strides))
    if max((size, *extents, *steps)) >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(extents)}")
    key = type, extents, steps
    with _interning:
        reference = _layouts.get(key)
        cached = None if reference is None else reference()
        if cached is None:
            cached = Layout()
            cached.type, cached.shape, cached.strides = key  # type: ignore[assignment]
            cached.size = size
            cached.row_major = steps == row_major
            cached.contiguous = cached.row_major or is_contiguous(extents, steps)
            _layouts[key] = weakref.ref(cached, functools.partial(_forget, key))
    return cached


def _forget(key: Any, reference: weakref.ref[Layout]) -> None:
    """Remove a deleted layout."""
    with _interning:
        if _layouts.get(key) is reference:  # another layout may have taken its place
            del _layouts[key]


def numel(shape: Ints) -> int:
    """Return the number of elements."""
    return math.prod(shape)


@functools.lru_cache(maxsize=4096)
def contiguous_strides(shape: Ints) -> Ints:
    """Return row-major strides; a dimension of size 0 counts as 1, as in PyTorch."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= int(extent) or 1  # NumPy ints compare equal to ints, so the cached result must not contain them
    return tuple(strides[::-1])


def by_columns(type: TensorType, shape: Ints) -> Layout:
    """Return the layout of matrices that are stored column by column, as LAPACK's are."""
    strides = contiguous_strides((*shape[:-2], *shape[:-3:-1]))
    return layout_of(type, shape, (*strides[:-2], *strides[:-3:-1]))


def is_contiguous(shape: Ints, strides: Ints) -> bool:
    """Return True if elements follow one another in row-major order."""
    expected = 1
    for extent, stride in zip(shape[::-1], strides[::-1]):  # noqa: B905 - equal lengths
        if extent != 1:
            if stride != expected:
                return numel(shape) == 0
            expected *= extent
    return True


def all_dims(shape: Ints) -> Ints:
    """Return the numbers of all dimensions."""
    return tuple(range(len(shape)))


def normal_dim(dim: int, rank: int) -> int:
    """Return ``dim`` counted from the front.

    Raises:
        IndexError: it is not in ``[-rank, rank - 1]``; a 0-d tensor counts as having one dimension.
        TypeError: it is not an int.
    """
    try:
        dim = operator.index(dim)
    except TypeError:
        raise TypeError(f"a dimension must be int, not {type(dim).__name__}") from None
    span = max(rank, 1)
    if not -span <= dim < span:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})")
    return dim + span if dim < 0 else dim


def normal_dims(dims: Any, rank: int) -> Ints:
    """Return the dimensions ``dims`` (None or empty for all), counted from the front, ascending and without repeats."""
    if hasattr(dims, "__index__"):
        dims = (dims.__index__(),)
    if dims is None or len(dims) == 0:
        return tuple(range(rank))
    normal = [normal_dim(dim, rank) for dim in dims]
    for dim in normal:
        if normal.count(dim) > 1:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
    return tuple(sorted(normal)) if rank else ()


@functools.lru_cache(maxsize=4096)
def broadcast_shapes(*shapes: Ints) -> Ints:
    """Return the common shape.

    Raises:
        RuntimeError: two sizes differ and neither is 1.
    """
    result = [1] * max([len(shape) for shape in shapes])
    for shape in shapes:
        offset = len(result) - len(shape)
        for position, extent in enumerate(shape):
            present = result[offset + position]
            if present == 1:
                result[offset + position] = extent
            elif extent != present and extent != 1:
                raise RuntimeError(
                    f"The size of tensor a ({present}) must match the size of tensor b ({extent}) "
                    f"at non-singleton dimension {offset + position} (shapes {', '.join(map(str, map(list, shapes)))})"
                )
    return tuple(result)


def broadcasts(shape: Ints, wide: Ints) -> bool:
    """Return True if a shape broadcasts to another."""
    missing = len(wide) - len(shape)
    return missing >= 0 and all(size in (1, extent) for size, extent in zip(shape, wide[missing:], strict=True))


def outgrown(shape: Ints, wide: Ints) -> RuntimeError:
    """Return the error for an output whose shape is smaller than the broadcast shape of its new value."""
    return RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(wide)}")


def broadcast_strides(shape: Ints, strides: Ints, target: Ints) -> Ints:
    """Return the strides that read a tensor of ``shape`` as one of the larger ``target``: 0 where it is repeated."""
    if shape == target:
        return strides
    missing = len(target) - len(shape)
    return (0,) * missing + tuple([
        0 if extent == 1 and size != 1 else stride
        for extent, stride, size in zip(shape, strides, target[missing:], strict=True)
    ])


def span(shape: Ints, strides: Ints) -> int:
    """Return the number of elements of memory from a tensor's first element to its last, inclusive."""
    return 0 if 0 in shape else 1 + sum([(extent - 1) * step for extent, step in zip(shape, strides, strict=True)])


def overlaps_itself(shape: Ints, strides: Ints) -> bool:
    """Return True if two index tuples may refer to one element.

    The result is exact for the layouts that views make.
    """
    if numel(shape) < 2:
        return False
    reach = 0
    for stride, extent in sorted((stride, extent) for extent, stride in zip(shape, strides, strict=True) if extent > 1):
        if stride <= reach:
            return True
        reach += stride * (extent - 1)
    return False


def is_dense(shape: Ints, strides: Ints) -> bool:
    """Return True if the elements fill their memory exactly once, in any order of dimensions."""
    step = 1
    steps = [(stride, extent) for extent, stride in zip(shape, strides, strict=True) if extent != 1]
    for stride, extent in sorted(steps):
        if stride != step:
            return numel(shape) < 2
        step *= extent
    return True


def _order(shape: Ints, operands: Sequence[Ints]) -> list[int]:
    """Return the dimensions from outermost to innermost in the operands' memory; the first operand decides.

    A stride of 0 decides nothing.  This is PyTorch's rule, which gives outputs PyTorch's strides.
    """

    def inside(a: int, b: int) -> int:
        """Return 1 if dimension a belongs inside b, -1 if b belongs inside a, and 0 if no operand decides."""
        for strides in operands:
            if strides[a] and strides[b]:
                if strides[a] != strides[b]:
                    return 1 if strides[a] < strides[b] else -1
                if shape[a] > shape[b]:
                    return -1
        return 0

    first = operands[0]
    if first and first[-1] > 0 and all(map(operator.gt, first, first[1:])):
        return list(range(len(shape)))
    # Insertion sort from the last dimension: the relation is not transitive, so the procedure is the definition.
    order = list(range(len(shape) - 1, -1, -1))  # innermost first
    for start in range(1, len(order)):
        current = start
        for earlier in range(start - 1, -1, -1):
            relation = inside(order[earlier], order[current])
            if relation < 0:
                order[earlier], order[current] = order[current], order[earlier]
                current = earlier
            elif relation > 0:
                break
    return order[::-1]


@functools.lru_cache(maxsize=4096)
def output_strides(shape: Ints, operands: tuple[tuple[Ints, Ints | None], ...]) -> Ints:
    """Return the strides of a new output of ``shape`` for inputs of these shapes and strides (None for row-major)."""
    strides = [0] * len(shape)
    step = 1
    for dim in reversed(_order(shape, _broadcast(shape, operands))):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def _broadcast(shape: Ints, operands: tuple[tuple[Ints, Ints | None], ...]) -> tuple[Ints, ...]:
    return tuple([
        broadcast_strides(operand_shape, contiguous_strides(operand_shape) if strides is None else strides, shape)
        for operand_shape, strides in operands
    ])


@functools.lru_cache(maxsize=4096)
def loop_nest(shape: Ints, geometry: tuple[tuple[Ints, Ints | None], ...]) -> tuple[Ints, tuple[Ints, ...]]:
    """Return the shortest loop nest over ``shape``: sizes, and the steps of each operand, in elements.

    ``geometry`` has the operands' own shapes and strides (None for row-major), which are broadcast to ``shape``.

    Dimensions of size 1 are dropped, the others are ordered as in the operands' memory, and adjacent dimensions that
    are evenly spaced in every operand are merged.  The result has at least one dimension.
    """
    operands = _broadcast(shape, geometry)
    sizes: list[int] = []
    steps: list[list[int]] = []  # for each kept dimension, each operand's stride
    for dim in _order(shape, operands):
        extent, stride = shape[dim], [strides[dim] for strides in operands]
        if extent == 1:
            continue
        if sizes and steps[-1] == [inner * extent for inner in stride]:
            sizes[-1] *= extent
            steps[-1] = stride
        else:
            sizes.append(extent)
            steps.append(stride)
    return (tuple(sizes), tuple(zip(*steps, strict=True))) if sizes else ((1,), ((1,),) * len(geometry))


def matrix_steps(source: Layout, target: Layout) -> tuple[Ints, Ints] | None:
    """Return the steps of a traversal of the matrices in the last two dimensions of two tensors of one shape.

    For each tensor, they are the steps from matrix to matrix, from row to row and from column to column.  The result is
    None if the matrices are not evenly spaced in both.
    """
    shape = source.shape[:-2]
    sizes, steps = loop_nest(shape, ((shape, source.strides[:-2]), (shape, target.strides[:-2])))
    if len(sizes) > 1 and source.size:
        return None
    return (steps[0][-1], *source.strides[-2:]), (steps[1][-1], *target.strides[-2:])


def view_strides(shape: Ints, strides: Ints, target: Ints) -> Ints | None:
    """Return the strides of a view of shape ``target`` on the same memory, or None if that needs a copy."""
    if numel(shape) == 0:
        return strides if shape == target else contiguous_strides(target)
    chunks: list[list[int]] = []  # (size, innermost stride) of runs of evenly spaced elements, last one first
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if chunks and (extent == 1 or stride == chunks[-1][0] * chunks[-1][1]):
            chunks[-1][0] *= extent
        else:
            chunks.append([extent, stride])
    result: list[int] = []
    remaining = list(target)
    for size, step in chunks or [[1, 1]]:
        seen = 1
        while remaining and (seen < size or remaining[-1] == 1):
            result.append(step * seen)
            seen *= remaining.pop()
        if seen != size:
            return None
    return tuple(reversed(result))
