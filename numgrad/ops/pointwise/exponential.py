"""Exponentials, logarithms, powers and roots, sigmoid and tanh; each with its derivative.

Results for integers and bools are floating-point numbers of the default dtype unless stated otherwise.
"""

from __future__ import annotations

import math
from typing import Any

from numgrad_kernels import scalar

from ...core.types import bool_, complex128, float64, get_default_dtype, int64, real_of
from ...tensors.tensor import Tensor
from ..memory.copying import convert
from ..table.arguments import wrong_kind
from ..table.checks import check
from ..table.declaring import by_result, pointwise
from ..table.forms import call_of
from ..table.op import check_tensors, composite, export, public
from ..table.out import not_cast, write_out
from ..table.promotion import result_type
from .arithmetic import abs, conj, mul
from .comparison import where

_LN2, _LN10 = math.log(2), math.log(10)


@pointwise("ExpBackward0", result="float", dtypes="bifc")
def exp(input):
    """e to the power of the number.

    Example:
        >>> import numgrad
        >>> numgrad.exp(numgrad.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
    """
    return scalar.exp(input)


@exp.gradient("input")
def _(grad, out):
    return grad * conj(out)


@pointwise("LogBackward0", result="float", dtypes="bifc")
def log(input):
    """The natural logarithm.

    Example:
        >>> import numgrad
        >>> numgrad.log(numgrad.tensor([1.0, 10.0]))
        tensor([0.0000, 2.3026])
    """
    return scalar.log(input)


@log.gradient("input")
def _(grad, input):
    return grad / conj(input)


@pointwise("TanhBackward0", result="float", dtypes="bifc")
def tanh(input):
    """The hyperbolic tangent.

    Example:
        >>> import numgrad
        >>> numgrad.tanh(numgrad.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.7616,  0.0000,  0.7616])
    """
    return scalar.tanh(input)


@tanh.gradient("input")
def _(grad, input, out):
    return tanh_backward(grad, input, out)


@by_result(tanh)
def _(grad, out):
    return grad * conj(1 - out * out)


@pointwise("TanhBackwardBackward0", dtypes="fc", inplace=False, export=False, nondifferentiable=["output"])
def tanh_backward(grad_output, input, output):
    """``grad_output * (1 - tanh(input)**2)``, given ``output = tanh(input)``, which may have been rounded to 1.

    1 - t is (1 + t) * exp(-2 * input).
    """
    complement = 1 + scalar.signed_like(output, input)
    return grad_output * conj(complement * complement * exp(-2 * scalar.signed_like(input, input)))


@tanh_backward.gradient("grad_output")
def _(grad, input, output):
    return conj(tanh_backward(conj(grad), input, output))


@tanh_backward.gradient("input")
def _(grad, grad_output, input, output):
    return -2 * tanh_backward(conj(grad) * grad_output, input, output) * conj(output)


@pointwise("SigmoidBackward0", result="float", dtypes="bifc")
def sigmoid(input):
    """``1 / (1 + exp(-input))``.

    Example:
        >>> import numgrad
        >>> numgrad.sigmoid(numgrad.tensor([-1.0, 0.0, 1.0]))
        tensor([0.2689, 0.5000, 0.7311])
    """
    return scalar.sigmoid(input)


@sigmoid.gradient("input")
def _(grad, input, out):
    return sigmoid_backward(grad, input, out)


@by_result(sigmoid)
def _(grad, out):
    return grad * conj((1 - out) * out)


@pointwise("SigmoidBackwardBackward0", dtypes="fc", inplace=False, export=False, nondifferentiable=["output"])
def sigmoid_backward(grad_output, input, output):
    """``grad_output * (1 - s) * s``, given ``output = s = sigmoid(input)``, which may have been rounded to 1.

    1 - s is s * exp(-input).
    """
    larger = 0.5 + scalar.signed_like(output - 0.5, input)
    return grad_output * conj(larger * larger * exp(-scalar.signed_like(input, input)))


