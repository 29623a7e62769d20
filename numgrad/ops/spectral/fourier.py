"""Discrete Fourier transforms along one or several dimensions, and their inverses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...core.layout import Layout, normal_dim
from ...core.types import complex_of, dtype, get_default_dtype, real_of
from ...tensors.tensor import Tensor
from ..memory.copying import clone, convert
from ..pointwise.arithmetic import conj
from ..shapes.views import for_each_dimension
from ..table.checks import check, check_index
from ..table.lookup import lookup
from .transforms import fft_c2c, fft_c2r, fft_r2c, resized

# -- resolving calls ----------------------------------------------------------------------------------------------


def _transform(input: Tensor, op: Any, dtype: dtype, dims: Any, lengths: Any, *settings: Any) -> Tensor:
    return op(resized(convert(input, dtype), dims, lengths), *settings)


def _conjugate_transform(input: Tensor, *settings: Any) -> Tensor:
    return conj(_transform(input, *settings))


def _of_conjugates(input: Tensor, dtype: dtype, dims: Any, lengths: Any, normalization: int, last: int) -> Tensor:
    """Return the transform to ``last`` real numbers along the last of some dimensions."""
    input = resized(convert(input, dtype), dims, lengths)
    if len(dims) > 1:
        input = fft_c2c(input, dims[:-1], normalization, True)
    return fft_c2r(conj(input), dims[-1:], normalization, last)


def _to_conjugates(input: Tensor, dtype: dtype, dims: Any, lengths: Any, normalization: int) -> Tensor:
    """Return the inverse of ``_of_conjugates``."""
    half = conj(_transform(input, fft_r2c, dtype, dims, lengths, dims[-1:], normalization, True))
    return fft_c2c(half, dims[:-1], normalization, False) if len(dims) > 1 else half


def _converted_copy(input: Tensor, dtype: dtype) -> Tensor:
    return clone(convert(input, dtype))


#: Codes of the divisors of forward transforms, by ``norm``; the code of an inverse transform is 2 minus that.
_NORMALIZATIONS = {None: 0, "backward": 0, "ortho": 1, "forward": 2}

#: Numbers for several dimensions.
Numbers = int | Sequence[int] | None


class _Points(NamedTuple):
    """Data points of a transform: the dtype of real numbers, dimensions, lengths, and the code of the divisor."""

    real: dtype
    dims: tuple[int, ...]
    lengths: tuple[int, ...]
    normalization: int


def _points(input: Layout, dims: tuple[int, ...], lengths: Sequence[int], norm: str | None) -> _Points:
    """Return the data points of a transform.

    Raises:
        RuntimeError: there are no data points, or there is no such normalization.
    """
    for length in lengths:
        check(length >= 1, "Invalid number of data points ({}) specified", length, input)
    check(norm in _NORMALIZATIONS, "Invalid normalization mode: \"{}\"", norm)
    input_dtype = input.type.dtype
    real = real_of(input_dtype) if input_dtype.differentiable else get_default_dtype()
    return _Points(real, dims, tuple(lengths), _NORMALIZATIONS[norm])


def _along(input: Layout, n: int | None, dim: int, norm: str | None, half: bool = False) -> _Points:
    """Return the data points of a transform along one dimension, whose input is the first ``half`` of the numbers."""
    check_index(input.shape, "Dimension specified as {} but tensor has no dimensions", dim)
    dim = normal_dim(dim, len(input.shape))
    if n is None:
        n = 2 * (input.shape[dim] - 1) if half else input.shape[dim]
    return _points(input, (dim,), (n,), norm)


def _over(input: Layout, s: Numbers, dim: Numbers, norm: str | None, required: str = "", half: bool = False) -> _Points:
    """Return the data points of a transform over several dimensions.

    Args:
        required: the name of the function, if it requires a dimension.
        half: True if the input is the first half of the numbers along the last dimension.
    """
    rank = len(input.shape)
    lengths = None if s is None else [*for_each_dimension(s, 1, "s")]
    if dim is not None:
        named = for_each_dimension(dim, 1, "dim")
        for number in named:
            check_index(input.shape, "Dimension specified as {} but tensor has no dimensions", number)
        dims = tuple([normal_dim(number, rank) for number in named])
        check(len({*dims}) == len(dims), "FFT dims must be unique")
        fits = lengths is None or len(lengths) == len(dims)
        check(fits, "When given, dim and shape arguments must have the same length")
    else:
        count = rank if lengths is None else len(lengths)
        check(count <= rank, "Got shape with {} values but input tensor only has {} dimensions.", count, rank)
        dims = tuple(range(rank - count, rank))
    if required:
        check(dims, "{} must transform at least one axis", required)
    sizes = [input.shape[d] for d in dims]
    if half:
        sizes[-1] = 2 * (sizes[-1] - 1)
    lengths = sizes if lengths is None else [
        size if length == -1 else length for length, size in zip(lengths, sizes, strict=True)
    ]
    return _points(input, dims, lengths, norm)


def _complex(points: _Points, forward: bool) -> Any:
    """Resolve a transform of complex numbers."""
    real, dims, lengths, normalization = points
    if not dims:
        return _converted_copy, (complex_of(real),)
    normalization = normalization if forward else 2 - normalization
    return _transform, (fft_c2c, complex_of(real), dims, lengths, dims, normalization, forward)


def _half_of_complex(name: str, input: Layout, points: _Points, forward: bool) -> Any:
    """Resolve a transform of real numbers: the first half of complex numbers.

    Raises:
        RuntimeError: the elements are complex.
    """
    kind, legacy = "real-valued" if name.endswith("n") else "real", input.type.dtype.legacy
    check(not input.type.dtype.is_complex, "{} expects a {} input tensor, but got {}", name, kind, legacy, input)
    real, dims, lengths, normalization = points
    if forward:
        return _transform, (fft_r2c, real, dims, lengths, dims, normalization, True)
    return _to_conjugates, (real, dims, lengths, 2 - normalization)


def _real(points: _Points, forward: bool) -> Any:
    """Resolve a transform to real numbers, from the first half of complex numbers."""
    real, dims, lengths, normalization = points
    dtype, read = complex_of(real), (*lengths[:-1], lengths[-1] // 2 + 1)
    if forward:
        return _of_conjugates, (dtype, dims, read, normalization, lengths[-1])
    return _transform, (fft_c2r, dtype, dims, read, dims, 2 - normalization, lengths[-1])


# -- along one dimension ------------------------------------------------------------------------------------------


@lookup(export=False)
def fft_fft(input: Layout, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Return the discrete Fourier transform of real or complex numbers along a dimension.

    The dimension is cut, or filled up with zeros, to ``n`` data points.  Integers and bools are converted to the
    default dtype.  The transform is divided by 1 (``norm`` "backward"), by the square root of ``n`` ("ortho") or by
    ``n`` ("forward").

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: ``n`` is less than 1, or there is no such ``norm``.

    Example:
        >>> import numgrad
        >>> numgrad.fft.fft(numgrad.tensor([1.0, 0.0, -1.0, 0.0])).abs()
        tensor([0., 2., 0., 2.])
    """
    points = _along(input, n, dim, norm)
    if input.type.dtype.is_complex:
        return _complex(points, True)
    return _transform, (fft_r2c, *points[:-1], points.dims, points.normalization, False)


