"""What users call for a pointwise operation: the function, the operator, the method that works in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tensor import Tensor
from .dispatch import binary, configured, several, unary
from .outputs import write_out
from .writing import changing, writing

if TYPE_CHECKING:
    from .elementwise import Pointwise

__all__ = ["OPERANDS", "function_of", "in_place", "operator"]

#: What may stand beside a tensor in an expression.
OPERANDS = (Tensor, bool, int, float, complex, np.ndarray, np.generic)


def _with_keywords(
    op: Pointwise, short: Callable[..., Any], own: Callable[..., Any]
) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """The call with keywords: with numbers that configure the operation, or with ``out``, to overwrite with its result.
    """
    write = writing(op)
    defaults = tuple(op.statics.items())

    def call(operands, keywords):
        out = keywords.pop("out", None)
        if not keywords:
            return short(*operands) if out is None else write(operands, out)
        numbers = [keywords.pop(name, default) for name, default in defaults]
        if keywords:
            raise TypeError(f"{op.name}() got an unexpected keyword argument '{next(iter(keywords))}'")
        result = own(*operands, *numbers)
        return result if out is None else write_out(op.name.removesuffix("_op"), out, result)

    return call


def function_of(op: Pointwise) -> Callable[..., Any]:
    """The function that users call.

    It has ``short``, the call with operands alone, and ``configured``, that with all the numbers that configure the
    operation after them.
    """
    count = len(op.inputs)
    short = unary(op) if count == 1 else binary(op) if count == 2 else several(op)
    own = configured(op)
    general = _with_keywords(op, short, own)
    call: Any
    if count == 1:
        call = _of_one(short, general, bool(op.statics))
    else:
        call = (_of_two if count == 2 else _of_several)(short, general)
    call.__name__ = call.__qualname__ = op.name
    call.short, call.configured = short, own
    return call


def _of_one(short: Callable[..., Any], general: Callable[..., Any], configured: bool) -> Callable[..., Any]:
    def plain(input, *, out=None):
        return short(input) if out is None else general((input,), {"out": out})

    def call(input, **keywords):
        return general((input,), keywords) if keywords else short(input)

    return call if configured else plain


def _of_two(short: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    def call(input, other, **keywords):
        return general((input, other), keywords) if keywords else short(input, other)

    return call


def _of_several(short: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    def call(*operands, **keywords):
        return general(operands, keywords) if keywords else short(*operands)

    return call


def operator(op: Pointwise) -> Callable[[Tensor, Any], Any]:
    """The operation as a method of Python's: for an operand it does not know it returns NotImplemented."""
    return binary(op, OPERANDS)


def in_place(op: Pointwise) -> Callable[..., Any]:
    """The in-place method."""
    call = changing(op)
    name = op.name.removesuffix("_op")
    call.__name__ = call.__qualname__ = f"{name}_"
    call.__doc__ = f"``{name}`` in place: overwrites the tensor and returns it."
    return call
