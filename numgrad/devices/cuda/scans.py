"""Steps of running sums, products and extremes along the middle axis of a buffer, on a GPU; see the CPU's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import reductions as terms
from numgrad_kernels.cpu.scans import later_larger, later_smaller
from numgrad_kernels.cuda import adapter, reductions, running, scans

from ..plan import Buffer, Plan
from .launching import INT64, THREADS
from .lines import power_of_two
from .memory import as_numbers, no_buffer
from .reductions import packed, shared_out

__all__ = ["extremes_so_far", "recurrence_axis", "scan_axis", "shift_axis"]

#: Greatest number of blocks of threads that share rows.
_BLOCKS = 8 if adapter.is_simulated() else 1024

#: Least number of elements that a thread scans where threads share a column.
_LEAST = 32

#: With fewer columns than this, the pieces of a column are proportionally longer.
_NARROW = min(16, THREADS)

#: For each name, the function that combines two elements, and its identity.
_FOLDS: dict[str, tuple[Callable[..., Any], float]] = {
    "sum": (terms.fold, 0),
    "prod": (terms.product, 1),
    "logsumexp": (scans.log_of_sum, -np.inf),
}


def _lanes(length: int, items: int) -> int:
    """Return the number of threads that share a row, each of which takes ``items`` elements at a time."""
    return min(THREADS, power_of_two(-(-length // items)))


def _parts(items: int) -> dict[str, Any]:
    """Return the constants of a kernel whose threads take ``items`` elements at a time."""
    return {"TILE": items * THREADS, "TWO_EACH": 2 * THREADS}


@functools.lru_cache(maxsize=4096)
def _in_pieces(columns: int, length: int, inner: int) -> tuple[int, int]:
    """Return the number of pieces in which a column is scanned, and the number of elements of a piece."""
    if inner > 1:
        least, most = _LEAST * max(1, _NARROW // columns), _BLOCKS * THREADS // columns
    else:
        lanes = _lanes(length, scans.ITEMS)
        least, most = 2 * lanes * scans.ITEMS, _BLOCKS // -(-columns * lanes // THREADS)
    pieces = max(1, min(most, length // least))
    piece_size = -(-length // (4 * pieces)) * 4
    return -(-length // piece_size), piece_size


def _scan(
    p: Plan, x: Buffer, columns: int, length: int, inner: int, backwards: bool, out: Buffer, initial: float,
    fold: Callable[..., Any],
) -> None:
    """Add the steps of a scan into ``out``, in its dtype."""
    compute = out.dtype
    pieces, piece_size = _in_pieces(columns, length, inner)
    starts: Any = no_buffer(compute)
    if pieces > 1:
        totals, starts = p.new(columns * pieces, compute), p.new(columns * pieces, compute)
        fold_pieces(p, x, columns, length, inner, pieces, piece_size, initial, fold, totals)
        _scan(p, totals, columns, pieces, 1, backwards, starts, initial, fold)
    if inner > 1:
        p.run(
            scans.scan_columns, compute, x, columns, length, inner, pieces, piece_size, backwards, initial, starts,
            out, grid=(-(-columns * pieces // THREADS), THREADS), fold=fold,
        )
        return
    lanes = _lanes(length, scans.ITEMS)
    p.run(
        scans.scan_rows, compute, x, columns, length, lanes.bit_length() - 1, pieces, piece_size, backwards, initial,
        starts, out, grid=(-(-columns * lanes // THREADS) * pieces, THREADS), fold=fold, **_parts(scans.ITEMS),
    )


def fold_pieces(
    p: Plan, x: Buffer, columns: int, length: int, inner: int, pieces: int, piece_size: int, initial: float,
    fold: Callable[..., Any], totals: Buffer, term: Callable[..., Any] = terms.term,
) -> None:
    """Add the step that folds the ``term`` of the elements of each piece."""
    compute = totals.dtype
    blocks, shift, depth, few, _ = shared_out(columns, piece_size, inner)
    zero = initial.__class__(0)
    p.run(
        reductions.fold_axis, compute, x, columns, length, inner, shift, depth, pieces, piece_size, no_buffer(compute),
        zero, initial, zero, totals, grid=(blocks // few * pieces, THREADS),
        aligned=packed(x.dtype, columns, length, inner), term=term, fold=fold, given=reductions.given,
        finish=reductions.finish,
    )


def scan_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, name: str, compute: np.dtype, backwards: bool = False
) -> Buffer:
    """Return the buffer of the running "sum", "prod" or "logsumexp", in the dtype ``compute``, from either end."""
    out = p.new(x.size, compute)
    if x.size:
        fold, initial = _FOLDS[name]
        number: Any = float if compute.kind in "fc" else int
        _scan(p, as_numbers(x), outer * inner, length, inner, backwards, out, number(initial), fold)
    return out


def extremes_so_far(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, largest: bool
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the largest (or smallest) elements so far, and of the index of the last of each."""
    out, indices = p.new(x.size, x.dtype), p.new(x.size, INT64)
    if x.size == 0:
        return out, indices
    x, values, columns = as_numbers(x), as_numbers(out), x.size // length
    fold = later_larger if largest else later_smaller
    if inner > 1:
        p.run(
            running.extreme_columns, x.dtype, x, columns, length, inner, values, indices,
            grid=(-(-columns // THREADS), THREADS), fold=fold,
        )
    else:
        lanes = _lanes(length, running.ITEMS)
        p.run(
            running.extreme_rows, x.dtype, x, columns, length, lanes.bit_length() - 1, values, indices,
            grid=(-(-columns * lanes // THREADS), THREADS), fold=fold, **_parts(running.ITEMS),
        )
    return out, indices


def recurrence_axis(p: Plan, x: Buffer, factors: Buffer, length: int, inner: int, backwards: bool) -> Buffer:
    """Return ``out[i] = x[i] + factors[i] * out[i - 1]`` along the middle axis, with ``i + 1`` if backwards."""
    dtype = x.dtype
    out = p.new(x.size, dtype)
    if x.size == 0:
        return out
    columns = x.size // length
    if inner > 1:
        p.run(
            running.recurrence_columns, dtype, x, factors, columns, length, inner, backwards, out,
            grid=(-(-columns // THREADS), THREADS),
        )
    else:
        lanes = min(_lanes(length, running.ITEMS), max(16, power_of_two(_BLOCKS * THREADS // columns)))
        p.run(
            running.recurrence_rows, dtype, x, factors, columns, length, lanes.bit_length() - 1, backwards, out,
            grid=(-(-columns * lanes // THREADS), THREADS), TILE=running.ITEMS * THREADS,
        )
    return out


def shift_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, backwards: bool, fill: float
) -> Buffer:
    """Return the buffer of elements shifted by one along the middle axis (or back by one), with ``fill`` in the gap."""
    out = p.new(x.size, x.dtype)
    if x.size == 0:
        return out
    start, goal = (inner, 0) if backwards else (0, inner)
    p.copy(x.part(start, x.size - inner), out.part(goal, x.size - inner))
    columns, end, values = outer * inner, length - 1 if backwards else 0, as_numbers(out)
    p.run(running.fill_ends, values.dtype, values, columns, length, inner, end, fill, work=columns)
    return out
