"""Sorting and what rests on it, by NumPy: the middle axis of a row of elements seen as (outer, length, inner).

A kernel sorts short lines.  A NaN counts as larger than everything.  Equal elements stay in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import reductions, sorting

from ..launches import by_numpy
from ..memory import check_countable, reports_memory
from ..recording import by_host, reads_values
from .launching import bound
from .threads import PARALLEL_FROM

__all__ = [
    "bincount", "consecutive_rows", "histogram", "kth_axis", "median_axis", "mode_axis", "row_searcher",
    "sort_axis", "unique_elements", "unique_rows", "value_range",
]


def _lines(flat: np.ndarray, outer: int, length: int, inner: int) -> np.ndarray:
    """The elements with the axis last."""
    return flat.reshape(outer, length, inner).swapaxes(1, 2)


def _row(lines: np.ndarray) -> np.ndarray:
    """The elements with the axis last as one row with it in the middle again."""
    return np.ascontiguousarray(lines.swapaxes(1, 2)).reshape(-1)


def _order(lines: np.ndarray, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(lines, axis=-1, kind="stable")
    backwards = np.argsort(lines[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    return lines.shape[-1] - 1 - backwards


def _picked(lines: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The elements at indices of (outer, inner, count), and the indices, as rows."""
    return _row(np.take_along_axis(lines, indices, -1)), _row(indices)


def _is_small(outer: int, length: int, inner: int) -> bool:
    """Whether one kernel on one thread does all that there is to do for a row of these sizes."""
    return 0 < outer * length * inner < PARALLEL_FROM and (inner == 1 or length <= reductions.ROWS)


#: Elements of a line in order up to which it is quicker to put each one in among them.
_FEW = 64


def sort_axis(
    read: Any, source: np.dtype, outer: int, length: int, inner: int, descending: bool, count: int | None = None
) -> Callable[[Any], Any]:
    """What gives the sorted elements of tensors of one layout (see ``reductions``), or the first ``count`` of them,
    and where they stood.
    """
    kept = length if count is None else count
    if _is_small(outer, length, inner) and 0 < kept <= _FEW and source.kind != "b":
        outs = [(outer * kept * inner, source), (outer * kept * inner, np.dtype(np.int64))]
        order = sorting.descending if descending else sorting.before
        return bound(sorting.sort_lines, source, read, source, (length, inner, kept), outs, before=order)
    return lambda tensor: sorted_row(read(tensor), outer, length, inner, descending, count)


