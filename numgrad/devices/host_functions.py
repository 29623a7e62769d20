"""The host functions: see ``host``."""

from __future__ import annotations

import numpy as np

from .host import host

__all__ = ["LinAlgError", "fft_c2c", "fft_c2r", "fft_r2c", "linalg_solve"]


class LinAlgError(RuntimeError):
    """A problem with matrices, such as a system of linear equations, has no solution that can be computed."""


@host("numpy.linalg.solve")
def linalg_solve(A, B, left):
    """What solves ``A @ X = B``, where ``B`` may be vectors, or unless ``left`` ``X @ A = B``."""
    vectors = B.ndim == 1 or B.shape == A.shape[:-1]
    matrices, values = (A, B[..., None] if vectors else B) if left else (A.mT, B.mT)
    try:
        result = np.linalg.solve(matrices, values)
    except np.linalg.LinAlgError:
        first = np.flatnonzero(np.linalg.slogdet(matrices).sign == 0)[0]
        which = f"(Batch element {first}): " if A.ndim > 2 else ""
        said = f"torch.linalg.solve: {which}The solver failed because the input matrix is singular."
        raise LinAlgError(said) from None
    return result[..., 0] if vectors else result if left else result.mT


#: What NumPy calls a transform's normalizations: by 1, by the root of the number of elements, by this number.
_FORWARD = ("backward", "ortho", "forward")

#: The same for an inverse transform.
_INVERSE = _FORWARD[::-1]


@host("numpy.fft.rfft")
def fft_r2c(input, dim, normalization, onesided):
    transform = np.fft.rfft if onesided else np.fft.fft
    return transform(input, axis=dim[0], norm=_FORWARD[normalization])


@host("numpy.fft.fft")
def fft_c2c(input, dim, normalization, forward):
    if forward:
        return np.fft.fft(input, axis=dim[0], norm=_FORWARD[normalization])
    return np.fft.ifft(input, axis=dim[0], norm=_INVERSE[normalization])


@host("numpy.fft.irfft")
def fft_c2r(input, dim, normalization, last_dim_size):
    return np.fft.irfft(input, last_dim_size, dim[0], _INVERSE[normalization])
