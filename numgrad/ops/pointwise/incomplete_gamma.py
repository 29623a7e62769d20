"""The incomplete gamma functions: probabilities of a standard gamma variable, and its derivative by its shape.

The two functions, P and Q = 1 - P, are power series, continued fractions, or Temme's uniform expansions
(``numgrad_kernels/incomplete_gamma.py``).
"""

from __future__ import annotations

import math

from numgrad_kernels import scalar

from ..table.callables import of_tensors
from ..table.declaring import pointwise
from .comparison import where
from .exponential import log
from .gamma import digamma
from .special import xlogy


@pointwise("StandardGammaGradBackward0", aten="_standard_gamma_grad", dtypes="f", inplace=False, export=False,
           underived=["input"])
def gamma_slope(input, other):
    """The derivative by its shape ``input`` of a standard gamma variable ``other`` that is a fixed quantile.

    It is ``-(dP / d input) / (dP / d other)`` for the distribution function P (Figurnov, Mohamed and Mnih, "Implicit
    reparameterization gradients", 2018).
    """
    return scalar.gamma_slope(input, other)


@gamma_slope.gradient("other")
def _(grad, input, other, out):
    return grad * (digamma(input) - log(other) + out * (1 - (input - 1) / other))


@pointwise("GammaDensityBackward0", dtypes="f", inplace=False, export=False)
def gamma_density(input, other):
    """The density of the standard gamma distribution of shape ``input``."""
    return where(other < 0, math.nan, scalar.exp(xlogy(input - 1, other) - other - scalar.lgamma(input)))


@gamma_density.gradient("input")
def _(grad, input, other, out):
    return grad * out * (log(other) - digamma(input))


@gamma_density.gradient("other")
def _(grad, input, other, out):
    return grad * out * ((input - 1) / other - 1)


@pointwise("IgammaBackward0", dtypes="f", export=False)
def igamma_op(input, other):
    """The regularized lower incomplete gamma function: the distribution function of a gamma variable.

    It is the integral of ``t**(input - 1) * exp(-t)`` from 0 to ``other``, divided by the gamma function at ``input``:
    the probability that a standard gamma variable of shape ``input`` is at most ``other``.  It is NaN if either is
    negative.

    Example:
        >>> import numgrad
        >>> numgrad.igamma(numgrad.tensor([1.0, 2.0]), numgrad.tensor([1.0, 1.0]))
        tensor([0.6321, 0.2642])
    """
    return scalar.gammainc(input, other)


@igamma_op.gradient("input")
def _(grad, input, other):
    return -grad * gamma_slope(input, other) * gamma_density(input, other)


@igamma_op.gradient("other")
def _(grad, input, other):
    return grad * gamma_density(input, other)


@pointwise("IgammacBackward0", dtypes="f", export=False)
def igammac_op(input, other):
    """The regularized upper incomplete gamma function, ``1 - igamma(input, other)``, accurate where it is small.

    Example:
        >>> import numgrad
        >>> numgrad.igammac(numgrad.tensor([1.0, 2.0]), numgrad.tensor([1.0, 1.0]))
        tensor([0.3679, 0.7358])
    """
    return scalar.gammaincc(input, other)


@igammac_op.gradient("input")
def _(grad, input, other):
    return grad * gamma_slope(input, other) * gamma_density(input, other)


@igammac_op.gradient("other")
def _(grad, input, other):
    return -grad * gamma_density(input, other)


igamma, igammac = of_tensors(igamma_op), of_tensors(igammac_op)
