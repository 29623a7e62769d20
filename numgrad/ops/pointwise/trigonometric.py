"""Circular and hyperbolic functions and their inverses, elementwise.

All take tensors of any shape.  Results for integers and bools are floating-point numbers of the default dtype.  Outside
a function's domain the result is NaN.
"""

from __future__ import annotations

import math

from numgrad_kernels import scalar

from ..table.callables import of_tensors
from ..table.declaring import by_result, pointwise
from .arithmetic import abs, conj
from .comparison import where
from .exponential import rsqrt

_PI, _DEGREE = math.pi, math.pi / 180


# -- circular functions -----------------------------------------------------------------------------------------


@pointwise("SinBackward0", result="float", dtypes="bifc")
def sin(input):
    """The sine of an angle in radians.

    Example:
        >>> import numgrad
        >>> numgrad.sin(numgrad.tensor([0.0, numgrad.pi / 2]))
        tensor([0., 1.])
    """
    return scalar.sin(input)


@sin.gradient("input")
def _(grad, input):
    return grad * conj(cos(input))


@pointwise("CosBackward0", result="float", dtypes="bifc")
def cos(input):
    """The cosine of an angle in radians.

    Example:
        >>> import numgrad
        >>> numgrad.cos(numgrad.tensor([0.0, numgrad.pi]))
        tensor([ 1., -1.])
    """
    return scalar.cos(input)


@cos.gradient("input")
def _(grad, input):
    return grad * conj(-sin(input))


@pointwise("TanBackward0", result="float", dtypes="bifc")
def tan(input):
    """The tangent of an angle in radians."""
    return scalar.tan(input)


@tan.gradient("input")
def _(grad, input, out):
    return tan_backward(grad, input, out)


@by_result(tan)
def _(grad, out):
    return grad * conj(1 + out * out)


@pointwise("TanBackwardBackward0", dtypes="fc", inplace=False, export=False, nondifferentiable=["output"])
def tan_backward(grad_output, input, output):
    """``grad_output * (1 + tan(input)**2)``, given ``output = tan(input)``.

    It does not use the square of the output, which rounding may have made ``i``, where the factor would be 0.
    """
    return grad_output * conj(scalar.tan_slope(input, output))


@tan_backward.gradient("grad_output")
def _(grad, input, output):
    return conj(tan_backward(conj(grad), input, output))


@tan_backward.gradient("input")
def _(grad, grad_output, input, output):
    return 2 * tan_backward(conj(grad) * grad_output, input, output) * conj(output)


@pointwise("AsinBackward0", result="float", dtypes="bifc")
def asin(input):
    """The angle from -pi/2 to pi/2 whose sine is ``input``."""
    return scalar.asin(input)


@pointwise("AsinSlopeBackward0", aten="rsqrt", dtypes="fc", inplace=False, export=False)
def asin_slope(input):
    """The derivative of :func:`asin`, ``1 / sqrt(1 - input**2)``, computed without the square, which may overflow."""
    return scalar.rsqrt(1 - input) * scalar.rsqrt(1 + input)


@asin_slope.gradient("input")
def _(grad, input, out):
    return grad * conj(input * out * out * out)


@asin.gradient("input")
def _(grad, input):
    return grad * conj(asin_slope(input))


@pointwise("AcosBackward0", result="float", dtypes="bifc")
def acos(input):
    """The angle from 0 to pi whose cosine is ``input``."""
    return scalar.acos(input)


@acos.gradient("input")
def _(grad, input):
    return grad * conj(-asin_slope(input))


@pointwise("AtanBackward0", dtypes="c", export=False, inplace=False)
def atan_complex(input):
    """The inverse of the tangent, in its principal branch."""
    return scalar.atan(input)


@atan_complex.gradient("input")
def _(grad, input):
    return grad / conj(1 + 1j * input) / conj(1 - 1j * input)


@pointwise("AtanBackward0", result="float", dtypes="bifc", complex=atan_complex)
def atan(input):
    """The angle from -pi/2 to pi/2 whose tangent is ``input``."""
    return scalar.atan(input)


@atan.gradient("input")
def _(grad, input):
    return grad / conj(1 + input * input)


@pointwise("Atan2Backward0", result="float", export=False)
def atan2_op(input, other):
    """The angle from -pi to pi of the point at x = ``other``, y = ``input``.

    Example:
        >>> import numgrad
        >>> numgrad.atan2(numgrad.tensor([1.0, -1.0]), numgrad.tensor([1.0, -1.0]))
        tensor([ 0.7854, -2.3562])
    """
    return scalar.atan2(input, other)


@atan2_op.gradient("input")
def _(grad, input, other):
    length = hypot_op(input, other)  # its square may overflow, or be 0
    inverse = where(length == 0, 0, 1 / length)
    return grad * (other * inverse) * inverse


@atan2_op.gradient("other")
def _(grad, input, other):
    length = hypot_op(input, other)
    inverse = where(length == 0, 0, 1 / length)
    return grad * (-input * inverse) * inverse


atan2 = of_tensors(atan2_op)


@pointwise("HypotBackward0", dtypes="f", export=False)
def hypot_op(input, other):
    """``sqrt(input**2 + other**2)`` without overflow."""
    return scalar.hypot(input, other)


@hypot_op.gradient("input")
def _(grad, input, other, out):
    return grad * hypot_slope(input, other, out)


