"""Reading and writing the elements at given indices, on a GPU.

The kernels follow no index that leads outside, but report it: see Note [Reports] in ``reports.py``.

Note [Several values for one element]
Where several values go to one element they are added, multiplied or compared with atomic instructions, in whichever
order comes about, or any of them is the one that stays.  With ``use_deterministic_algorithms(True)``, and for elements
that there are no such instructions for (less than 32 bits; products of complex numbers), the indices are sorted
instead, and one thread takes all values for an element in the order of the indices, as on the CPU.  So plans are
forgotten when that mode changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cuda import indexing

from ...core.deterministic import are_deterministic_algorithms_enabled
from ..common import WORDS, Steps, word_of
from ..plan import Buffer, Plan, Report
from ..rows import DeviceRow
from .launching import INT64, THREADS, blocks_for, launch
from .reports import report_row
from .sorting import sort_axis

__all__ = [
    "check_bounds", "gather_axis", "outside", "put_rows", "scatter_axis", "take_rows",
]

#: The dtypes that there are atomic instructions for.
_ATOMIC = {np.dtype(name) for name in ("int32", "int64", "float32", "float64")}

_PARTS = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}

_TOGETHER = {
    "set": indexing.later, "add": indexing.together, "multiply": indexing.multiplied, "amax": indexing.larger,
    "amin": indexing.smaller,
}


def narrow(count: int) -> dict[str, Any]:
    """The kernel's part that divides numbers up to ``count``."""
    return {"floor_divide": indexing.floor_divide32} if count < 1 << 32 else {}


def outside(indices: DeviceRow, low: int, high: int, again: bool = False) -> None:
    """Have the GPU look whether all indices are in [low, high), which it reports later if not; returns None.

    Nothing is done if what uses the indices looks at them ``again``.
    """
    if not again:
        count, report = indices.size, report_row(indices.device)
        launch(indexing.find_outside, INT64, indices, count, low, high, report, blocks=blocks_for(count))


def check_bounds(p: Plan, indices: Buffer, low: int, high: int) -> None:
    """Have an index that is not in [low, high) reported."""
    note_outside(p, indices, low, high, Report())


def note_outside(p: Plan, indices: Buffer, low: int, high: int, report: Any) -> None:
    """Have an index that is not in [low, high) noted in a report."""
    count = indices.size
    p.run(indexing.find_outside, INT64, indices, count, low, high, report, grid=(blocks_for(count), THREADS))


def check_size(indices: DeviceRow, size: int) -> None:
    """Raise IndexError for indices of a dimension that has no element."""
    if indices.size and not size:
        raise IndexError(f"index {indices.item(0)} is out of bounds for dimension with size 0")


def _work(rows: int, inner: int) -> tuple[int, dict[str, Any]]:
    """The ``shift`` of a kernel over rows of ``inner`` elements, with its blocks and how it divides."""
    shift = min(inner, THREADS).bit_length() - 1
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

    def steps(self, steps: Steps, inner_step: int) -> Steps:
        """Steps in words, whose neighbours in a row are so far apart."""
        return steps._replace(
            outer_step=self.count(steps.outer_step), step=self.count(steps.step), inner_step=inner_step,
            inner=self.count(steps.inner),
        )


# -- rows -------------------------------------------------------------------------------------------------------------


def take_rows(p: Plan, storage: Any, indices: Buffer, start: Any, steps: Steps, low: int) -> Buffer:
    """The elements of a storage at indices, with these steps from ``start`` on.

    Indices that are not in [low, size) are reported; what they would read is 0.
    """
    out = p.new(steps.outer * indices.size * steps.inner, storage.dtype)
    if not low or not out.size:
        check_bounds(p, indices, low, steps.size)
    if out.size:
        p.call(_take, storage, start, indices, steps, out)
    return out


