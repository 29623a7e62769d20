"""Reading and writing the elements at given indices, on a GPU.

The kernels follow no index that leads outside, but report it: see Note [Reports] in ``reports.py``.

Note [Several values for one element]
Where several values go to one element they are added, multiplied or compared with atomic instructions, in whichever
order comes about, or any of them is the one that stays.  With ``use_deterministic_algorithms(True)``, and for elements
that there are no such instructions for (less than 32 bits; products of complex numbers), the indices are sorted
instead, and one thread takes all values for an element in the order of the indices, as on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from numgrad_kernels.cuda import indexing

from ...core.deterministic import are_deterministic_algorithms_enabled
from ..common import Steps, check_sizes, check_values
from ..rows import DeviceRow
from .launching import THREADS, blocks_for, launch
from .memory import empty_row
from .reports import report_row
from .sorting import sort_axis

__all__ = [
    "axis_gatherer", "axis_scatterer", "check_inside", "gather_axis", "outside", "put_rows", "row_putter",
    "row_taker", "scatter_axis", "take_rows",
]

INT64 = np.dtype(np.int64)

#: The dtypes that there are atomic instructions for.
_ATOMIC = {np.dtype(name) for name in ("int32", "int64", "float32", "float64")}

_PARTS = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}

#: Unsigned integers by their length: elements that are only moved are moved as these.
WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}

_TOGETHER = {
    "set": indexing.later, "add": indexing.together, "multiply": indexing.multiplied, "amax": indexing.larger,
    "amin": indexing.smaller,
}


class Indexed(NamedTuple):
    """The elements of a storage at given indices, as (outer, indices, inner)."""

    start: int
    outer_step: int
    indices: DeviceRow
    step: int
    size: int
    inner_step: int
    outer: int
    inner: int


def narrow(count: int) -> dict[str, Any]:
    """The kernel's part that divides numbers up to ``count``."""
    return {"floor_divide": indexing.floor_divide32} if count < 1 << 32 else {}


def outside(indices: DeviceRow, low: int, high: int, again: bool = False) -> None:
    """Have the GPU look whether all indices are in [low, high), which it reports later if not; returns None.

    Nothing is done if what uses the indices looks at them ``again``.
    """
    if indices.size and not again:
        find_outside(indices, low, high, report_row(indices.device))


check_inside = outside


def find_outside(indices: DeviceRow, low: int, high: int, report: DeviceRow) -> None:
    """Have an index that is not in [low, high) noted in a report."""
    count = indices.size
    launch(indexing.find_outside, INT64, indices, count, low, high, report, blocks=blocks_for(count))


def row_taker(type: Any, steps: Steps, count: int, low: int) -> Callable[..., DeviceRow]:
    """What reads a storage at ``count`` indices, with these steps from ``start`` on, into a new row.

    Called as ``take(storage, start, indices)``, it has indices that are not in [low, size) reported.
    """

    def take(storage: DeviceRow, start: int, indices: DeviceRow) -> DeviceRow:
        out = empty_row(steps.outer * count * steps.inner, type.numpy, type.device.index)
        if not low or not out.size:
            check_inside(indices, low, steps.size)
        take_rows(storage, Indexed(start, steps.outer_step, indices, *steps[1:]), out)
        return out

    return take


def row_putter(
    type: Any, steps: Steps, count: int, low: int, value_steps: tuple[int, int, int], accumulate: bool, distinct: bool
) -> Callable[..., None]:
    """What writes values, a row read in ``value_steps``, into a storage at ``count`` indices, or adds them.

    Called as ``put(values, storage, start, indices)``; indices that are not in [low, size) are reported.  See Note
    [Several values for one element] for indices that are not ``distinct``.
    """

    def put(values: DeviceRow, storage: DeviceRow, start: int, indices: DeviceRow) -> None:
        if not low:
            check_inside(indices, low, steps.size)
        put_rows(
            values, value_steps, Indexed(start, steps.outer_step, indices, *steps[1:]), storage, accumulate, distinct
        )

    return put


def axis_gatherer(type: Any, count: int, length: int, width: int, inner: int) -> Callable[..., DeviceRow]:
    """``gather_axis`` for rows of these sizes: called as ``gather(row, indices)``."""
    return lambda row, indices: gather_axis(row, indices, length, width, inner)


def axis_scatterer(
    type: Any, count: int, size: int, length: int, width: int, inner: int, mode: str, single: bool
) -> Callable[..., None]:
    """``scatter_axis`` for rows of these sizes: called as ``scatter(values, indices, out)``."""
    return lambda values, indices, out: scatter_axis(values, indices, out, length, width, inner, mode)


