"""Public forms of a pointwise operation: function, operator, in-place method and overloads.

PyTorch numbers the overloads of an operation and shows the number in the node's name.  In numgrad, one entry of the
table computes all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import GRAD, ORDINARY, state
from ...autograd.node import Node
from ...devices import NUMBERS
from ...tensors.tensor import Tensor
from .forms import call_of
from .op import attach, check_tensors, export, named, named_in_place
from .operands import overlaps
from .out import write_out
from .public_signatures import linked, of_operands

if TYPE_CHECKING:
    from .elementwise import Pointwise


def function_of(op: Pointwise) -> Callable[..., Any]:
    """Return the public function of an operation."""
    write = writing(op)

    def special(operands, numbers, out):
        if not numbers:
            return write(operands, out)
        result = op.configured(*operands, *_completed(op, numbers))
        return result if out is None else write_out(op.name.removesuffix("_op"), out, result)

    keywords = "*, out=None, **numbers" if op.attributes else "*, out=None"
    call: Any = call_of(op, keywords=keywords, special=special)
    call.__name__, call.__qualname__, call.__module__ = op.name, op.function.__qualname__, op.function.__module__
    return _linked(call, op, out=True)


def _linked(call: Any, op: Pointwise, *, out: bool) -> Any:
    names = call.__code__.co_varnames[: len(op.inputs)]
    return linked(call, op.function, lambda function: of_operands(names, op.attributes, out))


def _completed(op: Pointwise, numbers: dict[str, Any]) -> list[Any]:
    """Return all the numbers that configure an operation, with defaults for those not given.

    Raises:
        TypeError: if the operation has no such number.
    """
    attributes = op.attributes
    if not numbers.keys() <= attributes.keys():
        unknown = next(name for name in numbers if name not in attributes)
        raise TypeError(f"{op.name}() got an unexpected keyword argument '{unknown}'")
    return [numbers.get(name, default) for name, default in attributes.items()]


def operator(op: Pointwise) -> Callable[[Tensor, Any], Any]:
    """Return the operation as a Python operator, which returns NotImplemented for an operand of an unknown type."""
    return call_of(op, operator=True)


def in_place(op: Pointwise) -> Callable[..., Any]:
    """Return the in-place method of an operation.

    The numbers that configure the operation are keyword arguments.
    """
    def special(operands, numbers):
        return op.configured_in_place(*operands, *_completed(op, numbers))

    call = call_of(op, in_place=True, keywords="**numbers" if op.attributes else "", special=special)
    return _linked(named_in_place(call, op.name.removesuffix("_op")), op, out=False)


def writing(op: Any) -> Callable[[Sequence[Any], Any], Any]:
    """Return the call that writes the result of an operation to a tensor ``out``.

    The launcher writes directly if ``out`` has the result's shape and type.  Otherwise the result is computed first and
    then copied.
    """
    recent, run, attributes = op.entries.recent, op.run, op.attributes
    name = op.name.removesuffix("_op")

    def call(operands, out):
        try:
            entry = recent[*[v.__class__ if v.__class__ in NUMBERS else v._layout for v in operands], out._layout]
        except (KeyError, AttributeError):
            result = run(operands, attributes)
            alike = isinstance(out, Tensor) and out._layout.type is result._layout.type
            alike = alike and out._layout.shape == result._layout.shape
            written = write_out(name, out, result)
            if alike:
                op.entry(operands, attributes, out)  # the next call finds it
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
            return write_out(name, out, run(operands, attributes))
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
    short = call.op.short

    def checked(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        if input.__class__ is not Tensor or other.__class__ is not Tensor:
            check_tensors(name, input=input, other=other)
        if out is not None:
            return call(input, other, out=out)
        return short(input, other)

    def of_tensors_in_place(input: Tensor, other: Tensor) -> Tensor:
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
