"""Discrete Fourier transforms of the array API standard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numgrad as ng

from .. import fft as transforms
from ..ops.table.op import named
from ..tensors.tensor import Tensor

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]


def _along_one(name: str) -> Callable[..., Tensor]:
    function = getattr(transforms, name)

    def transform(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        return function(x, n, axis, norm)

    return named(transform, name, f"Return ``numgrad.fft.{name}`` along a dimension.")


def _along_several(name: str) -> Callable[..., Tensor]:
    function = getattr(transforms, name)

    def transform(
        x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
    ) -> Tensor:
        return function(x, s, axes, norm)

    return named(transform, name, f"Return ``numgrad.fft.{name}`` along some dimensions, or all.")


fft, ifft, rfft, irfft, hfft, ihfft = map(_along_one, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fftn, ifftn, rfftn, irfftn = map(_along_several, ("fftn", "ifftn", "rfftn", "irfftn"))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """Return the frequencies of :func:`fft` of ``n`` samples that are ``d`` apart."""
    return ng.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """Return the frequencies of :func:`rfft` of ``n`` samples that are ``d`` apart."""
    return ng.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return the frequencies in order, with the frequency 0 in the middle."""
    return ng.fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return the frequencies in the order of :func:`fft`: the inverse of :func:`fftshift`."""
    return ng.fft.ifftshift(x, axes)
