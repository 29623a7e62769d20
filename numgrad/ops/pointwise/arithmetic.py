"""Pointwise arithmetic, signs, linear interpolation, sums with a product; each with its derivative.

In the rules ``grad`` is the gradient of the output, ``conj`` matters for complex numbers only (it returns a real number
as it is), and names of other operations stand for their formulas.
"""

from __future__ import annotations

from typing import Annotated, Any

from numgrad_kernels import scalar

from ...core.types import bool_
from ...tensors.tensor import Tensor
from ..table.callables import overload
from ..table.checks import check, not_implemented
from ..table.declaring import pointwise
from ..table.op import attach, check_tensors, public
from ..table.promotion import check_fits, result_dtype
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


def conj(input: Tensor | complex) -> Annotated[Any, Tensor]:
    """The complex conjugate; a real tensor or number is returned as it is."""
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
        RuntimeError: the dtype is bool.
    """
    check(input.dtype is not bool_, "The `+` operator, on a bool tensor is not supported (shape {}).", input)
    return input


@pointwise("AddBackward0", dtypes="bifc", passed=["input"], takes_numbers=True)
def add(input, other, *, alpha=1):
    """``input + alpha * other``.

    Example:
        >>> import numgrad
        >>> numgrad.add(numgrad.tensor([1.0, 2.0]), 10, alpha=2)
        tensor([21., 22.])
    """
    return input + alpha * other


@add.gradient("other")
def _(grad, alpha):
    return grad * conj(alpha)


@pointwise(
    "SubBackward0", dtypes="bifc", refused=_ARITHMETIC_ON_BOOL, refused_operands=_ARITHMETIC_WITH_BOOL,
    passed=["input"], takes_numbers=True,
)
def sub(input, other, *, alpha=1):
    """``input - alpha * other``.

    Example:
        >>> import numgrad
        >>> numgrad.sub(numgrad.tensor([5.0, 2.0]), numgrad.tensor([1.0, 2.0]))
        tensor([4., 0.])
    """
    return input - alpha * other


@sub.gradient("other")
def _(grad, alpha):
    return -grad * conj(alpha)


@pointwise(
    "RsubBackward0", dtypes="bifc", refused=_ARITHMETIC_ON_BOOL, refused_operands=_ARITHMETIC_WITH_BOOL, inplace=False,
    numbers={"other": "RsubBackward1"}, passed=["other"],
)
def rsub(input, other, *, alpha=1):
    """``other - alpha * input``."""
    return other - alpha * input


@rsub.gradient("input")
def _(grad, alpha):
    return -grad * conj(alpha)


@pointwise("MulBackward0", dtypes="bifc", takes_numbers=True)
def mul(input, other):
    """``input * other``.

    Example:
        >>> import numgrad
        >>> numgrad.mul(numgrad.tensor([[1], [2]]), numgrad.tensor([10, 20]))
        tensor([[10, 20],
                [20, 40]])
    """
    return input * other


@mul.gradient("input")
def _(grad, other):
    return grad * conj(other)


@mul.gradient("other")
def _(grad, input):
    return grad * conj(input)


@pointwise("DivBackward0", result="float", dtypes="bifc", takes_numbers=True)
def div(input, other):
    """``input / other``, the true quotient for integers, too."""
    return input / other


@div.gradient("input")
def _(grad, other):
    return grad / conj(other)


@div.gradient("other")
def _(grad, input, other):
    return -grad * conj(input / other / other)


@pointwise("ReciprocalBackward0", result="float", dtypes="bifc")
def reciprocal(input):
    """``1 / input``.

    Example:
        >>> import numgrad
        >>> numgrad.reciprocal(numgrad.tensor([2.0, 4.0]))
        tensor([0.5000, 0.2500])
    """
    return 1 / input


@reciprocal.gradient("input")
def _(grad, out):
    return -grad * conj(out * out)


@pointwise("NegBackward0", dtypes="bifc", refused=_NEGATIVE_ON_BOOL)
def neg(input):
    """``-input``.

    Example:
        >>> import numgrad
        >>> numgrad.neg(numgrad.tensor([1, -2]))
        tensor([-1,  2])
    """
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
    # Only a change perpendicular to the number changes its sign: (grad - out * real(conj(out) * grad)) / abs(input).
    # Forward mode differentiates the rule with respect to grad, so both branches of ``where`` must be finite.
    return where(input == 0, 0, grad - out * out * conj(grad)) / where(input == 0, 1, 2 * abs_complex(input))


@pointwise("SgnBackward0", dtypes="bifc", complex=sgn_complex, constant=["input"])
def sgn(input):
    """The sign of a real number: -1, 0 or 1; a complex number divided by its magnitude."""
    return scalar.sign(input)


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
    """The absolute value.

    Example:
        >>> import numgrad
        >>> numgrad.abs(numgrad.tensor([-1, 2]))
        tensor([1, 2])
        >>> numgrad.abs(numgrad.tensor(3 + 4j))
        tensor(5.)
    """
    return scalar.abs(input)


@abs.gradient("input")
def _(grad, input):
    return grad * sign(input)


@pointwise("SignBackward0", constant=["input"])
def sign(input):
    """-1, 0 or 1: the sign of the number.

    Example:
        >>> import numgrad
        >>> numgrad.sign(numgrad.tensor([-2.0, 0.0, 3.0]))
        tensor([-1.,  0.,  1.])
    """
    return scalar.sign(input)


# -- linear interpolation, and sums with a product or a quotient -------------------------------------------------


@pointwise("LerpBackward1", dtypes="c", numbers={"weight": "LerpBackward0"}, export=False)
def lerp_complex(input, end, weight):
    """``input + weight * (end - input)``, computed from the nearer end."""
    near = scalar.abs(weight) < scalar.abs(0.5)
    return where(near, input + weight * (end - input), end - (end - input) * (1 - weight))


@pointwise("LerpBackward1", dtypes="fc", numbers={"weight": "LerpBackward0"}, export=False, complex=lerp_complex)
def lerp_op(input, end, weight):
    """``input + weight * (end - input)``, computed from the nearer end."""
    near = scalar.abs(weight) < 0.5
    return where(near, input + weight * (end - input), end - (end - input) * (1 - weight))


@lerp_op.gradient("input")
@lerp_complex.gradient("input")
def _(grad, weight):
    return grad * conj(1 - weight)


@lerp_op.gradient("end")
@lerp_complex.gradient("end")
def _(grad, weight):
    return grad * conj(weight)


@lerp_op.gradient("weight")
@lerp_complex.gradient("weight")
def _(grad, input, end):
    return grad * conj(end - input)


@public(in_place=True, direct=True)
def lerp(input: Tensor, end: Tensor, weight: Any, *, inplace: bool = False) -> Tensor:
    """``input + weight * (end - input)``; the weight is a number or a tensor.

    Raises:
        RuntimeError: the tensors' dtypes differ.

    Example:
        >>> import numgrad
        >>> numgrad.lerp(numgrad.tensor([0.0, 10.0]), numgrad.tensor([1.0, 20.0]), 0.5)
        tensor([ 0.5000, 15.0000])
    """
    check_tensors("lerp", end=end)
    for name, value in (("end", end), ("weight", weight)):
        if isinstance(value, Tensor) and value.dtype is not input.dtype:
            raise RuntimeError(f"expected dtype {input.dtype} for `{name}` but got dtype {value.dtype}")
    if isinstance(weight, complex) and not input.is_complex():
        check_fits(weight, input.dtype)
    if input.dtype.kind in "bi":
        raise not_implemented("lerp_cpu", input._layout)
    return (lerp_op.inplace if inplace else lerp_op)(input, end, weight)


@pointwise("AddcmulBackward0", dtypes="ifc", export=False, passed=["input"])
def addcmul_op(input, tensor1, tensor2, *, value=1):
    """``input + value * tensor1 * tensor2``."""
    return input + value * tensor1 * tensor2


@addcmul_op.gradient("tensor1")
def _(grad, tensor2, value):
    return grad * conj(tensor2 * value)


@addcmul_op.gradient("tensor2")
def _(grad, tensor1, value):
    return grad * conj(tensor1 * value)


@pointwise("AddcdivBackward0", dtypes="fc", export=False, passed=["input"])
def addcdiv_op(input, tensor1, tensor2, *, value=1):
    """``input + value * tensor1 / tensor2``."""
    return input + value * (tensor1 / tensor2)


@addcdiv_op.gradient("tensor1")
def _(grad, tensor2, value):
    return grad * conj(value / tensor2)


@addcdiv_op.gradient("tensor2")
def _(grad, tensor1, tensor2, value):
    return -grad * conj(value * tensor1 / (tensor2 * tensor2))


@public(in_place=True, direct=True)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1, inplace: bool = False) -> Tensor:
    """``input + value * tensor1 * tensor2``; for integers, ``value`` is truncated.

    Example:
        >>> import numgrad
        >>> numgrad.addcmul(numgrad.zeros(2), numgrad.tensor([1.0, 2.0]), numgrad.tensor([3.0, 4.0]), value=0.5)
        tensor([1.5000, 4.0000])
    """
    check_tensors("addcmul", tensor1=tensor1, tensor2=tensor2)
    if input._layout.type.dtype.kind == "i" and result_dtype((input, tensor1, tensor2)).kind == "i":
        value = int(value)
    return _weighted(addcmul_op, inplace, input, tensor1, tensor2, value)


@public(in_place=True, direct=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1, inplace: bool = False) -> Tensor:
    """``input + value * tensor1 / tensor2``.

    Raises:
        RuntimeError: dividend and divisor are both integer tensors.
    """
    check_tensors("addcdiv", tensor1=tensor1, tensor2=tensor2)
    if tensor1._layout.type.dtype.kind in "bi" and tensor2._layout.type.dtype.kind in "bi":
        raise RuntimeError(
            f"Integer division with addcdiv is not supported ({tensor1.dtype} and {tensor2.dtype}, shapes "
            f"{list(tensor1.shape)} and {list(tensor2.shape)}); use input + value * tensor1 / tensor2, or "
            "div(tensor1, tensor2, rounding_mode='trunc')"
        )
    return _weighted(addcdiv_op, inplace, input, tensor1, tensor2, value)


def _weighted(op: Any, inplace: bool, input: Tensor, tensor1: Tensor, tensor2: Tensor, value: float) -> Tensor:
    if inplace:
        return op.inplace(input, tensor1, tensor2, value=value)
    if value == 1 and value.__class__ is int:
        return op.op.short(input, tensor1, tensor2)
    return op(input, tensor1, tensor2, value=value)
