"""Special functions: log-add-exp, logit, terms of entropies, the error function and its relatives.

Results for integers and bools are floating-point numbers of the default dtype unless stated otherwise.
"""

from __future__ import annotations

import math
from typing import Any

from numgrad_kernels import scalar

from ...tensors.tensor import Tensor
from ..table.callables import of_tensors
from ..table.declaring import pointwise
from ..table.op import public
from .comparison import where
from .exponential import exp, log, sigmoid

_LN2, _ERF_SLOPE, _ROOT2 = math.log(2), 2 / math.sqrt(math.pi), math.sqrt(2)
_ROOT_TWO_PI, _ROOT2_OVER_PI = math.sqrt(2 * math.pi), math.sqrt(2 / math.pi)


def special_function(name: str, **declared: Any) -> Any:
    """Return the decorator of the function of scalars that PyTorch calls ``special.<name>``."""
    node = f"Special{name.title().replace('_', '')}Backward0"
    declared = {"result": "float", "inplace": False, "export": False, **declared}
    return pointwise(node, aten=f"special_{name}", **declared)


@pointwise("LogOnePlusExpBackward0", result="float", inplace=False, export=False)
def log_one_plus_exp(input):
    """``log(1 + exp(input))`` without overflow: part of the logistic losses."""
    return scalar.maximum(input, 0) + scalar.log1p(scalar.exp(-scalar.abs(input)))


@log_one_plus_exp.gradient("input")
def _(grad, input):
    return grad * sigmoid(input)


@pointwise("LogaddexpBackward0", dtypes="f", inplace=False, export=False)
def logaddexp_op(input, other):
    """``log(exp(input) + exp(other))`` without overflow."""
    larger = scalar.maximum(input, other)
    total = larger + scalar.log1p(scalar.exp(-scalar.abs(input - other)))
    return where((input == other) & scalar.isinf(input), input, total)


@logaddexp_op.gradient("input")
def _(grad, input, other):
    return grad * sigmoid(input - other)


@logaddexp_op.gradient("other")
def _(grad, input, other):
    return grad * sigmoid(other - input)


logaddexp = of_tensors(logaddexp_op)


@pointwise("Logaddexp2Backward0", dtypes="f", inplace=False, export=False)
def logaddexp2_op(input, other):
    """``log2(2**input + 2**other)`` without overflow."""
    larger = scalar.maximum(input, other)
    total = larger + scalar.log1p(scalar.exp2(-scalar.abs(input - other))) / _LN2
    return where((input == other) & scalar.isinf(input), input, total)


@logaddexp2_op.gradient("input")
def _(grad, input, other):
    return grad * sigmoid((input - other) * _LN2)


@logaddexp2_op.gradient("other")
def _(grad, input, other):
    return grad * sigmoid((other - input) * _LN2)


logaddexp2 = of_tensors(logaddexp2_op)


@pointwise("LogitBackward0", result="float", export=False)
def logit_op(input):
    """``log(input / (1 - input))``, computed with ``log1p`` near 0.5, where the quotient is near 1."""
    near = scalar.abs(input - 0.5) < 0.25
    return where(near, scalar.log1p((2 * input - 1) / (1 - input)), scalar.log(input / (1 - input)))


@pointwise("VarianceBackward0", aten="mul", dtypes="f", inplace=False, export=False)
def variance(input):
    """The variance of a Bernoulli variable with probability ``input``: the reciprocal of the derivative of logit."""
    return input * (1 - input)


@variance.gradient("input")
def _(grad, input):
    return grad * (1 - 2 * input)


@logit_op.gradient("input")
def _(grad, input):
    outside = (input < 0) | (input > 1)
    return where(outside, math.nan, grad / variance(input))


@pointwise("LogitBackward0", aten="logit", result="float", export=False)
def logit_within(input, *, eps=0):
    """:func:`logit` of the number clamped to the interval from ``eps`` to ``1 - eps``.

    If ``eps`` exceeds 0.5, numbers below it become ``eps``, and all others ``1 - eps``.
    """
    within = where(input < eps, eps, where(input > 1 - eps, 1 - eps, input))
    return logit_op(within)


@logit_within.gradient("input")
def _(grad, input, eps):
    within = (input >= eps) & (input <= 1 - eps)
    return where(within, grad / variance(input), 0)


@public(in_place=True, direct=True)
def logit(input: Tensor, eps: float | None = None, *, inplace: bool = False) -> Tensor:
    """``log(input / (1 - input))``, the inverse of ``sigmoid``; ``eps`` first clamps ``input`` to [eps, 1 - eps]."""
    if eps is None:
        return (logit_op.inplace if inplace else logit_op)(input)
    return (logit_within.inplace if inplace else logit_within)(input, eps=eps)


