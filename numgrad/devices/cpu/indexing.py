"""Reading and writing the elements at given indices.

The kernels follow no index that leads outside, but report it, and OutOfBoundsError is raised here: nothing need look
at the indices before, and those that are saved for a gradient may be changed.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import indexing

from ...core.layout import numel
from ..common import OutOfBoundsError, Steps, negative_repeats, word_of
from ..memory import check_countable, reports_memory
from ..plan import Bounds, Buffer, Plan, Report
from ..recording import reads_values
from .launching import empty, launch

__all__ = [
    "check_bounds", "check_inside", "check_report", "counts", "distinct_indices", "flatnonzero", "fold_indices",
    "gather_axis", "nonzero_rows", "offsets", "outside", "put_rows", "repeated_indices", "scatter_axis", "take_rows",
    "triangle_rows",
]

INT64, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)

#: Elements that one piece of parallel work is about.
PIECE = 4096

#: Threads write to stripes of rows, multiples of a cache line's bytes; there are no more stripes than these.
LINE, STRIPES = 64, 8

MODES = {"set": 0, "add": 1, "multiply": 2}


class _Report(threading.local):
    """Where kernels that this thread runs note that an index leads outside."""

    def __init__(self) -> None:
        self.one = np.zeros(1, _BOOL)


_report = _Report()


def check_report(report: np.ndarray, indices: np.ndarray, low: int, high: int, ignored: int | None = None) -> None:
    """Raise if a kernel has met an index that is not in [low, high), nor ``ignored``.

    Raises:
        OutOfBoundsError: it has.
    """
    if report.item():
        report[0] = False  # it is used again
        wrong = ~((indices >= low) & (indices < high))
        if ignored is not None:
            wrong &= indices != ignored
        found = indices[wrong].tolist() or ["that has changed meanwhile"]
        raise OutOfBoundsError(found[0], high)


def check_inside(indices: np.ndarray, low: int, high: int) -> None:
    """Raise unless all indices are in [low, high).

    Raises:
        OutOfBoundsError: one is not.
    """
    check_report(np.array([outside(indices, low, high) is not None]), indices, low, high)


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


def check_bounds(p: Plan, indices: Buffer, low: int, high: int) -> None:
    """Have a launch raise OutOfBoundsError unless all indices are in [low, high)."""
    p.call(check_inside, indices, low, high)


def fold_indices(p: Plan, indices: Sequence[Buffer], sizes: tuple[int, ...], dims: tuple[int, ...]) -> Buffer:
    """Flat indices over dimensions of ``sizes`` made of indices for each of them.

    A launch raises IndexError if one is out of bounds; ``dims`` are the numbers of the dimensions.
    """
    flat, count, wrong = indices[0], indices[0].size, p.new(2, _BOOL, zeroed=True)
    for number, size in enumerate(sizes[1:], 1):
        first, flat = flat, p.new(count, INT64)
        p.run(
            indexing.fold_indices, INT64, first, numel(sizes[:number]), indices[number], size, flat, wrong, work=count
        )
    p.check(_check_folded, wrong, sizes, dims, *indices)
    return flat


def _check_folded(wrong: np.ndarray, sizes: tuple[int, ...], dims: tuple[int, ...], *rows: np.ndarray) -> None:
    if True in wrong.tolist():
        for row, size, dim in zip(rows, sizes, dims, strict=True):
            found = outside(row, -size, size)
            if found is not None:
                raise IndexError(f"index {found} is out of bounds for dimension {dim} with size {size}")
        raise OutOfBoundsError("that has changed meanwhile", sizes[0])


def flatnonzero(p: Plan, x: Buffer) -> Buffer:
    """The flat indices of the elements that are not zero, in order."""
    return p.host(_flatnonzero, [p.unsized(INT64)], x)[0]


@reads_values("indexing with a mask")
@reports_memory
def _flatnonzero(array: np.ndarray) -> tuple[np.ndarray]:
    return (array.nonzero()[0].astype(INT64, copy=False),)


def repeated_indices(p: Plan, counts: Buffer) -> Buffer:
    """The index of each count as often as that; a launch raises RuntimeError if one is negative."""
    return p.host(_repeated_indices, [p.unsized(INT64)], counts)[0]


@reads_values("repeat_interleave() with a tensor of repeats")
@reports_memory
def _repeated_indices(counts: np.ndarray) -> tuple[np.ndarray]:
    if (counts < 0).any():
        raise negative_repeats(counts.size)
    check_countable((int(counts.sum(dtype=np.float64)),), INT64)  # in integers the sum could wrap around
    return (np.repeat(np.arange(counts.size), counts),)


def nonzero_rows(p: Plan, x: Buffer, shape: tuple[int, ...]) -> Buffer:
    """For each dimension the indices of the elements that are not zero, one after the other."""
    return p.host(_nonzero_rows, [p.unsized(INT64)], x, shape)[0]


@reads_values("nonzero()")
@reports_memory
def _nonzero_rows(row: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray]:
    count = int(np.count_nonzero(row))
    out = np.empty(len(shape) * count, INT64)
    launch(indexing.list_nonzero, row.dtype, row, _as_row(shape), count, out)
    return (out,)


@functools.lru_cache(maxsize=4096)
def _as_row(shape: tuple[int, ...]) -> np.ndarray:
    return np.array(shape, INT64)


@reports_memory
def triangle_rows(height: int, width: int, offset: int, upper: bool, type: Any) -> tuple[np.ndarray, int]:
    """The rows, then the columns, of the elements of a matrix above, or below, a diagonal and on it; and how many."""
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
    """The indices without repetitions, counted from the front."""
    return np.unique(np.where(indices < 0, indices + size, indices))


def counts(p: Plan, indices: Buffer, size: int) -> Buffer:
    """How often each index below ``size`` occurs, 1 for one that does not.

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
    """Offsets of flat indices, of ``shape``, over dimensions of ``sizes`` that are stepped through by ``steps``.

    ``dims`` are the dimensions of the result: dimensions of the indices, by number, and others (extent, step).
    A launch raises OutOfBoundsError if an index is out of bounds.
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
    """The width of the stripes of rows of ``inner`` elements."""
    line = max(LINE // itemsize, 1)
    return max(-(-inner // (STRIPES * line)) * line, 2 * line)


def take_rows(p: Plan, storage: Any, indices: Buffer, start: Any, steps: Steps, low: int) -> Buffer:
    """The elements of a storage at indices, with these steps from ``start`` on.

    A launch raises OutOfBoundsError if an index is not in [low, size).
    """
    outer_step, step, size, inner_step, outer, inner = steps
    total, word = outer * indices.size * inner, word_of(storage.dtype)
    out = p.new(total, storage.dtype)
    if not total:
        check_bounds(p, indices, low, size)
        return out
    p.run(
        indexing.take_rows, word, storage._replace(dtype=word), start, outer_step, indices, step, low, size, inner_step,
        outer, inner, _chunk(inner), out.view(word), Report(), work=total, reports=Bounds(indices, low, size),
    )
    return out


def put_rows(
    p: Plan, values: Buffer, storage: Any, indices: Buffer, value_steps: tuple[int, int, int], start: Any, steps: Steps,
    low: int, accumulate: bool, distinct: bool,
) -> None:  # fmt: skip
    """Write values, read in ``value_steps``, into a storage at indices, or add them.

    A launch raises OutOfBoundsError if an index is not in [low, size), before anything is written.  Unless the indices
    are ``distinct``, those that are the same are written to in order.
    """
    dtype, count = storage.dtype, indices.size
    outer_step, step, size, inner_step, outer, inner = steps
    total = outer * count * inner
    if not total:
        check_bounds(p, indices, low, size)
        return
    chunk, columns = (_chunk(inner), inner) if distinct else (count, _columns(inner, dtype.itemsize))
    shared = distinct or columns < inner or outer > 1  # among threads
    parts: dict[str, Any] = {"put": indexing.add} if accumulate else {}
    p.run(
        indexing.put_rows, dtype, values, *value_steps, start, outer_step, indices, step, low, size, inner_step, outer,
        inner, chunk, columns, storage, Report(), work=total if shared else 0, reports=Bounds(indices, low, size),
        **parts,
    )


def gather_axis(p: Plan, x: Buffer, indices: Buffer, length: int, width: int, inner: int) -> Buffer:
    """The elements of (outer, length, inner) at indices of (outer, width, inner) on that axis.

    A launch raises OutOfBoundsError if an index is not in [0, length).
    """
    count, word = indices.size, word_of(x.dtype)
    out = p.new(count, x.dtype)
    if count and not x.size:
        check_bounds(p, indices, 0, length)  # the kernel goes through what there is to gather from
    elif count:
        p.run(
            indexing.gather_axis, word, x.view(word), indices, length, width, inner, _chunk(inner),
            out.view(word), Report(), work=count, reports=Bounds(indices, 0, length),
        )
    return out


def scatter_axis(
    p: Plan, values: Buffer, indices: Buffer, out: Buffer, length: int, width: int, inner: int, mode: str
) -> None:
    """Write values to (outer, length, inner) at indices of (outer, width, inner) on that axis.

    There is one value for each index, or a single one for all.  A launch raises OutOfBoundsError if an index is not in
    [0, length), before anything is written.  ``mode`` is "set", "add", "multiply", "amax" or "amin".
    """
    count, dtype = indices.size, out.dtype
    columns, step = _columns(inner, dtype.itemsize), int(values.size == count)
    extremes = mode in ("amax", "amin")
    how: Any = mode == "amax" if extremes else MODES[mode]
    parts: dict[str, Any] = {"combined": indexing.extreme} if extremes else {}
    if count and not out.size:
        check_bounds(p, indices, 0, length)
    elif count:
        p.run(
            indexing.scatter_axis, dtype, values, step, indices, length, width, inner, columns, how, out, Report(),
            work=count if out.size > length * min(inner, columns) else 0, reports=Bounds(indices, 0, length), **parts,
        )