@hypot_op.gradient("other")
def _(grad, input, other, out):
    return grad * hypot_slope(other, input, out)


@pointwise(
    "HypotSlopeBackward0", aten="div", dtypes="f", inplace=False, export=False, nondifferentiable=["length"]
)
def hypot_slope(input, other, length):
    """``input / length``, where ``length`` is ``hypot(input, other)``."""
    return input / length


@hypot_slope.gradient("input")
def _(grad, input, other, length):
    slope = hypot_slope(other, input, length)
    return grad * (slope * slope / length)


@hypot_slope.gradient("other")
def _(grad, input, other, length):
    return -grad * (hypot_slope(input, other, length) * hypot_slope(other, input, length) / length)


hypot = of_tensors(hypot_op)


@pointwise("SincBackward0", result="float")
def sinc(input):
    """``sin(pi * input) / (pi * input)``, and 1 at 0."""
    angle = input * _PI
    return where(input == 0, 1, scalar.sin(angle) / angle)


@sinc.gradient("input")
def _(grad, input):
    """``grad * (cos(pi * input) - sinc(input)) / input``."""
    # Near 0 the quotient and its derivatives suffer from cancellation.  There it is a series, in which each term is the
    # preceding one times -square / (2 * n * (2 * n + 3)).
    angle = input * _PI
    near = abs(angle) < 1
    square = where(near, angle * angle, 0)
    series = 1 - square / 130 * (1 - square / 180 * (1 - square / 238 * (1 - square / 304)))
    series = 1 - square / 10 * (1 - square / 28 * (1 - square / 54 * (1 - square / 88 * series)))
    away = where(near, 1, angle)
    return grad * (_PI * where(near, angle * series / -3, (cos(away) - sin(away) / away) / away))


# -- hyperbolic functions ---------------------------------------------------------------------------------------


@pointwise("SinhBackward0", result="float", dtypes="bifc")
def sinh(input):
    """The hyperbolic sine."""
    return scalar.sinh(input)


@sinh.gradient("input")
def _(grad, input):
    return grad * conj(cosh(input))


@pointwise("CoshBackward0", result="float", dtypes="bifc")
def cosh(input):
    """The hyperbolic cosine."""
    return scalar.cosh(input)


@cosh.gradient("input")
def _(grad, input):
    return grad * conj(sinh(input))


@pointwise("AsinhBackward0", dtypes="c", export=False, inplace=False)
def asinh_complex(input):
    """The inverse of the hyperbolic sine, in its principal branch."""
    return scalar.asinh(input)


@asinh_complex.gradient("input")
def _(grad, input):
    return grad * conj(rsqrt(1 + 1j * input) * rsqrt(1 - 1j * input))


@pointwise("AsinhBackward0", result="float", dtypes="bifc", complex=asinh_complex)
def asinh(input):
    """The inverse of the hyperbolic sine."""
    return scalar.asinh(input)


@asinh.gradient("input")
def _(grad, input):
    return grad / hypot_op(input, 1)  # a square may overflow


@pointwise("AcoshBackward0", dtypes="c", export=False, inplace=False)
def acosh_complex(input):
    """The inverse of the hyperbolic cosine, in its principal branch."""
    return scalar.acosh(input)


@acosh_complex.gradient("input")
def _(grad, input):
    return grad * conj(rsqrt(input + 1) * rsqrt(input - 1))  # the root of the product may have the opposite sign


@pointwise("AcoshBackward0", result="float", dtypes="bifc", complex=acosh_complex)
def acosh(input):
    """The inverse of the hyperbolic cosine: NaN below 1."""
    return scalar.acosh(input)


@acosh.gradient("input")
def _(grad, input):
    size = abs(input)  # the factors keep all digits near 1, and do not overflow as a square may
    return grad * (rsqrt(size - 1) * rsqrt(size + 1))


@pointwise("AtanhBackward0", result="float", dtypes="bifc")
def atanh(input):
    """The inverse of the hyperbolic tangent: infinite at -1 and 1."""
    return scalar.atanh(input)


@pointwise("AtanhSlopeBackward0", aten="reciprocal", dtypes="fc", inplace=False, export=False)
def atanh_slope(input):
    """The derivative of :func:`atanh`, ``1 / (1 - input**2)``, computed without the square, which may overflow."""
    return 1 / (1 - input) / (1 + input)


@atanh_slope.gradient("input")
def _(grad, input, out):
    return 2 * grad * conj(input * out * out)


@atanh.gradient("input")
def _(grad, input):
    return grad * conj(atanh_slope(input))


# -- units ------------------------------------------------------------------------------------------------------


@pointwise("Deg2RadBackward0", result="float")
def deg2rad(input):
    """An angle in degrees converted to radians.

    Example:
        >>> import numgrad
        >>> numgrad.deg2rad(numgrad.tensor([180.0, 90.0]))
        tensor([3.1416, 1.5708])
    """
    return input * _DEGREE


@deg2rad.gradient("input")
def _(grad):
    return grad * _DEGREE


@pointwise("Rad2DegBackward0", result="float")
def rad2deg(input):
    """An angle in radians converted to degrees."""
    return input * (180 / _PI)


@rad2deg.gradient("input")
def _(grad):
    return grad * (180 / _PI)
