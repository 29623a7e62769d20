"""The logarithm of the gamma function and its derivatives, the polygamma functions.

Note [Polygamma functions]: for large ``x`` they are the sums of their asymptotic series, whose coefficients are
quotients of Bernoulli numbers.  A number below 10 is first moved beyond 10 by recurrences like ``psi'(x) = psi'(x + 1)
+ 1 / x**2``, and a negative number is reflected to ``1 - x`` (*NIST Digital Library of Mathematical Functions*, 5.5,
5.11 and 5.15).  Orders above 1 are Hurwitz zeta functions, computed by the formula of Euler and Maclaurin (25.11.5),
and for negative numbers by three of them.
"""

from __future__ import annotations

import math

from numgrad_kernels import scalar

from ...tensors.tensor import Tensor
from ..creation.spaced import arange
from ..memory.copying import convert
from ..reductions.sums import sum as sum_of
from ..shapes.dimensions import unsqueeze
from ..table.arguments import checked
from ..table.checks import check
from ..table.declaring import pointwise
from ..table.op import attach, public
from .arithmetic import add, sub
from .comparison import where

_PI = math.pi

#: Coefficients of the asymptotic series of trigamma and the zeta functions: quotients of Bernoulli numbers.
_T1, _T2, _T3, _T4, _T5, _T6, _T7 = 1 / 6, 1 / 30, 1 / 42, 1 / 30, 5 / 66, 691 / 2730, 7 / 6
_H1, _H2, _H3, _H4, _H5, _H6 = 1 / 12, 1 / 60, 1 / 42, 1 / 40, 1 / 39.6, 691 / 27300


@pointwise("LgammaBackward0", result="float")
def lgamma(input):
    """The natural logarithm of the absolute value of the gamma function; infinite at 0 and at negative integers.

    Example:
        >>> import numgrad
        >>> numgrad.lgamma(numgrad.tensor([1.0, 4.0]))
        tensor([0.0000, 1.7918])
    """
    return scalar.lgamma(input)


@lgamma.gradient("input")
def _(grad, input):
    return grad * digamma(input)


@pointwise("DigammaBackward0", result="float")
def digamma(input):
    """The derivative of :func:`lgamma`: infinite at 0 and NaN at negative integers.

    Example:
        >>> import numgrad
        >>> numgrad.digamma(numgrad.tensor([1.0, 2.0]))
        tensor([-0.5772,  0.4228])
    """
    return scalar.digamma(input)


@digamma.gradient("input")
def _(grad, input):
    return grad * trigamma(input)


@pointwise("PolygammaBackward0", aten="polygamma", result="float", inplace=False, export=False)
def trigamma(input):
    """The derivative of :func:`digamma`: infinite at 0 and at negative integers."""
    x = where(input < 0.5, 1 - input, input)
    moved = 1 / (x * x) + 1 / ((x + 1) * (x + 1)) + 1 / ((x + 2) * (x + 2)) + 1 / ((x + 3) * (x + 3))
    moved = moved + 1 / ((x + 4) * (x + 4)) + 1 / ((x + 5) * (x + 5)) + 1 / ((x + 6) * (x + 6))
    moved = moved + 1 / ((x + 7) * (x + 7)) + 1 / ((x + 8) * (x + 8)) + 1 / ((x + 9) * (x + 9))
    large = where(x < 10, x + 10, x)
    z = 1 / (large * large)
    series = z * (_T1 - z * (_T2 - z * (_T3 - z * (_T4 - z * (_T5 - z * (_T6 - z * _T7))))))
    result = (1 + 0.5 / large + series) / large + where(x < 10, moved, 0)
    sine = scalar.sin(_PI * (input - scalar.round(input)))
    return where(input < 0.5, (_PI / sine) * (_PI / sine) - result, result)


@trigamma.gradient("input")
def _(grad, input):
    return grad * polygamma_op(input, order=2, factor=-2)


