"""Python's operators on tensors, and the table's in-place forms of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.tensor import Tensor
from ..pointwise import arithmetic as p
from ..pointwise import comparison, integers, powers
from .callables import OPERANDS, operator
from .op import attach


def _guarded(function: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Any]:
    """An operator; Python asks the other operand where this one does not know it."""

    def call(self: Tensor, other: Any) -> Any:
        return function(self, other) if isinstance(other, OPERANDS) else NotImplemented

    return call


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Any]:
    return _guarded(lambda self, other: function(other, self))


def _quotient_of(self: Tensor, other: Any) -> Any:
    """``other / self``, for a number as PyTorch computes it: by the reciprocal."""
    return p.mul(p.reciprocal(self), other) if isinstance(other, int | float | complex) else p.div(other, self)


def _inverted(self: Tensor) -> Any:
    """``~self``."""
    if self._layout.type.dtype.kind in "fc":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors, "
            f"not on {self.dtype} (shape {list(self.shape)})"
        )
    return integers.bitwise_not(self)


def _attach(name: str, function: Any, inplace: Any, reflected: Any = None) -> None:
    """Attach an operator in its three forms: ``x + y``, ``y + x`` for a ``y`` that is no tensor, and ``x += y``."""
    op = getattr(function, "op", None)
    forward = _guarded(function) if op is None else operator(op)
    attach(f"__{name}__", forward)
    attach(f"__r{name}__", forward if reflected is function else reflected or _reflected(function))
    attach(f"__i{name}__", _guarded(inplace))


for _name, _function in {
    "add": p.add, "mul": p.mul, "and": integers.bitwise_and, "or": integers.bitwise_or, "xor": integers.bitwise_xor,
}.items():
    _attach(_name, _function, _function.inplace, reflected=_function)  # the order does not matter
for _name, _function in {
    "floordiv": integers.floor_divide, "mod": integers.remainder, "lshift": integers.bitwise_left_shift,
    "rshift": integers.bitwise_right_shift,
}.items():
    _attach(_name, _function, _function.inplace)
_attach("sub", p.sub, p.sub.inplace, reflected=operator(p.rsub.op))
_attach("truediv", p.div, p.div.inplace, reflected=_guarded(_quotient_of))
_attach("pow", powers.pow, powers.pow_)
for _function in (comparison.eq, comparison.ne, comparison.lt, comparison.le, comparison.gt, comparison.ge):
    attach(f"__{_function.op.name}__", operator(_function.op))
for _name, _function in {"neg": p.neg, "abs": p.abs, "invert": _inverted, "pos": p.positive}.items():
    attach(f"__{_name}__", _function)
