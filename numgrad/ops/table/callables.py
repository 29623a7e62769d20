"""Public forms of a pointwise operation: function, operator, in-place method and overloads.

PyTorch numbers the overloads of an operation and shows the number in the node's name.  In numgrad, one entry of the
table computes all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd.grad_mode import GRAD, ORDINARY, state
from ...autograd.node import Node
from ...autograd.views import check_writable
from ...core.tensor import Tensor
from ...devices import NUMBERS
from .checks import check_type
from .dispatch import binary, change, configured, several, unary
from .op import attach, check_tensors, export, named, named_in_place
from .operands import check_overlap, overlaps
from .out import write_out

if TYPE_CHECKING:
    from .elementwise import Pointwise


#: Types of the operands that an expression may combine with a tensor.
OPERANDS = (Tensor, bool, int, float, complex, np.ndarray, np.generic)


def _with_keywords(
    op: Pointwise, short: Callable[..., Any], own: Callable[..., Any]
) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Return the call that accepts keywords: the numbers that configure the operation, and ``out``."""
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
    """Return the public function of an operation.

    Its attribute ``short`` is the call with operands alone.  Its attribute ``configured`` is the call with the operands
    followed by all the numbers that configure the operation.
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
    """Return the operation as a Python operator, which returns NotImplemented for an operand of an unknown type."""
    return binary(op, OPERANDS)


def in_place(op: Pointwise) -> Callable[..., Any]:
    """Return the in-place method of an operation."""
    return named_in_place(changing(op), op.name.removesuffix("_op"))


def changing(op: Any) -> Callable[..., Tensor]:
    """Return the call that overwrites the first operand with the result.

    The numbers that configure the operation are keyword arguments.
    """
    general = _general(op)
    recent = op.entries.recent
    if len(op.inputs) != 2:
        return general

    def call(input, *others, **numbers):
        if numbers or len(others) != 1:
            return general(input, *others, **numbers)
        (other,) = others
        cls = other.__class__
        try:
            layout = input._layout
            entry = recent[layout, cls if cls in NUMBERS else other._layout, layout]
        except (KeyError, AttributeError):
            return general(input, other)
        if state.mode > ORDINARY:
            return general(input, other)
        if cls not in NUMBERS:
            if other._storage is input._storage:
                check_overlap(input, other)
            if other._requires_grad:
                check_writable(input, other)
                return change(entry, (input, other), input)
        if input._requires_grad or input._view is not None or input._counter.__class__ is not list:
            check_writable(input, other) if cls not in NUMBERS else check_writable(input)
            return change(entry, (input, other), input)
        entry.launch(input, other, input)
        input._counter[0] += 1
        return input

    return call


def _general(op: Any) -> Callable[..., Tensor]:
    recent, run, statics = op.entries.recent, op.run, op.statics
    baked, defaults = op.baked_numbers, tuple(statics.items())
    count = len(op.inputs)

    def call(input, *others, **numbers):
        operands: Any = (input, *others)
        try:
            layout = input._layout
            key: Any = [layout]
            needs = input._requires_grad or input._view is not None or input._counter.__class__ is not list
            for value in others:
                if value.__class__ in NUMBERS:
                    key.append(value.__class__)
                else:
                    key.append(value._layout)
                    needs = needs or value._requires_grad
            given: list[Any] = []
            if numbers:
                given = [numbers.get(name, default) for name, default in defaults]
                key += [(value.__class__, value) if value in baked else value.__class__ for value in given]
            entry = recent[*key, layout] if len(operands) == count else None  # otherwise, the key may be another call's
            if numbers:
                if not numbers.keys() <= statics.keys():
                    entry = None
                elif entry.details.positions is None:
                    operands = *operands, *given
                else:
                    operands = [(*operands, *given)[position] for position in entry.details.positions]
        except (KeyError, AttributeError):
            entry = None
        if entry is None or state.mode > ORDINARY:
            check_type(len(others) + 1 == count, "{}_() takes {} arguments ({} given)", op.name, count - 1, len(others))
            return run((input, *others), op.completed(numbers.items()) if numbers else statics, input)
        for value in others:
            if value.__class__ not in NUMBERS and value._storage is input._storage:
                check_overlap(input, value)
        if needs:
            check_writable(input, *[value for value in others if value.__class__ not in NUMBERS])
            return change(entry, operands, input)
        entry.launch(*operands, input)
        input._counter[0] += 1
        return input

    return call


def writing(op: Any) -> Callable[[Sequence[Any], Any], Any]:
    """Return the call that writes the result of an operation to a tensor ``out``.

    The launcher writes directly if ``out`` has the result's shape and type.  Otherwise the result is computed first and
    then copied.
    """
    recent, run, statics = op.entries.recent, op.run, op.statics
    name = op.name.removesuffix("_op")

    def call(operands, out):
        try:
            entry = recent[*[v.__class__ if v.__class__ in NUMBERS else v._layout for v in operands], out._layout]
        except (KeyError, AttributeError):
            result = run(operands, statics)
            alike = isinstance(out, Tensor) and out._layout.type is result._layout.type
            alike = alike and out._layout.shape == result._layout.shape
            written = write_out(name, out, result)
            if alike:
                op.entry(operands, statics, out)  # the next call finds it
            return written
        mode = state.mode
        recorded, storage = mode & GRAD, out._storage
        plain = mode <= ORDINARY and out._view is None and out._counter.__class__ is list
        if recorded and out._requires_grad:
            plain = False
        for value in operands:
            if value.__class__ not in NUMBERS and (
                (recorded and value._requires_grad) or (value._storage is storage and overlaps(out, value))
            ):
                plain = False
        if not plain:
            return write_out(name, out, run(operands, statics))
        entry.launch(*operands, out)
        out._counter[0] += 1
        return out

    return call


def overload(call: Any, node: str, *numbers: str) -> Any:
    """Return the pointwise operation ``call`` recorded by nodes of the name ``node``, with numbers for ``numbers``.

    PyTorch has separate nodes for in-place calls and for several functions that share a formula.  The formula, rules,
    kernels and table entry are those of ``call``.
    """
    op: Pointwise = call.op.recorded_by(node, *numbers)
    result: Any = function_of(op.with_own_entries())
    result.__doc__ = call.__doc__
    result.op = op
    result.scalar_function = call.scalar_function
    result.inplace = in_place(op)
    return result


def of_tensors(call: Any) -> Callable[[Any, Any], Tensor]:
    """Export a pointwise operation on two tensors that accepts no number for either: ``<name>_op`` as ``<name>``."""
    name = call.op.name.removesuffix("_op")
    short = call.short

    def checked(input, other, *, out=None):
        if input.__class__ is not Tensor or other.__class__ is not Tensor:
            check_tensors(name, input=input, other=other)
        if out is not None:
            return call(input, other, out=out)
        return short(input, other)

    def of_tensors_in_place(input, other):
        check_tensors(name, input=input, other=other)
        return call.inplace(input, other)

    checked.scalar_function = call.scalar_function  # type: ignore[attr-defined]
    export(name, named(checked, name, call.__doc__))
    if hasattr(call, "inplace"):
        attach(f"{name}_", named_in_place(of_tensors_in_place, name))
    return checked


class _Undifferentiated(Node):
    """Node of an operation that has no derivative: its backward raises an error."""

    __slots__ = ("operation",)

    operation: str

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        shape = list(self.layout.shape)
        raise RuntimeError(f"derivative for aten::{self.operation} is not implemented (shape {shape})")


_NODE: Any = type("NotImplemented", (_Undifferentiated,), {"__slots__": (), "__module__": "numgrad.autograd"})


def undifferentiated(name: str, out: Tensor) -> Tensor:
    """Return a new result whose derivative PyTorch does not define: as in PyTorch, only its backward fails."""
    if out._requires_grad and out._edge is not None:
        node = _NODE(out._edge[0].edges, out._layout)
        node.operation = name
        out._edge = (node, 0)
    return out
