"""Steps of sorting, and of functions of sorted elements, along the middle axis of (outer, length, inner).

NumPy sorts long lines, and a kernel short ones.  NaN is larger than all numbers.  Sorting is stable.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cpu import reductions, sorting
from numgrad_kernels.halves import WIDENING

from ..common import check_not_negative
from ..launches import by_numpy
from ..memory import check_countable, reports_memory
from ..plan import Buffer, Plan
from ..recording import reads_values
from .threads import PARALLEL_FROM

__all__ = [
    "bincount", "histogram", "kth_axis", "median_axis", "mode_axis", "search_rows", "sort_axis", "unique_slices",
]

_INT64 = np.dtype(np.int64)


def _lines(flat: np.ndarray, outer: int, length: int, inner: int) -> np.ndarray:
    """Return the elements with the axis last."""
    return flat.reshape(outer, length, inner).swapaxes(1, 2)


def _flat(lines: np.ndarray) -> np.ndarray:
    """Return the buffer of elements that have the axis last."""
    return np.ascontiguousarray(lines.swapaxes(1, 2)).reshape(-1)


def _order(lines: np.ndarray, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(lines, axis=-1, kind="stable")
    backwards = np.argsort(lines[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    return lines.shape[-1] - 1 - backwards


def _picked(lines: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the buffers of the elements at indices of (outer, inner, count), and of the indices."""
    return _flat(np.take_along_axis(lines, indices, -1)), _flat(indices)


#: Greatest number of elements of a line that a kernel sorts, or of which it finds one, faster than NumPy.
_FEW_TO_SORT, _FEW_TO_PICK = 64, 256

#: The same for sorting elements that are not adjacent, which may share few lines of the cache.
_FEW_APART = 16


def _pair(p: Plan, x: Buffer, size: int) -> tuple[Buffer, Buffer]:
    """Return new buffers of elements of the dtype of ``x``, and of their indices."""
    return p.new(size, x.dtype), p.new(size, _INT64)


def sort_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, descending: bool, count: int | None = None
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the sorted elements, or of the first ``count`` of them, and of their indices."""
    kept = length if count is None else count
    if x.dtype in WIDENING:
        wide, indices = sort_axis(p, p.widened(x), outer, length, inner, descending, count)
        narrow = p.new(wide.size, x.dtype)
        p.copy(wide, narrow)
        return narrow, indices
    results = _pair(p, x, outer * kept * inner)
    order = sorting.descending if descending else sorting.before
    work = x.size if outer * inner > 1 else 0
    few = length <= (_FEW_TO_SORT if inner == 1 else _FEW_APART)
    if kept < length and (few or kept <= length // 2):
        p.run(sorting.pick_first, x.dtype, x, length, inner, kept, *results, before=order, work=work)
    elif few and x.dtype.kind != "b":
        p.run(sorting.sort_lines, x.dtype, x, length, inner, *results, before=order, work=work)
    else:
        return p.host(_sorted, results, x, outer, length, inner, descending, kept)
    return results


@by_numpy("numpy.argsort")
def _sorted(
    flat: np.ndarray, outer: int, length: int, inner: int, descending: bool, kept: int
) -> tuple[np.ndarray, np.ndarray]:
    lines = _lines(flat, outer, length, inner)
    return _picked(lines, _order(lines, descending)[..., :kept])


def _first_indices(lines: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the index at which the value chosen for each line first occurs."""
    equal = (lines == values) | ((values != values) & (lines != lines))
    return equal.argmax(-1, keepdims=True)


def _pick(
    p: Plan, kernel: Any, by_numpy: Any, x: Buffer, outer: int, length: int, inner: int, *arguments: Any, **parts: Any
) -> tuple[Buffer, Buffer]:
    """Return the buffers of an element of each line, and of its index, by the kernel for few elements or by NumPy."""
    results = _pair(p, x, outer * inner)
    near = inner == 1 or length <= reductions.ROWS
    if not (near and 0 < length <= _FEW_TO_PICK and x.size < PARALLEL_FROM and x.dtype.kind != "b"):
        return p.host(by_numpy, results, x, outer, length, inner, *arguments)
    p.run(kernel, x.dtype, x, length, inner, *arguments, *results, **parts)
    return results


