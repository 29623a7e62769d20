"""Steps of reductions over the middle axis of a buffer, seen as (outer, length, inner)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import extremes, reductions
from numgrad_kernels.halves import BFLOAT16, FLOAT16, passed
from numgrad_kernels.store import Kernel

from ..common import FOLDS, least_sure_norm, nothing
from ..plan import Buffer, Plan
from .launching import hand_written, hand_written_kernels
from .threads import PARALLEL_FROM

__all__ = ["extreme_axis", "fold_axis", "logsumexp_axis", "max_pool", "norm_axis", "simplify", "variance_axis"]


#: Elements of a leaf of a reduction over everything.
LEAF = reductions.LEAF

#: The kernels of reductions of rows, of columns, and of the leaves of everything.
FOLD_ROWS, FOLD_COLUMNS, FOLD_LEAVES = reductions.fold_rows, reductions.fold_columns, reductions.fold_leaves


def lines_of_columns(inner: int) -> tuple[int, int]:
    """Return the number of entries of ``inner`` columns in a line of ``fold_columns``, and of lines in a block."""
    return reductions.side_by_side(inner), reductions.ROWS


#: For kernels whose results are complete after many tiles, the kernels of tiles and their further parameters.
_OF_TILES: dict[Any, tuple[Callable[..., None], tuple[str, ...]]] = {
    FOLD_COLUMNS: (reductions.fold_columns_of_tile, ("first", "part", "total")),
    FOLD_LEAVES: (reductions.fold_leaves_of_tile, ("length", "first", "lanes")),
}


def kernel_of_tile(kernel: Kernel) -> Kernel:
    """Return the variant of a kernel of columns or leaves that processes one tile per call."""
    function, compute, signature, parts = hand_written_kernels[kernel]
    of_tile, further = _OF_TILES[function]
    kinds = [int if name in ("first", "length") else compute for name in further]
    return hand_written(of_tile, compute, (*signature, *kinds), 0, parts)


_INDICES = np.dtype(np.int64)
_TRUTHS = np.dtype(np.uint8)


#: The terms of folds of float16 and bfloat16, whose bits the kernels read.
_OF_HALVES = {FLOAT16: reductions.float16_term, BFLOAT16: reductions.bfloat16_term}


def _readable(p: Plan, x: Buffer, term: Callable[..., Any]) -> tuple[Buffer, Callable[..., Any]]:
    """Return the buffer that a fold reads, and its term; float16 and bfloat16 are copied only for other terms."""
    if x.dtype not in _OF_HALVES:
        return x, term
    if term is reductions.term:
        return x.view(passed(x.dtype)), _OF_HALVES[x.dtype]
    return p.widened(x), term


@functools.cache
def _constant(value: float, dtype: np.dtype) -> np.ndarray:
    return np.full(1, value, dtype)


def _fold(
    p: Plan, x: Buffer, sizes: tuple[int, int, int], dtype: np.dtype, *, term: Callable[..., Any] = reductions.term,
    fold: Callable[..., Any] = reductions.fold, finish: Callable[..., Any] = reductions.finish, initial: float = 0,
    divisor: float = 1.0, number: float = 0, parameters: Buffer | None = None,
) -> Buffer:
    """Return the buffer of the reduction of (outer, length, inner), with these functions instead of the kernels' own.

    Their parameter is ``number``, or an element of ``parameters`` for each result.
    """
    outer, length, inner = sizes
    x, term = _readable(p, x, term)
    compute = _TRUTHS if dtype.kind == "b" else dtype
    parameter: Any = _constant(number, compute) if parameters is None else parameters
    out = p.new(outer * inner, dtype)
    if not length and not divisor:  # Numba raises an error for a complex zero divided by zero
        p.fill(out, complex(np.nan, np.nan) if dtype.kind == "c" else np.nan)
        return out
    while inner > 1 and (blocks := -(-length // (reductions.ROWS * reductions.side_by_side(inner)))) > 1:
        totals, size = p.new(blocks * out.size, compute), outer * length * inner
        operands = x, length, inner, parameter, initial, 1.0, totals
        p.run(reductions.fold_columns, compute, *operands, work=size, term=term, fold=fold)
        x, length, term = totals, blocks, reductions.term
    size = outer * length * inner
    last: dict[str, Any] = {} if finish is reductions.finish else {"finish": finish}
    lanes: dict[str, Any] = {"fold_lanes": reductions.sum_of_lanes} if fold is reductions.fold else {}
    functions: dict[str, Any] = {"work": size, "term": term, "fold": fold}
    if inner > 1:
        p.run(reductions.fold_columns, compute, x, length, inner, parameter, initial, divisor, out, **functions, **last)
    elif outer > 1 or size < PARALLEL_FROM:
        p.run(reductions.fold_rows, compute, x, length, parameter, initial, divisor, out, **functions, **lanes, **last)
    else:
        leaves = p.new(-(-length // reductions.LEAF), compute)
        p.run(reductions.fold_leaves, compute, x, parameter, initial, leaves, **functions, **lanes)
        p.run(reductions.combine_leaves, compute, leaves, parameter, divisor, out, fold=fold, **last)
    return out


def fold_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, name: str, dtype: np.dtype, divisor: float = 1.0
) -> Buffer:
    """Return the buffer of the reduction ``name`` over the middle axis, of this dtype: "sum", "max" and so on.

    A floating-point or complex result is divided by ``divisor``.
    """
    (term, fold), compute = FOLDS[name], _TRUTHS if dtype.kind == "b" else dtype
    sizes = outer, length, inner
    return _fold(p, x, sizes, dtype, term=term, fold=fold, initial=nothing(name, compute), divisor=divisor)


def simplify(p: Plan) -> None:
    """Leave the steps of a plan as they are: programs merge those of all their plans."""


def variance_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, correction: float, root: bool
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the variance over the middle axis, or its square root if ``root``, and of the mean.

    The variance is the sum of the squared distances from the mean, divided by ``length - correction``.
    """
    sizes, finish = (outer, length, inner), reductions.root if root else reductions.finish
    means, freedom = _fold(p, x, sizes, x.dtype, divisor=float(length)), float(max(length - correction, 0))
    return _fold(
        p, x, sizes, x.dtype, term=reductions.square, divisor=freedom, finish=finish, parameters=means
    ), means


