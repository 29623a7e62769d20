"""Discrete Fourier transforms, under the names of PyTorch's ``torch.fft``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .core.missing import found_later as _found_later
from .ops.spectral.fourier import fft_fft as fft
from .ops.spectral.fourier import fft_ifft as ifft
from .ops.spectral.fourier import fft_irfft as irfft
from .ops.spectral.fourier import fft_rfft as rfft

__all__ = ["fft", "ifft", "irfft", "rfft"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "fft")