@lookup(export=False)
def fft_ifft(input: Layout, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of ``fft``, divided by ``n`` (``norm`` "backward"), by its square root ("ortho") or by 1.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: ``n`` is less than 1, or there is no such ``norm``.

    Example:
        >>> import numgrad
        >>> numgrad.fft.ifft(numgrad.fft.fft(numgrad.tensor([1.0, 2.0]))).abs()
        tensor([1., 2.])
    """
    points = _along(input, n, dim, norm)
    if input.type.dtype.is_complex:
        return _complex(points, False)
    return _conjugate_transform, (fft_r2c, *points[:-1], points.dims, 2 - points.normalization, False)


@lookup(export=False)
def fft_rfft(input: Layout, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Return the first half of the Fourier transform of real numbers along a dimension; the rest is its conjugate.

    The dimension is cut, or filled up with zeros, to ``n`` data points, and the result has ``n // 2 + 1`` complex
    numbers.  Integers and bools are converted to the default dtype.  See ``fft`` for ``norm``.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: the elements are complex, ``n`` is less than 1, or there is no such ``norm``.

    Example:
        >>> import numgrad
        >>> numgrad.fft.rfft(numgrad.tensor([1.0, 0.0, -1.0, 0.0]))
        tensor([0.+0.j, 2.+0.j, 0.+0.j])
    """
    return _half_of_complex("rfft", input, _along(input, n, dim, norm), True)


@lookup(export=False)
def fft_irfft(input: Layout, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of ``rfft``: ``n`` real numbers, by default ``2 * (m - 1)`` for ``m`` inputs.

    The function reads the first ``n // 2 + 1`` inputs, and zeros for missing ones.  The result is divided by ``n``
    (``norm`` "backward"), by its square root ("ortho") or by 1 ("forward").

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: ``n`` is less than 1, or there is no such ``norm``.

    Example:
        >>> import numgrad
        >>> numgrad.fft.irfft(numgrad.fft.rfft(numgrad.tensor([1.0, 2.0, 3.0])), 3).round()
        tensor([1., 2., 3.])
    """
    return _real(_along(input, n, dim, norm, True), False)


@lookup(export=False)
def fft_hfft(input: Layout, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Return the Fourier transform of the numbers whose first half is the input and whose rest is its conjugate.

    The transform has ``n`` real numbers, by default ``2 * (m - 1)`` for ``m`` inputs.  See ``fft`` for ``norm``.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: ``n`` is less than 1, or there is no such ``norm``.

    Example:
        >>> import numgrad
        >>> numgrad.fft.hfft(numgrad.tensor([0.0, 1.0, 0.0]))
        tensor([ 2.,  0., -2.,  0.])
    """
    return _real(_along(input, n, dim, norm, True), True)


@lookup(export=False)
def fft_ihfft(input: Layout, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of ``hfft``: the first ``n // 2 + 1`` numbers of the inverse transform of real numbers.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: the elements are complex, ``n`` is less than 1, or there is no such ``norm``.

    Example:
        >>> import numgrad
        >>> numgrad.fft.ihfft(numgrad.tensor([2.0, 0.0, -2.0, 0.0])).abs()
        tensor([0., 1., 0.])
    """
    return _half_of_complex("ihfft", input, _along(input, n, dim, norm), False)


# -- over several dimensions --------------------------------------------------------------------------------------


@lookup(export=False)
def fft_fftn(input: Layout, s: Numbers = None, dim: Numbers = None, norm: str | None = None) -> Any:
    """Return the discrete Fourier transform over several dimensions ``dim``, by default all.

    Args:
        s: the number of data points along each dimension, to which it is cut or filled up with zeros; -1 stands for its
            size.  Without ``dim``, the transform is over the last dimensions.
        norm: the divisor: 1 ("backward", the default), the square root of the number of data points ("ortho"), or this
            number ("forward").

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: a dimension is named twice, ``s`` does not match the dimensions or has a number less than 1, or
            there is no such ``norm``.

    Example:
        >>> import numgrad
        >>> numgrad.fft.fftn(numgrad.ones(2, 2)).abs()
        tensor([[4., 0.],
                [0., 0.]])
    """
    return _complex(_over(input, s, dim, norm), True)


@lookup(export=False)
def fft_ifftn(input: Layout, s: Numbers = None, dim: Numbers = None, norm: str | None = None) -> Any:
    """Return the inverse of ``fftn``, divided by the number of data points ("backward"), its root ("ortho") or 1.

    Raises:
        IndexError, RuntimeError: see ``fftn``.
    """
    return _complex(_over(input, s, dim, norm), False)


@lookup(export=False)
def fft_rfftn(input: Layout, s: Numbers = None, dim: Numbers = None, norm: str | None = None) -> Any:
    """Return the Fourier transform of real numbers over several dimensions, the first half along the last of them.

    Raises:
        IndexError: see ``fftn``.
        RuntimeError: see ``fftn``; or the elements are complex, or there is no dimension.

    Example:
        >>> import numgrad
        >>> numgrad.fft.rfftn(numgrad.ones(2, 4)).shape
        torch.Size([2, 3])
    """
    return _half_of_complex("rfftn", input, _over(input, s, dim, norm, "rfftn"), True)


@lookup(export=False)
def fft_irfftn(input: Layout, s: Numbers = None, dim: Numbers = None, norm: str | None = None) -> Any:
    """Return the inverse of ``rfftn``; without ``s``, the last dimension becomes ``2 * (m - 1)`` real numbers.

    Raises:
        IndexError: see ``fftn``.
        RuntimeError: see ``fftn``; or there is no dimension.
    """
    return _real(_over(input, s, dim, norm, "irfftn", True), False)


@lookup(export=False)
def fft_hfftn(input: Layout, s: Numbers = None, dim: Numbers = None, norm: str | None = None) -> Any:
    """Return the Fourier transform, which is real, of numbers of which the input is the first half; see ``hfft``.

    The other half, along the last dimension, is the conjugate of the first, mirrored at the origin.

    Raises:
        IndexError: see ``fftn``.
        RuntimeError: see ``fftn``; or there is no dimension.
    """
    return _real(_over(input, s, dim, norm, "hfftn", True), True)


@lookup(export=False)
def fft_ihfftn(input: Layout, s: Numbers = None, dim: Numbers = None, norm: str | None = None) -> Any:
    """Return the inverse of ``hfftn``: the first half, along the last dimension, of the inverse of real numbers.

    Raises:
        IndexError: see ``fftn``.
        RuntimeError: see ``fftn``; or the elements are complex, or there is no dimension.
    """
    return _half_of_complex("ihfftn", input, _over(input, s, dim, norm, "ihfftn"), False)


# -- over two dimensions ------------------------------------------------------------------------------------------


@lookup(export=False)
def fft_fft2(input: Layout, s: Numbers = None, dim: Numbers = (-2, -1), norm: str | None = None) -> Any:
    """Return the discrete Fourier transform over two dimensions, by default the last two; see ``fftn``.

    Raises:
        IndexError, RuntimeError: see ``fftn``.

    Example:
        >>> import numgrad
        >>> numgrad.fft.fft2(numgrad.eye(2)).abs()
        tensor([[2., 0.],
                [0., 2.]])
    """
    return _complex(_over(input, s, dim, norm), True)


@lookup(export=False)
def fft_ifft2(input: Layout, s: Numbers = None, dim: Numbers = (-2, -1), norm: str | None = None) -> Any:
    """Return the inverse of ``fft2``; see ``ifftn``.

    Raises:
        IndexError, RuntimeError: see ``ifftn``.
    """
    return _complex(_over(input, s, dim, norm), False)


@lookup(export=False)
def fft_rfft2(input: Layout, s: Numbers = None, dim: Numbers = (-2, -1), norm: str | None = None) -> Any:
    """Return the first half of the Fourier transform of real numbers over two dimensions; see ``rfftn``.

    Raises:
        IndexError, RuntimeError: see ``rfftn``.
    """
    return _half_of_complex("rfftn", input, _over(input, s, dim, norm, "rfftn"), True)


@lookup(export=False)
def fft_irfft2(input: Layout, s: Numbers = None, dim: Numbers = (-2, -1), norm: str | None = None) -> Any:
    """Return the inverse of ``rfft2``; see ``irfftn``.

    Raises:
        IndexError, RuntimeError: see ``irfftn``.
    """
    return _real(_over(input, s, dim, norm, "irfftn", True), False)


@lookup(export=False)
def fft_hfft2(input: Layout, s: Numbers = None, dim: Numbers = (-2, -1), norm: str | None = None) -> Any:
    """Return the Fourier transform, which is real, over two dimensions of the first half of numbers; see ``hfftn``.

    Raises:
        IndexError, RuntimeError: see ``hfftn``.
    """
    return _real(_over(input, s, dim, norm, "hfftn", True), True)


@lookup(export=False)
def fft_ihfft2(input: Layout, s: Numbers = None, dim: Numbers = (-2, -1), norm: str | None = None) -> Any:
    """Return the inverse of ``hfft2``; see ``ihfftn``.

    Raises:
        IndexError, RuntimeError: see ``ihfftn``.
    """
    return _half_of_complex("ihfftn", input, _over(input, s, dim, norm, "ihfftn"), False)
