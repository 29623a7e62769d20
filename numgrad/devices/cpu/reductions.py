"""Reductions over the middle axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import typeof
from numba.core import types
from numba.np.numpy_support import from_dtype

from numgrad_kernels.cpu import extremes, reductions
from numgrad_kernels.source import module_text
from numgrad_kernels.store import Kernel

from ..compiling import compile_kernel
from ..memory import empty_row
from . import launching
from .launching import launch

__all__ = [
    "extreme_axis", "fold_axis", "logsumexp_axis", "mean_axis", "norm_axis", "variance_axis",
]

#: For each name the term and the fold of a reduction.
FOLDS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sum": (reductions.term, reductions.fold),
    "nansum": (reductions.number_or_zero, reductions.fold),
    "prod": (reductions.term, reductions.product),
    "max": (reductions.term, reductions.larger),
    "min": (reductions.term, reductions.smaller),
    "any": (reductions.nonzero, reductions.larger),
    "all": (reductions.nonzero, reductions.smaller),
    "nonzero": (reductions.nonzero, reductions.fold),
    "numbers": (reductions.number, reductions.fold),
}

_INDICES = np.dtype(np.int64)
_TRUTHS = np.dtype(np.uint8)


@functools.cache
def nothing(name: str, kind: np.dtype) -> float:
    """What a reduction of nothing gives."""
    if name in ("prod", "all"):
        return 1
    if name not in ("max", "min"):
        return 0
    if kind.kind == "f":
        return -np.inf if name == "max" else np.inf
    return int(np.iinfo(kind).min if name == "max" else np.iinfo(kind).max)


@functools.cache
def _parameter(value: float, kind: np.dtype) -> np.ndarray:
    return np.full(1, value, kind)


def _fold(
    flat: np.ndarray, sizes: tuple[int, int, int], out: np.ndarray, compute: np.dtype, initial: float,
    parameters: np.ndarray, term: Callable[..., Any], fold: Callable[..., Any], divisor: float = 1.0,
) -> np.ndarray:
    """Reduce into ``out``, in the dtype ``compute``, and divide by ``divisor``."""
    outer, length, inner = sizes
    size = flat.size
    if length == 0:
        out.fill(initial if divisor else np.nan)  # nothing divided by nothing
    elif inner > 1:
        blocks = -(-length // (reductions.ROWS * reductions.side_by_side(inner)))
        last = blocks == 1
        totals = out if last else empty_row(blocks * out.size, compute)
        launch(
            reductions.fold_columns, compute, flat, length, inner, parameters, initial, divisor if last else 1.0,
            totals, size=size, term=term, fold=fold,
        )
        if not last:
            zero = _parameter(0, compute)
            _fold(totals, (outer, blocks, inner), out, compute, initial, zero, reductions.term, fold, divisor)
    elif outer == 1 and launching.worth_threads(size):
        leaves = empty_row(-(-length // reductions.LEAF), compute)
        launch(
            reductions.fold_leaves, compute, flat, parameters, initial, leaves, size=size, term=term, fold=fold
        )
        launch(reductions.combine_leaves, compute, leaves, divisor, out, fold=fold)
    elif out.size:
        launch(
            reductions.fold_rows, compute, flat, length, parameters, initial, divisor, out, size=size, term=term,
            fold=fold,
        )
    return out


@functools.cache
def _short_way(
    name: str, columns: bool, source: np.dtype, kind: np.dtype
) -> tuple[Kernel, np.ndarray, float]:
    """The serial kernel of a reduction, its parameter and its initial value: for small tensors, as they come."""
    term, fold = FOLDS[name]
    compute = _TRUTHS if kind.kind == "b" else kind
    zero, initial = _parameter(0, compute), nothing(name, compute)
    function = reductions.fold_columns if columns else reductions.fold_rows
    x, parameters, out = [types.Array(from_dtype(dtype), 1, "C") for dtype in (source, compute, kind)]
    sizes = [types.int64] * (2 if columns else 1)
    kernel = compile_kernel(
        function.__name__,
        lambda: module_text(function, compute, {"term": term, "fold": fold}),
        [x, *sizes, parameters, typeof(initial), types.float64, out],
    )
    return kernel, zero, initial


def fold_axis(
    name: str, flat: np.ndarray, outer: int, length: int, inner: int, type: Any, divisor: float = 1.0
) -> np.ndarray:
    """The reduction ``name`` over the middle axis: "sum", "prod", "max", "nonzero" ..., of this type.

    It is divided by ``divisor``, which is for floating-point and complex numbers.
    """
    kind = type.numpy
    if 0 < flat.size < launching.PARALLEL_FROM and (inner == 1 or length <= reductions.ROWS):
        kernel, zero, initial = _short_way(name, inner > 1, flat.dtype, kind)
        out = np.empty(outer * inner, kind)
        if inner == 1:
            kernel.entry(flat, length, zero, initial, divisor, out)
        else:
            kernel.entry(flat, length, inner, zero, initial, divisor, out)
        return out
    term, fold = FOLDS[name]
    compute = _TRUTHS if kind.kind == "b" else kind
    out = empty_row(outer * inner, kind)
    sizes = outer, length, inner
    return _fold(flat, sizes, out, compute, nothing(name, compute), _parameter(0, compute), term, fold, divisor)


def mean_axis(flat: np.ndarray, outer: int, length: int, inner: int, type: Any) -> np.ndarray:
    """The mean over the middle axis."""
    return fold_axis("sum", flat, outer, length, inner, type, float(length))


def variance_axis(
    flat: np.ndarray, outer: int, length: int, inner: int, correction: float, root: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The variance over the middle axis (its root if ``root``) and the mean.

    The variance is the sum of the squared distances from the mean, divided by ``length - correction``.
    """
    kind, sizes = flat.dtype, (outer, length, inner)
    means, out = empty_row(outer * inner, kind), empty_row(outer * inner, kind)
    zero, freedom = _parameter(0, kind), float(max(length - correction, 0))
    _fold(flat, sizes, means, kind, 0, zero, reductions.term, reductions.fold, float(length))
    _fold(flat, sizes, out, kind, 0, means, reductions.square, reductions.fold, freedom)
    if root:
        np.sqrt(out, out=out)
    return out, means


