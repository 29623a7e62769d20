"""Functions of each element, of the array API standard.

Unlike operators, they promote tensors without dimensions like all others, as the standard says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numgrad as ng

from ..ops import public_functions
from ..ops.table.op import named
from ..tensors.tensor import Tensor
from .data_types import result_type

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]


def together(*values: Any) -> tuple[Tensor, ...]:
    """Return tensors, and Python numbers, as tensors of their common dtype."""
    dtype = result_type(*values)
    device = next(value.device for value in values if isinstance(value, Tensor))
    return tuple([
        value.to(dtype) if isinstance(value, Tensor) else ng.tensor(value, dtype=dtype, device=device)
        for value in values
    ])


def _binary(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(x1: Any, x2: Any, /) -> Tensor:
        return function(*together(x1, x2))

    return named(call, name, f"Return ``{name}`` of two tensors, or a tensor and a number, in their common dtype.")


add = _binary("add", public_functions["add"])
atan2 = _binary("atan2", public_functions["atan2"])
bitwise_and = _binary("bitwise_and", public_functions["bitwise_and"])
bitwise_left_shift = _binary("bitwise_left_shift", public_functions["bitwise_left_shift"])
bitwise_or = _binary("bitwise_or", public_functions["bitwise_or"])
bitwise_right_shift = _binary("bitwise_right_shift", public_functions["bitwise_right_shift"])
bitwise_xor = _binary("bitwise_xor", public_functions["bitwise_xor"])
copysign = _binary("copysign", public_functions["copysign"])
divide = _binary("divide", public_functions["divide"])
greater = _binary("greater", public_functions["greater"])
greater_equal = _binary("greater_equal", public_functions["greater_equal"])
hypot = _binary("hypot", public_functions["hypot"])
less = _binary("less", public_functions["less"])
less_equal = _binary("less_equal", public_functions["less_equal"])
logaddexp = _binary("logaddexp", public_functions["logaddexp"])
logical_and = _binary("logical_and", public_functions["logical_and"])
logical_or = _binary("logical_or", public_functions["logical_or"])
logical_xor = _binary("logical_xor", public_functions["logical_xor"])
maximum = _binary("maximum", public_functions["maximum"])
minimum = _binary("minimum", public_functions["minimum"])
multiply = _binary("multiply", public_functions["multiply"])
nextafter = _binary("nextafter", public_functions["nextafter"])
not_equal = _binary("not_equal", public_functions["not_equal"])
pow = _binary("pow", public_functions["pow"])
subtract = _binary("subtract", public_functions["subtract"])
equal = _binary("equal", public_functions["eq"])

abs = public_functions["abs"]
acos = public_functions["acos"]
acosh = public_functions["acosh"]
asin = public_functions["asin"]
asinh = public_functions["asinh"]
atan = public_functions["atan"]
atanh = public_functions["atanh"]
bitwise_invert = public_functions["bitwise_not"]
ceil = public_functions["ceil"]
conj = public_functions["conj"]
cos = public_functions["cos"]
cosh = public_functions["cosh"]
exp = public_functions["exp"]
expm1 = public_functions["expm1"]
floor = public_functions["floor"]
imag = public_functions["imag"]
isfinite = public_functions["isfinite"]
isinf = public_functions["isinf"]
isnan = public_functions["isnan"]
log = public_functions["log"]
log10 = public_functions["log10"]
log1p = public_functions["log1p"]
log2 = public_functions["log2"]
logical_not = public_functions["logical_not"]
negative = public_functions["negative"]
positive = public_functions["positive"]
real = public_functions["real"]
reciprocal = public_functions["reciprocal"]
signbit = public_functions["signbit"]
sin = public_functions["sin"]
sinh = public_functions["sinh"]
sqrt = public_functions["sqrt"]
square = public_functions["square"]
tan = public_functions["tan"]
tanh = public_functions["tanh"]
trunc = public_functions["trunc"]


def sign(x: Tensor, /) -> Tensor:
    """Return -1, 0 or 1, or NaN of NaN; a complex number is divided by its magnitude."""
    return ng.where(x != x, x, ng.sgn(x)) if x.is_floating_point() else ng.sgn(x)


def floor_divide(x1: Any, x2: Any, /) -> Tensor:
    """Return quotients rounded downwards; those of infinities, and by infinities, are the quotients themselves.

    The operator ``//`` is Python's, which is NaN for an infinite dividend.
    """
    x1, x2 = together(x1, x2)
    quotient = ng.floor_divide(x1, x2)
    if not x1.is_floating_point():
        return quotient
    return ng.where(ng.isinf(x1) | ng.isinf(x2), x1 / x2, quotient)


def remainder(x1: Any, x2: Any, /) -> Tensor:
    """Return remainders with the sign of the divisor, zeros too; zeros of the operator ``%`` have PyTorch's sign."""
    x1, x2 = together(x1, x2)
    result = ng.remainder(x1, x2)
    return ng.where(result == 0, ng.copysign(result, x2), result) if x1.is_floating_point() else result


def round(x: Tensor, /) -> Tensor:
    """Return the nearest integers, of two equally near ones the even one; both parts of complex numbers are rounded."""
    return ng.view_as_complex(ng.round(ng.view_as_real(x))) if x.is_complex() else ng.round(x)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Return the numbers, or the nearest bounds of those outside, in the dtype of ``x``; bounds are broadcast."""
    for bound, function in ((min, ng.maximum), (max, ng.minimum)):
        if bound is not None:
            limit = bound.to(x.dtype) if isinstance(bound, Tensor) else ng.tensor(bound, dtype=x.dtype, device=x.device)
            x = function(x, limit)
    return x
