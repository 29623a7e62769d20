"""Steps that read and write the elements at given indices, on a GPU.

The kernels skip indices that are out of bounds and report them: see Note [Reports] in ``reports.py``.

Note [Several values for one element]
Several values for one element are added, multiplied or compared by atomic instructions, in an arbitrary order, or an
arbitrary one of them remains.  With ``use_deterministic_algorithms(True)``, and for elements without atomic
instructions (of less than 32 bits; products of complex numbers), the indices are sorted instead, and one thread
processes all values of an element in the order of the indices, as on the CPU.  So plans are discarded when that mode
changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda import indexing
from numgrad_kernels.halves import passed

from ...core.deterministic import are_deterministic_algorithms_enabled
from ..buffers import DeviceBuffer
from ..common import WORDS, IndexSteps, word_of
from ..plan import Buffer, Plan, Report
from .launching import INT64, THREADS, blocks_for, launch
from .reports import report_buffer
from .sorting import sort_axis

__all__ = [
    "check_bounds", "gather_axis", "outside", "put_rows", "scatter_axis", "take_rows",
]

#: The dtypes that have atomic instructions.
_ATOMIC = {np.dtype(name) for name in ("int32", "int64", "float32", "float64")}

_PARTS = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}

_TOGETHER = {
    "set": indexing.later, "add": indexing.together, "multiply": indexing.multiplied, "amax": indexing.larger,
    "amin": indexing.smaller,
}


def narrow(count: int) -> dict[str, Any]:
    """Return the part of a kernel that divides numbers up to ``count``."""
    return {"floor_divide": indexing.floor_divide32} if count < 1 << 32 else {}


def outside(indices: DeviceBuffer, low: int, high: int, again: bool = False) -> None:
    """Launch the kernel that reports an index not in [low, high), unless the next kernel checks indices ``again``.

    Return None: the host reads the report later.
    """
    if not again:
        count, report = indices.size, report_buffer(indices.device)
        launch(indexing.find_outside, INT64, indices, count, low, high, report, blocks=blocks_for(count))


def check_bounds(p: Plan, indices: Buffer, low: int, high: int) -> None:
    """Add the step that reports an index that is not in [low, high)."""
    note_outside(p, indices, low, high, Report())


def note_outside(p: Plan, indices: Buffer, low: int, high: int, report: Any) -> None:
    """Add the step that notes an index that is not in [low, high) in a report."""
    p.run(indexing.find_outside, INT64, indices, indices.size, low, high, report, work=indices.size)


def check_size(indices: DeviceBuffer, size: int) -> None:
    """Raise IndexError if there are indices of a dimension without elements."""
    if indices.size and not size:
        raise IndexError(f"index {indices.item(0)} is out of bounds for dimension with size 0")


def _shift(inner: int) -> int:
    """Return the ``shift`` of a kernel over rows of ``inner`` elements: ``1 << shift`` threads share a row."""
    return min(inner, THREADS).bit_length() - 1


class _Words:
    """Words in which elements are moved: the longest words that evenly divide all these numbers of elements."""

    def __init__(self, buffers: tuple[DeviceBuffer, ...], steps: tuple[int, ...], inner_steps: tuple[int, ...]):
        item = buffers[0].dtype.itemsize
        self.times, self.parts = 1, 1
        self.dtype = WORDS.get(item, buffers[0].dtype)
        if all(step == 1 for step in inner_steps):
            if item > 8:
                self.parts, self.dtype = item // 8, WORDS[8]
            for times in (8 // item, 4 // item, 2 // item):
                whole = all(step % times == 0 for step in steps) if times > 1 else False
                if whole and all(buffer.address % (times * item) == 0 for buffer in buffers):
                    self.times, self.dtype = times, WORDS[times * item]
                    break

    def count(self, elements: int) -> int:
        """Return the number of words of a number of elements."""
        return elements * self.parts // self.times

    def steps(self, steps: IndexSteps, inner_step: int) -> IndexSteps:
        """Return strides in words, ``inner_step`` in a row."""
        return steps._replace(
            outer_step=self.count(steps.outer_step), step=self.count(steps.step), inner_step=inner_step,
            inner=self.count(steps.inner),
        )


# -- rows -------------------------------------------------------------------------------------------------------------


def take_rows(p: Plan, storage: Any, indices: Buffer, start: Any, steps: IndexSteps, low: int) -> Buffer:
    """Return the buffer of the elements of a storage at indices, with the strides ``steps`` from ``start`` on.

    Indices that are not in [low, size) are reported, and read 0.
    """
    out = p.new(steps.outer * indices.size * steps.inner, storage.dtype)
    if out.size:
        p.call(_take, storage, start, indices, steps, low, out)
    else:
        check_bounds(p, indices, low, steps.size)
    return out


def _take(
    storage: DeviceBuffer, start: int, indices: DeviceBuffer, steps: IndexSteps, low: int, out: DeviceBuffer
) -> None:
    """Take elements, in words as long as addresses and strides allow."""
    rows = steps.outer * indices.size
    inner_step = steps.inner_step if steps.inner > 1 else 1
    check_size(indices, steps.size)
    words = _Words((storage, out), (start, steps.outer_step, steps.step, steps.inner), (inner_step,))
    outer_step, step, size, _, _, inner = words.steps(steps, inner_step)
    shift = _shift(inner)
    launch(
        indexing.take_rows, words.dtype, storage.view(words.dtype), words.count(start), outer_step, indices, step,
        low, size, inner_step, rows, indices.size, inner, shift, out.view(words.dtype), report_buffer(out.device),
        blocks=blocks_for(rows << shift), **narrow(rows),
    )


def put_rows(
    p: Plan, values: Buffer, storage: Any, indices: Buffer, value_steps: tuple[int, int, int], start: Any,
    steps: IndexSteps, low: int, accumulate: bool, distinct: bool,
) -> None:  # fmt: skip
    """Add the steps that write values, with the strides ``value_steps``, to a storage at indices, or add them.

    Indices that are not in [low, size) are reported.  See Note [Several values for one element] for indices that are
    not ``distinct``.
    """
    if not steps.outer * indices.size * steps.inner:
        check_bounds(p, indices, low, steps.size)
        return
    if not steps.size:
        p.call(check_size, indices, steps.size)
    if not accumulate:
        values, storage = values.view(passed(storage.dtype)), storage.view(passed(storage.dtype))
    operands = values, value_steps, start, indices, steps
    in_order = not distinct and are_deterministic_algorithms_enabled()
    if not accumulate and not (in_order and value_steps != (0, 0, 0)):
        p.call(_overwrite, *operands, low, storage)
    elif accumulate and distinct:
        _put(p, *operands, low, storage, storage.dtype, put=indexing.add)
    else:
        together = indexing.together if accumulate else indexing.later
        target, parts = (None, {}) if in_order else _atomic(storage, together)
        if target is None:
            if not low:
                check_bounds(p, indices, low, steps.size)
            _put_in_order(p, *operands, storage, together)
        else:
            _put(p, *operands, low, target, storage.dtype, **parts)


def _atomic(out: Any, together: Any) -> tuple[Any, dict[str, Any]]:
    """Return the output, viewed in the dtype of its atomic instructions, and the kernel parts that use them.

    Return None instead of the output if there are no such instructions.
    """
    part = _PARTS.get(out.dtype)
    if together is indexing.together and part is not None:
        return out.view(part), {"put": indexing.add_parts_together}
    if out.dtype not in _ATOMIC:
        return None, {}
    if together is indexing.together:
        return out, {"put": indexing.add_together}
    return out.view(WORDS[out.dtype.itemsize]), {"put": indexing.fold_together, "together": together}


def _overwrite(
    values: DeviceBuffer, value_steps: tuple[int, int, int], start: int, indices: DeviceBuffer, steps: IndexSteps,
    low: int, out: DeviceBuffer,
) -> None:  # fmt: skip
    """Write values to elements, in words as long as addresses and strides allow if both have the same dtype."""
    dtype = out.dtype
    if values.dtype == dtype:
        inner_steps = (steps.inner_step, value_steps[2]) if steps.inner > 1 else (1, 1)
        words = _Words(
            (values, out), (start, steps.outer_step, steps.step, steps.inner, *value_steps[:2]), inner_steps
        )
        dtype, start, steps = words.dtype, words.count(start), words.steps(steps, inner_steps[0])
        value_steps = words.count(value_steps[0]), words.count(value_steps[1]), inner_steps[1]
        values, out = values.view(dtype), out.view(dtype)
    operands, work = _put_operands(values, value_steps, start, (indices,), steps, out, low)
    launch(
        indexing.put_rows, dtype, *operands, report_buffer(out.device), blocks=blocks_for(work),
        **narrow(steps.outer * indices.size), put=indexing.put,
    )


def _put_operands(
    values: Any, value_steps: tuple[int, int, int], start: Any, indices: Sequence[Any], steps: IndexSteps, out: Any,
    *low: int,
) -> tuple[tuple[Any, ...], int]:  # fmt: skip
    """Return the operands of a kernel that writes values to elements at (sorted) indices, and its work."""
    outer_step, step, size, inner_step, outer, inner = steps
    count = indices[0].size
    rows, shift = outer * count, _shift(inner)
    operands = values, *value_steps, start, outer_step, *indices, step, *low, size, inner_step, rows
    return (*operands, count, inner, shift, out), rows << shift


def _put(
    p: Plan, values: Buffer, value_steps: tuple[int, int, int], start: Any, indices: Buffer, steps: IndexSteps,
    low: int, out: Any, compute: np.dtype, **parts: Any,
) -> None:  # fmt: skip
    """Add the step that writes values to elements."""
    operands, work = _put_operands(values, value_steps, start, (indices,), steps, out, low)
    parts |= narrow(steps.outer * indices.size)
    p.run(indexing.put_rows, compute, *operands, Report(), work=work, **parts)


def _put_in_order(
    p: Plan, values: Buffer, value_steps: tuple[int, int, int], start: Any, indices: Buffer, steps: IndexSteps,
    out: Any, together: Any,
) -> None:  # fmt: skip
    """Add the steps that write values to elements at indices that may repeat, in the order of the indices."""
    count = indices.size
    wrapped = p.new(count, INT64)
    p.run(indexing.wrap_indices, INT64, indices, count, steps.size, wrapped, Report(), work=count)
    _in_order(p, values, value_steps, start, wrapped, steps, out, together)


def _in_order(
    p: Plan, values: Buffer, value_steps: tuple[int, int, int], start: Any, indices: Buffer, steps: IndexSteps,
    out: Any, together: Any,
) -> None:  # fmt: skip
    ordered = sort_axis(p, indices, 1, indices.size, 1, False)
    operands, work = _put_operands(values, value_steps, start, ordered, steps, out)
    parts = narrow(steps.outer * indices.size)
    p.run(indexing.put_in_order, out.dtype, *operands, work=work, **parts, together=together)


# -- an index for each element ----------------------------------------------------------------------------------------


def gather_axis(p: Plan, x: Buffer, indices: Buffer, length: int, width: int, inner: int) -> Buffer:
    """Return the buffer of elements of (outer, length, inner) at indices of (outer, width, inner) on the middle axis.

    Indices that are not in [0, length) are reported, and read 0.
    """
    count, word = indices.size, word_of(x.dtype)
    out = p.new(count, x.dtype)
    if not length:
        p.call(check_size, indices, length)
    operands = x.view(word), indices, count, length, width, inner, out.view(word), Report()
    p.run(indexing.gather_axis, word, *operands, work=count, **narrow(count))
    return out


def scatter_axis(
    p: Plan, values: Buffer, indices: Buffer, out: Buffer, length: int, width: int, inner: int, mode: str
) -> None:
    """Add the steps that write values to (outer, length, inner) at indices of (outer, width, inner) on the middle axis.

    There is one value for each index, or one for all.  ``mode`` is "set", "add", "multiply", "amax" or "amin".
    Indices that are not in [0, length) are reported.  See Note [Several values for one element].
    """
    count, sizes, together, overwrites = indices.size, (length, width, inner), _TOGETHER[mode], mode == "set"
    if not count:
        return
    if overwrites:
        values, out = values.view(passed(out.dtype)), out.view(passed(out.dtype))
    if not length:
        p.call(check_size, indices, length)
    step = 0 if values.size == 1 else 1
    target, parts = (out, {"put": indexing.put}) if overwrites else _atomic(out, together)
    if are_deterministic_algorithms_enabled() and (step or not overwrites):
        target = None
    if target is not None:
        operands = values, step, indices, count, *sizes, target, Report()
        p.run(indexing.scatter_axis, out.dtype, *operands, work=count, **narrow(count), **parts)
        return
    offsets = p.new(count, INT64)
    located = indices, count, *sizes, out.size, offsets, Report()
    p.run(indexing.scatter_offsets, INT64, *located, work=count, **narrow(count))
    _in_order(p, values, (0, step, 0), 0, offsets, IndexSteps(0, 1, out.size, 1, 1, 1), out, together)