@pointwise("XlogyBackward0", result="float", numbers={"input": "XlogyBackward1", "other": "XlogyBackward2"})
def xlogy(input, other):
    """``input * log(other)``; either may be a number; 0 where ``input`` is 0 and ``other`` is not NaN.

    Example:
        >>> import numgrad
        >>> numgrad.xlogy(numgrad.tensor([0.0, 2.0]), numgrad.tensor([0.0, 1.0]))
        tensor([0., 0.])
    """
    return where((input == 0) & (other == other), 0, input * scalar.log(other))


@xlogy.gradient("input")
def _(grad, input, other):
    return where((input == 0) & (other <= 0), 0, xlogy(grad, other))


@xlogy.gradient("other")
def _(grad, input, other):
    return grad * (input / other)


@pointwise("SpecialXlog1PyBackward0", aten="special_xlog1py", result="float", inplace=False, export=False)
def xlog1py(input, other):
    """``input * log1p(other)``; 0 where ``input`` is 0 and ``other`` is not NaN.

    Example:
        >>> import numgrad
        >>> numgrad.special.xlog1py(numgrad.tensor([0.0, 2.0]), numgrad.tensor([-1.0, 0.0]))
        tensor([0., 0.])
    """
    return where((input == 0) & (other == other), 0, input * scalar.log1p(other))


@xlog1py.gradient("input")
def _(grad, input, other):
    return where((input == 0) & (other <= -1), 0, xlog1py(grad, other))


@xlog1py.gradient("other")
def _(grad, input, other):
    return grad * (input / (other + 1))


@pointwise("SpecialEntrBackward0", aten="special_entr", result="float", export=False)
def entr(input):
    """``-input * log(input)``, a term of an entropy: 0 at 0 and -inf for negative numbers.

    Example:
        >>> import numgrad
        >>> numgrad.special.entr(numgrad.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.3466, -0.0000])
    """
    return where(input > 0, -input * scalar.log(input), where(input < 0, -math.inf, scalar.abs(input)))


@entr.gradient("input")
def _(grad, input):
    return grad * (-log(input) - 1)


# -- error function ---------------------------------------------------------------------------------------------


@pointwise("ErfBackward0", result="float")
def erf(input):
    """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0.

    Example:
        >>> import numgrad
        >>> numgrad.erf(numgrad.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8427])
    """
    return scalar.erf(input)


@erf.gradient("input")
def _(grad, input):
    return grad * (_ERF_SLOPE * exp(-input * input))


@pointwise("ErfcBackward0", result="float")
def erfc(input):
    """``1 - erf(input)``, accurate for large numbers."""
    return scalar.erfc(input)


@erfc.gradient("input")
def _(grad, input):
    return grad * (-_ERF_SLOPE * exp(-input * input))


@pointwise("SpecialErfcxBackward0", aten="special_erfcx", result="float", export=False)
def erfcx(input):
    """``exp(input**2) * erfc(input)``, which neither overflows nor underflows for large numbers.

    Example:
        >>> import numgrad
        >>> numgrad.special.erfcx(numgrad.tensor([0.0, 1.0, 100.0]))
        tensor([1.0000, 0.4276, 0.0056])
    """
    return scalar.erfcx(input)


@erfcx.gradient("input")
def _(grad, input):
    return grad * erfcx_slope(input)


@pointwise("ErfcxSlopeBackward0", dtypes="f", inplace=False, export=False)
def erfcx_slope(input):
    """The derivative of :func:`erfcx`, ``2 * input * erfcx(input) - 2 / sqrt(pi)``, also where the terms cancel."""
    return scalar.erfcx_slope(input)


@erfcx_slope.gradient("input")
def _(grad, input, out):
    return grad * 2 * (erfcx(input) + input * out)


@pointwise("ErfinvBackward0", result="float")
def erfinv(input):
    """The inverse of the error function: infinite at -1 and 1, NaN beyond."""
    return scalar.erfinv(input)


@erfinv.gradient("input")
def _(grad, out):
    return grad * exp(out * out) / _ERF_SLOPE


@pointwise("SpecialNdtriBackward0", aten="special_ndtri", result="float", export=False)
def ndtri(input):
    """The inverse of :func:`ndtr`: the bound below which a standard normal number lies with probability ``input``."""
    return scalar.ndtri(input)


@ndtri.gradient("input")
def _(grad, out):
    return grad * _ROOT_TWO_PI * exp(0.5 * out * out)


@pointwise("SpecialLogNdtrBackward0", aten="special_log_ndtr", result="float", export=False)
def log_ndtr(input):
    """The logarithm of :func:`ndtr`, accurate for numbers of any size.

    Example:
        >>> import numgrad
        >>> numgrad.special.log_ndtr(numgrad.tensor([-100.0, 0.0, 5.0]))
        tensor([-5.0055e+03, -6.9315e-01, -2.8665e-07])
    """
    bound = input / _ROOT2
    tail = scalar.log(0.5 * scalar.erfcx(-bound)) - bound * bound
    return where(input < -1, tail, scalar.log1p(-0.5 * scalar.erfc(bound)))


@log_ndtr.gradient("input")
def _(grad, input):
    return grad * (_ROOT2_OVER_PI / erfcx(-input / _ROOT2))