def _check_indices(indices: DeviceRow, size: int) -> None:
    if indices.dtype != INT64:
        raise IndexError(f"indices must be int64, not {indices.dtype}")
    if not size:
        raise IndexError(f"index {indices.item(0)} is out of bounds for dimension with size 0")


def _shift(inner: int) -> int:
    """How many threads are given to ``inner`` elements: the binary logarithm."""
    return min(inner, THREADS).bit_length() - 1


def _work(rows: int, inner: int) -> tuple[int, dict[str, Any]]:
    """The ``shift`` of a kernel over rows, with its blocks and how it divides."""
    shift = _shift(inner)
    return shift, {"blocks": blocks_for(rows << shift), **narrow(rows)}


class _Words:
    """Elements moved as words of another length: as long ones as all the numbers that count elements allow."""

    def __init__(self, rows: tuple[DeviceRow, ...], steps: tuple[int, ...], inner_steps: tuple[int, ...]):
        item = rows[0].dtype.itemsize
        self.times, self.parts = 1, 1
        self.dtype = WORDS.get(item, rows[0].dtype)
        if all(step == 1 for step in inner_steps):
            if item > 8:
                self.parts, self.dtype = item // 8, WORDS[8]
            for times in (8 // item, 4 // item, 2 // item):
                whole = all(step % times == 0 for step in steps) if times > 1 else False
                if whole and all(row.address % (times * item) == 0 for row in rows):
                    self.times, self.dtype = times, WORDS[times * item]
                    break

    def count(self, elements: int) -> int:
        """A number of elements as one of words."""
        return elements * self.parts // self.times


def take_rows(x: DeviceRow, elements: Indexed, out: DeviceRow) -> None:
    """Read elements of a storage into the row ``out``; 0 where an index is not in [-size, size), which is reported."""
    if not out.size:
        return
    _check_indices(elements.indices, elements.size)
    inner_step = elements.inner_step if elements.inner > 1 else 1
    words = _Words(
        (x, out), (elements.start, elements.outer_step, elements.step, elements.inner), (inner_step,)
    )
    rows, inner = elements.outer * elements.indices.size, words.count(elements.inner)
    shift, how = _work(rows, inner)
    launch(
        indexing.take_rows, words.dtype, x.view(words.dtype), words.count(elements.start),
        words.count(elements.outer_step), elements.indices, words.count(elements.step), elements.size, inner_step, rows,
        elements.indices.size, inner, shift, out.view(words.dtype), report_row(out.device), **how,
    )


def put_rows(
    values: DeviceRow, value_steps: tuple[int, int, int], elements: Indexed, out: DeviceRow, accumulate: bool,
    distinct: bool,
) -> None:  # fmt: skip
    """Write ``values``, which are read in ``value_steps``, to ``elements`` of a storage, or add them.

    Indices that are not in [-size, size) are reported.  See Note [Several values for one element] for indices that are
    not ``distinct``.

    Raises:
        RuntimeError: there are too few values.
    """
    if not elements.outer * elements.indices.size * elements.inner:
        return
    _check_indices(elements.indices, elements.size)
    check_values(values.size, value_steps, elements, elements.indices.size)
    if accumulate and not distinct:
        in_order = are_deterministic_algorithms_enabled()
        target, parts = (None, {}) if in_order else _shared(out, indexing.together)
        if target is None:
            _put_in_order(values, value_steps, elements, out, indexing.together)
        else:
            _put(values, value_steps, elements, target, out.dtype, **parts)
    elif accumulate:
        _put(values, value_steps, elements, out, out.dtype, put=indexing.add)
    elif not distinct and value_steps != (0, 0, 0) and are_deterministic_algorithms_enabled():
        _put_in_order(values, value_steps, elements, out, indexing.later)
    else:
        _overwrite(values, value_steps, elements, out)


def _shared(out: DeviceRow, together: Any) -> tuple[DeviceRow | None, dict[str, Any]]:
    """The row as several threads can put its elements together with values, or None if they cannot; and how."""
    part = _PARTS.get(out.dtype)
    if together is indexing.together and part is not None:
        return out.view(part), {"put": indexing.add_parts_together}
    if out.dtype not in _ATOMIC:
        return None, {}
    if together is indexing.together:
        return out, {"put": indexing.add_together}
    return out.view(WORDS[out.itemsize]), {"put": indexing.fold_together, "together": together}


def _overwrite(values: DeviceRow, value_steps: tuple[int, int, int], elements: Indexed, out: DeviceRow) -> None:
    """Write values to elements, as long words if they are of the storage's dtype."""
    if values.dtype != out.dtype:
        _put(values, value_steps, elements, out, out.dtype, put=indexing.put)
        return
    inner_steps = (elements.inner_step, value_steps[2]) if elements.inner > 1 else (1, 1)
    words = _Words(
        (values, out),
        (elements.start, elements.outer_step, elements.step, elements.inner, *value_steps[:2]), inner_steps,
    )
    changed = elements._replace(
        start=words.count(elements.start), outer_step=words.count(elements.outer_step), step=words.count(elements.step),
        inner_step=inner_steps[0], inner=words.count(elements.inner),
    )
    steps = words.count(value_steps[0]), words.count(value_steps[1]), inner_steps[1]
    _put(values.view(words.dtype), steps, changed, out.view(words.dtype), words.dtype, put=indexing.put)


def _put(
    values: DeviceRow, value_steps: tuple[int, int, int], elements: Indexed, out: DeviceRow, compute: np.dtype,
    **parts: Any,
) -> None:  # fmt: skip
    rows = elements.outer * elements.indices.size
    shift, how = _work(rows, elements.inner)
    launch(
        indexing.put_rows, compute, values, *value_steps, elements.start, elements.outer_step, elements.indices,
        elements.step, elements.size, elements.inner_step, rows, elements.indices.size, elements.inner, shift, out,
        report_row(out.device), **how, **parts,
    )


def _put_in_order(
    values: DeviceRow, value_steps: tuple[int, int, int], elements: Indexed, out: DeviceRow, together: Any
) -> None:
    """Write values to elements at indices that may be the same in the order of the indices."""
    count = elements.indices.size
    row = empty_row(count, INT64, out.device)
    launch(
        indexing.wrap_indices, INT64, elements.indices, count, elements.size, row, report_row(out.device),
        blocks=blocks_for(count),
    )
    _in_order(values, value_steps, elements._replace(indices=row), out, together)


def _in_order(
    values: DeviceRow, value_steps: tuple[int, int, int], elements: Indexed, out: DeviceRow, together: Any
) -> None:
    count = elements.indices.size
    rows = elements.outer * count
    found, order = sort_axis(elements.indices, 1, count, 1, False)
    shift, how = _work(rows, elements.inner)
    launch(
        indexing.put_in_order, out.dtype, values, *value_steps, elements.start, elements.outer_step, found, order,
        elements.step, elements.size, elements.inner_step, rows, count, elements.inner, shift, out, **how,
        together=together,
    )


def gather_axis(flat: DeviceRow, indices: DeviceRow, length: int, width: int, inner: int) -> DeviceRow:
    """The elements of (outer, length, inner) at indices of (outer, width, inner) on the middle axis.

    Where an index is not in [0, length), which is reported, the element is 0.

    Raises:
        RuntimeError: the sizes do not fit.
    """
    count = indices.size
    out = empty_row(count, flat.dtype, flat.device)
    if count:
        _check_indices(indices, length)
        check_sizes(count, count, flat.size, length, width)
        word = WORDS.get(flat.dtype.itemsize, flat.dtype)
        launch(
            indexing.gather_axis, word, flat.view(word), indices, count, length, width, inner, out.view(word),
            report_row(flat.device), blocks=blocks_for(count), **narrow(count),
        )
    return out


def scatter_axis(
    values: DeviceRow, indices: DeviceRow, out: DeviceRow, length: int, width: int, inner: int, mode: str
) -> None:
    """Write ``values`` (one for each index, or one for all) to ``out`` at the indices of (outer, width, inner).

    ``out`` is seen as (outer, length, inner); ``mode`` is "set", "add", "multiply", "amax" or "amin".  Indices that are
    not in [0, length) are reported.  See Note [Several values for one element].

    Raises:
        RuntimeError: the sizes do not fit.
    """
    sizes, together, overwrites = (length, width, inner), _TOGETHER[mode], mode == "set"
    count, step = indices.size, 0 if values.size == 1 else 1
    if not count:
        return
    _check_indices(indices, sizes[0])
    check_sizes(values.size, count, out.size, *sizes[:2])
    target: DeviceRow | None = out
    parts: dict[str, Any] = {"put": indexing.put}
    if are_deterministic_algorithms_enabled() and (step or not overwrites):
        target = None
    elif not overwrites:
        target, parts = _shared(out, together)
    how = {"blocks": blocks_for(count), **narrow(count)}
    report = report_row(out.device)
    if target is not None:
        launch(
            indexing.scatter_axis, out.dtype, values, step, indices, count, *sizes, target, report, **how, **parts
        )
        return
    offsets = empty_row(count, INT64, out.device)
    launch(indexing.scatter_offsets, INT64, indices, count, *sizes, out.size, offsets, report, **how)
    _in_order(values, (0, step, 0), Indexed(0, 0, offsets, 1, out.size, 1, 1, 1), out, together)
