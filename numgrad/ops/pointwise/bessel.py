"""Bessel functions of orders 0 and 1, their modified relatives, and the Airy function, each with its derivative.

They are power series near 0 and asymptotic forms elsewhere (``numgrad_kernels/bessel.py``, ``modified_bessel.py``).
Results for integers and bools are floating-point numbers of the default dtype.  As in PyTorch, the results of
``airy_ai`` and ``spherical_bessel_j0`` require no gradient.
"""

from __future__ import annotations

from numgrad_kernels import scalar

from ..table.declaring import pointwise
from .arithmetic import sign
from .comparison import where
from .special import special_function


@pointwise("I0Backward0", result="float")
def i0(input):
    """The modified Bessel function of the first kind of order 0.

    Example:
        >>> import numgrad
        >>> numgrad.i0(numgrad.tensor([0.0, 1.0]))
        tensor([1.0000, 1.2661])
    """
    return scalar.modified_bessel_i0(input)


@i0.gradient("input")
def _(grad, input):
    return grad * i1(input)


@pointwise("SpecialI0EBackward0", aten="special_i0e", result="float", export=False)
def i0e(input):
    """``exp(-abs(input)) * i0(input)``, which does not overflow.

    Example:
        >>> import numgrad
        >>> numgrad.special.i0e(numgrad.tensor([0.0, 1000.0]))
        tensor([1.0000, 0.0126])
    """
    return scalar.scaled_modified_bessel_i0(input)


@i0e.gradient("input")
def _(grad, input, out):
    return grad * (i1e(input) - sign(input) * out)


@pointwise("SpecialI1Backward0", aten="special_i1", result="float", export=False)
def i1(input):
    """The modified Bessel function of the first kind of order 1.

    Example:
        >>> import numgrad
        >>> numgrad.special.i1(numgrad.tensor([0.0, 1.0]))
        tensor([0.0000, 0.5652])
    """
    return scalar.modified_bessel_i1(input)


@i1.gradient("input")
def _(grad, input, out):
    return grad * where(input == 0, 0.5, i0(input) - out / where(input == 0, 1, input))


@pointwise("SpecialI1EBackward0", aten="special_i1e", result="float", export=False)
def i1e(input):
    """``exp(-abs(input)) * i1(input)``, which does not overflow.

    Example:
        >>> import numgrad
        >>> numgrad.special.i1e(numgrad.tensor([0.0, 1000.0]))
        tensor([0.0000, 0.0126])
    """
    return scalar.scaled_modified_bessel_i1(input)


@i1e.gradient("input")
def _(grad, input, out):
    slope = i0e(input) - out * (sign(input) + 1 / where(input == 0, 1, input))
    return grad * where(input == 0, 0.5, slope)


@special_function("modified_bessel_k0")
def modified_bessel_k0(input):
    """The modified Bessel function of the second kind of order 0: infinite at 0 and NaN for negative numbers.

    Example:
        >>> import numgrad
        >>> numgrad.special.modified_bessel_k0(numgrad.tensor([0.0, 1.0]))
        tensor([   inf, 0.4210])
    """
    return scalar.modified_bessel_k0(input)


@modified_bessel_k0.gradient("input")
def _(grad, input):
    return -grad * modified_bessel_k1(input)


@special_function("modified_bessel_k1")
def modified_bessel_k1(input):
    """The modified Bessel function of the second kind of order 1: infinite at 0 and NaN for negative numbers.

    Example:
        >>> import numgrad
        >>> numgrad.special.modified_bessel_k1(numgrad.tensor([0.0, 1.0]))
        tensor([   inf, 0.6019])
    """
    return scalar.modified_bessel_k1(input)


@modified_bessel_k1.gradient("input")
def _(grad, input, out):
    return -grad * (modified_bessel_k0(input) + out / input)


@special_function("scaled_modified_bessel_k0")
def scaled_modified_bessel_k0(input):
    """``exp(input) * modified_bessel_k0(input)``, which does not underflow.

    Example:
        >>> import numgrad
        >>> numgrad.special.scaled_modified_bessel_k0(numgrad.tensor([1.0, 1000.0]))
        tensor([1.1445, 0.0396])
    """
    return scalar.scaled_modified_bessel_k0(input)