def _take(storage: DeviceRow, start: int, indices: DeviceRow, steps: Steps, out: DeviceRow) -> None:
    """Take elements, as words as long as addresses and steps allow."""
    rows = steps.outer * indices.size
    inner_step = steps.inner_step if steps.inner > 1 else 1
    check_size(indices, steps.size)
    words = _Words((storage, out), (start, steps.outer_step, steps.step, steps.inner), (inner_step,))
    outer_step, step, size, _, _, inner = words.steps(steps, inner_step)
    shift, how = _work(rows, inner)
    launch(
        indexing.take_rows, words.dtype, storage.view(words.dtype), words.count(start), outer_step, indices, step,
        size, inner_step, rows, indices.size, inner, shift, out.view(words.dtype), report_row(out.device), **how,
    )


def put_rows(
    p: Plan, values: Buffer, storage: Any, indices: Buffer, value_steps: tuple[int, int, int], start: Any, steps: Steps,
    low: int, accumulate: bool, distinct: bool,
) -> None:  # fmt: skip
    """Write values, read in ``value_steps``, into a storage at indices, or add them.

    Indices that are not in [low, size) are reported.  See Note [Several values for one element] for indices that are
    not ``distinct``.
    """
    if not low:
        check_bounds(p, indices, low, steps.size)
    if not steps.outer * indices.size * steps.inner:
        return
    if not steps.size:
        p.call(check_size, indices, steps.size)
    given = values, value_steps, start, indices, steps
    in_order = not distinct and are_deterministic_algorithms_enabled()
    if not accumulate and not (in_order and value_steps != (0, 0, 0)):
        p.call(_overwrite, *given, storage)
    elif accumulate and distinct:
        _put(p, *given, storage, storage.dtype, put=indexing.add)
    else:
        together = indexing.together if accumulate else indexing.later
        target, parts = (None, {}) if in_order else _shared(storage, together)
        if target is None:
            _put_in_order(p, *given, storage, together)
        else:
            _put(p, *given, target, storage.dtype, **parts)


def _shared(out: Any, together: Any) -> tuple[Any, dict[str, Any]]:
    """Memory as several threads can put its elements together with values, or None if they cannot; and how."""
    part = _PARTS.get(out.dtype)
    if together is indexing.together and part is not None:
        return out._replace(dtype=part), {"put": indexing.add_parts_together}
    if out.dtype not in _ATOMIC:
        return None, {}
    if together is indexing.together:
        return out, {"put": indexing.add_together}
    return out._replace(dtype=WORDS[out.dtype.itemsize]), {"put": indexing.fold_together, "together": together}


def _overwrite(
    values: DeviceRow, value_steps: tuple[int, int, int], start: int, indices: DeviceRow, steps: Steps, out: DeviceRow
) -> None:
    """Write values to elements, as words as long as addresses and steps allow if they are of the storage's dtype."""
    dtype = out.dtype
    if values.dtype == dtype:
        inner_steps = (steps.inner_step, value_steps[2]) if steps.inner > 1 else (1, 1)
        words = _Words(
            (values, out), (start, steps.outer_step, steps.step, steps.inner, *value_steps[:2]), inner_steps
        )
        dtype, start, steps = words.dtype, words.count(start), words.steps(steps, inner_steps[0])
        value_steps = words.count(value_steps[0]), words.count(value_steps[1]), inner_steps[1]
        values, out = values.view(dtype), out.view(dtype)
    operands, blocks, parts = _putting(values, value_steps, start, indices, steps, out)
    launch(indexing.put_rows, dtype, *operands, report_row(out.device), blocks=blocks, **parts, put=indexing.put)


def _putting(
    values: Any, value_steps: tuple[int, int, int], start: Any, indices: Any, steps: Steps, out: Any
) -> tuple[tuple[Any, ...], int, dict[str, Any]]:
    """The operands of a kernel that writes values to elements, its blocks, and how it divides."""
    outer_step, step, size, inner_step, outer, inner = steps
    rows = outer * indices.size
    shift, how = _work(rows, inner)
    operands = (
        values, *value_steps, start, outer_step, indices, step, size, inner_step, rows, indices.size, inner, shift, out
    )
    return operands, how.pop("blocks"), how