def kth_axis(p: Plan, x: Buffer, outer: int, length: int, inner: int, k: int) -> tuple[Buffer, Buffer]:
    """Return the buffers of the elements that follow ``k`` others in sorted order, and of their first indices."""
    return _pick(p, sorting.pick_ranked, _kth, x, outer, length, inner, k)


def median_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, past_nan: bool
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the lower medians, and of their first indices.

    The median of a line with a NaN is NaN, or with ``past_nan`` the median of the numbers.
    """
    if x.dtype.kind != "f":
        return kth_axis(p, x, outer, length, inner, (length - 1) // 2)
    return _pick(p, sorting.pick_ranked, _median, x, outer, length, inner, past_nan, rank=sorting.median_rank)


def mode_axis(p: Plan, x: Buffer, outer: int, length: int, inner: int) -> tuple[Buffer, Buffer]:
    """Return the buffers of the smallest of the most frequent elements, and of their last indices."""
    return _pick(p, sorting.pick_modes, _modes, x, outer, length, inner)


@by_numpy("numpy.partition")
def _kth(flat: np.ndarray, outer: int, length: int, inner: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    lines = _lines(flat, outer, length, inner)
    return _picked(lines, _first_indices(lines, np.partition(lines, k, -1)[..., k : k + 1]))


@by_numpy("numpy.sort")
def _median(flat: np.ndarray, outer: int, length: int, inner: int, past_nan: bool) -> tuple[np.ndarray, np.ndarray]:
    lines = _lines(flat, outer, length, inner)
    values = np.sort(lines, -1)  # NaN are last
    numbers = length - np.isnan(lines).sum(-1, keepdims=True)
    middle = np.maximum((numbers - 1) // 2, 0)
    if not past_nan:
        middle = np.where(numbers < length, length - 1, middle)
    return _picked(lines, _first_indices(lines, np.take_along_axis(values, middle, -1)))


@by_numpy("numpy.argsort")
def _modes(flat: np.ndarray, outer: int, length: int, inner: int) -> tuple[np.ndarray, np.ndarray]:
    lines = _lines(flat, outer, length, inner)
    order = _order(lines, False)
    values = np.take_along_axis(lines, order, -1)
    positions = np.arange(length)
    starts = np.ones(values.shape, bool)
    starts[..., 1:] = values[..., 1:] != values[..., :-1]
    run = positions - np.maximum.accumulate(np.where(starts, positions, 0), -1)  # number of equal elements before
    return _picked(lines, np.take_along_axis(order, run.argmax(-1, keepdims=True), -1))


# -- different elements -----------------------------------------------------------------------------------------


def unique_slices(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, consecutive: bool
) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers of the distinct slices along the middle axis, of the number of each slice among these, and of
    their counts.

    The distinct slices are in lexicographic order.  If ``consecutive``, they are the slices that differ from the slice
    before, in their order.  A NaN differs from every NaN.
    """
    results = p.unsized(x.dtype), p.new(length, _INT64), p.unsized(_INT64)
    if outer == inner == 1 and not consecutive:
        return p.host(_unique_elements, results, x)
    find = _consecutive_slices if consecutive else _unique_slices
    return p.host(find, results, x, outer, length, inner)


