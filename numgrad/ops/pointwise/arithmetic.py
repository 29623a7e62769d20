"""Pointwise arithmetic, signs, the exponential and its relatives: each with its derivative beside it.

In the rules ``grad`` is the gradient of the output, ``conj`` is for complex numbers (of a real number it is the
number itself), and names of other operations stand for their formulas.
"""

from __future__ import annotations

from typing import Any

from numgrad_kernels import scalar

from ...core.tensor import Tensor
from ...core.types import bool_
from ..table.callables import overload
from ..table.elementwise import pointwise
from ..table.op import attach, public
from .comparison import where

_ARITHMETIC_ON_BOOL = {
    bool_: "Subtraction, the `-` operator, with two bool tensors is not supported. "
    "Use the `^` or `logical_xor()` operator instead."
}
_ARITHMETIC_WITH_BOOL = {
    bool_: "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
    "use the `~` or `logical_not()` operator instead."
}
_NEGATIVE_ON_BOOL = {
    bool_: "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
    "the `~` or `logical_not()` operator instead."
}


@pointwise("ConjPhysicalBackward0", dtypes="bifc")
def conj_physical(input):
    """The complex conjugate, as a new tensor."""
    return scalar.conj(input)


@conj_physical.gradient("input")
def _(grad):
    return conj(grad)


attach("conj_physical_", overload(conj_physical, "ConjPhysicalBackward1").inplace)
_conj = overload(conj_physical, "ConjBackward0")


def conj(input: Tensor | complex) -> Any:
    """The complex conjugate; of a real tensor or number the thing itself."""
    if isinstance(input, Tensor):
        return _conj(input) if input._layout.type.dtype.is_complex else input
    return input.conjugate()


conj.scalar_function = conj_physical.scalar_function  # type: ignore[attr-defined]
public(conj, direct=True)


# -- arithmetic -------------------------------------------------------------------------------------------------


@public(direct=True)
def positive(input: Tensor) -> Tensor:
    """The tensor itself.

    Raises:
        RuntimeError: it is of bools.
    """
    if input.dtype is bool_:
        raise RuntimeError(f"The `+` operator, on a bool tensor is not supported (shape {list(input.shape)}).")
    return input


@pointwise("AddBackward0", dtypes="bifc")
def add(input, other, *, alpha=1):
    """``input + alpha * other``."""
    return input + alpha * other


@add.gradient("input")
def _(grad):
    return grad


@add.gradient("other")
def _(grad, alpha):
    return grad * conj(alpha)


@pointwise("SubBackward0", dtypes="bifc", refused=_ARITHMETIC_ON_BOOL, refused_operands=_ARITHMETIC_WITH_BOOL)
def sub(input, other, *, alpha=1):
    """``input - alpha * other``."""
    return input - alpha * other


@sub.gradient("input")
def _(grad):
    return grad


@sub.gradient("other")
def _(grad, alpha):
    return -grad * conj(alpha)


@pointwise(
    "RsubBackward0", dtypes="bifc", refused=_ARITHMETIC_ON_BOOL, refused_operands=_ARITHMETIC_WITH_BOOL, inplace=False,
    numbers={"other": "RsubBackward1"},
)
def rsub(input, other, *, alpha=1):
    """``other - alpha * input``."""
    return other - alpha * input


@rsub.gradient("input")
def _(grad, alpha):
    return -grad * conj(alpha)


@rsub.gradient("other")
def _(grad):
    return grad


@pointwise("MulBackward0", dtypes="bifc")
def mul(input, other):
    """``input * other``."""
    return input * other


@mul.gradient("input")
def _(grad, other):
    return grad * conj(other)


@mul.gradient("other")
def _(grad, input):
    return grad * conj(input)


@pointwise("DivBackward0", result="float", dtypes="bifc")
def div(input, other):
    """``input / other``, the true quotient also of integers."""
    return input / other


@div.gradient("input")
def _(grad, other):
    return grad / conj(other)


@div.gradient("other")
def _(grad, input, other):
    return -grad * conj(input / other / other)


@pointwise("ReciprocalBackward0", result="float", dtypes="bifc")
def reciprocal(input):
    """``1 / input``."""
    return 1 / input


@reciprocal.gradient("input")
def _(grad, out):
    return -grad * conj(out * out)


@pointwise("NegBackward0", dtypes="bifc", refused=_NEGATIVE_ON_BOOL)
def neg(input):
    """``-input``."""
    return -input


