"""Python's operators on tensors, and the table's in-place forms of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from .._types import bool_
from . import pointwise as p
from . import recorder
from .recorder import OPERANDS
from .table import attach

__all__: list[str] = []


def _guarded(function: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Any]:
    """An operator; Python asks the other operand where this one does not know it."""

    def operator(self: Tensor, other: Any) -> Any:
        return function(self, other) if isinstance(other, OPERANDS) else NotImplemented

    return operator


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Any]:
    return _guarded(lambda self, other: function(other, self))


def _quotient_of(self: Tensor, other: Any) -> Any:
    """``other / self``, for a number as PyTorch computes it: by the reciprocal."""
    return p.mul(p.reciprocal(self), other) if isinstance(other, int | float) else p.div(other, self)


def _inverted(self: Tensor) -> Any:
    """``~self``."""
    if self.is_floating_point():
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors, "
            f"not on {self.dtype} (shape {list(self._shape)})"
        )
    return p.bitwise_not(self)


def _unchanged(self: Tensor) -> Tensor:
    """``+self``."""
    if self.dtype is bool_:
        raise RuntimeError(f"The `+` operator, on a bool tensor is not supported (shape {list(self._shape)}).")
    return self


add, sub, mul, div, rsub = [recorder.operator(f.op) for f in (p.add, p.sub, p.mul, p.div, p.rsub)]
_ATTACHED: dict[str, Callable[..., Any]] = {
    "__add__": add, "__radd__": add, "__iadd__": _guarded(p.add.inplace),
    "__sub__": sub, "__rsub__": rsub, "__isub__": _guarded(p.sub.inplace),
    "__mul__": mul, "__rmul__": mul, "__imul__": _guarded(p.mul.inplace),
    "__truediv__": div, "__rtruediv__": _guarded(_quotient_of), "__itruediv__": _guarded(p.div.inplace),
    "__pow__": _guarded(p.pow), "__rpow__": _reflected(p.pow), "__ipow__": _guarded(p.pow_),
    "__floordiv__": _guarded(p.floor_divide), "__rfloordiv__": _reflected(p.floor_divide),
    "__ifloordiv__": _guarded(p.floor_divide.inplace),
    "__mod__": _guarded(p.remainder), "__rmod__": _reflected(p.remainder), "__imod__": _guarded(p.remainder.inplace),
    "__and__": _guarded(p.bitwise_and), "__rand__": _guarded(p.bitwise_and),
    "__iand__": _guarded(p.bitwise_and.inplace),
    "__or__": _guarded(p.bitwise_or), "__ror__": _guarded(p.bitwise_or), "__ior__": _guarded(p.bitwise_or.inplace),
    "__xor__": _guarded(p.bitwise_xor), "__rxor__": _guarded(p.bitwise_xor),
    "__ixor__": _guarded(p.bitwise_xor.inplace),
    "__lshift__": _guarded(p.bitwise_left_shift), "__rlshift__": _reflected(p.bitwise_left_shift),
    "__rshift__": _guarded(p.bitwise_right_shift), "__rrshift__": _reflected(p.bitwise_right_shift),
    "__ilshift__": _guarded(p.bitwise_left_shift.inplace), "__irshift__": _guarded(p.bitwise_right_shift.inplace),
    "__eq__": recorder.operator(p.eq.op), "__ne__": recorder.operator(p.ne.op),
    "__lt__": recorder.operator(p.lt.op), "__le__": recorder.operator(p.le.op),
    "__gt__": recorder.operator(p.gt.op), "__ge__": recorder.operator(p.ge.op),
    "__neg__": p.neg, "__abs__": p.abs, "__invert__": _inverted, "__pos__": _unchanged,
}
for _name, _function in _ATTACHED.items():
    attach(_name, _function)
