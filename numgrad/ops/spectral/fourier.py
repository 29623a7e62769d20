"""Discrete Fourier transforms along one dimension."""

from __future__ import annotations

from typing import Any

from ... import devices
from ...core.layout import Layout, all_dims, contiguous_strides, layout_of, normal_dim
from ...core.types import complex_of, dtype, get_default_dtype, real_of, tensor_type
from ...tensors.tensor import Tensor
from ..memory.copying import convert
from ..pointwise.arithmetic import add, conj
from ..pointwise.complexes import real
from ..shapes.padding import constant_pad
from ..shapes.parts import slice_backward, slice_op
from ..table.checks import check, check_index
from ..table.lookup import lookup, operation


def _transformed(input: Layout, dim: int, length: int, dtype: dtype) -> Layout:
    """Return the layout of transforms: each is contiguous, and they are in the memory order of the input."""
    others = [*all_dims(input.shape)]
    others[dim] = others[-1]  # orders dimensions of equal strides as PyTorch does
    order = [*sorted(others[:-1], key=lambda d: -input.strides[d]), dim]
    shape = (*input.shape[:dim], length, *input.shape[dim + 1 :])
    steps = dict(zip(order, contiguous_strides(tuple([shape[d] for d in order])), strict=True))
    return layout_of(tensor_type(dtype, input.type.device), shape, tuple([steps[d] for d in range(len(shape))]))


