"""Reading and writing at places given by indices.

The kernels follow no index that leads outside, but report it, and an IndexError is raised here: indices that were in
bounds when an operation was called, and when they were saved for its gradient, may have been changed since.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from numgrad_kernels.cpu import indexing

from ..memory import check_countable, empty_row, reports_memory, zero_row
from .launching import empty, launch

__all__ = [
    "Places", "check_inside", "check_report", "coordinates", "counts", "distinct_places", "fold_indices",
    "gather_axis", "new_report", "nonzero_places", "nonzero_rows", "offsets", "outside", "put_rows", "repeated_places",
    "scatter_axis", "scatter_extremes", "take_rows", "triangle_rows",
]

INT64, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)

#: Elements that one piece of parallel work is about.
PIECE = 4096

#: Threads write to stripes of rows, multiples of a cache line's bytes; there are no more stripes than these.
LINE, STRIPES = 64, 8

MODES = {"set": 0, "add": 1, "multiply": 2}


class Places(NamedTuple):
    """Where the elements at given places lie in a storage, as (outer, places, inner); see the kernels."""

    start: int
    outer_step: int
    row: Any  # of int64, on the device of the storage
    step: int
    size: int
    inner_step: int
    outer: int
    inner: int


def new_report() -> np.ndarray:
    """What a kernel gets to say that an index leads outside."""
    return np.zeros(1, _BOOL)


def check_report(report: np.ndarray, indices: np.ndarray, low: int, high: int, ignored: int | None = None) -> None:
    """Raise if a kernel has met an index that is not in [low, high), nor ``ignored``.

    Raises:
        IndexError: it has.
    """
    if report.item():
        wrong = ~((indices >= low) & (indices < high))
        if ignored is not None:
            wrong &= indices != ignored
        found = indices[wrong].tolist() or ["that has changed meanwhile"]
        raise IndexError(f"index {found[0]} is out of bounds for dimension with size {high}")


def check_inside(indices: np.ndarray, low: int, high: int) -> None:
    """Raise unless all indices are in [low, high).

    Raises:
        IndexError: one is not.
    """
    check_report(np.array([outside(indices, low, high) is not None]), indices, low, high)


def _check_indices(indices: np.ndarray, size: int) -> None:
    if indices.dtype != INT64:
        raise IndexError(f"indices must be int64, not {indices.dtype}")
    if not size:
        raise IndexError(f"index {indices[0]} is out of bounds for dimension with size 0")


def _check_sizes(count: int, indices: np.ndarray, row: np.ndarray, length: int, width: int) -> None:
    """Raise unless ``count`` values go with indices of (outer, width, inner) to a row of (outer, length, inner).

    Raises:
        IndexError: the indices are not int64, or there is no element.
        RuntimeError: there are more or fewer of them.
    """
    _check_indices(indices, length)
    if indices.size * length != row.size * width or count not in (1, indices.size):
        raise RuntimeError(
            f"shape mismatch: {indices.size} indices, {width} along the dimension, of {row.size} elements, {length} "
            f"along it, and {count} values"
        )


def outside(indices: np.ndarray, low: int, high: int, again: bool = False) -> int | None:
    """The first index that is not in [low, high), or None.

    ``again`` says that what uses the indices looks at them as well: a GPU, which reports what it finds, then leaves it
    at that.
    """
    found = np.empty(-(-indices.size // indexing.PIECE), np.bool_)
    launch(indexing.find_outside, INT64, indices, low, high, found, size=indices.size)
    if not (found.item() if found.size == 1 else found.any()):
        return None
    return int(indices[(indices < low) | (indices >= high)][0])


def fold_indices(count: int, indices: list[tuple[np.ndarray, int]]) -> np.ndarray:
    """``count`` places counted over several dimensions: of each the indices, a row, and the size."""
    places = zero_row(count, INT64)
    for row, size in indices:
        launch(indexing.fold_indices, INT64, row, size, places, size=count)
    return places


def coordinates(places: np.ndarray, shape: tuple[int, ...]) -> list[np.ndarray]:
    """The index in each dimension of places counted over a tensor of ``shape``, one contiguous array for each."""
    if not places.size or not shape:
        return [places] * len(shape)
    return [np.ascontiguousarray(indices) for indices in np.unravel_index(places, shape)]


@reports_memory
def nonzero_places(array: np.ndarray) -> np.ndarray:
    """The places of the elements that are not zero, counted in row-major order."""
    return np.flatnonzero(array).astype(INT64, copy=False)


@reports_memory
def repeated_places(counts: np.ndarray) -> np.ndarray | None:
    """The place of each count as often as it says; None if one is negative."""
    if (counts < 0).any():
        return None
    check_countable((int(counts.sum()),), INT64)
    return np.repeat(np.arange(counts.size), counts)


def nonzero_rows(row: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """For each dimension the indices of the elements that are not zero, one after the other, and how many there are."""
    places = nonzero_places(row)
    rows = np.empty((len(shape), places.size), INT64)
    for dim, indices in enumerate(coordinates(places, shape)):
        rows[dim] = indices
    return rows.reshape(-1), places.size


@reports_memory
def triangle_rows(height: int, width: int, offset: int, upper: bool, type: Any) -> tuple[np.ndarray, int]:
    """The rows, then the columns, of the elements of a matrix above, or below, a diagonal and on it; and how many."""
    diagonal = np.arange(height) + offset
    first: Any = np.clip(diagonal, 0, width) if upper else 0
    lengths = width - first if upper else np.clip(diagonal + 1, 0, width)
    count = int(lengths.sum())
    out = empty((2, count), type)
    out[:count] = np.repeat(np.arange(height), lengths)
    out[count:] = np.arange(count) - np.repeat(lengths.cumsum() - lengths - first, lengths)
    return out, count


def distinct_places(places: np.ndarray, size: int) -> np.ndarray:
    """The places without repetitions, counted from the front."""
    return np.unique(np.where(places < 0, places + size, places))


def counts(places: np.ndarray, size: int) -> np.ndarray:
    """How often each of ``size`` places is named, 1 for one that is not.

    Raises:
        IndexError: a place is not in [0, size).
    """
    check_inside(places, 0, size)
    return np.maximum(np.bincount(places, minlength=size), 1)


def offsets(
    places: np.ndarray, shape: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...],
    dims: tuple[int | tuple[int, int], ...],
) -> np.ndarray:  # fmt: skip
    """Offsets of places of ``shape`` counted over dimensions of ``sizes``, which are stepped through by ``steps``.

    ``dims`` are the dimensions of the result, a row: dimensions of the places, by number, and others (extent, step).

    Raises:
        IndexError: a place is out of bounds.
    """
    count = int(np.prod(sizes))
    check_inside(places, -count, count)
    places = np.where(places < 0, places + count, places)
    total = np.zeros(shape, INT64)
    for index, step in zip(coordinates(places, sizes), steps, strict=True):
        total += index.reshape(shape) * step
    total = total.transpose([dim for dim in dims if isinstance(dim, int)])
    for axis, dim in enumerate(dims):
        if not isinstance(dim, int):
            total = np.expand_dims(total, axis)
            total = total + (np.arange(dim[0]) * dim[1]).reshape(-1, *[1] * (total.ndim - axis - 1))
    return np.ascontiguousarray(total).reshape(-1)


def _bits(row: np.ndarray) -> np.ndarray:
    """The same elements as unsigned integers of their length: moving them needs no other kernels."""
    return row if row.dtype.itemsize > 8 else row.view(f"u{row.dtype.itemsize}")


def _chunk(inner: int) -> int:
    return max(1, PIECE // max(inner, 1))


def _columns(inner: int, itemsize: int) -> int:
    """The width of the stripes of rows of ``inner`` elements."""
    line = max(LINE // itemsize, 1)
    return max(-(-inner // (STRIPES * line)) * line, 2 * line)


def take_rows(x: np.ndarray, places: Places, out: np.ndarray) -> None:
    """Read a storage at ``places`` into the row ``out``.

    Raises:
        IndexError: a place is not in [-size, size).
    """
    if not out.size:
        return
    _check_indices(places.row, places.size)
    x, out, report = _bits(x), _bits(out), new_report()
    chunk = _chunk(places.inner)
    launch(indexing.take_rows, x.dtype, x, *places, chunk, out, report, size=out.size)
    check_report(report, places.row, -places.size, places.size)


def check_values(available: int, value_steps: tuple[int, int, int], places: Places) -> None:
    """Raise unless there are as many values as ``put_rows`` reads in ``value_steps``, on whatever device.

    Raises:
        RuntimeError: there are too few.
    """
    outer, count, inner = places.outer, places.row.size, places.inner
    last = (outer - 1) * value_steps[0] + (count - 1) * value_steps[1] + (inner - 1) * value_steps[2]
    if last >= available:
        size = outer * count * inner
        raise RuntimeError(f"shape mismatch: {available} values for {size} elements at {count} indices")


def put_rows(
    values: np.ndarray, value_steps: tuple[int, int, int], places: Places, out: np.ndarray, accumulate: bool,
    distinct: bool,
) -> None:  # fmt: skip
    """Write ``values``, which are read in ``value_steps``, into a storage at ``places``, or add them.

    Unless the places are ``distinct``, those that are the same are written to in their order.

    Raises:
        IndexError: a place is not in [-size, size).
        RuntimeError: there are too few values.
    """
    count, inner = places.row.size, places.inner
    size = places.outer * count * inner
    if not size:
        return
    _check_indices(places.row, places.size)
    check_values(values.size, value_steps, places)
    chunk, columns = (_chunk(inner), inner) if distinct else (count, _columns(inner, out.dtype.itemsize))
    if not distinct and columns >= inner and places.outer == 1:
        size = 0  # there is nothing to share among threads
    report = new_report()
    launch(
        indexing.put_rows, out.dtype, values, *value_steps, *places, chunk, columns, accumulate, out, report, size=size
    )
    check_report(report, places.row, -places.size, places.size)


def gather_axis(
    flat: np.ndarray, indices: np.ndarray, length: int, width: int, inner: int
) -> np.ndarray:
    """The elements of (outer, length, inner) at indices of (outer, width, inner) on the middle axis.

    Raises:
        IndexError: an index is not in [0, length).
        RuntimeError: the sizes do not fit.
    """
    out = empty_row(indices.size, flat.dtype)
    if out.size:
        _check_sizes(out.size, indices, flat, length, width)
        x, bits, report = _bits(flat), _bits(out), new_report()
        chunk = _chunk(inner)
        launch(indexing.gather_axis, x.dtype, x, indices, length, width, inner, chunk, bits, report, size=out.size)
        check_report(report, indices, 0, length)
    return out


def scatter_axis(
    values: np.ndarray, indices: np.ndarray, out: np.ndarray, length: int, width: int, inner: int, mode: str
) -> None:
    """Write ``values`` (one for each index, or one for all) to ``out`` at the indices of (outer, width, inner).

    ``out`` is seen as (outer, length, inner); ``mode`` is "set", "add" or "multiply".

    Raises:
        IndexError: an index is not in [0, length); the others are written at all the same.
        RuntimeError: the sizes do not fit.
    """
    if not indices.size:
        return
    _check_sizes(values.size, indices, out, length, width)
    columns = _columns(inner, out.dtype.itemsize)
    step = 0 if values.size == 1 else 1
    report = new_report()
    launch(
        indexing.scatter_axis, out.dtype, values, step, indices, length, width, inner, columns, MODES[mode], out,
        report, size=indices.size if out.size > length * min(inner, columns) else 0,
    )
    check_report(report, indices, 0, length)


def scatter_extremes(
    values: np.ndarray, indices: np.ndarray, out: np.ndarray, length: int, width: int, inner: int, largest: bool
) -> None:
    """Make the elements of ``out`` at the indices the largest, or smallest, of themselves and the ``values``.

    Raises:
        IndexError, RuntimeError: see :func:`scatter_axis`.
    """
    if not indices.size:
        return
    _check_sizes(values.size, indices, out, length, width)
    step = 0 if values.size == 1 else 1
    report = new_report()
    columns = _columns(inner, out.dtype.itemsize)
    launch(
        indexing.scatter_extremes, out.dtype, values, step, indices, length, width, inner, columns, largest, out,
        report, size=indices.size if out.size > length * min(inner, columns) else 0,
    )
    check_report(report, indices, 0, length)
