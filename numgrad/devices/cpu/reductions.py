"""Reductions over the middle axis of a row of elements, seen as (outer, length, inner).

What is exported gives what reduces tensors of one layout, bound to a kernel where there are few elements:
``fold_axis(read, source, outer, length, inner, ...)`` for tensors of which ``read`` gives a row of dtype ``source``.
Without ``read`` it reduces rows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from numgrad_kernels.cpu import extremes, reductions

from ..common import FOLDS, least_sure_norm, nothing
from ..memory import empty_row, filled_row
from . import launching
from .launching import bound, launch
from .threads import PARALLEL_FROM

__all__ = ["extreme_axis", "fold_axis", "logsumexp_axis", "max_pool_launcher", "norm_axis", "variance_axis"]


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


def is_small(outer: int, length: int, inner: int) -> bool:
    """Whether one kernel on one thread does all that there is to do for a row of these sizes."""
    return 0 < outer * length * inner < PARALLEL_FROM and (inner == 1 or length <= reductions.ROWS)


def _folder(
    read: Any, source: np.dtype, outer: int, length: int, inner: int, dtype: np.dtype, reduction: Reduction,
    own_parameters: bool = False,
) -> Callable[..., Any]:
    """What reduces a tensor, or without ``read`` a row; if each result has a parameter of its own, it gets these, too.
    """
    size, count, initial, divisor = outer * length * inner, outer * inner, reduction.initial, reduction.divisor
    compute = _TRUTHS if dtype.kind == "b" else dtype
    parameters = compute if own_parameters else _parameter(reduction.parameter, compute)
    if not length and not divisor:  # nothing divided by nothing, which of complex numbers Numba takes for an error
        return lambda *rows: filled_row(count, np.nan, dtype)
    blocks = -(-length // (reductions.ROWS * reductions.side_by_side(inner))) if inner > 1 else 1
    if blocks > 1:
        of_blocks = bound(
            reductions.fold_columns, compute, read, source, (length, inner, parameters, initial, 1.0),
            [(blocks * count, compute)], size, **reduction.parts("term", "fold"),
        )
        joined = reduction._replace(term=reductions.term)
        join = _folder(None, compute, outer, blocks, inner, dtype, joined, own_parameters)
        return lambda tensor, *given: join(of_blocks(tensor, *given), *given)
    kernel, sizes = (reductions.fold_columns, (length, inner)) if inner > 1 else (reductions.fold_rows, (length,))
    by_lines = bound(
        kernel, compute, read, source, (*sizes, parameters, initial, divisor), [(count, dtype)], size,
        **reduction.parts("term", "fold", "finish"),
    )
    if inner > 1 or outer > 1 or size < PARALLEL_FROM:
        return by_lines
    of_leaves = bound(
        reductions.fold_leaves, compute, read, source, (parameters, initial),
        [(-(-length // reductions.LEAF), compute)], size, **reduction.parts("term", "fold"),
    )
    combine = bound(
        reductions.combine_leaves, compute, None, compute, (parameters, divisor), [(1, dtype)],
        **reduction.parts("fold", "finish"),
    )

    def run(tensor: Any, *given: Any) -> Any:
        if launching.worth_threads(size):
            return combine(of_leaves(tensor, *given), *given)
        return by_lines(tensor, *given)

    return run


# -- sums, products, extremes -----------------------------------------------------------------------------------------


def _named(name: str, dtype: np.dtype, divisor: float = 1.0) -> Reduction:
    compute = _TRUTHS if dtype.kind == "b" else dtype
    return Reduction(*FOLDS[name], nothing(name, compute), divisor)


def fold_axis(
    read: Any, source: np.dtype, outer: int, length: int, inner: int, name: str, dtype: np.dtype, divisor: float = 1.0
) -> Callable[[Any], Any]:
    """The reduction ``name`` over the middle axis: "sum", "prod", "max", "nonzero" ..., of this dtype.

    It is divided by ``divisor``, which is for floating-point and complex numbers.
    """
    return _folder(read, source, outer, length, inner, dtype, _named(name, dtype, divisor))


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
    passes: tuple[Reduction, Reduction], read: Any, dtype: np.dtype, outer: int, length: int, inner: int
) -> Callable[[Any], tuple[Any, Any]]:
    first = _folder(None, dtype, outer, length, inner, dtype, passes[0])
    second = _folder(None, dtype, outer, length, inner, dtype, passes[1], True)

    def launch(tensor: Any) -> tuple[Any, Any]:
        row = read(tensor)
        parameters = first(row)
        return second(row, parameters), parameters

    return launch


def variance_axis(
    read: Any, source: np.dtype, outer: int, length: int, inner: int, correction: float, root: bool
) -> Callable[[Any], Any]:
    """The variance over the middle axis (its root if ``root``) and the mean.

    The variance is the sum of the squared distances from the mean, divided by ``length - correction``.
    """
    return _twice(_spread(length, correction, root), read, source, outer, length, inner)


def logsumexp_axis(read: Any, source: np.dtype, outer: int, length: int, inner: int) -> Callable[[Any], Any]:
    """The logarithm of the sum of the exponentials over the middle axis."""
    both = _twice(_LOGSUMEXP, read, source, outer, length, inner)
    return lambda tensor: both(tensor)[0]


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
    read: Any, source: np.dtype, outer: int, length: int, inner: int, order: float, dtype: np.dtype
) -> Callable[[Any], Any]:
    """The norm of this order and dtype of the vectors along the middle axis."""
    if not 1 < order < np.inf:
        return _folder(read, source, outer, length, inner, dtype, _norm(order))
    norms = _folder(None, source, outer, length, inner, dtype, _norm(order))
    given = length, inner, dtype, order, least_sure_norm(dtype, order)
    sure = bound(reductions.sure_norms, dtype, None, source, given, [(outer * inner, dtype)])

    def launch(tensor: Any) -> Any:
        row = read(tensor)
        return sure(row, norms(row))

    return launch


# -- extremes and their indices ---------------------------------------------------------------------------------------


def extreme_axis(
    read: Any, source: np.dtype, outer: int, length: int, inner: int, largest: bool
) -> Callable[[Any], Any]:
    """The largest (or smallest) elements over the middle axis, and their indices."""
    size, count = outer * length * inner, outer * inner
    x = _TRUTHS if source.kind == "b" else source
    fold = reductions.larger if largest else reductions.smaller
    kernel, sizes = (extremes.extreme_columns, (length, inner)) if inner > 1 else (extremes.extreme_rows, (length,))
    outs = [(count, x), (count, _INDICES)]
    in_pieces = inner == outer == 1 and size >= PARALLEL_FROM
    if x is source and not in_pieces:
        return bound(kernel, x, read, x, sizes, outs, size, fold=fold)
    by_lines = bound(kernel, x, None, x, sizes, outs, size, fold=fold)

    def run(tensor: Any) -> tuple[np.ndarray, np.ndarray]:
        row = (tensor if read is None else read(tensor)).view(x)
        if in_pieces and launching.worth_threads(size):
            candidates = empty_row(-(-length // extremes.LEAF), _INDICES)
            out, indices = empty_row(1, x), empty_row(1, _INDICES)
            launch(extremes.extreme_leaves, x, row, candidates, size=size, fold=fold)
            launch(extremes.combine_extremes, x, row, candidates, out, indices, fold=fold)
        else:
            out, indices = by_lines(row)
        return out.view(source), indices

    return run


def max_pool_launcher(
    type: Any, sizes: Sequence[int], work: int, count: int, adaptive: bool = False
) -> Callable[[Any], tuple[Any, Any]]:
    """What finds the largest elements of ``count`` windows, and their indices in the images: ``launch(row)``.

    ``sizes`` are three numbers each, one for each dimension: of the images, the windows, their strides, paddings and
    dilations, and how many windows there are.  ``work`` is how many elements all windows have.  Windows that are
    ``adaptive`` share the images among them; instead of a stride there is how many there are.
    """
    dtype = type.numpy
    lowest = nothing("max", dtype)
    outs = [(count, dtype), (count, np.dtype(np.int64))]
    if not adaptive and math.prod(sizes[:3]) < 2**31:
        spacing = {1: extremes.spacing_of_one, 2: extremes.spacing_of_two}.get(sizes[8], extremes.spacing)
        return bound(extremes.max_pool_lines, dtype, None, dtype, (*sizes, lowest), outs, work, spacing=spacing)
    window = extremes.adaptive_window if adaptive else extremes.window
    return bound(extremes.max_pool, dtype, None, dtype, (*sizes, lowest), outs, work, window=window)