@operation("FftR2CBackward0", aten="_fft_r2c", linear=True, dims=["dims"], host=devices.fft_r2c)
def fft_r2c(input: Layout, dims: tuple[int, ...], normalization: int, onesided: bool) -> Any:
    length = input.shape[dims[0]]
    return _transformed(input, dims[0], length // 2 + 1 if onesided else length, complex_of(input.type.dtype))


@fft_r2c.gradient("input")
def _(grad, input_shape, dims, normalization, onesided):
    """``real(fft_c2c(resized(grad, input_shape), dims, normalization, False))``."""
    return real(fft_c2c(_resized(grad, dims[0], input_shape[dims[0]]), dims, normalization, False))


@operation("FftC2CBackward0", aten="_fft_c2c", linear=True, dims=["dims"], host=devices.fft_c2c)
def fft_c2c(input: Layout, dims: tuple[int, ...], normalization: int, forward: bool) -> Any:
    return _transformed(input, dims[0], input.shape[dims[0]], input.type.dtype)


@fft_c2c.gradient("input")
def _(grad, dims, normalization, forward):
    return fft_c2c(grad, dims, normalization, not forward)


@operation("FftC2RBackward0", aten="_fft_c2r", linear=True, dims=["dims"], host=devices.fft_c2r)
def fft_c2r(input: Layout, dims: tuple[int, ...], normalization: int, last_dim_size: int) -> Any:
    return _transformed(input, dims[0], last_dim_size, real_of(input.type.dtype))


@fft_c2r.gradient("input")
def _(grad, dims, normalization):
    """``fft_r2c(grad, dims, normalization, True)``, twice that where a number stands for its conjugate, too."""
    half = fft_r2c(grad, dims, normalization, True)
    shape, (dim,) = half._layout.shape, dims
    stop = 1 + grad._layout.shape[dim] - shape[dim]
    return add(half, slice_backward(slice_op(half, dim, 1, stop, 1), shape, dim, 1, stop, 1))


# -- public functions -------------------------------------------------------------------------------------------------


def _resized(input: Tensor, dim: int, length: int) -> Tensor:
    """Return the first ``length`` elements along a dimension, followed by zeros if there are too few."""
    missing, rank = length - input._layout.shape[dim], len(input._layout.shape)
    if missing > 0:
        return constant_pad(input, ((0, 0) * (rank - 1 - dim) + (0, missing) + (0, 0) * dim), 0)
    return slice_op(input, dim, 0, length, 1) if missing else input


def _transform(input: Tensor, op: Any, dtype: dtype, dim: int, length: int, *options: Any) -> Tensor:
    return op(_resized(convert(input, dtype), dim, length), (dim,), *options)


#: Codes of the divisors of forward transforms of ``n`` data points, by ``norm``: 0 stands for 1, 1 for the square root
#: of ``n``, and 2 for ``n``.
_NORMALIZATIONS = {None: 0, "backward": 0, "ortho": 1, "forward": 2}


def _resolved(input: Layout, n: int | None, dim: int, norm: str | None, inverse: bool = False) -> tuple[Any, ...]:
    """Return the dtype of real numbers, the dimension, the number of data points, and the code of the divisor.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: there are no data points, or there is no such normalization.
    """
    check_index(input.shape, "Dimension specified as {} but tensor has no dimensions", dim)
    dim = normal_dim(dim, len(input.shape))
    if n is None:
        n = 2 * (input.shape[dim] - 1) if inverse else input.shape[dim]
    check(n >= 1, "Invalid number of data points ({}) specified", n, input)
    check(norm in _NORMALIZATIONS, "Invalid normalization mode: \"{}\"", norm)
    input_dtype = input.type.dtype
    return real_of(input_dtype) if input_dtype.differentiable else get_default_dtype(), dim, n, _NORMALIZATIONS[norm]


@lookup(export=False)
def fft_fft(input: Layout, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The discrete Fourier transform of real or complex numbers along a dimension: all ``n`` numbers; see ``rfft``.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: ``n`` is less than 1, or there is no such ``norm``.

    Example:
        >>> import numgrad
        >>> numgrad.fft.fft(numgrad.tensor([1.0, 0.0, -1.0, 0.0]))
        tensor([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j])
    """
    dtype, *where = _resolved(input, n, dim, norm)
    if input.type.dtype.is_complex:
        return _transform, (fft_c2c, complex_of(dtype), *where, True)
    return _transform, (fft_r2c, dtype, *where, False)


@lookup(export=False)
def fft_ifft(input: Layout, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The inverse of ``fft``, divided by ``n`` (``norm`` "backward"), its square root ("ortho") or 1 ("forward").

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: ``n`` is less than 1, or there is no such ``norm``.

    Example:
        >>> import numgrad
        >>> numgrad.fft.ifft(numgrad.fft.fft(numgrad.tensor([1.0, 2.0])))
        tensor([1.+0.j, 2.+0.j])
    """
    dtype, dim, n, normalization = _resolved(input, n, dim, norm)
    if input.type.dtype.is_complex:
        return _transform, (fft_c2c, complex_of(dtype), dim, n, 2 - normalization, False)
    return lambda input: conj(_transform(input, fft_r2c, dtype, dim, n, 2 - normalization, False)), ()


@lookup(export=False)
def fft_rfft(input: Layout, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The first half of the discrete Fourier transform of real numbers along a dimension; the rest is its conjugate.

    The dimension is cut, or filled up with zeros, to ``n`` data points, and the result has ``n // 2 + 1`` complex
    numbers.  Integers and bools are converted to the default dtype.  The transform is divided by 1 (``norm``
    "backward"), by the square root of ``n`` ("ortho") or by ``n`` ("forward").

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: the elements are complex, ``n`` is less than 1, or there is no such ``norm``.

    Example:
        >>> import numgrad
        >>> numgrad.fft.rfft(numgrad.tensor([1.0, 0.0, -1.0, 0.0]))
        tensor([0.+0.j, 2.+0.j, 0.+0.j])
    """
    input_dtype = input.type.dtype
    check(not input_dtype.is_complex, "rfft expects a real input tensor, but got {}", input_dtype.legacy, input)
    return _transform, (fft_r2c, *_resolved(input, n, dim, norm), True)


@lookup(export=False)
def fft_irfft(input: Layout, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """The inverse of ``rfft``: ``n`` real numbers, by default ``2 * (m - 1)`` for ``m`` inputs.

    It reads the first ``n // 2 + 1`` of these, with zeros in place of missing ones.  The result is divided by ``n``
    (``norm`` "backward"), by its square root ("ortho") or by 1 ("forward").

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: ``n`` is less than 1, or there is no such ``norm``.
    """
    dtype, dim, n, normalization = _resolved(input, n, dim, norm, True)
    return _transform, (fft_c2r, complex_of(dtype), dim, n // 2 + 1, 2 - normalization, n)