@neg.gradient("input")
def _(grad):
    return -grad


@pointwise("SgnBackward0", dtypes="c", export=False, inplace=False)
def sgn_complex(input):
    """The number divided by its magnitude, and 0 for 0."""
    return where(input == 0, 0, input / scalar.abs(input))


@sgn_complex.gradient("input")
def _(grad, input, out):
    # Only what is across the number's direction turns it: (grad - out * real(conj(out) * grad)) / abs(input).
    # Forward mode differentiates the rule by grad, so that what is not chosen must be finite, too.
    return where(input == 0, 0, grad - out * out * conj(grad)) / where(input == 0, 1, 2 * abs_complex(input))


@pointwise("SgnBackward0", dtypes="bifc", complex=sgn_complex)
def sgn(input):
    """The sign of a real number: -1, 0 or 1; a complex number divided by its magnitude."""
    return scalar.sign(input)


@sgn.gradient("input")
def _(grad):
    return 0


@pointwise("AbsBackward0", real=True, dtypes="c", export=False, inplace=False)
def abs_complex(input):
    """The magnitude."""
    return scalar.abs(input)


@abs_complex.gradient("input")
def _(grad, input):
    return grad * sgn_complex(input)


@pointwise(
    "AbsBackward0", real=True, dtypes="bifc", refused={bool_: "\"abs_cpu\" not implemented for 'Bool'"},
    complex=abs_complex,
)
def abs(input):
    """The absolute value."""
    return scalar.abs(input)


@abs.gradient("input")
def _(grad, input):
    return grad * sign(input)


@pointwise("SignBackward0")
def sign(input):
    """-1, 0 or 1: the sign of the number."""
    return scalar.sign(input)


@sign.gradient("input")
def _(grad):
    return 0


# -- exponential and its relatives ------------------------------------------------------------------------------


@pointwise("ExpBackward0", result="float", dtypes="bifc")
def exp(input):
    """e to the power of the number."""
    return scalar.exp(input)


@exp.gradient("input")
def _(grad, out):
    return grad * conj(out)


@pointwise("LogBackward0", result="float", dtypes="bifc")
def log(input):
    """The natural logarithm."""
    return scalar.log(input)


@log.gradient("input")
def _(grad, input):
    return grad / conj(input)


@pointwise("TanhBackward0", result="float", dtypes="bifc")
def tanh(input):
    """The hyperbolic tangent."""
    return scalar.tanh(input)


@tanh.gradient("input")
def _(grad, out):
    return tanh_backward(grad, out)


@pointwise("TanhBackwardBackward0", dtypes="fc", inplace=False, export=False)
def tanh_backward(grad_output, output):
    """``grad_output * (1 - output**2)``: one operation to record where the gradient itself is differentiated."""
    return grad_output * conj(1 - output * output)


@tanh_backward.gradient("grad_output")
def _(grad, output):
    return conj(tanh_backward(conj(grad), output))


@tanh_backward.gradient("output")
def _(grad, grad_output, output):
    return -2 * conj(grad) * grad_output * conj(output)


@pointwise("SigmoidBackward0", result="float", dtypes="bifc")
def sigmoid(input):
    """``1 / (1 + exp(-input))``."""
    return scalar.sigmoid(input)


@sigmoid.gradient("input")
def _(grad, out):
    return sigmoid_backward(grad, out)


@pointwise("SigmoidBackwardBackward0", dtypes="fc", inplace=False, export=False)
def sigmoid_backward(grad_output, output):
    """``grad_output * (1 - output) * output``, one operation for the same reason."""
    return grad_output * conj((1 - output) * output)


@sigmoid_backward.gradient("grad_output")
def _(grad, output):
    return conj(sigmoid_backward(conj(grad), output))


@sigmoid_backward.gradient("output")
def _(grad, grad_output, output):
    return conj(grad) * grad_output * conj(1 - 2 * output)


@pointwise("LogOnePlusExpBackward0", result="float", inplace=False, export=False)
def log_one_plus_exp(input):
    """``log(1 + exp(input))`` without overflow: part of the logistic losses."""
    return scalar.maximum(input, 0) + scalar.log1p(scalar.exp(-scalar.abs(input)))


@log_one_plus_exp.gradient("input")
def _(grad, input):
    return grad * sigmoid(input)
