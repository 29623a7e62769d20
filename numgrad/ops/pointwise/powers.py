"""Powers and the square root: each with its derivatives beside it."""

from __future__ import annotations

from typing import Any

from numgrad_kernels import scalar

from ...core.tensor import Tensor
from ...core.types import bool_, get_default_dtype, int64
from ..memory.copying import convert
from ..memory.overwriting import write_out
from ..table.arguments import wrong_kind
from ..table.dispatch import unary
from ..table.elementwise import pointwise
from ..table.op import composite, export, public
from .arithmetic import abs, conj, log, mul
from .comparison import where

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
    # The real part of the exponent is positive where it is nearer to 1 than to -1.
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
    # Where the base is 0 the logarithm is infinite, but the power stays 0 for every positive exponent.
    return grad * conj(where((input == 0) & (exponent >= 0), 0, out * log(input)))


def pow(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """``input ** exponent``, either of which may be a number.

    Raises:
        RuntimeError: an integer tensor to a negative integer power.
    """
    if out is not None:
        return write_out("pow", out, pow(input, exponent))
    short = _powers.get((exponent.__class__, exponent)) if exponent.__class__ in (int, float) else None
    if short is not None and isinstance(input, Tensor) and input._layout.type.dtype.is_floating_point:
        return short(input)
    if not isinstance(exponent, int | float):
        return pow_tensor(input, exponent)
    return pow_number(_power_base(input, exponent), exponent=exponent)


#: The powers that have a kernel of their own.
_powers = {
    (kind, kind(exponent)): unary(pow_number.op.with_statics({"exponent": kind(exponent)}))
    for exponent in _EXPONENTS["exponent"]
    for kind in (int, float)
    if kind(exponent) == exponent
}


export("pow", pow)


@public(function=False, direct=True)
def pow_(input: Tensor, exponent: Any) -> Tensor:
    """``pow`` in place."""
    if not isinstance(exponent, int | float):
        return pow_tensor.inplace(input, exponent)
    if _power_base(input, exponent) is not input:
        raise RuntimeError(
            f"result type {get_default_dtype().legacy} can't be cast to the desired output type {input.dtype.legacy}"
        )
    return pow_number.inplace(input, exponent=exponent)


def _power_base(input: Tensor, exponent: float) -> Tensor:
    """The base in the dtype of the power."""
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
    """The square root."""
    return scalar.sqrt(input)


@sqrt.gradient("input")
def _(grad, out):
    return grad / (2 * conj(out))


@composite
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2**other``."""
    return mul(input, pow(2.0, other))
