"""Window functions of ``M`` points, with the largest value 1.

With ``sym=False`` a window is periodic: the first ``M`` points of the symmetric window of ``M + 1`` points.  All are
computed in float64 and then rounded to ``dtype``, by default the default dtype.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.types import float32, float64, get_default_dtype, to_dtype
from ..ops import public_functions
from ..ops.creation.factories import finished
from ..ops.creation.signal_windows import kaiser_curve
from ..tensors.tensor import Tensor

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]


def _window(
    name: str, M: int, sym: bool, curve: Callable[[np.ndarray, int], np.ndarray], dtype: Any, device: Any,
    requires_grad: bool,
) -> Tensor:
    """Return ``curve(positions, last)`` at the positions 0 to M - 1 of a window from 0 to ``last``."""
    count, chosen = operator.index(M), get_default_dtype() if dtype is None else to_dtype(dtype)
    if count < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if chosen not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {chosen}")
    last = max(count - 1 if sym else count, 1)
    values = curve(np.arange(count, dtype=np.float64), last) if count > 1 else np.ones(count)
    return finished(public_functions["from_numpy"](values).to(device, chosen), requires_grad)


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise ValueError(f"{name} must be positive, got: {value} instead.")


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return ``1 - abs(2 * n / (M - 1) - 1)``, a triangle.

    Raises:
        ValueError: ``M`` is negative, or the dtype is neither float32 nor float64.

    Example:
        >>> from numgrad.signal import windows
        >>> windows.bartlett(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window("bartlett", M, sym, lambda n, last: 1 - np.abs(2 * n / last - 1), dtype, device, requires_grad)


def general_cosine(
    M: int, *, a: Sequence[float], sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return ``a[0] - a[1] * cos(x) + a[2] * cos(2 * x) - ...``, where ``x`` is ``2 * pi * n / (M - 1)``.

    Raises:
        TypeError: ``a`` is not a list or tuple.
        ValueError: ``a`` is empty, ``M`` is negative, or the dtype is neither float32 nor float64.

    Example:
        >>> from numgrad.signal import windows
        >>> windows.general_cosine(5, a=[0.5, 0.5])
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _cosines("general_cosine", M, a, sym, dtype, device, requires_grad)


def _cosines(
    name: str, M: int, a: Sequence[float], sym: bool, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    if not isinstance(a, list | tuple):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")

    def curve(n: np.ndarray, last: int) -> Any:
        return sum([(-1) ** k * weight * np.cos(2 * math.pi * k / last * n) for k, weight in enumerate(a)])

    return _window(name, M, sym, curve, dtype, device, requires_grad)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return ``alpha - (1 - alpha) * cos(2 * pi * n / (M - 1))``.

    Raises:
        ValueError: ``M`` is negative, or the dtype is neither float32 nor float64.
    """
    return _cosines("general_hamming", M, [alpha, 1 - alpha], sym, dtype, device, requires_grad)


def hamming(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return ``0.54 - 0.46 * cos(2 * pi * n / (M - 1))``.

    Raises:
        ValueError: ``M`` is negative, or the dtype is neither float32 nor float64.
    """
    return _cosines("hamming", M, [0.54, 0.46], sym, dtype, device, requires_grad)


def hann(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return ``0.5 - 0.5 * cos(2 * pi * n / (M - 1))``.

    Raises:
        ValueError: ``M`` is negative, or the dtype is neither float32 nor float64.

    Example:
        >>> from numgrad.signal import windows
        >>> windows.hann(4, sym=False)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _cosines("hann", M, [0.5, 0.5], sym, dtype, device, requires_grad)


def blackman(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return the general cosine window with the coefficients 0.42, 0.5 and 0.08.

    Raises:
        ValueError: ``M`` is negative, or the dtype is neither float32 nor float64.
    """
    return _cosines("blackman", M, [0.42, 0.5, 0.08], sym, dtype, device, requires_grad)


def nuttall(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return the general cosine window with four coefficients of Nuttall (1981) that minimize the side lobes.

    Raises:
        ValueError: ``M`` is negative, or the dtype is neither float32 nor float64.
    """
    return _cosines("nuttall", M, [0.3635819, 0.4891775, 0.1365995, 0.0106411], sym, dtype, device, requires_grad)


def cosine(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return ``sin(pi * (n + 0.5) / M)``, half a period of the sine.

    Raises:
        ValueError: ``M`` is negative, or the dtype is neither float32 nor float64.

    Example:
        >>> from numgrad.signal import windows
        >>> windows.cosine(3)
        tensor([0.5000, 1.0000, 0.5000])
    """

    def curve(n: np.ndarray, last: int) -> np.ndarray:
        return np.sin(math.pi / (last + 1) * (n + 0.5))

    return _window("cosine", M, sym, curve, dtype, device, requires_grad)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return ``exp(-abs(n - center) / tau)``; ``center`` is the middle by default.

    Raises:
        ValueError: ``tau`` is not positive, ``center`` is given for a symmetric window, ``M`` is negative, or the dtype
            is neither float32 nor float64.
    """
    _check_positive("Tau", tau)
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def curve(n: np.ndarray, last: int) -> np.ndarray:
        return np.exp(-np.abs(n - (last / 2 if center is None else center)) / tau)

    return _window("exponential", M, sym, curve, dtype, device, requires_grad)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return ``exp(-((n - (M - 1) / 2) / std)**2 / 2)``.

    Raises:
        ValueError: ``std`` is not positive, ``M`` is negative, or the dtype is neither float32 nor float64.
    """
    _check_positive("Standard deviation", std)
    return _window(
        "gaussian", M, sym, lambda n, last: np.exp(-(((n - last / 2) / std) ** 2) / 2), dtype, device, requires_grad
    )


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return ``i0(beta * sqrt(1 - (2 * n / (M - 1) - 1)**2)) / i0(beta)`` of the modified Bessel function ``i0``.

    Raises:
        ValueError: ``beta`` or ``M`` is negative, or the dtype is neither float32 nor float64.

    Example:
        >>> from numgrad.signal import windows
        >>> windows.kaiser(5, beta=4.0)
        tensor([0.0885, 0.6334, 1.0000, 0.6334, 0.0885])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _window("kaiser", M, sym, lambda n, last: kaiser_curve(n, last, beta), dtype, device, requires_grad)
