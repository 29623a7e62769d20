"""Window functions for signals: Hann, Hamming, Blackman, Bartlett and Kaiser."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.types import to_dtype
from ...tensors.tensor import Tensor
from ..pointwise.arithmetic import add, mul, neg, sub
from ..pointwise.clamping import minimum
from ..pointwise.trigonometric import cos
from ..table.checks import check
from ..table.op import public
from .factories import finished, ones
from .from_data import from_numpy
from .spaced import arange


def _window(
    name: str, length: int, periodic: bool, curve: Callable[[Tensor, int], Tensor],
    dtype: Any, device: Any, requires_grad: bool,
) -> Tensor:
    """Return the first ``length`` values of ``curve(positions, last)``, which extends from position 0 to ``last``.

    With ``periodic``, ``last`` is the position after the window, so that adjacent windows form one curve.

    Raises:
        RuntimeError: the length is negative, or the dtype is not floating-point.
    """
    length = operator.index(length)
    check(length >= 0, "{} requires non-negative window_length, got window_length={}", name, length)
    if dtype is not None and not to_dtype(dtype).is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {to_dtype(dtype)}")
    if length < 2:
        return ones(length, dtype=dtype, device=device, requires_grad=requires_grad)
    positions = arange(float(length), dtype=dtype, device=device)
    return finished(curve(positions, length if periodic else length - 1), requires_grad)


def _raised_cosine(alpha: float, beta: float) -> Callable[[Tensor, int], Tensor]:
    return lambda positions, last: add(mul(cos(mul(positions, 2 * math.pi / last)), -beta), alpha)


def _blackman(positions: Tensor, last: int) -> Tensor:
    angle = mul(positions, math.pi / last)
    fine, coarse = cos(mul(angle, 4)), cos(mul(angle, 2))
    return add(sub(mul(fine, 0.08), mul(coarse, 0.5)), 0.42)


def _triangle(positions: Tensor, last: int) -> Tensor:
    rising = mul(positions, 2 / last)
    return minimum(rising, add(neg(rising), 2))


@public(method=False)
def hann_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``0.5 - 0.5 * cos(2 * pi * n / last)``, of shape (window_length,).

    ``last`` is ``window_length`` if ``periodic``, else one less, which makes the window symmetric.

    Raises:
        RuntimeError: the length is negative, or the dtype is not floating-point.

    Example:
        >>> import numgrad
        >>> numgrad.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", window_length, periodic, _raised_cosine(0.5, 0.5), dtype, device, requires_grad)


@public(method=False)
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:
    """``alpha - beta * cos(2 * pi * n / last)``; see :func:`hann_window`.

    Example:
        >>> import numgrad
        >>> numgrad.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _window("hamming_window", window_length, periodic, _raised_cosine(alpha, beta), dtype, device, requires_grad)


@public(method=False)
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``0.42 - 0.5 * cos(2 * pi * n / last) + 0.08 * cos(4 * pi * n / last)``; see :func:`hann_window`."""
    return _window("blackman_window", window_length, periodic, _blackman, dtype, device, requires_grad)


@public(method=False)
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``1 - abs(2 * n / last - 1)``, a triangle; see :func:`hann_window`.

    Example:
        >>> import numgrad
        >>> numgrad.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("bartlett_window", window_length, periodic, _triangle, dtype, device, requires_grad)


def kaiser_curve(positions: np.ndarray, last: int, beta: float) -> np.ndarray:
    """Return the values of a Kaiser window that extends from 0 to ``last``, at some positions."""
    inside = 1 - (2 * positions / last - 1) ** 2
    return np.i0(beta * np.sqrt(np.maximum(inside, 0))) / np.i0(beta)


@public(method=False)
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``i0(beta * sqrt(1 - (2 * n / last - 1)**2)) / i0(beta)``, with Bessel's function i0; see :func:`hann_window`.

    Example:
        >>> import numgrad
        >>> numgrad.kaiser_window(4, beta=4.0)
        tensor([0.0885, 0.6334, 1.0000, 0.6334])
    """

    def curve(positions: Tensor, last: int) -> Tensor:
        values = kaiser_curve(np.arange(window_length, dtype=np.float64), last, beta)
        return from_numpy(values).to(positions.device, positions.dtype)

    return _window("kaiser_window", window_length, periodic, curve, dtype, device, requires_grad)
