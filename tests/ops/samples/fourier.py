"""Samples of discrete Fourier transforms."""

import numpy as np
from ops.sampling import sample, without

without("fft_r2c fft_c2c fft_c2r", "0-d")

_NORMS = ("backward", "ortho", "forward")


def _in_memory_order(result, input, dims):
    """Return transforms over some dimensions, one after another as they lie in the input."""
    inner = sorted(dims[:-1], key=lambda d: -input.strides[d])
    order = [*sorted({*range(input.ndim)} - {*dims}, key=lambda d: -input.strides[d]), *inner, dims[-1]]
    return np.ascontiguousarray(result.transpose(order)).transpose(np.argsort(order))


def _r2c(x, dims, normalization, onesided):
    transform = np.fft.rfftn if onesided else np.fft.fftn
    return _in_memory_order(transform(x, None, dims, _NORMS[normalization]), x, dims)


def _c2c(x, dims, normalization, forward):
    transform, norm = (np.fft.fftn, normalization) if forward else (np.fft.ifftn, 2 - normalization)
    return _in_memory_order(transform(x, None, dims, _NORMS[norm]), x, sorted(dims, key=lambda d: -x.strides[d]))


def _c2r(x, dims, normalization, size):
    first = _c2c(x, dims[:-1], normalization, False) if dims[1:] else x
    return _in_memory_order(np.fft.irfft(first, size, dims[-1], _NORMS[2 - normalization]), first, dims[-1:])


for _shape, _dims, _normalization, _last in (
    ((2, 3, 4), (1,), 0, True), ((3, 4), (1,), 1, False), ((4, 2), (0,), 2, True), ((0, 3), (1,), 0, True),
    ((3, 2, 4), (2, 0), 1, True),
):
    _size = 2 * (_shape[_dims[-1]] - 1) + _normalization // 2
    for _name, _reference, _type, _how in (
        ("fft_r2c", _r2c, "float64", _last), ("fft_c2c", _c2c, "complex128", _last),
        ("fft_c2r", _c2r, "complex128", _size),
    ):
        sample(_name, _reference, _shape, args=(_dims, _normalization, _how), dtypes=(_type,), memory="reference",
               dtype="float64" if _name == "fft_c2r" else "complex128")