@by_host
@by_numpy("numpy.argsort")
def sorted_row(
    flat: np.ndarray, outer: int, length: int, inner: int, descending: bool, count: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The sorted elements of a row, or the first ``count`` of them, and where they stood."""
    lines = _lines(flat, outer, length, inner)
    return _picked(lines, _order(lines, descending)[..., :count])


def _first_indices(lines: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Where the value of each line stands first."""
    equal = (lines == values) | ((values != values) & (lines != lines))
    return equal.argmax(-1, keepdims=True)


def _picker(
    few: Any, by_row: Any, read: Any, source: np.dtype, outer: int, length: int, inner: int, *arguments: Any,
    **parts: Any,
) -> Callable[[Any], Any]:
    """What gives an element of each line, and where it stands: by the kernel for lines of few elements, or by NumPy."""
    if _is_small(outer, length, inner) and length <= _FEW and source.kind != "b":
        outs = [(outer * inner, source), (outer * inner, np.dtype(np.int64))]
        return bound(few, source, read, source, (length, inner, *arguments), outs, **parts)
    return lambda tensor: by_row(_lines(read(tensor), outer, length, inner), *arguments)


def kth_axis(read: Any, source: np.dtype, outer: int, length: int, inner: int, k: int) -> Callable[[Any], Any]:
    """What gives the elements that ``k`` others come before, and where they first stand."""
    return _picker(sorting.pick_ranked, _kth, read, source, outer, length, inner, k)


def median_axis(
    read: Any, source: np.dtype, outer: int, length: int, inner: int, past_nan: bool
) -> Callable[[Any], Any]:
    """What gives the lower of the middle elements, and where they first stand; with ``past_nan`` of those that are not
    NaN.  Otherwise a NaN is the median of the line that it stands on.
    """
    if source.kind != "f":
        return kth_axis(read, source, outer, length, inner, (length - 1) // 2)
    return _picker(
        sorting.pick_ranked, _median, read, source, outer, length, inner, past_nan, rank=sorting.median_rank
    )


def mode_axis(read: Any, source: np.dtype, outer: int, length: int, inner: int) -> Callable[[Any], Any]:
    """What gives the smallest of the most frequent elements, and where they last stand."""
    return _picker(sorting.pick_modes, _modes, read, source, outer, length, inner)


@by_host
@by_numpy("numpy.partition")
def _kth(lines: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    return _picked(lines, _first_indices(lines, np.partition(lines, k, -1)[..., k : k + 1]))


@by_host
@by_numpy("numpy.sort")
def _median(lines: np.ndarray, past_nan: bool) -> tuple[np.ndarray, np.ndarray]:
    values, length = np.sort(lines, -1), lines.shape[-1]  # any NaN last
    numbers = length - np.isnan(lines).sum(-1, keepdims=True)
    middle = np.maximum((numbers - 1) // 2, 0)
    if not past_nan:
        middle = np.where(numbers < length, length - 1, middle)
    return _picked(lines, _first_indices(lines, np.take_along_axis(values, middle, -1)))


@by_host
@by_numpy("numpy.argsort")
def _modes(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = _order(lines, False)
    values = np.take_along_axis(lines, order, -1)
    positions = np.arange(lines.shape[-1])
    starts = np.ones(values.shape, bool)
    starts[..., 1:] = values[..., 1:] != values[..., :-1]
    run = positions - np.maximum.accumulate(np.where(starts, positions, 0), -1)  # equal ones before it
    return _picked(lines, np.take_along_axis(order, run.argmax(-1, keepdims=True), -1))


# -- different elements -----------------------------------------------------------------------------------------


@reads_values("unique()")
@by_numpy("numpy.unique")
def unique_elements(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different elements, sorted; for each element which it is; how many there are.  No NaN equals another."""
    values, inverse, counts = np.unique(flat, return_inverse=True, return_counts=True, equal_nan=False)
    return values, inverse.reshape(-1), counts


@reads_values("unique()")
@by_numpy("numpy.lexsort")
def unique_rows(
    flat: np.ndarray, outer: int, length: int, inner: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for the slices along the middle axis, sorted by their elements in turn."""
    slices = flat.reshape(outer, length, inner).swapaxes(0, 1).reshape(length, outer * inner)
    order = np.lexsort(slices.T[::-1]) if slices.shape[1] else np.arange(length)
    keep, number, counts = _runs(slices[order])
    inverse = np.empty(length, np.int64)
    inverse[order] = number
    return _joined(slices[order][keep], outer, inner), inverse, counts


@reads_values("unique_consecutive()")
def consecutive_rows(
    flat: np.ndarray, outer: int, length: int, inner: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The slices along the middle axis that differ from the one before; for each slice which; how many in a row."""
    slices = flat.reshape(outer, length, inner).swapaxes(0, 1).reshape(length, outer * inner)
    keep, number, counts = _runs(slices)
    return _joined(slices[keep], outer, inner), number, counts


def _runs(slices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which rows differ from the one before, the number of each one's run, and the runs' lengths."""
    keep = np.ones(len(slices), bool)
    keep[1:] = (slices[1:] != slices[:-1]).any(1)
    number = np.cumsum(keep) - 1
    return keep, number, np.bincount(number, minlength=0)


def _joined(slices: np.ndarray, outer: int, inner: int) -> np.ndarray:
    """Slices as the row that they are taken from."""
    count = len(slices)
    return np.ascontiguousarray(slices.reshape(count, outer, inner).swapaxes(0, 1)).reshape(-1)


_INT64 = np.dtype(np.int64)


def row_searcher(
    rows: Any, values: Any, size: int, length: int, count: int, right: bool, compute: np.dtype
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """What says where ``size`` values, ``count`` to each sorted row of ``length``, belong, after equals if ``right``.

    The rows and the values are of these types.
    """
    given = length, values.numpy, count, right
    return bound(sorting.search_rows, compute, None, rows.numpy, given, [(size, _INT64)], size)


@reads_values("a range that is that of the elements")
def value_range(flat: np.ndarray) -> tuple[Any, Any]:
    """The smallest and the largest element as Python numbers; NaN if there is one."""
    return flat.min().item(), flat.max().item()


@reads_values("bincount()")
@reports_memory
def bincount(flat: np.ndarray, weights: np.ndarray | None, minlength: int) -> np.ndarray | None:
    """How often each number from 0 occurs, or the sum of the weights where it does; None if a number is negative."""
    if (flat < 0).any():
        return None
    check_countable((max(int(flat.max(initial=0)) + 1, minlength),), _INT64)
    counts = np.bincount(flat, weights, minlength)
    return counts if weights is None or weights.dtype != np.float32 else counts.astype(np.float32)


@by_host
@reports_memory
def histogram(flat: np.ndarray, bins: int, low: float, high: float) -> np.ndarray:
    """How many elements there are in each of equally wide bins; the last one takes ``high``, too."""
    check_countable((bins,), _INT64)
    number = flat.dtype.type
    kept = flat[(flat >= low) & (flat <= high)]
    found = ((kept - number(low)) * number(bins) / number(high - low)).astype(np.int64)
    return np.bincount(np.minimum(found, bins - 1), minlength=bins).astype(flat.dtype)
