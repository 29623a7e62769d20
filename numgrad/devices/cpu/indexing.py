"""Steps that read and write the elements at given indices.

The kernels skip indices that are out of bounds and report them.  The error is raised here, after the kernel.  So no
check precedes a kernel, and indices saved for a gradient may change.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import indexing
from numgrad_kernels.halves import passed

from ...core.layout import numel
from ..common import IndexSteps, OutOfBoundsError, negative_repeats, word_of
from ..memory import check_countable, reports_memory
from ..plan import Bounds, Buffer, Plan, Report
from ..recording import reads_values
from .launching import empty, launch

__all__ = [
    "check_bounds", "check_inside", "check_report", "counts", "distinct_indices", "flatnonzero", "fold_indices",
    "gather_axis", "nonzero_indices", "offsets", "outside", "put_rows", "repeated_indices", "scatter_axis", "take_rows",
    "triangle_indices",
]

INT64, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)

#: Approximate number of elements in a piece of parallel work.
PIECE = 4096

#: Bytes of a cache line, and greatest number of stripes.  Threads write to stripes of rows, multiples of a cache line.
LINE, STRIPES = 64, 8

MODES = {"set": 0, "add": 1, "multiply": 2}


class _Report(threading.local):
    """Memory in which the kernels of this thread note that an index is out of bounds."""

    def __init__(self) -> None:
        self.flag = np.zeros(1, _BOOL)


_report = _Report()


def check_report(report: np.ndarray, indices: np.ndarray, low: int, high: int, ignored: int | None = None) -> None:
    """Raise an error if a kernel has reported an index that is not in [low, high), nor ``ignored``.

    Raises:
        OutOfBoundsError: it has.
    """
    if report.item():
        report[0] = False  # the next kernel uses it again
        wrong = ~((indices >= low) & (indices < high))
        if ignored is not None:
            wrong &= indices != ignored
        first, *_ = indices[wrong].tolist() or ["that has changed meanwhile"]
        raise OutOfBoundsError(first, high)


def check_inside(indices: np.ndarray, low: int, high: int) -> None:
    """Raise an error unless all indices are in [low, high).

    Raises:
        OutOfBoundsError: an index is out of bounds.
    """
    check_report(np.array([outside(indices, low, high) is not None]), indices, low, high)


def outside(indices: np.ndarray, low: int, high: int, again: bool = False) -> int | None:
    """Return the first index that is not in [low, high), or None.

    ``again`` is True if the next kernel checks the indices as well.  A GPU then skips this check.
    """
    wrong = np.empty(-(-indices.size // indexing.PIECE), np.bool_)
    launch(indexing.find_outside, INT64, indices, low, high, wrong, size=indices.size)
    if not (wrong.item() if wrong.size == 1 else wrong.any()):
        return None
    return int(indices[(indices < low) | (indices >= high)][0])


def check_bounds(p: Plan, indices: Buffer, low: int, high: int) -> None:
    """Add the step that raises OutOfBoundsError unless all indices are in [low, high)."""
    p.call(check_inside, indices, low, high)


def fold_indices(p: Plan, indices: Sequence[Buffer], sizes: tuple[int, ...], dims: tuple[int, ...]) -> Buffer:
    """Return the buffer of flat indices over dimensions of ``sizes``, given indices in each dimension.

    A launch raises IndexError if an index is out of bounds.  ``dims`` are the numbers of the dimensions.
    """
    flat, count, wrong = indices[0], indices[0].size, p.new(2, _BOOL, zeroed=True)
    for number, size in enumerate(sizes[1:], 1):
        first, flat = flat, p.new(count, INT64)
        p.run(
            indexing.fold_indices, INT64, first, numel(sizes[:number]), indices[number], size, flat, wrong, work=count
        )
    p.check(_check_folded, wrong, sizes, dims, *indices)
    return flat


def _check_folded(wrong: np.ndarray, sizes: tuple[int, ...], dims: tuple[int, ...], *indices: np.ndarray) -> None:
    if True in wrong.tolist():
        for buffer, size, dim in zip(indices, sizes, dims, strict=True):
            index = outside(buffer, -size, size)
            if index is not None:
                raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")
        raise OutOfBoundsError("that has changed meanwhile", sizes[0])


def flatnonzero(p: Plan, x: Buffer) -> Buffer:
    """Return the buffer of the flat indices of the nonzero elements, in order."""
    return p.host(_flatnonzero, [p.unsized(INT64)], x)[0]


@reads_values("indexing with a mask")
@reports_memory
def _flatnonzero(array: np.ndarray) -> tuple[np.ndarray]:
    return (array.nonzero()[0].astype(INT64, copy=False),)


def repeated_indices(p: Plan, counts: Buffer) -> Buffer:
    """Return the buffer that contains the index of each count as many times as the count.

    A launch raises RuntimeError if a count is negative.
    """
    return p.host(_repeated_indices, [p.unsized(INT64)], counts)[0]


@reads_values("repeat_interleave() with a tensor of repeats")
@reports_memory
def _repeated_indices(counts: np.ndarray) -> tuple[np.ndarray]:
    if (counts < 0).any():
        raise negative_repeats(counts.size)
    check_countable((int(counts.sum(dtype=np.float64)),), INT64)  # a sum of integers could wrap around
    return (np.repeat(np.arange(counts.size), counts),)


def nonzero_indices(p: Plan, x: Buffer, shape: tuple[int, ...]) -> Buffer:
    """Return the buffer of the indices of the nonzero elements in the first dimension, then in each other dimension."""
    return p.host(_nonzero_indices, [p.unsized(INT64)], x, shape)[0]


@reads_values("nonzero()")
@reports_memory
def _nonzero_indices(x: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray]:
    count = int(np.count_nonzero(x))
    out = np.empty(len(shape) * count, INT64)
    launch(indexing.list_nonzero, x.dtype, x, _as_array(shape), count, out)
    return (out,)


@functools.lru_cache(maxsize=4096)
def _as_array(shape: tuple[int, ...]) -> np.ndarray:
    return np.array(shape, INT64)


@reports_memory
def triangle_indices(height: int, width: int, offset: int, upper: bool, type: Any) -> tuple[np.ndarray, int]:
    """Return the rows, then the columns, of the elements on and above (or below) a diagonal, and their number."""
    check_countable((height,), INT64)
    diagonal = np.arange(height) + offset
    first: Any = np.clip(diagonal, 0, width) if upper else 0
    lengths = width - first if upper else np.clip(diagonal + 1, 0, width)
    count = int(lengths.sum())
    out = empty((2, count), type)
    out[:count] = np.repeat(np.arange(height), lengths)
    out[count:] = np.arange(count) - np.repeat(lengths.cumsum() - lengths - first, lengths)
    return out, count


@reads_values("the gradient of index_fill() for a tensor")
def distinct_indices(indices: np.ndarray, size: int) -> np.ndarray:
    """Return the distinct indices, counted from the front."""
    return np.unique(np.where(indices < 0, indices + size, indices))


def counts(p: Plan, indices: Buffer, size: int) -> Buffer:
    """Return the buffer of the number of occurrences of each index below ``size``, or 1 if there is none.

    A launch raises OutOfBoundsError if an index is not in [0, size).
    """
    check_bounds(p, indices, 0, size)
    return p.host(_counts, [p.new(size, INT64)], indices, size)[0]


def _counts(indices: np.ndarray, size: int) -> tuple[np.ndarray]:
    return (np.maximum(np.bincount(indices, minlength=size), 1),)


def offsets(
    p: Plan, flat: Buffer, shape: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...],
    dims: tuple[int | tuple[int, int], ...],
) -> Buffer:  # fmt: skip
    """Return the buffer of offsets of flat indices, of ``shape``, over dimensions of ``sizes`` and strides ``steps``.

    Each entry of ``dims`` describes a dimension of the result: the number of a dimension of the indices, or the extent
    and the stride of a new dimension.  A launch raises OutOfBoundsError if an index is out of bounds.
    """
    total, count = numel(sizes), numel(tuple([shape[dim] if isinstance(dim, int) else dim[0] for dim in dims]))
    check_bounds(p, flat, -total, total)
    return p.host(_offsets, [p.new(count, INT64)], flat, shape, sizes, steps, dims)[0]


def _offsets(
    flat: np.ndarray, shape: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...],
    dims: tuple[int | tuple[int, int], ...],
) -> tuple[np.ndarray]:  # fmt: skip
    count = numel(sizes)
    flat = np.where(flat < 0, flat + count, flat)
    total = np.zeros(shape, INT64)
    if flat.size:
        for index, step in zip(np.unravel_index(flat, sizes) if sizes else (), steps, strict=True):
            total += index.reshape(shape) * step
    total = total.transpose([dim for dim in dims if isinstance(dim, int)])
    for axis, dim in enumerate(dims):
        if not isinstance(dim, int):
            total = np.expand_dims(total, axis)
            total = total + (np.arange(dim[0]) * dim[1]).reshape(-1, *[1] * (total.ndim - axis - 1))
    return (np.ascontiguousarray(total).reshape(-1),)


def _chunk(inner: int) -> int:
    return max(1, PIECE // max(inner, 1))


def _columns(inner: int, itemsize: int) -> int:
    """Return the width of the stripes of rows of ``inner`` elements."""
    line = max(LINE // itemsize, 1)
    return max(-(-inner // (STRIPES * line)) * line, 2 * line)


def take_rows(p: Plan, storage: Any, indices: Buffer, start: Any, steps: IndexSteps, low: int) -> Buffer:
    """Return the buffer of the elements of a storage at indices, with the strides ``steps`` from ``start`` on.

    A launch raises OutOfBoundsError if an index is not in [low, size).
    """
    outer_step, step, size, inner_step, outer, inner = steps
    total, word = outer * indices.size * inner, word_of(storage.dtype)
    out = p.new(total, storage.dtype)
    if not total:
        check_bounds(p, indices, low, size)
        return out
    p.run(
        indexing.take_rows, word, storage.view(word), start, outer_step, indices, step, low, size, inner_step,
        outer, inner, _chunk(inner), out.view(word), Report(), work=total, reports=Bounds(indices, low, size),
    )
    return out


def put_rows(
    p: Plan, values: Buffer, storage: Any, indices: Buffer, value_steps: tuple[int, int, int], start: Any,
    steps: IndexSteps, low: int, accumulate: bool, distinct: bool,
) -> None:  # fmt: skip
    """Add the step that writes values, with the strides ``value_steps``, to a storage at indices, or adds them.

    A launch raises OutOfBoundsError if an index is not in [low, size), before it writes.  Unless the indices are
    ``distinct``, values for equal indices are written in order.
    """
    dtype, count = storage.dtype, indices.size
    outer_step, step, size, inner_step, outer, inner = steps
    total = outer * count * inner
    if not total:
        check_bounds(p, indices, low, size)
        return
    chunk, columns = (_chunk(inner), inner) if distinct else (count, _columns(inner, dtype.itemsize))
    divisible = distinct or columns < inner or outer > 1  # among threads
    parts: dict[str, Any] = {"put": indexing.add} if accumulate else {}
    if not accumulate:
        dtype = passed(dtype)
        values, storage = values.view(dtype), storage.view(dtype)
    p.run(
        indexing.put_rows, dtype, values, *value_steps, start, outer_step, indices, step, low, size, inner_step, outer,
        inner, chunk, columns, storage, Report(), work=total if divisible else 0, reports=Bounds(indices, low, size),
        **parts,
    )


def gather_axis(p: Plan, x: Buffer, indices: Buffer, length: int, width: int, inner: int) -> Buffer:
    """Return the buffer of elements of (outer, length, inner) at indices of (outer, width, inner) on the middle axis.

    A launch raises OutOfBoundsError if an index is not in [0, length).
    """
    count, word = indices.size, word_of(x.dtype)
    out = p.new(count, x.dtype)
    if count and not x.size:
        check_bounds(p, indices, 0, length)  # the kernel loops over the elements of x
    elif count:
        p.run(
            indexing.gather_axis, word, x.view(word), indices, length, width, inner, _chunk(inner),
            out.view(word), Report(), work=count, reports=Bounds(indices, 0, length),
        )
    return out


def scatter_axis(
    p: Plan, values: Buffer, indices: Buffer, out: Buffer, length: int, width: int, inner: int, mode: str
) -> None:
    """Add the step that writes values to (outer, length, inner) at indices of (outer, width, inner) on the middle axis.

    There is one value for each index, or one for all.  A launch raises OutOfBoundsError if an index is not in
    [0, length), before it writes.  ``mode`` is "set", "add", "multiply", "amax" or "amin".
    """
    count, dtype = indices.size, out.dtype
    if mode == "set":
        dtype = passed(dtype)
        values, out = values.view(dtype), out.view(dtype)
    columns, step = _columns(inner, dtype.itemsize), int(values.size == count)
    extremes = mode in ("amax", "amin")
    code: Any = mode == "amax" if extremes else MODES[mode]
    parts: dict[str, Any] = {"combined": indexing.extreme} if extremes else {}
    if count and not out.size:
        check_bounds(p, indices, 0, length)
    elif count:
        p.run(
            indexing.scatter_axis, dtype, values, step, indices, length, width, inner, columns, code, out, Report(),
            work=count if out.size > length * min(inner, columns) else 0, reports=Bounds(indices, 0, length), **parts,
        )
