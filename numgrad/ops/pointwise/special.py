"""Powers, logarithms and the error function's relatives, of each element.

Integers and bools give floating-point numbers of the default dtype unless it says otherwise.
"""

from __future__ import annotations

import math
from typing import Any

from numgrad_kernels import scalar

from ...core.tensor import Tensor
from ...core.types import complex128, float64
from ..memory.copying import convert
from ..table.callables import of_tensors
from ..table.elementwise import pointwise
from ..table.op import composite, public
from .arithmetic import conj, exp, log, sigmoid
from .comparison import where
from .powers import pow, pow_

_LN2, _LN10 = math.log(2), math.log(10)
_ERF_SLOPE = 2 / math.sqrt(math.pi)


# -- exponentials and logarithms --------------------------------------------------------------------------------


@pointwise("Exp2Backward0", result="float", dtypes="bifc")
def exp2(input):
    """2 to the power of the number."""
    return scalar.exp2(input)


@exp2.gradient("input")
def _(grad, out):
    return grad * conj(out) * _LN2


@pointwise("Expm1Backward0", result="float", dtypes="bifc")
def expm1(input):
    """``exp(input) - 1``, accurate near 0."""
    return scalar.expm1(input)


@expm1.gradient("input")
def _(grad, out):
    return grad * conj(out + 1)


@pointwise("Log1PBackward0", result="float", dtypes="bifc")
def log1p(input):
    """``log(1 + input)``, accurate near 0."""
    return scalar.log1p(input)


@log1p.gradient("input")
def _(grad, input):
    return grad / conj(input + 1)


@pointwise("Log2Backward0", result="float", dtypes="bifc")
def log2(input):
    """The logarithm to the base 2."""
    return scalar.log2(input)


@log2.gradient("input")
def _(grad, input):
    return grad / conj(input * _LN2)


@pointwise("Log10Backward0", result="float", dtypes="bifc")
def log10(input):
    """The logarithm to the base 10."""
    return scalar.log10(input)


@log10.gradient("input")
def _(grad, input):
    return grad / conj(input * _LN10)


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
    """``log(input / (1 - input))``."""
    return scalar.log(input / (1 - input))


@logit_op.gradient("input")
def _(grad, input):
    outside = (input < 0) | (input > 1)
    return where(outside, math.nan, grad / (input * (1 - input)))


@pointwise("LogitBackward0", result="float", export=False)
def logit_within(input, *, eps=0):
    """:func:`logit` of the number brought into the interval from ``eps`` to ``1 - eps``."""
    within = scalar.minimum(scalar.maximum(input, eps), 1 - eps)
    return scalar.log(within / (1 - within))


@logit_within.gradient("input")
def _(grad, input, eps):
    within = (input >= eps) & (input <= 1 - eps)
    return where(within, grad / (input * (1 - input)), 0)


@public(direct=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """``log(input / (1 - input))``, the inverse of ``sigmoid``; with ``eps``, of ``input`` clamped to 1 - ``eps``."""
    return logit_op(input) if eps is None else logit_within(input, eps=eps)


@public(function=False, direct=True)
def logit_(input: Tensor, eps: float | None = None) -> Tensor:
    """``logit`` in place."""
    return logit_op.inplace(input) if eps is None else logit_within.inplace(input, eps=eps)


@pointwise("XlogyBackward0", result="float", numbers={"input": "XlogyBackward1", "other": "XlogyBackward2"})
def xlogy(input, other):
    """``input * log(other)``, either of which may be a number; 0 where ``input`` is 0 and ``other`` is not NaN."""
    return where((input == 0) & (other == other), 0, input * scalar.log(other))


@xlogy.gradient("input")
def _(grad, input, other):
    return where((input == 0) & (other <= 0), 0, xlogy(grad, other))


@xlogy.gradient("other")
def _(grad, input, other):
    return grad * (input / other)


@pointwise("SpecialEntrBackward0", result="float", export=False)
def entr(input):
    """``-input * log(input)``, a term of an entropy: 0 at 0 and -inf for negative numbers."""
    return where(input > 0, -input * scalar.log(input), where(input < 0, -math.inf, scalar.abs(input)))


@entr.gradient("input")
def _(grad, input):
    return grad * (-log(input) - 1)


# -- powers -----------------------------------------------------------------------------------------------------


@composite(direct=True)
def square(input: Tensor) -> Tensor:
    """``input ** 2``."""
    return pow(input, 2)


@public(function=False, direct=True)
def square_(input: Tensor) -> Tensor:
    """``square`` in place."""
    return pow_(input, 2)


@pointwise("RsqrtBackward0", result="float", dtypes="bifc")
def rsqrt(input):
    """``1 / sqrt(input)``: infinite at 0."""
    return 1 / scalar.sqrt(input)


@rsqrt.gradient("input")
def _(grad, out):
    return grad * -0.5 * conj(out * out * out)


@composite
def float_power(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent`` computed in float64, or complex128; either may be a number."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError(
            "float_power(): one of 'input' and 'exponent' must be Tensor, not "
            f"{type(input).__name__} and {type(exponent).__name__}"
        )
    return pow(_double(input), _double(exponent))


def _double(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value if isinstance(value, complex) else float(value)
    return convert(value, complex128 if value.dtype.is_complex else float64)


@public(function=False)
def float_power_(input: Tensor, exponent: Any) -> Tensor:
    """``float_power`` in place, of a float64 tensor."""
    if input.dtype is not float64:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {input.dtype.legacy} but the operation's result requires dtype "
            f"Double (shape {list(input.shape)})"
        )
    return pow_(input, _double(exponent))


# -- error function ---------------------------------------------------------------------------------------------


@pointwise("ErfBackward0", result="float")
def erf(input):
    """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0."""
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