def logsumexp_axis(p: Plan, x: Buffer, outer: int, length: int, inner: int) -> Buffer:
    """Return the buffer of the logarithm of the sum of exponentials over the middle axis."""
    sizes = outer, length, inner
    largest = _fold(p, x, sizes, x.dtype, fold=reductions.larger, initial=-np.inf, finish=reductions.finite)
    return _fold(
        p, x, sizes, x.dtype, term=reductions.exponential, finish=reductions.logarithm, parameters=largest
    )


#: Parts of the kernel for norms of special orders; all other norms are roots of sums of powers.
_NORMS: dict[float, dict[str, Any]] = {
    np.inf: {"term": reductions.magnitude, "fold": reductions.larger, "initial": 0.0},
    -np.inf: {"term": reductions.magnitude, "fold": reductions.smaller, "initial": np.inf},
    0: {"term": reductions.nonzero},
    1: {"term": reductions.magnitude},
    2: {"term": reductions.square, "finish": reductions.root},
}


def norm_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, order: float, dtype: np.dtype
) -> Buffer:
    """Return the buffer of the norms, of this order and dtype, of the vectors along the middle axis."""
    functions = _NORMS.get(order) or {"term": reductions.power, "finish": reductions.root_of_order, "number": order}
    norms = _fold(p, x, (outer, length, inner), dtype, **functions)
    if not 1 < order < np.inf:
        return norms
    out = p.new(outer * inner, dtype)
    p.run(reductions.sure_norms, dtype, x, length, inner, norms, order, least_sure_norm(dtype, order), out)
    return out


def extreme_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, largest: bool
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the largest (or smallest) elements over the middle axis, and of their indices."""
    size, count = outer * length * inner, outer * inner
    out, indices = p.new(count, x.dtype), p.new(count, _INDICES)
    compute = _TRUTHS if x.dtype.kind == "b" else x.dtype
    x, values = x.view(compute), out.view(compute)
    fold = reductions.larger if largest else reductions.smaller
    if inner == outer == 1 and size >= PARALLEL_FROM:
        candidates = p.new(-(-length // extremes.LEAF), _INDICES)
        p.run(extremes.extreme_leaves, compute, x, candidates, work=size, fold=fold)
        p.run(extremes.combine_extremes, compute, x, candidates, values, indices, fold=fold)
        return out, indices
    kernel, sizes = (extremes.extreme_columns, (length, inner)) if inner > 1 else (extremes.extreme_rows, (length,))
    p.run(kernel, compute, x, *sizes, values, indices, work=size, fold=fold)
    return out, indices


def max_pool(
    p: Plan, x: Buffer, sizes: Sequence[int], work: int, count: int, adaptive: bool = False
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the largest elements of ``count`` windows, and of their indices in the images.

    ``sizes`` are three numbers, one for each dimension, for the extents of the images and of the windows, the strides,
    paddings and dilations, and the counts of windows.  ``work`` is the number of elements of all windows.  ``adaptive``
    windows partition the images; their strides are the counts.
    """
    kernel: Any = extremes.max_pool
    parts: dict[str, Any] = {"window": extremes.adaptive_window if adaptive else extremes.window}
    if not adaptive and math.prod(sizes[:3]) < 2**31:
        spacing = {1: extremes.spacing_of_one, 2: extremes.spacing_of_two}.get(sizes[8], extremes.spacing)
        kernel, parts = extremes.max_pool_lines, {"spacing": spacing}
    out, indices = p.new(count, x.dtype), p.new(count, _INDICES)
    p.run(kernel, x.dtype, x, *sizes, nothing("max", x.dtype), out, indices, work=work, **parts)
    return out, indices