@sigmoid_backward.gradient("grad_output")
def _(grad, input, output):
    return conj(sigmoid_backward(conj(grad), input, output))


@sigmoid_backward.gradient("input")
def _(grad, grad_output, input, output):
    return -sigmoid_backward(conj(grad) * grad_output, input, output) * conj(tanh(0.5 * input))


@pointwise("Exp2Backward0", result="float", dtypes="bifc")
def exp2(input):
    """2 to the power of the number.

    Example:
        >>> import numgrad
        >>> numgrad.exp2(numgrad.tensor([1.0, 3.0]))
        tensor([2., 8.])
    """
    return scalar.exp2(input)


@exp2.gradient("input")
def _(grad, out):
    return grad * conj(out) * _LN2


@pointwise("Expm1Backward0", result="float", dtypes="bifc")
def expm1(input):
    """``exp(input) - 1``, accurate near 0.

    Example:
        >>> import numgrad
        >>> numgrad.expm1(numgrad.tensor([0.0, 1.0]))
        tensor([0.0000, 1.7183])
    """
    return scalar.expm1(input)


@expm1.gradient("input")
def _(grad, input, out):
    return grad * conj(exp(input))  # the result may have been rounded to -1


@by_result(expm1)
def _(grad, out):
    return grad * conj(out + 1)


@pointwise("Log1PBackward0", result="float", dtypes="bifc")
def log1p(input):
    """``log(1 + input)``, accurate near 0.

    Example:
        >>> import numgrad
        >>> numgrad.log1p(numgrad.tensor([0.0, 1e-10]))
        tensor([0.0000e+00, 1.0000e-10])
    """
    return scalar.log1p(input)


@log1p.gradient("input")
def _(grad, input):
    return grad / conj(input + 1)


@pointwise("Log2Backward0", result="float", dtypes="bifc")
def log2(input):
    """The logarithm to the base 2.

    Example:
        >>> import numgrad
        >>> numgrad.log2(numgrad.tensor([1.0, 8.0]))
        tensor([0., 3.])
    """
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


# -- powers and roots -------------------------------------------------------------------------------------------


_EXPONENTS = {"exponent": frozenset({0, 0.5, 1, 2, 3, -0.5, -1, -2})}


@pointwise("PowBackward0", dtypes="bifc", baked=_EXPONENTS, export=False)
def pow_number(input, *, exponent=1):
    """``input ** exponent`` for a number ``exponent``."""
    return scalar.pow(input, exponent)


@pow_number.gradient("input")
def _(grad, input, exponent):
    return where(exponent == 0, 0, grad * conj(exponent * pow_number(input, exponent=exponent - 1)))


@pointwise("PowBackward1", dtypes="c", numbers={"input": "PowBackward2", "exponent": "PowBackward0"}, export=False)
def pow_complex(input, exponent):
    """``input ** exponent`` for complex numbers, in its principal branch."""
    # The real part of the exponent is positive if it is nearer to 1 than to -1.
    nothing = (input == 0) & (scalar.abs(exponent - 1) < scalar.abs(exponent + 1))
    return where(nothing, 0, scalar.pow(input, exponent))


@pow_complex.gradient("input")
def _(grad, input, exponent):
    return where(exponent == 0, 0, grad * conj(exponent * pow_complex(input, exponent - 1)))


@pow_complex.gradient("exponent")
def _(grad, input, exponent, out):
    nothing = (input == 0) & (abs(exponent - 1) <= abs(exponent + 1))
    return grad * conj(where(nothing, 0, out * log(input)))


@pointwise(
    "PowBackward1", dtypes="bifc", refused={bool_: "\"pow\" not implemented for 'Bool'"}, export=False,
    numbers={"input": "PowBackward2"}, complex=pow_complex,
)
def pow_tensor(input, exponent):
    """``input ** exponent`` for two tensors, or a number and a tensor."""
    return scalar.pow(input, exponent)


