"""Reading and writing at indices, as steps of plans, for any layout of the tensor.

A flat index holds int64 numbers that count, in row-major order, over the indexed dimensions ``dims`` of a tensor.  For
one dimension these are the indices themselves, which may be negative.  The indexed part has the index's dimensions in
place of ``dims`` if those are adjacent, and in front if they are not; the other dimensions follow in their order.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import devices
from ...core.device import CPU
from ...core.layout import Ints, Layout, broadcast_strides, broadcasts, contiguous_strides, layout_of, output_strides
from ...core.types import TensorType, dtype, int64, tensor_type
from ...devices import Buffer, Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.batches import is_mapped
from ..memory.copying import empty_of, filled_of
from ..memory.overwriting import fill_
from ..table.checks import check
from ..table.promotion import check_fits
from ..table.widening import widened


def index_begin(dims: Ints) -> int:
    """Return the dimension of the part at which those of the index begin."""
    return dims[0] if dims and dims[-1] - dims[0] + 1 == len(dims) else 0


def part_shape(shape: Ints, dims: Ints, flat_index: Ints) -> Ints:
    """Return the shape of the part at a flat index of this shape."""
    others = tuple([extent for d, extent in enumerate(shape) if d not in dims])
    first = index_begin(dims)
    return others[:first] + flat_index + others[first:]


class _Walk(NamedTuple):
    """Traversal of the elements of a part, as (outer, indices, inner).

    If no single step leads from index to index, ``step`` is None, and the offsets of all ``middle`` dimensions must be
    computed.  Each of these is a dimension of the index, given by its number, or an (extent, step).
    """

    shape: Ints
    strides: Ints  # of a new tensor with the part
    outer: int
    outer_step: int
    inner: int
    inner_step: int
    step: int | None
    sizes: Ints  # of the indexed dimensions
    steps: Ints
    middle: tuple[int | tuple[int, int], ...]
    reach: int  # upper bound of the offsets
    flat_index: Ints  # the shape of the index


@functools.lru_cache(maxsize=4096)
def _walk(shape: Ints, strides: Ints, dims: Ints, flat_index: Ints, new: bool) -> _Walk:
    """Return the traversal of a part: in the order of a new tensor's memory if ``new``, else in row-major order."""
    first = index_begin(dims)
    unindexed = [step for d, step in enumerate(strides) if d not in dims]
    extents = part_shape(shape, dims, flat_index)
    steps = [*unindexed[:first], *[0] * len(flat_index), *unindexed[first:]]
    new_strides = contiguous_strides(extents)
    if new:
        index = (1,) * first + flat_index + (1,) * (len(unindexed) - first)  # the shape of an index that broadcasts
        new_strides = output_strides(extents, ((extents, tuple(steps)), (index, None)))
    order = sorted(range(len(extents)), key=lambda d: -new_strides[d])
    at = [number for number, d in enumerate(order) if first <= d < first + len(flat_index)]
    start, stop = (at[0], at[-1] + 1) if at else (0, 0)
    before = _runs(order[:start], extents, steps)
    after = _runs(order[stop:], extents, steps)
    outer, outer_step = _as_one(before[0] if before else [], extents, steps)
    inner, inner_step = _as_one(after[-1] if after else [], extents, steps)
    middle = [*itertools.chain(*before[1:]), *order[start:stop], *itertools.chain(*after[:-1])]
    sizes, indexed = tuple([shape[d] for d in dims]), tuple([strides[d] for d in dims])
    runs = _runs(list(range(len(dims))), sizes, indexed)
    step = None
    if middle == list(range(first, first + len(flat_index))) and len(runs) < 2:
        step = _as_one(runs[0] if runs else [], sizes, indexed)[1]
    others = [(extents[d], steps[d]) for d in middle if not first <= d < first + len(flat_index)]
    reach = 1 + sum([(extent - 1) * each for extent, each in (*zip(sizes, indexed, strict=True), *others)])
    return _Walk(
        extents, new_strides, outer, outer_step, inner, inner_step, step, sizes, indexed,
        tuple([d - first if first <= d < first + len(flat_index) else (extents[d], steps[d]) for d in middle]), reach,
        flat_index,
    )


def _runs(dims: list[int], extents: Sequence[int], steps: Sequence[int]) -> list[list[int]]:
    """Group adjacent dimensions that one step traverses; dimensions of size 1 are left out."""
    groups: list[list[int]] = []
    for d in dims:
        if extents[d] == 1:
            continue
        if groups and steps[groups[-1][-1]] == steps[d] * extents[d]:
            groups[-1].append(d)
        else:
            groups.append([d])
    return groups


def _as_one(run: list[int], extents: Sequence[int], steps: Sequence[int]) -> tuple[int, int]:
    """Return the extent and step of a group of dimensions merged into one."""
    return math.prod([extents[d] for d in run]), steps[run[-1]] if run else 0


def expanded_layout(input: Layout, shape: Ints) -> Layout:
    """Return the layout of a tensor that is read with a larger shape.

    Raises:
        RuntimeError: if it does not broadcast to that shape.
    """
    check(broadcasts(input.shape, shape), "shape mismatch: {} does not broadcast to {}", input, shape)
    return layout_of(input.type, shape, broadcast_strides(input.shape, input.strides, shape))


def flat_result(type: TensorType, buffer: Any) -> tuple[Layout, Any]:
    """Return the layout and the memory of a buffer that a host function has made."""
    return layout_of(type, (buffer.size,)), buffer


