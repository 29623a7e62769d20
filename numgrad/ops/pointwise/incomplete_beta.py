"""The derivative of a beta variable by its parameters."""

from __future__ import annotations

from numgrad_kernels import scalar

from ..table.declaring import pointwise
from .exponential import log
from .gamma import digamma


@pointwise("DirichletGradBackward0", aten="_dirichlet_grad", dtypes="f", inplace=False, export=False,
           underived=["input", "other"])
def beta_slope(input, other, value):
    """The derivative of the logit of ``value``, a fixed quantile of the beta distribution, by the parameter ``input``.

    ``other`` is the other parameter.  With the density p of the logit and its distribution function P, it is ``-(dP / d
    input) / p`` (Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018).
    """
    return scalar.beta_slope(input, other, value)


@beta_slope.gradient("value")
def _(grad, input, other, value, out):
    surprise = log(value) - digamma(input) + digamma(input + other)
    return grad * -(surprise + out * (input - (input + other) * value)) / (value * (1 - value))