@reads_values("unique()")
@by_numpy("numpy.unique")
def _unique_elements(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values, inverse, counts = np.unique(flat, return_inverse=True, return_counts=True, equal_nan=False)
    return values, inverse.reshape(-1), counts


@reads_values("unique()")
@by_numpy("numpy.lexsort")
def _unique_slices(
    flat: np.ndarray, outer: int, length: int, inner: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    slices = _slices(flat, outer, length, inner)
    order = np.lexsort(slices.T[::-1]) if slices.shape[1] else np.arange(length)
    keep, number, counts = _runs(slices[order])
    inverse = np.empty(length, np.int64)
    inverse[order] = number
    return _joined(slices[order][keep], outer, inner), inverse, counts


@reads_values("unique_consecutive()")
def _consecutive_slices(
    flat: np.ndarray, outer: int, length: int, inner: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    slices = _slices(flat, outer, length, inner)
    keep, number, counts = _runs(slices)
    return _joined(slices[keep], outer, inner), number, counts


def _slices(flat: np.ndarray, outer: int, length: int, inner: int) -> np.ndarray:
    """Return the slices along the middle axis as the rows of a matrix."""
    return flat.reshape(outer, length, inner).swapaxes(0, 1).reshape(length, outer * inner)


def _runs(slices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return True for each row that differs from the row before, the number of its run, and the lengths of the runs."""
    keep = np.ones(len(slices), bool)
    keep[1:] = (slices[1:] != slices[:-1]).any(1)
    number = np.cumsum(keep) - 1
    return keep, number, np.bincount(number, minlength=0)


def _joined(slices: np.ndarray, outer: int, inner: int) -> np.ndarray:
    """Return the buffer of slices along the middle axis."""
    count = len(slices)
    return np.ascontiguousarray(slices.reshape(count, outer, inner).swapaxes(0, 1)).reshape(-1)


# -- searching and counting -------------------------------------------------------------------------------------


def search_rows(
    p: Plan, rows: Buffer, values: Buffer, length: int, count: int, right: bool, compute: np.dtype
) -> Buffer:
    """Return the buffer of the positions of ``count`` values in each sorted row, after equal elements if ``right``."""
    out = p.new(values.size, _INT64)
    p.run(sorting.search_rows, compute, rows, length, values, count, right, out, work=values.size)
    return out


def bincount(p: Plan, x: Buffer, weights: Buffer | None, minlength: int) -> Buffer:
    """Return the buffer of the number of occurrences of each number from 0 on, or of the sum of their weights.

    A launch raises RuntimeError if a number is negative.
    """
    return p.host(_bincount, [p.unsized(_INT64 if weights is None else weights.dtype)], x, weights, minlength)[0]


@reads_values("bincount()")
@reports_memory
def _bincount(flat: np.ndarray, weights: np.ndarray | None, minlength: int) -> tuple[np.ndarray]:
    check_not_negative(flat.min(initial=0), flat.size)
    check_countable((max(int(flat.max(initial=0)) + 1, minlength),), _INT64)
    counts = np.bincount(flat, weights, minlength)
    return (counts if weights is None else counts.astype(weights.dtype, copy=False),)


def histogram(p: Plan, x: Buffer, bins: int, low: Any, high: Any) -> Buffer:
    """Return the buffer of the number of elements in each of equally wide bins; the last bin includes ``high``."""
    return p.host(_histogram, [p.new(bins, x.dtype)], x, bins, low, high)[0]


#: Number of elements that are counted at a time, so that intermediate results stay in the cache.
_PIECE = 1 << 15


@reports_memory
def _histogram(flat: np.ndarray, bins: int, low: float, high: float) -> tuple[np.ndarray]:
    number, counts, count = flat.dtype.type, np.zeros(bins, np.int64), max(_PIECE, bins)
    for start in range(0, flat.size, count):
        piece = flat[start : start + count]
        scaled = piece[(piece >= low) & (piece <= high)]
        scaled -= number(low)
        scaled *= number(bins)
        scaled /= number(high - low)
        indices = scaled.astype(np.int64)
        counts += np.bincount(np.minimum(indices, bins - 1, out=indices), minlength=bins)
    return (counts.astype(flat.dtype),)
