"""Steps of reductions over the middle axis of a buffer, seen as (outer, length, inner)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from numgrad_kernels.cpu import extremes, reductions

from ..common import FOLDS, least_sure_norm, nothing
from ..plan import Buffer, Plan
from .threads import PARALLEL_FROM

__all__ = ["extreme_axis", "fold_axis", "logsumexp_axis", "max_pool", "norm_axis", "variance_axis"]


_INDICES = np.dtype(np.int64)
_TRUTHS = np.dtype(np.uint8)


class Reduction(NamedTuple):
    """What is done along the axis: the parts of the kernel, and what it is given.

    The parameters are those of each result, where that is not the one parameter of all.
    """

    term: Callable[..., Any]
    fold: Callable[..., Any]
    initial: float = 0
    divisor: float = 1.0
    finish: Callable[..., Any] = reductions.finish
    parameter: float = 0

    def parts(self, *names: str) -> dict[str, Any]:
        """Those of the parts that are not the kernels' own."""
        own: dict[str, Any] = {"term": self.term, "fold": self.fold, "finish": self.finish}
        return {name: own[name] for name in names if name != "finish" or self.finish is not reductions.finish}


@functools.cache
def _parameter(value: float, dtype: np.dtype) -> np.ndarray:
    return np.full(1, value, dtype)


