"""Samples of discrete Fourier transforms."""

import numpy as np
from ops.sampling import sample, without

without("fft_r2c fft_c2c fft_c2r", "0-d")

_NORMS = ("backward", "ortho", "forward")


def _transformed(transform, input, dim, *arguments):
    """The transforms one after another as they lie in the input."""
    result = transform(input, *arguments)
    order = sorted(range(input.ndim), key=lambda d: (d == dim, -input.strides[d]))
    return np.ascontiguousarray(result.transpose(order)).transpose(np.argsort(order))


def _r2c(x, dims, normalization, onesided):
    transform = np.fft.rfft if onesided else np.fft.fft
    return _transformed(transform, x, *dims, None, *dims, _NORMS[normalization])


def _c2c(x, dims, normalization, forward):
    return _transformed(np.fft.fft if forward else np.fft.ifft, x, *dims, None, *dims,
                        _NORMS[normalization if forward else 2 - normalization])


def _c2r(x, dims, normalization, size):
    return _transformed(np.fft.irfft, x, *dims, size, *dims, _NORMS[2 - normalization])


for _shape, _dim, _normalization, _last in (
    ((2, 3, 4), 1, 0, True), ((3, 4), 1, 1, False), ((4, 2), 0, 2, True), ((0, 3), 1, 0, True),
):
    _size = 2 * (_shape[_dim] - 1) + _normalization // 2
    for _name, _reference, _type, _how in (
        ("fft_r2c", _r2c, "float64", _last), ("fft_c2c", _c2c, "complex128", _last),
        ("fft_c2r", _c2r, "complex128", _size),
    ):
        sample(_name, _reference, _shape, args=((_dim,), _normalization, _how), dtypes=(_type,), memory="reference",
               dtype="float64" if _name == "fft_c2r" else "complex128")
