"""Python's operators on tensors, and the table's in-place forms of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor import Tensor
from . import pointwise as p

__all__: list[str] = []

_OPERANDS = (Tensor, bool, int, float, np.ndarray, np.generic)


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Any]:
    """An operator; Python asks the other operand where this one does not know it."""

    def operator(self: Tensor, other: Any) -> Any:
        return function(self, other) if isinstance(other, _OPERANDS) else NotImplemented

    return operator


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Any]:
    def operator(self: Tensor, other: Any) -> Any:
        return function(other, self) if isinstance(other, _OPERANDS) else NotImplemented

    return operator


def _quotient_of(self: Tensor, other: Any) -> Any:
    """``other / self``, for a number as PyTorch computes it: by the reciprocal."""
    return p.mul(p.reciprocal(self), other) if isinstance(other, int | float) else p.div(other, self)


_ATTACHED: dict[str, Callable[..., Any]] = {
    "__add__": _binary(p.add), "__radd__": _binary(p.add), "__iadd__": _binary(p.add.inplace),
    "__sub__": _binary(p.sub), "__rsub__": _binary(p.rsub), "__isub__": _binary(p.sub.inplace),
    "__mul__": _binary(p.mul), "__rmul__": _binary(p.mul), "__imul__": _binary(p.mul.inplace),
    "__truediv__": _binary(p.div), "__rtruediv__": _binary(_quotient_of), "__itruediv__": _binary(p.div.inplace),
    "__pow__": _binary(p.pow), "__rpow__": _reflected(p.pow), "__ipow__": _binary(p.pow_),
    "__floordiv__": _binary(p.floor_divide), "__rfloordiv__": _reflected(p.floor_divide),
    "__ifloordiv__": _binary(p.floor_divide.inplace),
    "__mod__": _binary(p.remainder), "__rmod__": _reflected(p.remainder), "__imod__": _binary(p.remainder.inplace),
    "__and__": _binary(p.bitwise_and), "__rand__": _binary(p.bitwise_and),
    "__iand__": _binary(p.bitwise_and.inplace),
    "__or__": _binary(p.bitwise_or), "__ror__": _binary(p.bitwise_or), "__ior__": _binary(p.bitwise_or.inplace),
    "__xor__": _binary(p.bitwise_xor), "__rxor__": _binary(p.bitwise_xor),
    "__ixor__": _binary(p.bitwise_xor.inplace),
    "__eq__": _binary(p.eq), "__ne__": _binary(p.ne), "__lt__": _binary(p.lt), "__le__": _binary(p.le),
    "__gt__": _binary(p.gt), "__ge__": _binary(p.ge),
    "__neg__": p.neg, "__abs__": p.abs, "__invert__": p.bitwise_not, "__pos__": lambda self: self,
}
for _name, _function in _ATTACHED.items():
    setattr(Tensor, _name, _function)