def _fold(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, dtype: np.dtype, reduction: Reduction,
    parameters: Buffer | None = None,
) -> Buffer:
    """Reduce a buffer; ``parameters`` has one number for each result, in place of the one that is for all."""
    size, initial, divisor = outer * length * inner, reduction.initial, reduction.divisor
    compute = _TRUTHS if dtype.kind == "b" else dtype
    given: Any = _parameter(reduction.parameter, compute) if parameters is None else parameters
    out = p.new(outer * inner, dtype)
    if not length and not divisor:  # nothing divided by nothing, which of complex numbers Numba takes for an error
        p.fill(out, complex(np.nan, np.nan) if dtype.kind == "c" else np.nan)
        return out
    blocks = -(-length // (reductions.ROWS * reductions.side_by_side(inner))) if inner > 1 else 1
    if blocks > 1:
        totals = p.new(blocks * out.size, compute)
        p.run(
            reductions.fold_columns, compute, x, length, inner, given, initial, 1.0, totals, work=size,
            **reduction.parts("term", "fold"),
        )
        return _fold(p, totals, outer, blocks, inner, dtype, reduction._replace(term=reductions.term), parameters)
    if inner > 1 or outer > 1 or size < PARALLEL_FROM:
        kernel, sizes = (reductions.fold_columns, (length, inner)) if inner > 1 else (reductions.fold_rows, (length,))
        p.run(
            kernel, compute, x, *sizes, given, initial, divisor, out, work=size,
            **reduction.parts("term", "fold", "finish"),
        )
    else:
        leaves = p.new(-(-length // reductions.LEAF), compute)
        p.run(
            reductions.fold_leaves, compute, x, given, initial, leaves, work=size, **reduction.parts("term", "fold")
        )
        p.run(reductions.combine_leaves, compute, leaves, given, divisor, out, **reduction.parts("fold", "finish"))
    return out


# -- sums, products, extremes -----------------------------------------------------------------------------------------


def _named(name: str, dtype: np.dtype, divisor: float = 1.0) -> Reduction:
    compute = _TRUTHS if dtype.kind == "b" else dtype
    return Reduction(*FOLDS[name], nothing(name, compute), divisor)


def fold_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, name: str, dtype: np.dtype, divisor: float = 1.0
) -> Buffer:
    """The reduction ``name`` over the middle axis: "sum", "prod", "max", "nonzero" ..., of this dtype.

    It is divided by ``divisor``, which is for floating-point and complex numbers.
    """
    return _fold(p, x, outer, length, inner, dtype, _named(name, dtype, divisor))


# -- what takes two passes --------------------------------------------------------------------------------------------


def _spread(length: int, correction: float, root: bool) -> tuple[Reduction, Reduction]:
    """The mean, and what is made with it: the variance or its root."""
    finish = reductions.root if root else reductions.finish
    freedom = float(max(length - correction, 0))
    return (
        Reduction(reductions.term, reductions.fold, divisor=float(length)),
        Reduction(reductions.square, reductions.fold, divisor=freedom, finish=finish),
    )


#: The largest element, and what is made with it: the logarithm of the sum of exponentials.
_LOGSUMEXP = (
    Reduction(reductions.term, reductions.larger, -np.inf, finish=reductions.finite),
    Reduction(reductions.exponential, reductions.fold, finish=reductions.logarithm),
)


def _twice(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, passes: tuple[Reduction, Reduction]
) -> tuple[Buffer, Buffer]:
    """The results of the second pass, whose parameters are those of the first, and these."""
    first = _fold(p, x, outer, length, inner, x.dtype, passes[0])
    return _fold(p, x, outer, length, inner, x.dtype, passes[1], first), first


def variance_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, correction: float, root: bool
) -> tuple[Buffer, Buffer]:
    """The variance over the middle axis (its root if ``root``) and the mean.

    The variance is the sum of the squared distances from the mean, divided by ``length - correction``.
    """
    return _twice(p, x, outer, length, inner, _spread(length, correction, root))


def logsumexp_axis(p: Plan, x: Buffer, outer: int, length: int, inner: int) -> Buffer:
    """The logarithm of the sum of the exponentials over the middle axis."""
    return _twice(p, x, outer, length, inner, _LOGSUMEXP)[0]


# -- norms ------------------------------------------------------------------------------------------------------------


def _norm(order: float) -> Reduction:
    if order in (np.inf, -np.inf):
        fold = reductions.larger if order > 0 else reductions.smaller
        return Reduction(reductions.magnitude, fold, np.inf if order < 0 else 0.0)
    if order == 0:
        return Reduction(reductions.nonzero, reductions.fold)
    if order == 1:
        return Reduction(reductions.magnitude, reductions.fold)
    if order == 2:
        return Reduction(reductions.square, reductions.fold, finish=reductions.root)
    return Reduction(reductions.power, reductions.fold, finish=reductions.root_of_order, parameter=order)


def norm_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, order: float, dtype: np.dtype
) -> Buffer:
    """The norm of this order and dtype of the vectors along the middle axis."""
    norms = _fold(p, x, outer, length, inner, dtype, _norm(order))
    if not 1 < order < np.inf:
        return norms
    out = p.new(outer * inner, dtype)
    p.run(reductions.sure_norms, dtype, x, length, inner, norms, order, least_sure_norm(dtype, order), out)
    return out


# -- extremes and their indices ---------------------------------------------------------------------------------------


def extreme_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, largest: bool
) -> tuple[Buffer, Buffer]:
    """The largest (or smallest) elements over the middle axis, and their indices."""
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
    """The largest elements of ``count`` windows, and their indices in the images.

    ``sizes`` are three numbers each, one for each dimension: of the images, the windows, their strides, paddings and
    dilations, and how many windows there are.  ``work`` is how many elements all windows have.  Windows that are
    ``adaptive`` share the images among them; instead of a stride there is how many there are.
    """
    kernel: Any = extremes.max_pool
    parts: dict[str, Any] = {"window": extremes.adaptive_window if adaptive else extremes.window}
    if not adaptive and math.prod(sizes[:3]) < 2**31:
        spacing = {1: extremes.spacing_of_one, 2: extremes.spacing_of_two}.get(sizes[8], extremes.spacing)
        kernel, parts = extremes.max_pool_lines, {"spacing": spacing}
    out, indices = p.new(count, x.dtype), p.new(count, _INDICES)
    p.run(kernel, x.dtype, x, *sizes, nothing("max", x.dtype), out, indices, work=work, **parts)
    return out, indices
