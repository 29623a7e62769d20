"""Running sums, products and extremes along the middle axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import reductions as terms
from numgrad_kernels.cpu.scans import later_larger, later_smaller
from numgrad_kernels.cuda import adapter, reductions, running, scans

from ..rows import DeviceRow
from .launching import THREADS, blocks_for, launch
from .lines import power_of_two
from .memory import empty_pair, empty_row, no_row
from .reductions import as_numbers, packed, shared_out

__all__ = ["extremes_so_far", "recurrence_axis", "scan_axis", "shift_axis"]

#: Blocks of threads that scan rows which are shared among blocks.
_BLOCKS = 8 if adapter.is_simulated() else 1024

#: Elements that a thread scans at least before a column is shared among threads.
_LEAST = 32

#: Columns next to each other that keep enough threads busy; fewer are shared among fewer threads.
_NARROW = min(16, THREADS)

#: For each name how two are put together, and what changes nothing.
_FOLDS: dict[str, tuple[Callable[..., Any], float]] = {
    "sum": (terms.fold, 0),
    "prod": (terms.product, 1),
    "logsumexp": (scans.log_of_sum, -np.inf),
}


def _lanes(length: int, items: int) -> int:
    """How many threads share a row, each of which takes so many items at a time."""
    return min(THREADS, power_of_two(-(-length // items)))


def _parts(items: int) -> dict[str, int]:
    """The constants of a kernel whose threads take so many items at a time."""
    return {"TILE": items * THREADS, "TWO_EACH": 2 * THREADS}


@functools.lru_cache(maxsize=4096)
def _in_pieces(columns: int, length: int, inner: int) -> tuple[int, int]:
    """How many pieces a column is scanned in, and how many elements a piece has."""
    if inner > 1:
        least, most = _LEAST * max(1, _NARROW // columns), _BLOCKS * THREADS // columns
    else:
        lanes = _lanes(length, scans.ITEMS)
        least, most = 2 * lanes * scans.ITEMS, _BLOCKS // -(-columns * lanes // THREADS)
    pieces = max(1, min(most, length // least))
    piece_size = -(-length // (4 * pieces)) * 4
    return -(-length // piece_size), piece_size


def _scan(
    flat: DeviceRow, columns: int, length: int, inner: int, backwards: bool, out: DeviceRow, initial: float,
    fold: Callable[..., Any],
) -> None:
    """Scan into ``out``, in its dtype."""
    compute = out.dtype
    pieces, piece_size = _in_pieces(columns, length, inner)
    starts = no_row(compute)
    if pieces > 1:
        totals, starts = [empty_row(columns * pieces, compute, flat.device) for _ in range(2)]
        fold_pieces(flat, columns, length, inner, pieces, piece_size, initial, fold, totals)
        _scan(totals, columns, pieces, 1, backwards, starts, initial, fold)
    if inner > 1:
        launch(
            scans.scan_columns, compute, flat, columns, length, inner, pieces, piece_size, backwards, initial, starts,
            out, blocks=-(-columns * pieces // THREADS), fold=fold,
        )
        return
    lanes = _lanes(length, scans.ITEMS)
    launch(
        scans.scan_rows, compute, flat, columns, length, lanes.bit_length() - 1, pieces, piece_size, backwards, initial,
        starts, out, blocks=-(-columns * lanes // THREADS) * pieces, fold=fold, **_parts(scans.ITEMS),
    )


def fold_pieces(
    flat: DeviceRow, columns: int, length: int, inner: int, pieces: int, piece_size: int, initial: float,
    fold: Callable[..., Any], totals: DeviceRow, term: Callable[..., Any] = terms.term,
) -> None:
    """What the ``term`` of the elements of each piece folds to."""
    compute = totals.dtype
    blocks, shift, depth, few, _ = shared_out(columns, piece_size, inner)
    nothing = initial.__class__(0)
    launch(
        reductions.fold_axis, compute, flat, columns, length, inner, shift, depth, pieces, piece_size, no_row(compute),
        nothing, initial, nothing, totals, blocks=blocks // few * pieces, term=term, fold=fold,
        given=reductions.given, finish=reductions.finish, **packed(flat, columns, length, inner),
    )


def scan_axis(
    flat: DeviceRow, outer: int, length: int, inner: int, name: str, dtype: np.dtype, backwards: bool = False
) -> DeviceRow:
    """The running "sum", "prod" or "logsumexp" of this dtype, from the first element or from the last."""
    out = empty_row(flat.size, dtype, flat.device)
    if flat.size:
        fold, initial = _FOLDS[name]
        number: Any = float if dtype.kind in "fc" else int
        _scan(as_numbers(flat), outer * inner, length, inner, backwards, out, number(initial), fold)
    return out


def extremes_so_far(
    flat: DeviceRow, outer: int, length: int, inner: int, largest: bool
) -> tuple[DeviceRow, DeviceRow]:
    """The largest (or smallest) elements so far, and the indices of the last of them."""
    out, indices = empty_pair(flat.size, flat)
    if flat.size == 0:
        return out, indices
    x, values, columns = as_numbers(flat), as_numbers(out), flat.size // length
    fold = later_larger if largest else later_smaller
    if inner > 1:
        launch(
            running.extreme_columns, x.dtype, x, columns, length, inner, values, indices,
            blocks=-(-columns // THREADS), fold=fold,
        )
    else:
        lanes = _lanes(length, running.ITEMS)
        launch(
            running.extreme_rows, x.dtype, x, columns, length, lanes.bit_length() - 1, values, indices,
            blocks=-(-columns * lanes // THREADS), fold=fold, **_parts(running.ITEMS),
        )
    return out, indices


def recurrence_axis(
    flat: DeviceRow, factors: DeviceRow, length: int, inner: int, backwards: bool
) -> DeviceRow:
    """``out[i] = flat[i] + factors[i] * out[i - 1]`` along the middle axis, or of ``i + 1`` if backwards."""
    dtype = flat.dtype
    out = empty_row(flat.size, dtype, flat.device)
    if flat.size == 0:
        return out
    columns = flat.size // length
    if inner > 1:
        launch(
            running.recurrence_columns, dtype, flat, factors, columns, length, inner, backwards, out,
            blocks=-(-columns // THREADS),
        )
    else:
        lanes = min(_lanes(length, running.ITEMS), max(16, power_of_two(_BLOCKS * THREADS // columns)))
        launch(
            running.recurrence_rows, dtype, flat, factors, columns, length, lanes.bit_length() - 1, backwards, out,
            blocks=-(-columns * lanes // THREADS), TILE=running.ITEMS * THREADS,
        )
    return out


def shift_axis(
    flat: DeviceRow, outer: int, length: int, inner: int, backwards: bool, fill: float
) -> DeviceRow:
    """The elements moved on by one along the middle axis (or back by one), ``fill`` where there is none."""
    out = empty_row(flat.size, flat.dtype, flat.device)
    if flat.size == 0:
        return out
    if backwards:
        out[:-inner].put(flat[inner:])
    else:
        out[inner:].put(flat[:-inner])
    columns, end = outer * inner, length - 1 if backwards else 0
    values = as_numbers(out)
    launch(
        running.fill_ends, values.dtype, values, columns, length, inner, end, fill, blocks=blocks_for(columns)
    )
    return out