def logsumexp_axis(flat: np.ndarray, outer: int, length: int, inner: int) -> np.ndarray:
    """The logarithm of the sum of the exponentials over the middle axis."""
    kind, sizes = flat.dtype, (outer, length, inner)
    largest, out = empty_row(outer * inner, kind), empty_row(outer * inner, kind)
    _fold(flat, sizes, largest, kind, -np.inf, _parameter(0, kind), reductions.term, reductions.larger)
    np.copyto(largest, 0, where=np.isinf(largest))
    _fold(flat, sizes, out, kind, 0, largest, reductions.exponential, reductions.fold)
    with np.errstate(all="ignore"):
        np.log(out, out=out)
    np.add(out, largest, out=out)
    return out


def norm_axis(flat: np.ndarray, outer: int, length: int, inner: int, order: float, type: Any) -> np.ndarray:
    """The norm of this order and type of the vectors along the middle axis."""
    kind, sizes = type.numpy, (outer, length, inner)
    out = empty_row(outer * inner, kind)
    zero = _parameter(0, kind)
    if order in (np.inf, -np.inf):
        fold = reductions.larger if order > 0 else reductions.smaller
        return _fold(flat, sizes, out, kind, np.inf if order < 0 else 0.0, zero, reductions.magnitude, fold)
    if order == 0:
        return _fold(flat, sizes, out, kind, 0, zero, reductions.nonzero, reductions.fold)
    if order == 1:
        return _fold(flat, sizes, out, kind, 0, zero, reductions.magnitude, reductions.fold)
    if order == 2:
        _fold(flat, sizes, out, kind, 0, zero, reductions.square, reductions.fold)
        return np.sqrt(out, out=out)
    with np.errstate(all="ignore"):
        _fold(flat, sizes, out, kind, 0, _parameter(order, kind), reductions.power, reductions.fold)
        return np.power(out, 1 / order, out=out)


def extreme_axis(
    flat: np.ndarray, outer: int, length: int, inner: int, largest: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The largest (or smallest) elements over the middle axis, and their places."""
    out = empty_row(outer * inner, flat.dtype)
    indices = empty_row(outer * inner, _INDICES)
    x, values = (flat.view(_TRUTHS), out.view(_TRUTHS)) if flat.dtype.kind == "b" else (flat, out)
    fold = reductions.larger if largest else reductions.smaller
    if inner > 1:
        launch(extremes.extreme_columns, x.dtype, x, length, inner, values, indices, size=x.size, fold=fold)
    elif outer == 1 and launching.worth_threads(x.size):
        places = empty_row(-(-length // extremes.LEAF), _INDICES)
        launch(extremes.extreme_leaves, x.dtype, x, places, size=x.size, fold=fold)
        launch(extremes.combine_extremes, x.dtype, x, places, values, indices, fold=fold)
    elif out.size:
        launch(extremes.extreme_rows, x.dtype, x, length, values, indices, size=x.size, fold=fold)
    return out, indices
