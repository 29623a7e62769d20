"""The places that indices name: how they are read and written, whatever the layout of the tensor.

Places are int64 numbers that count, in row-major order, over the indexed dimensions ``dims`` of a tensor: for one
dimension the indices themselves, which may be negative.  The indexed part has the places' dimensions where ``dims``
were, if those are neighbours, and in front if they are not; the other dimensions follow in their order.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import NamedTuple

from ... import devices
from ..._layout import contiguous_strides, numel, output_strides
from ..._tensor import Tensor, fresh, strided
from ..copying import contiguous, row_of
from ..shapes.views import expand

__all__ = ["part_shape", "pick", "put"]

Ints = tuple[int, ...]


def _first(dims: Ints) -> int:
    """Where in the part the dimensions of the places begin."""
    return dims[0] if dims and dims[-1] - dims[0] + 1 == len(dims) else 0


def part_shape(shape: Ints, dims: Ints, places: Ints) -> Ints:
    """The shape of the part at places of shape ``places``."""
    rest = tuple([extent for d, extent in enumerate(shape) if d not in dims])
    first = _first(dims)
    return rest[:first] + places + rest[first:]


class _Walk(NamedTuple):
    """How the elements of a part are gone through, as (outer, places, inner).

    Where one step does not lead from place to place, ``step`` is None, and the offsets of all ``middle`` dimensions
    must be computed: each is a dimension of the places, given by its number, or an (extent, step).
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
    reach: int  # offsets are below it


@functools.lru_cache(maxsize=4096)
def _walk(shape: Ints, strides: Ints, dims: Ints, places: Ints, new: bool) -> _Walk:
    """How to go through a part: in the order of a new tensor's memory if ``new``, else in row-major order."""
    first = _first(dims)
    rest = [step for d, step in enumerate(strides) if d not in dims]
    extents = part_shape(shape, dims, places)
    steps = [*rest[:first], *[0] * len(places), *rest[first:]]
    own = contiguous_strides(extents)
    if new:
        index = (1,) * first + places + (1,) * (len(rest) - first)  # the shape of an index that broadcasts
        own = output_strides(extents, ((extents, tuple(steps)), (index, None)))
    order = sorted(range(len(extents)), key=lambda d: -own[d])
    at = [place for place, d in enumerate(order) if first <= d < first + len(places)]
    start, stop = (at[0], at[-1] + 1) if at else (0, 0)
    before = _runs(order[:start], extents, steps)
    after = _runs(order[stop:], extents, steps)
    outer, outer_step = _as_one(before[0] if before else [], extents, steps)
    inner, inner_step = _as_one(after[-1] if after else [], extents, steps)
    middle = [*itertools.chain(*before[1:]), *order[start:stop], *itertools.chain(*after[:-1])]
    sizes, indexed = tuple([shape[d] for d in dims]), tuple([strides[d] for d in dims])
    runs = _runs(list(range(len(dims))), sizes, indexed)
    step = None
    if middle == list(range(first, first + len(places))) and len(runs) < 2:
        step = _as_one(runs[0] if runs else [], sizes, indexed)[1]
    others = [(extents[d], steps[d]) for d in middle if not first <= d < first + len(places)]
    reach = 1 + sum([(extent - 1) * each for extent, each in (*zip(sizes, indexed, strict=True), *others)])
    return _Walk(
        extents, own, outer, outer_step, inner, inner_step, step, sizes, indexed,
        tuple([d - first if first <= d < first + len(places) else (extents[d], steps[d]) for d in middle]), reach,
    )


def _runs(dims: list[int], extents: Sequence[int], steps: Sequence[int]) -> list[list[int]]:
    """Neighbouring dimensions in groups that one step leads through; dimensions of size 1 are left out."""
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
    """A group of dimensions as one: its extent and step."""
    count = 1
    for d in run:
        count *= extents[d]
    return count, steps[run[-1]] if run else 0


def _located(tensor: Tensor, walk: _Walk, places: Tensor) -> devices.Places:
    row, step, size = row_of(places), walk.step, numel(walk.sizes)
    if step is None:
        row = devices.offsets(row, places._layout.shape, walk.sizes, walk.steps, walk.middle)
        step, size = 1, walk.reach
    return devices.Places(
        tensor._offset, walk.outer_step, row, step, size, walk.inner_step, walk.outer, walk.inner
    )


def pick(input: Tensor, places: Tensor, dims: Ints) -> Tensor:
    """A new tensor with the part at ``places``."""
    layout = input._layout
    walk = _walk(layout.shape, layout.strides, dims, places._layout.shape, True)
    row = devices.empty(walk.shape, layout.type)
    devices.take_rows(input._storage, _located(input, walk, places), row)
    if walk.strides == contiguous_strides(walk.shape):
        return fresh(row, walk.shape, layout.type)
    return strided(row, walk.shape, walk.strides, 0, layout.type)


def put(target: Tensor, places: Tensor, dims: Ints, values: Tensor, accumulate: bool, distinct: bool) -> None:
    """Overwrite the part at ``places`` with ``values``, which broadcast to it, or add them.

    Of places that are the same the last one counts; all do with ``accumulate``.  ``distinct`` says that there are
    none.
    """
    walk = _walk(target._layout.shape, target._layout.strides, dims, places._layout.shape, False)
    located = _located(target, walk, places)
    shape, inner = values._layout.shape, walk.inner
    if numel(shape) == 1:
        steps = 0, 0, 0
    elif values._flat is not None and numel(shape) == inner and shape == walk.shape[len(walk.shape) - len(shape) :]:
        steps = 0, 0, 1
    else:
        values = contiguous(values if shape == walk.shape else expand(values, walk.shape))
        steps = located.row.size * inner, inner, 1
    row = values._storage[values._offset : values._offset + 1] if steps == (0, 0, 0) else values._flat
    devices.put_rows(row, steps, located, target._storage, accumulate, distinct)