def _located(p: Plan, walk: _Walk, flat_index: TensorRef, negative: bool) -> tuple[Buffer, devices.IndexSteps]:
    """Add the steps for a flat index as a buffer for a device's function; return it and the strides to use with it."""
    buffer, step, size = p.contiguous(flat_index, int64), walk.step, math.prod(walk.sizes)
    if step is None:
        if not negative:
            p.backend.check_bounds(p, buffer, 0, size)
        buffer = p.backend.offsets(p, buffer, walk.flat_index, walk.sizes, walk.steps, walk.middle)
        step, size = 1, walk.reach
    return buffer, devices.IndexSteps(walk.outer_step, step, size, walk.inner_step, walk.outer, walk.inner)


def pick(
    p: Plan, input: TensorRef, flat_index: TensorRef, dims: Ints, shape: Ints | None = None, negative: bool = True,
    row_major: bool = False,
) -> TensorRef:
    """Add the steps that read the part at ``flat_index`` into a new tensor.

    Args:
        shape: the shape of the index, if it is not its layout's.
        negative: if True, indices may count from the end.
        row_major: if True, the part is in row-major order, whatever that of the input.
    """
    shape = flat_index.shape if shape is None else shape
    walk = _walk(input.shape, input.layout.strides, dims, shape, not row_major)
    indices, steps = _located(p, walk, flat_index, negative)
    storage, start = p.strided(input)
    out = p.backend.take_rows(p, storage, indices, start, steps, -steps.size if negative else 0)
    return p.tensor(out, input.type, walk.shape).viewed(layout_of(input.type, walk.shape, walk.strides))


def put(
    p: Plan, target: TensorRef, flat_index: TensorRef, dims: Ints, values: Any, accumulate: bool, distinct: bool,
    shape: Ints | None = None, negative: bool = True,
) -> None:  # fmt: skip
    """Add the steps that overwrite the part at ``flat_index`` with ``values``, a tensor that broadcasts or a number.

    Of equal indices the last one counts; with ``accumulate`` all do.  ``distinct`` declares that no indices are equal.

    Raises:
        RuntimeError: if the values do not broadcast to the part.
    """
    type = target.type
    if accumulate and type.dtype.is_half:
        wide, values = [widened(p, each) if each.__class__ is TensorRef else each for each in (target, values)]
        put(p, wide, flat_index, dims, values, True, distinct, shape, negative)
        p.assign(wide, target)
        return
    walk = _walk(target.shape, target.layout.strides, dims, flat_index.shape if shape is None else shape, False)
    indices, steps = _located(p, walk, flat_index, negative)
    inner = walk.inner
    value_steps = 0, 0, 0
    if values.__class__ is not TensorRef:
        buffer = number_buffer(p, values, type)
    elif values.size == 1:
        buffer = p.contiguous(values.viewed(layout_of(values.type, ())), type.dtype)
    else:
        layout, value_shape = values.layout, values.shape
        last = walk.shape[len(walk.shape) - len(value_shape) :]
        if layout.contiguous and layout.size == inner and value_shape == last:
            value_steps = 0, 0, 1
        else:
            value_steps = indices.size * inner, inner, 1
            values = values if value_shape == walk.shape else values.viewed(expanded_layout(layout, walk.shape))
        buffer = p.contiguous(values, type.dtype)
    devices.check_values(buffer.size, value_steps, steps, indices.size)
    storage, start = p.strided(target)
    low = -steps.size if negative else 0
    p.backend.put_rows(p, buffer, storage, indices, value_steps, start, steps, low, accumulate, distinct)


def check_held(value: Tensor, dtype: dtype) -> None:
    """Raise if a dtype cannot hold the number in a tensor, unless the tensor is on a GPU or under ``vmap``.

    Raises:
        RuntimeError: if it cannot.
    """
    if value._layout.type.dtype is not dtype and value._layout.type.device is CPU and not is_mapped(value):
        check_fits(value.item(), dtype)


def number_as(value: Any, type: TensorType) -> Tensor:
    """Return a 0-d tensor of this type with the number.

    Raises:
        TypeError, RuntimeError: if it is not a number, or the dtype cannot hold it.
    """
    if isinstance(value, Tensor):
        check_held(value, type.dtype)
    elif value.__class__ in (bool, int, float) and type.dtype.is_floating_point and is_held(value):
        return filled_of((), value, type)  # needs none of the checks of fill_
    return fill_(empty_of((), type), value)


def is_held(value: float) -> bool:
    """Return True if every floating-point dtype holds a number, perhaps rounded; False for NaN."""
    return -1e30 < value < 1e30 or value in (math.inf, -math.inf)


def number_in(value: Any, type: TensorType) -> Any:
    """Return a number, or the one in a 0-d tensor, converted to the dtype but as a Python number.

    Raises:
        TypeError, RuntimeError: see :func:`number_as`.
    """
    if isinstance(value, Tensor):
        check_held(value, type.dtype)
        value = value.item()
    if value.__class__ in (float, int) and type.dtype.is_floating_point and is_held(value):
        return float(value)  # kernels round it
    return number_as(value, tensor_type(type.dtype)).item()


def number_buffer(p: Plan, value: Any, type: TensorType) -> Buffer:
    """Add the step that makes a buffer of one element from a number, and raises if the dtype cannot hold it."""
    return p.contiguous(*p.host(_memory_of, [layout_of(type, ())], value, type))


def _memory_of(value: Any, type: TensorType) -> tuple[Any]:
    return (number_as(value, type)._storage,)