@pointwise("HurwitzBackward0", aten="special_zeta", dtypes="f", inplace=False, export=False)
def hurwitz(input, *, power=2):
    """The sum of ``(input + k) ** -power`` for ``k`` from 0, for positive numbers and a power above 1."""
    x = input
    total = scalar.pow(x, -power) + scalar.pow(x + 1, -power) + scalar.pow(x + 2, -power) + scalar.pow(x + 3, -power)
    total = total + scalar.pow(x + 4, -power) + scalar.pow(x + 5, -power) + scalar.pow(x + 6, -power)
    total = total + scalar.pow(x + 7, -power) + scalar.pow(x + 8, -power) + scalar.pow(x + 9, -power)
    large = x + 10
    z = 1 / (large * large)
    series = 1 - (power + 9) * (power + 10) * z * _H6
    series = 1 - (power + 7) * (power + 8) * z * _H5 * series
    series = 1 - (power + 5) * (power + 6) * z * _H4 * series
    series = 1 - (power + 3) * (power + 4) * z * _H3 * series
    series = 1 - (power + 1) * (power + 2) * z * _H2 * series
    remaining = scalar.pow(large, -power) * (large / (power - 1) + 0.5 + power * _H1 / large * series)
    return where(x == math.inf, 0, total + remaining)


@hurwitz.gradient("input")
def _(grad, input, power):
    return grad * -power * hurwitz(input, power=power + 1)


@pointwise("SpecialZetaBackward0", aten="special_zeta", result="float", inplace=False, export=False,
           underived=["input"], numbers={"input": "SpecialZetaBackward1", "other": "SpecialZetaBackward2"})
def zeta(input, other):
    """Hurwitz' zeta function: the sum of ``(other + k) ** -input`` for ``k`` from 0; either may be a number.

    It is infinite if ``input`` is 1 or ``other`` is 0 or a negative integer, and NaN if ``input`` is below 1, or not an
    integer while ``other`` is negative, or ``other`` is below ``-2**24``.  It has no derivative by ``input``.

    Example:
        >>> import numgrad
        >>> numgrad.special.zeta(numgrad.tensor([2.0, 4.0]), 1)
        tensor([1.6449, 1.0823])
    """
    return scalar.zeta(input, other)


@zeta.gradient("other")
def _(grad, input, other):
    return grad * -input * zeta(input + 1, other)


@pointwise("PolygammaBackward0", aten="polygamma", result="float", inplace=False, export=False)
def polygamma_op(input, *, order=2, factor=-2):
    """The derivative of an ``order`` above 1 of :func:`digamma`; ``factor`` is ``(-1) ** (order + 1) * order!``."""
    inside = input > 0
    first = hurwitz(where(inside, input, input - scalar.floor(input)), power=order + 1)
    last = scalar.ceil(input) - input
    others = hurwitz(last, power=order + 1) - hurwitz(where(inside, 1, 1 - input), power=order + 1)
    result = factor * where(inside, first, first + where(factor > 0, others, -others))
    return where((last == 0) & (input <= 0), factor * math.inf, result)


@polygamma_op.gradient("input")
def _(grad, input, order, factor):
    return grad * polygamma_op(input, order=order + 1, factor=-factor * (order + 1))


@public(method=False, takes_out=True)
def polygamma(n: int, input: Tensor) -> Tensor:
    """Return the ``n``-th derivative of :func:`digamma`.

    Raises:
        RuntimeError: ``n`` is negative.

    Example:
        >>> import numgrad
        >>> numgrad.polygamma(1, numgrad.tensor([1.0, 2.0]))
        tensor([1.6449, 0.6449])
    """
    check(n >= 0, "polygamma(n, x) does not support negative n.")
    if n < 2:
        return trigamma(input) if n else digamma(input)
    return polygamma_op(input, order=n, factor=(-1.0) ** (n + 1) * math.factorial(n))


def _polygamma_of(self: Tensor, n: int) -> Tensor:
    """Return the ``n``-th derivative of :func:`digamma`; see :func:`polygamma`."""
    return polygamma(n, self)


attach("polygamma", checked(_polygamma_of, "polygamma", method=True))


@public
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension ``p``, up to its sign, of each element.

    It is ``p * (p - 1) / 4 * log(pi)`` plus the sum of ``lgamma(input - j / 2)`` for ``j`` from 0 to ``p - 1``.

    Raises:
        RuntimeError: ``p`` is less than 1.

    Example:
        >>> import numgrad
        >>> numgrad.mvlgamma(numgrad.tensor([2.0]), 2)
        tensor([0.4516])
    """
    check(p >= 1, "p has to be greater than or equal to 1")
    dtype = input.dtype
    wide = convert(input, dtype.compute)
    terms = lgamma(sub(unsqueeze(wide, -1), arange(p, device=input.device) / 2))
    out = add(sum_of(terms, -1), p * (p - 1) / 4 * math.log(_PI))
    return convert(out, dtype) if dtype.is_half else out
