"""Frequencies of discrete Fourier transforms, and shifts that put the frequency 0 in the middle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from ...core.layout import Layout, all_dims, normal_dim
from ...core.types import to_dtype
from ...tensors.tensor import Tensor
from ..creation.factories import finished
from ..creation.spaced import arange
from ..pointwise.arithmetic import mul
from ..shapes.joining import cat
from ..shapes.rearranging import roll_op
from ..shapes.views import for_each_dimension
from ..table.arguments import checked
from ..table.checks import check
from ..table.lookup import lookup
from ..table.out import write_out


def _frequencies(
    name: str, n: int, d: float, ranges: Callable[[int], Sequence[tuple[int, int]]], out: Tensor | None, dtype: Any,
    device: Any, requires_grad: bool,
) -> Tensor:
    """Return the frequencies of waves that have whole numbers of periods in ``n`` samples, ``d`` apart.

    Args:
        name: the name of the function in errors.
        ranges: function of ``n`` that returns the ranges of these numbers.

    Raises:
        RuntimeError: ``n`` is negative, or the dtype is not floating-point.
    """
    n = index(n)
    check(n >= 0, "Trying to create tensor with negative dimension {}: [{}]", n, n)
    if dtype is not None and not to_dtype(dtype).differentiable:
        raise RuntimeError(f"{name} requires a floating point or complex dtype, but got {to_dtype(dtype)}")
    numbers = cat([arange(float(first), float(end), dtype=dtype, device=device) for first, end in ranges(n)])
    period = n * d
    result = mul(numbers, 1 / period if period else float("inf"))
    return finished(result, requires_grad) if out is None else write_out(name, out, result)


@checked
def fftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the frequencies, in cycles per unit of ``d``, of the results of ``fft`` of ``n`` samples ``d`` apart.

    Raises:
        RuntimeError: ``n`` is negative, or the dtype is not floating-point.

    Example:
        >>> import numgrad
        >>> numgrad.fft.fftfreq(4, 0.5)
        tensor([ 0.0000,  0.5000, -1.0000, -0.5000])
    """
    def ranges(n: int) -> Sequence[tuple[int, int]]:
        return (0, (n + 1) // 2), (-(n // 2), 0)

    return _frequencies("fftfreq", n, d, ranges, out, dtype, device, requires_grad)


@checked
def rfftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the frequencies, in cycles per unit of ``d``, of the results of ``rfft`` of ``n`` samples ``d`` apart.

    Raises:
        RuntimeError: ``n`` is negative, or the dtype is not floating-point.

    Example:
        >>> import numgrad
        >>> numgrad.fft.rfftfreq(4, 0.5)
        tensor([0.0000, 0.5000, 1.0000])
    """
    return _frequencies("rfftfreq", n, d, lambda n: [(0, n // 2 + 1)], out, dtype, device, requires_grad)


def _shifted(input: Layout, dim: Any, rounded: int) -> Any:
    """Resolve a roll of dimensions, by default all, by half of their sizes, which are ``rounded`` up or down."""
    dims = all_dims(input.shape)
    if dim is not None:
        dims = tuple([normal_dim(number, len(input.shape)) for number in for_each_dimension(dim, 1, "dim")])
    return roll_op, (tuple([(input.shape[d] + rounded) // 2 for d in dims]) or (0,), dims)


@lookup(export=False)
def fftshift(input: Layout, dim: int | Sequence[int] | None = None) -> Any:
    """Return the tensor with the frequency 0 moved from the front to the middle of dimensions, by default of all.

    Raises:
        IndexError: there is no such dimension.

    Example:
        >>> import numgrad
        >>> numgrad.fft.fftshift(numgrad.fft.fftfreq(5, 0.2))
        tensor([-2., -1.,  0.,  1.,  2.])
    """
    return _shifted(input, dim, 0)


@lookup(export=False)
def ifftshift(input: Layout, dim: int | Sequence[int] | None = None) -> Any:
    """Return the inverse of ``fftshift``.

    Raises:
        IndexError: there is no such dimension.

    Example:
        >>> import numgrad
        >>> numgrad.fft.ifftshift(numgrad.tensor([-2, -1, 0, 1, 2]))
        tensor([ 0,  1,  2, -2, -1])
    """
    return _shifted(input, dim, 1)