@pow_tensor.gradient("input")
def _(grad, input, exponent):
    return where(exponent == 0, 0, grad * conj(exponent * pow_tensor(input, exponent - 1)))


@pow_tensor.gradient("exponent")
def _(grad, input, exponent, out):
    # At base 0 the logarithm is infinite, but the power stays 0 for every positive exponent.
    return grad * conj(where((input == 0) & (exponent >= 0), 0, out * log(input)))


def pow(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """``input ** exponent``; either may be a number.

    Raises:
        RuntimeError: an integer tensor has a negative integer exponent.

    Example:
        >>> import numgrad
        >>> numgrad.pow(numgrad.tensor([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
    """
    if out is not None:
        return write_out("pow", out, pow(input, exponent))
    short = _powers.get((exponent.__class__, exponent)) if exponent.__class__ in (int, float) else None
    if short is not None and isinstance(input, Tensor) and input._layout.type.dtype.is_floating_point:
        return short(input)
    if not isinstance(exponent, int | float):
        return pow_tensor(input, exponent)
    return pow_number(_power_base(input, exponent), exponent=exponent)


#: The powers that have their own kernel.
_powers = {
    (cls, cls(exponent)): call_of(pow_number.op.with_attributes({"exponent": cls(exponent)}))
    for exponent in _EXPONENTS["exponent"]
    for cls in (int, float)
    if cls(exponent) == exponent
}


export("pow", pow)


@public(function=False, direct=True)
def pow_(input: Tensor, exponent: Any) -> Tensor:
    """``pow`` in place."""
    if not isinstance(exponent, int | float):
        return pow_tensor.inplace(input, exponent)
    if _power_base(input, exponent) is not input:
        raise not_cast(get_default_dtype(), input.dtype)
    return pow_number.inplace(input, exponent=exponent)


def _power_base(input: Tensor, exponent: float) -> Tensor:
    """Return the base, converted to the dtype of the power."""
    if not isinstance(input, Tensor):
        raise wrong_kind("pow", "input", 1, Tensor, input)
    if input.is_floating_point() or input.is_complex():
        return input
    if isinstance(exponent, int):
        if exponent < 0:
            raise RuntimeError(
                "Integers to negative integer powers are not allowed: "
                f"a {input.dtype} tensor of shape {list(input.shape)} to the power {exponent}."
            )
        return convert(input, int64) if input.dtype is bool_ else input
    return convert(input, get_default_dtype())


@pointwise("SqrtBackward0", result="float", dtypes="bifc")
def sqrt(input):
    """The square root.

    Example:
        >>> import numgrad
        >>> numgrad.sqrt(numgrad.tensor([4.0, 9.0]))
        tensor([2., 3.])
    """
    return scalar.sqrt(input)


@sqrt.gradient("input")
def _(grad, out):
    return grad / (2 * conj(out))


@composite(in_place=True, direct=True)
def ldexp(input: Tensor, other: Tensor, *, inplace: bool = False) -> Tensor:
    """``input * 2**other``, computed in the dtype of the result."""
    check_tensors("ldexp", input=input, other=other)
    dtype = result_type(input, other)
    if not dtype.is_floating_point and not dtype.is_complex:
        dtype = get_default_dtype()
    power = pow(2.0, other if other.dtype.is_complex else convert(other, real_of(dtype)))
    return mul.inplace(input, power) if inplace else mul(input, power)


@composite(in_place=True, direct=True)
def square(input: Tensor, *, inplace: bool = False) -> Tensor:
    """``input ** 2``.

    Example:
        >>> import numgrad
        >>> numgrad.square(numgrad.tensor([-3, 2]))
        tensor([9, 4])
    """
    return pow_(input, 2) if inplace else pow(input, 2)


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
    check(
        input.dtype is float64,
        "the base given to float_power_ has dtype {} but the operation's result requires dtype Double",
        input.dtype.legacy, input,
    )
    return pow_(input, _double(exponent))