def _put(
    p: Plan, values: Buffer, value_steps: tuple[int, int, int], start: Any, indices: Buffer, steps: Steps, out: Any,
    compute: np.dtype, **parts: Any,
) -> None:  # fmt: skip
    """Add the step that writes values to elements."""
    operands, blocks, how = _putting(values, value_steps, start, indices, steps, out)
    p.run(indexing.put_rows, compute, *operands, Report(), grid=(blocks, THREADS), **how, **parts)


def _put_in_order(
    p: Plan, values: Buffer, value_steps: tuple[int, int, int], start: Any, indices: Buffer, steps: Steps, out: Any,
    together: Any,
) -> None:  # fmt: skip
    """Add steps that write values to elements at indices that may be the same in the order of the indices."""
    count = indices.size
    own = p.new(count, INT64)
    p.run(
        indexing.wrap_indices, INT64, indices, count, steps.size, own, Report(), grid=(blocks_for(count), THREADS)
    )
    _in_order(p, values, value_steps, start, own, steps, out, together)


def _in_order(
    p: Plan, values: Buffer, value_steps: tuple[int, int, int], start: Any, indices: Buffer, steps: Steps, out: Any,
    together: Any,
) -> None:  # fmt: skip
    outer_step, step, size, inner_step, outer, inner = steps
    count = indices.size
    rows = outer * count
    found, order = sort_axis(p, indices, 1, count, 1, False)
    shift, how = _work(rows, inner)
    p.run(
        indexing.put_in_order, out.dtype, values, *value_steps, start, outer_step, found, order, step, size, inner_step,
        rows, count, inner, shift, out, grid=(how.pop("blocks"), THREADS), **how, together=together,
    )


# -- an index for each element ----------------------------------------------------------------------------------------


def gather_axis(p: Plan, x: Buffer, indices: Buffer, length: int, width: int, inner: int) -> Buffer:
    """The elements of (outer, length, inner) at indices of (outer, width, inner) on that axis.

    Where an index is not in [0, length), which is reported, the element is 0.
    """
    count, word = indices.size, word_of(x.dtype)
    out = p.new(count, x.dtype)
    if not length:
        p.call(check_size, indices, length)
    p.run(
        indexing.gather_axis, word, x.view(word), indices, count, length, width, inner, out.view(word), Report(),
        grid=(blocks_for(count), THREADS), **narrow(count),
    )
    return out


def scatter_axis(
    p: Plan, values: Buffer, indices: Buffer, out: Buffer, length: int, width: int, inner: int, mode: str
) -> None:
    """Write values to (outer, length, inner) at indices of (outer, width, inner) on that axis.

    There is one value for each index, or a single one for all; ``mode`` is "set", "add", "multiply", "amax" or "amin".
    Indices that are not in [0, length) are reported.  See Note [Several values for one element].
    """
    count, sizes, together, overwrites = indices.size, (length, width, inner), _TOGETHER[mode], mode == "set"
    if not count:
        return
    if not length:
        p.call(check_size, indices, length)
    step = 0 if values.size == 1 else 1
    how = {"grid": (blocks_for(count), THREADS), **narrow(count)}
    target, parts = (out, {"put": indexing.put}) if overwrites else _shared(out, together)
    if are_deterministic_algorithms_enabled() and (step or not overwrites):
        target = None
    if target is not None:
        p.run(indexing.scatter_axis, out.dtype, values, step, indices, count, *sizes, target, Report(), **how, **parts)
        return
    offsets = p.new(count, INT64)
    p.run(indexing.scatter_offsets, INT64, indices, count, *sizes, out.size, offsets, Report(), **how)
    _in_order(p, values, (0, step, 0), 0, offsets, Steps(0, 1, out.size, 1, 1, 1), out, together)