@scaled_modified_bessel_k0.gradient("input")
def _(grad, input, out):
    return grad * (out - scaled_modified_bessel_k1(input))


@special_function("scaled_modified_bessel_k1")
def scaled_modified_bessel_k1(input):
    """``exp(input) * modified_bessel_k1(input)``, which does not underflow.

    Example:
        >>> import numgrad
        >>> numgrad.special.scaled_modified_bessel_k1(numgrad.tensor([1.0, 1000.0]))
        tensor([1.6362, 0.0396])
    """
    return scalar.scaled_modified_bessel_k1(input)


@scaled_modified_bessel_k1.gradient("input")
def _(grad, input, out):
    return grad * (out - scaled_modified_bessel_k0(input) - out / input)


@pointwise("SpecialBesselJ0Backward0", aten="special_bessel_j0", result="float", inplace=False, export=False)
def bessel_j0(input):
    """The Bessel function of the first kind of order 0.

    Example:
        >>> import numgrad
        >>> numgrad.special.bessel_j0(numgrad.tensor([0.0, 1.0]))
        tensor([1.0000, 0.7652])
    """
    return scalar.bessel_j0(input)


@bessel_j0.gradient("input")
def _(grad, input):
    return -grad * bessel_j1(input)


@pointwise("SpecialBesselJ1Backward0", aten="special_bessel_j1", result="float", inplace=False, export=False)
def bessel_j1(input):
    """The Bessel function of the first kind of order 1.

    Example:
        >>> import numgrad
        >>> numgrad.special.bessel_j1(numgrad.tensor([0.0, 1.0]))
        tensor([0.0000, 0.4401])
    """
    return scalar.bessel_j1(input)


@bessel_j1.gradient("input")
def _(grad, input, out):
    return grad * where(input == 0, 0.5, bessel_j0(input) - out / where(input == 0, 1, input))


@pointwise("SpecialBesselY0Backward0", aten="special_bessel_y0", result="float", inplace=False, export=False)
def bessel_y0(input):
    """The Bessel function of the second kind of order 0: -inf at 0 and NaN for negative numbers.

    Example:
        >>> import numgrad
        >>> numgrad.special.bessel_y0(numgrad.tensor([0.0, 1.0]))
        tensor([  -inf, 0.0883])
    """
    return scalar.bessel_y0(input)


@bessel_y0.gradient("input")
def _(grad, input):
    return -grad * bessel_y1(input)


@pointwise("SpecialBesselY1Backward0", aten="special_bessel_y1", result="float", inplace=False, export=False)
def bessel_y1(input):
    """The Bessel function of the second kind of order 1: -inf at 0 and NaN for negative numbers.

    Example:
        >>> import numgrad
        >>> numgrad.special.bessel_y1(numgrad.tensor([0.0, 1.0]))
        tensor([   -inf, -0.7812])
    """
    return scalar.bessel_y1(input)


@bessel_y1.gradient("input")
def _(grad, input, out):
    return grad * (bessel_y0(input) - out / input)


@special_function("spherical_bessel_j0", nondifferentiable=["input"])
def spherical_bessel_j0(input):
    """The spherical Bessel function of the first kind of order 0, ``sin(input) / input``: 1 at 0.

    Example:
        >>> import numgrad
        >>> numgrad.special.spherical_bessel_j0(numgrad.tensor([0.0, 1.0]))
        tensor([1.0000, 0.8415])
    """
    return scalar.spherical_bessel_j0(input)


@pointwise("SpecialAiryAiBackward0", aten="special_airy_ai", result="float", inplace=False, export=False,
           nondifferentiable=["input"])
def airy_ai(input):
    """The Airy function Ai.

    Example:
        >>> import numgrad
        >>> numgrad.special.airy_ai(numgrad.tensor([-1.0, 0.0, 1.0]))
        tensor([0.5356, 0.3550, 0.1353])
    """
    return scalar.airy_ai(input)
