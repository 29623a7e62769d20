"""Reductions over the middle axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import extremes, reductions

from ..memory import empty_row
from . import launching
from .launching import launch

__all__ = [
    "extreme_axis", "fold_axis", "logsumexp_axis", "mean_axis", "norm_axis", "variance_axis",
]

#: For each name the term and the fold of a reduction.
_FOLDS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
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
def _nothing(name: str, kind: np.dtype) -> float:
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
    parameters: np.ndarray, term: Callable[..., Any], fold: Callable[..., Any],
) -> np.ndarray:
    """Reduce into ``out``, in the dtype ``compute``."""
    outer, length, inner = sizes
    parts = {"term": term, "fold": fold}
    if length == 0:
        out.fill(initial)
    elif inner > 1:
        launch(
            reductions.fold_columns, compute, flat, length, inner, parameters, initial, out, size=flat.size, **parts
        )
    elif outer == 1 and launching.worth_threads(flat.size):
        leaves = empty_row(-(-length // reductions.LEAF), compute)
        launch(reductions.fold_leaves, compute, flat, parameters, initial, leaves, size=flat.size, **parts)
        launch(reductions.combine_leaves, compute, leaves, out, fold=fold)
    elif out.size:
        launch(reductions.fold_rows, compute, flat, length, parameters, initial, out, size=flat.size, **parts)
    return out


def fold_axis(name: str, flat: np.ndarray, outer: int, length: int, inner: int, type: Any) -> np.ndarray:
    """The reduction ``name`` over the middle axis: "sum", "prod", "max", "nonzero" ..., of this type."""
    term, fold = _FOLDS[name]
    out = empty_row(outer * inner, type.numpy)
    compute = _TRUTHS if type.numpy.kind == "b" else type.numpy
    sizes = outer, length, inner
    return _fold(flat, sizes, out, compute, _nothing(name, compute), _parameter(0, compute), term, fold)


def mean_axis(flat: np.ndarray, outer: int, length: int, inner: int, type: Any) -> np.ndarray:
    """The mean over the middle axis."""
    out = fold_axis("sum", flat, outer, length, inner, type)
    with np.errstate(all="ignore"):
        return np.divide(out, length, out=out)


def variance_axis(
    flat: np.ndarray, outer: int, length: int, inner: int, correction: float, root: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The variance over the middle axis (its root if ``root``) and the mean.

    The variance is the sum of the squared distances from the mean, divided by ``length - correction``.
    """
    kind, sizes = flat.dtype, (outer, length, inner)
    means, out = empty_row(outer * inner, kind), empty_row(outer * inner, kind)
    with np.errstate(all="ignore"):
        _fold(flat, sizes, means, kind, 0, _parameter(0, kind), reductions.term, reductions.fold)
        np.divide(means, length, out=means)
        _fold(flat, sizes, out, kind, 0, means, reductions.square, reductions.fold)
        np.divide(out, max(length - correction, 0), out=out)
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
    with np.errstate(all="ignore"):
        if order == 2:
            _fold(flat, sizes, out, kind, 0, zero, reductions.square, reductions.fold)
            return np.sqrt(out, out=out)
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
