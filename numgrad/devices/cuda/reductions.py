"""Reductions over the middle axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import reductions as terms
from numgrad_kernels.cpu.extremes import adaptive_window, window
from numgrad_kernels.cuda import adapter, extremes, reductions

from ..common import FOLDS, least_sure_norm, nothing
from ..rows import DeviceRow
from .launching import INT64, THREADS, blocks_for, launch
from .lines import power_of_two
from .memory import empty_pair, empty_row, no_row

__all__ = ["extreme_axis", "fold_axis", "logsumexp_axis", "max_pool_launcher", "norm_axis", "variance_axis"]


#: Elements that a thread folds at least before a column is shared among blocks, or a row among more threads.
_LEAST = 16

#: Elements of a row at least that are read four at once: fewer have little to gain.
_SHORTEST_PACKED = 16

#: Threads whose accesses to neighbouring elements go together.
_WARP = min(32, THREADS)

#: Blocks of threads that work on columns shared among blocks: some for each multiprocessor of a large GPU.
_BLOCKS = 8 if adapter.is_simulated() else 2048

_TRUTHS = np.dtype(np.uint8)


@functools.lru_cache(maxsize=4096)
def shared_out(columns: int, length: int, inner: int) -> tuple[int, int, int, int, int]:
    """How threads share columns: blocks, then ``shift``, ``depth``, ``pieces`` and ``piece_size`` of the kernels."""
    enough = power_of_two(length)
    if inner == 1:
        depth = min(THREADS, max(min(_WARP, enough // 8), enough // _LEAST, 1))
    else:
        depth = min(THREADS // min(_WARP, power_of_two(inner)), max(enough // _LEAST, 1))
    groups = -(-columns // (THREADS // depth))
    pieces = max(1, min(_BLOCKS // groups, length // (depth * _LEAST)))
    piece_size = -(-length // (pieces * 4 * depth)) * 4 * depth  # whole lots of four elements for each thread
    pieces = max(1, -(-length // max(piece_size, 1)))
    near = depth if inner == 1 else THREADS // depth
    return groups * pieces, near.bit_length() - 1, depth, pieces, piece_size


#: What is put for parts of kernels that read four elements at once.
_PACKED: dict[str, Any] = {"read4": reductions.read4_packed, "PACKED": 1}


def packed(flat: DeviceRow, columns: int, length: int, inner: int) -> dict[str, Any]:
    """The parts of a kernel that reads four elements at once, if every row begins where that can be."""
    if inner > 1 or length < _SHORTEST_PACKED or (columns > 1 and length % 4) or flat.dtype.kind == "c":
        return {}
    return {} if flat.address % min(16, 4 * flat.dtype.itemsize) else _PACKED


def _fold(
    flat: DeviceRow, sizes: tuple[int, int, int], out: DeviceRow, *, term: Callable[..., Any] = terms.term,
    fold: Callable[..., Any] = terms.fold, finish: Callable[..., Any] = reductions.finish, initial: float = 0,
    divisor: float = 1.0, number: float = 0.0, parameters: DeviceRow | None = None,
) -> DeviceRow:
    """Reduce into ``out``, in its dtype; ``parameters`` has one number for each column."""
    outer, length, inner = sizes
    columns, compute = outer * inner, out.dtype
    if columns == 0:
        return out
    as_number: Any = float if compute.kind in "fc" else int
    numbers = as_number(number), as_number(initial), as_number(divisor)
    given = reductions.given if parameters is None else reductions.own_parameter
    parameters = no_row(compute) if parameters is None else parameters
    blocks, *shares = shared_out(columns, length, inner)
    pieces = shares[2]
    totals = out if pieces == 1 else empty_row(columns * pieces, compute, flat.device)
    launch(
        reductions.fold_axis, compute, flat, columns, length, inner, *shares, parameters, *numbers, totals,
        blocks=blocks, term=term, fold=fold, given=given, finish=finish if pieces == 1 else reductions.finish,
        **packed(flat, columns, length, inner),
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
    flat: DeviceRow, outer: int, length: int, inner: int, name: str, dtype: np.dtype, divisor: float = 1.0
) -> DeviceRow:
    """The reduction ``name`` over the middle axis: "sum", "prod", "max", "nonzero" ..., of this dtype.

    It is divided by ``divisor``, which is for floating-point and complex numbers.
    """
    out = empty_row(outer * inner, dtype, flat.device)
    values = as_numbers(out)
    finish = reductions.truth if out.dtype.kind == "b" else reductions.finish
    if divisor != 1:
        finish = reductions.share_of_complex if out.dtype.kind == "c" else reductions.share
    term, fold = FOLDS[name]
    _fold(
        as_numbers(flat), (outer, length, inner), values, term=term, fold=fold, finish=finish,
        initial=nothing(name, values.dtype), divisor=divisor,
    )
    return out


def variance_axis(
    flat: DeviceRow, outer: int, length: int, inner: int, correction: float, root: bool
) -> tuple[DeviceRow, DeviceRow]:
    """The variance over the middle axis (its root if ``root``) and the mean.

    The variance is the sum of the squared distances from the mean, divided by ``length - correction``.
    """
    dtype, columns = flat.dtype, outer * inner
    means, out = [empty_row(columns, dtype, flat.device) for _ in range(2)]
    if columns == 0:
        return out, means
    blocks, shift, depth, pieces, piece_size = shared_out(columns, length, inner)
    finish = reductions.root_of_share if root else reductions.share
    freedom = float(max(length - correction, 0))
    found = out if pieces == 1 else empty_row(columns * pieces * 3, dtype, flat.device)
    launch(
        reductions.moments_axis, dtype, flat, columns, length, inner, shift, depth, pieces, piece_size, freedom, found,
        means, blocks=blocks, finish=finish, WHOLE=int(pieces == 1), **packed(flat, columns, length, inner),
    )
    if pieces > 1:
        _, shift, depth, *_ = shared_out(columns, pieces, 1)
        launch(
            reductions.join_moments, dtype, found, columns, length, pieces, piece_size, shift, depth, freedom, out,
            means, blocks=-(-columns // (THREADS // depth)), finish=finish,
        )
    return out, means


def logsumexp_axis(flat: DeviceRow, outer: int, length: int, inner: int) -> DeviceRow:
    """The logarithm of the sum of the exponentials over the middle axis."""
    sizes = outer, length, inner
    largest, out = [empty_row(outer * inner, flat.dtype, flat.device) for _ in range(2)]
    _fold(flat, sizes, largest, fold=terms.larger, finish=reductions.finite, initial=-np.inf)
    return _fold(flat, sizes, out, term=terms.exponential, finish=reductions.logarithm, parameters=largest)


#: How norms differ from sums, by their order; all others are roots of sums of powers.
_NORMS: dict[float, dict[str, Any]] = {
    np.inf: {"term": terms.magnitude, "fold": terms.larger},
    -np.inf: {"term": terms.magnitude, "fold": terms.smaller, "initial": np.inf},
    0: {"term": terms.nonzero},
    1: {"term": terms.magnitude},
    2: {"term": terms.square, "finish": reductions.root},
}


def norm_axis(flat: DeviceRow, outer: int, length: int, inner: int, order: float, dtype: np.dtype) -> DeviceRow:
    """The norm of this order and dtype of the vectors along the middle axis."""
    how = _NORMS.get(order)
    if how is None:
        how = {"term": terms.power, "finish": reductions.to_the_power, "number": order, "divisor": 1 / order}
    norms = _fold(flat, (outer, length, inner), empty_row(outer * inner, dtype, flat.device), **how)
    if 1 < order < np.inf and outer * inner:
        columns, least = outer * inner, least_sure_norm(dtype, order)
        launch(
            reductions.sure_norms, dtype, flat, columns, length, inner, order, least, norms,
            blocks=-(-columns // THREADS),
        )
    return norms


def extreme_axis(
    flat: DeviceRow, outer: int, length: int, inner: int, largest: bool
) -> tuple[DeviceRow, DeviceRow]:
    """The largest (or smallest) elements over the middle axis, and their indices."""
    columns = outer * inner
    out, indices = empty_pair(columns, flat)
    if columns == 0:
        return out, indices
    x, values = as_numbers(flat), as_numbers(out)
    fold = terms.larger if largest else terms.smaller
    blocks, *shares = shared_out(columns, length, inner)
    pieces = shares[2]
    found = no_row(INT64)
    if pieces > 1:
        bests, candidates = empty_pair(columns * pieces, x)
        launch(
            extremes.extreme_axis, x.dtype, x, found, columns, length, inner, *shares, bests, candidates, blocks=blocks,
            fold=fold, index_of=extremes.index_of, **packed(x, columns, length, inner),
        )
        x, found, length, inner = bests, candidates, pieces, 1
        _, shift, depth, *_ = shared_out(columns, length, 1)
        blocks, shares = -(-columns // (THREADS // depth)), [shift, depth, 1, length]
    launch(
        extremes.extreme_axis, x.dtype, x, found, columns, length, inner, *shares, values, indices, blocks=blocks,
        fold=fold, index_of=extremes.index_found if pieces > 1 else extremes.index_of,
        **packed(x, columns, length, inner),
    )
    return out, indices


def max_pool_launcher(
    type: Any, sizes: Sequence[int], work: int, count: int, adaptive: bool = False
) -> Callable[[DeviceRow], tuple[DeviceRow, DeviceRow]]:
    """What finds the largest elements of ``count`` windows, and their indices in the images: ``launch(row)``.

    ``sizes`` are those of the CPU's.
    """
    dtype = type.numpy

    def run(flat: DeviceRow) -> tuple[DeviceRow, DeviceRow]:
        out, indices = empty_pair(count, flat)
        launch(
            extremes.max_pool, dtype, flat, *sizes, nothing("max", dtype), count, out, indices,
            blocks=blocks_for(count), window=adaptive_window if adaptive else window,
        )
        return out, indices

    return run
