"""What users call for a pointwise operation: the function, the operator, the method that works in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tensor import Tensor
from .dispatch import binary, several, unary
from .outputs import write_out

if TYPE_CHECKING:
    from .elementwise import Pointwise

__all__ = ["OPERANDS", "function_of", "in_place", "operator"]

#: What may stand beside a tensor in an expression.
OPERANDS = (Tensor, bool, int, float, complex, np.ndarray, np.generic)


def as_number(op: Pointwise, name: str, value: Any) -> bool | int | float | complex:
    """A static number as Python's: NumPy's and 0-d tensors are taken, too.

    Raises:
        TypeError: it is no number.
    """
    if value.__class__ in (float, int, bool, complex):
        return value
    if isinstance(value, np.generic) or (isinstance(value, Tensor) and not value._layout.shape):
        value = value.item()
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float | complex):
        return float(value) if isinstance(value, float) else complex(value)
    raise TypeError(f"{op.name}(): argument '{name}' must be a number, not {type(value).__name__}")


def _completed(op: Pointwise, statics: Mapping[str, Any]) -> Mapping[str, Any]:
    """The static numbers given, and the defaults of the others."""
    for name in statics:
        if name not in op.statics:
            raise TypeError(f"{op.name}() got an unexpected keyword argument '{name}'")
    return {**op.statics, **{name: as_number(op, name, value) for name, value in statics.items()}}


def _with_keywords(op: Pointwise, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The operation with static numbers, or with ``out``, the tensor to overwrite with its result."""
    out = keywords.pop("out", None)
    result = op.run(operands, _completed(op, keywords) if keywords else op.statics)
    return result if out is None else write_out(op.name.removesuffix("_op"), out, result)


def function_of(op: Pointwise) -> Callable[..., Any]:
    """The function that users call."""
    count = len(op.inputs)
    call = _of_one(op) if count == 1 else _of_two(op) if count == 2 else _of_several(op)
    call.__name__ = call.__qualname__ = op.name
    return call


def _of_one(op: Pointwise) -> Callable[..., Any]:
    short = unary(op)

    def call(input, **keywords):
        return _with_keywords(op, (input,), keywords) if keywords else short(input)

    return call


def _of_two(op: Pointwise) -> Callable[..., Any]:
    short = binary(op)

    def call(input, other, **keywords):
        return _with_keywords(op, (input, other), keywords) if keywords else short(input, other)

    return call


def _of_several(op: Pointwise) -> Callable[..., Any]:
    short = several(op)
    if op.conditions and len(op.inputs) == 3 and not op.statics:

        def choose(condition, input, other):
            return short(condition, input, other)

        return choose

    def call(*operands, **keywords):
        return _with_keywords(op, operands, keywords) if keywords else short(*operands)

    return call


def operator(op: Pointwise) -> Callable[[Tensor, Any], Any]:
    """The operation as a method of Python's: for an operand it does not know it returns NotImplemented."""
    return binary(op, OPERANDS)


def in_place(op: Pointwise) -> Callable[..., Any]:
    """The in-place method."""
    defaults = op.statics

    def call(input: Tensor, *others: Any, **statics: Any) -> Tensor:
        if len(others) + 1 != len(op.inputs):
            raise TypeError(f"{op.name}_() takes {len(op.inputs) - 1} arguments ({len(others)} given)")
        return op.run((input, *others), _completed(op, statics) if statics else defaults, input)

    call.__name__ = call.__qualname__ = op.name + "_"
    call.__doc__ = f"``{op.name}`` in place: overwrites the tensor and returns it."
    return call
