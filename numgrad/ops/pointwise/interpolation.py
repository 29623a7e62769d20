"""A straight line between two numbers, and sums with a product or a quotient."""

from __future__ import annotations

from typing import Any

from numgrad_kernels import scalar

from ...core.tensor import Tensor
from ..table.elementwise import pointwise
from ..table.op import check_tensors, public
from ..table.operands import not_implemented
from ..table.promotion import check_fits
from .arithmetic import conj
from .comparison import where


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


def _check_lerp(input: Tensor, end: Any, weight: Any) -> None:
    check_tensors("lerp", end=end)
    for name, value in (("end", end), ("weight", weight)):
        if isinstance(value, Tensor) and value.dtype is not input.dtype:
            raise RuntimeError(f"expected dtype {input.dtype} for `{name}` but got dtype {value.dtype}")
    if isinstance(weight, complex) and not input.is_complex():
        check_fits(weight, input.dtype)
    if input.dtype.kind in "bi":
        raise not_implemented("lerp_cpu", input._layout)


@public(direct=True)
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """``input + weight * (end - input)``; the weight is a number or a tensor.

    Raises:
        RuntimeError: the tensors' dtypes differ.
    """
    _check_lerp(input, end, weight)
    return lerp_op(input, end, weight)


@public(function=False, direct=True)
def lerp_(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """``lerp`` in place."""
    _check_lerp(input, end, weight)
    return lerp_op.inplace(input, end, weight)


@pointwise("AddcmulBackward0", dtypes="ifc", export=False)
def addcmul_op(input, tensor1, tensor2, *, value=1):
    """``input + value * tensor1 * tensor2``."""
    return input + value * tensor1 * tensor2


@addcmul_op.gradient("input")
def _(grad):
    return grad


@addcmul_op.gradient("tensor1")
def _(grad, tensor2, value):
    return grad * conj(tensor2 * value)


@addcmul_op.gradient("tensor2")
def _(grad, tensor1, value):
    return grad * conj(tensor1 * value)


@pointwise("AddcdivBackward0", dtypes="fc", export=False)
def addcdiv_op(input, tensor1, tensor2, *, value=1):
    """``input + value * tensor1 / tensor2``."""
    return input + value * (tensor1 / tensor2)


@addcdiv_op.gradient("input")
def _(grad):
    return grad


@addcdiv_op.gradient("tensor1")
def _(grad, tensor2, value):
    return grad * conj(value / tensor2)


@addcdiv_op.gradient("tensor2")
def _(grad, tensor1, tensor2, value):
    return -grad * conj(value * tensor1 / (tensor2 * tensor2))


def _product(inplace: bool, input: Tensor, tensor1: Any, tensor2: Any, value: float) -> Tensor:
    check_tensors("addcmul", tensor1=tensor1, tensor2=tensor2)
    return _weighted(addcmul_op, inplace, input, tensor1, tensor2, value)


def _quotient(inplace: bool, input: Tensor, tensor1: Any, tensor2: Any, value: float) -> Tensor:
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
        return op.short(input, tensor1, tensor2)
    return op(input, tensor1, tensor2, value=value)


@public(direct=True)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
    return _product(False, input, tensor1, tensor2, value)


@public(function=False, direct=True)
def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """``addcmul`` in place."""
    return _product(True, input, tensor1, tensor2, value)


@public(direct=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``.

    Raises:
        RuntimeError: both tensors to be divided are of integers.
    """
    return _quotient(False, input, tensor1, tensor2, value)


@public(function=False, direct=True)
def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """``addcdiv`` in place."""
    return _quotient(True, input, tensor1, tensor2, value)
