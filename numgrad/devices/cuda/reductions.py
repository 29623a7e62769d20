"""Reductions over the middle axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import reductions as terms
from numgrad_kernels.cuda import adapter, extremes, reductions

from ..cpu.reductions import FOLDS, nothing
from ..rows import DeviceRow
from .launching import THREADS, launch
from .memory import empty_row, no_row

__all__ = [
    "extreme_axis", "fold_axis", "logsumexp_axis", "mean_axis", "norm_axis", "variance_axis",
]

#: Elements that a thread folds at least before a column is shared among blocks, or a row among more threads.
_LEAST = 16

#: Threads whose accesses to neighbouring elements go together.
_WARP = min(32, THREADS)

#: Blocks of threads that work on columns shared among blocks: some for each multiprocessor of a large GPU.
_BLOCKS = 8 if adapter.is_simulated() else 2048

_INDICES = np.dtype(np.int64)
_TRUTHS = np.dtype(np.uint8)


@functools.lru_cache(maxsize=4096)
def shared_out(columns: int, length: int, inner: int) -> tuple[int, int, int, int, int]:
    """How threads share columns: blocks, then ``shift``, ``depth``, ``pieces`` and ``stretch`` of the kernels."""
    enough = power_of_two(length)
    if inner == 1:
        depth = min(THREADS, max(min(_WARP, enough // 4), enough // _LEAST, 1))
    else:
        depth = min(THREADS // min(_WARP, power_of_two(inner)), max(enough // _LEAST, 1))
    groups = -(-columns // (THREADS // depth))
    pieces = max(1, min(_BLOCKS // groups, length // (depth * _LEAST)))
    stretch = -(-length // (pieces * depth)) * depth
    pieces = max(1, -(-length // max(stretch, 1)))
    near = depth if inner == 1 else THREADS // depth
    return groups * pieces, near.bit_length() - 1, depth, pieces, stretch


def power_of_two(number: int) -> int:
    """The smallest one that is not less than a number."""
    return 1 << max(number - 1, 0).bit_length()


def _fold(
    flat: DeviceRow, sizes: tuple[int, int, int], out: DeviceRow, compute: np.dtype, initial: float,
    term: Callable[..., Any], fold: Callable[..., Any], *, finish: Callable[..., Any] = reductions.finish,
    divisor: float = 1.0, number: float = 0.0, parameters: DeviceRow | None = None,
) -> DeviceRow:
    """Reduce into ``out``, in the dtype ``compute``; ``parameters`` has one number for each column."""
    outer, length, inner = sizes
    columns = outer * inner
    if columns == 0:
        return out
    kind: Any = float if compute.kind in "fc" else int
    numbers = kind(number), kind(initial), kind(divisor)
    given = reductions.given if parameters is None else reductions.own
    parameters = no_row(compute) if parameters is None else parameters
    blocks, *shares = shared_out(columns, length, inner)
    pieces = shares[2]
    totals = out if pieces == 1 else empty_row(columns * pieces, compute, flat.device)
    launch(
        reductions.fold_axis, compute, flat, columns, length, inner, *shares, parameters, *numbers, totals,
        blocks=blocks, term=term, fold=fold, given=given, finish=finish if pieces == 1 else reductions.finish,
    )
    if pieces > 1:
        blocks, shift, depth, *_ = shared_out(columns, pieces, 1)
        launch(
            reductions.fold_axis, compute, totals, columns, pieces, 1, shift, depth, 1, pieces, parameters, *numbers,
            out, blocks=-(-columns // (THREADS // depth)), term=terms.term, fold=fold, given=given, finish=finish,
        )
    return out


def as_numbers(row: DeviceRow) -> DeviceRow:
    """A row of bools as one of the numbers 0 and 1."""
    return row.view(_TRUTHS) if row.dtype.kind == "b" else row


def fold_axis(
    name: str, flat: DeviceRow, outer: int, length: int, inner: int, type: Any, divisor: float = 1.0
) -> DeviceRow:
    """The reduction ``name`` over the middle axis: "sum", "prod", "max", "nonzero" ..., of this type.

    It is divided by ``divisor``, which is for floating-point and complex numbers.
    """
    out = empty_row(outer * inner, type.numpy, flat.device)
    values = as_numbers(out)
    finish = reductions.finish
    if divisor != 1:
        finish = reductions.share_of_complex if out.dtype.kind == "c" else reductions.share
    term, fold = FOLDS[name]
    _fold(
        as_numbers(flat), (outer, length, inner), values, values.dtype, nothing(name, values.dtype), term, fold,
        finish=finish, divisor=divisor,
    )
    return out


def mean_axis(flat: DeviceRow, outer: int, length: int, inner: int, type: Any) -> DeviceRow:
    """The mean over the middle axis."""
    return fold_axis("sum", flat, outer, length, inner, type, float(length))


def variance_axis(
    flat: DeviceRow, outer: int, length: int, inner: int, correction: float, root: bool
) -> tuple[DeviceRow, DeviceRow]:
    """The variance over the middle axis (its root if ``root``) and the mean.

    The variance is the sum of the squared distances from the mean, divided by ``length - correction``.
    """
    kind, sizes = flat.dtype, (outer, length, inner)
    means, out = [empty_row(outer * inner, kind, flat.device) for _ in range(2)]
    _fold(flat, sizes, means, kind, 0, terms.term, terms.fold, finish=reductions.share, divisor=length)
    _fold(
        flat, sizes, out, kind, 0, terms.square, terms.fold, parameters=means, divisor=max(length - correction, 0),
        finish=reductions.root_of_share if root else reductions.share,
    )
    return out, means


def logsumexp_axis(flat: DeviceRow, outer: int, length: int, inner: int) -> DeviceRow:
    """The logarithm of the sum of the exponentials over the middle axis."""
    kind, sizes = flat.dtype, (outer, length, inner)
    largest, out = [empty_row(outer * inner, kind, flat.device) for _ in range(2)]
    _fold(flat, sizes, largest, kind, -np.inf, terms.term, terms.larger, finish=reductions.finite)
    return _fold(
        flat, sizes, out, kind, 0, terms.exponential, terms.fold, parameters=largest, finish=reductions.logarithm
    )


def norm_axis(flat: DeviceRow, outer: int, length: int, inner: int, order: float, type: Any) -> DeviceRow:
    """The norm of this order and type of the vectors along the middle axis."""
    kind, sizes = type.numpy, (outer, length, inner)
    out = empty_row(outer * inner, kind, flat.device)
    if order in (np.inf, -np.inf):
        fold = terms.larger if order > 0 else terms.smaller
        return _fold(flat, sizes, out, kind, np.inf if order < 0 else 0, terms.magnitude, fold)
    if order == 0:
        return _fold(flat, sizes, out, kind, 0, terms.nonzero, terms.fold)
    if order == 1:
        return _fold(flat, sizes, out, kind, 0, terms.magnitude, terms.fold)
    if order == 2:
        return _fold(flat, sizes, out, kind, 0, terms.square, terms.fold, finish=reductions.root)
    return _fold(
        flat, sizes, out, kind, 0, terms.power, terms.fold, finish=reductions.to_the_power, number=order,
        divisor=1 / order,
    )


def extreme_axis(
    flat: DeviceRow, outer: int, length: int, inner: int, largest: bool
) -> tuple[DeviceRow, DeviceRow]:
    """The largest (or smallest) elements over the middle axis, and their places."""
    columns = outer * inner
    out = empty_row(columns, flat.dtype, flat.device)
    indices = empty_row(columns, _INDICES, flat.device)
    if columns == 0:
        return out, indices
    x, values = as_numbers(flat), as_numbers(out)
    fold = terms.larger if largest else terms.smaller
    blocks, *shares = shared_out(columns, length, inner)
    pieces = shares[2]
    found = no_row(_INDICES)
    if pieces > 1:
        bests, places = [empty_row(columns * pieces, kind, flat.device) for kind in (x.dtype, _INDICES)]
        launch(
            extremes.extreme_axis, x.dtype, x, found, columns, length, inner, *shares, bests, places, blocks=blocks,
            fold=fold, index_of=extremes.index_of,
        )
        x, found, length, inner = bests, places, pieces, 1
        _, shift, depth, *_ = shared_out(columns, length, 1)
        blocks, shares = -(-columns // (THREADS // depth)), [shift, depth, 1, length]
    launch(
        extremes.extreme_axis, x.dtype, x, found, columns, length, inner, *shares, values, indices, blocks=blocks,
        fold=fold, index_of=extremes.index_found if pieces > 1 else extremes.index_of,
    )
    return out, indices
