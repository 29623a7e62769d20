"""Forms of one pointwise operation: under other node names, for tensors alone, without a derivative.

PyTorch numbers the overloads of an operation and shows the number in the node's name; numgrad computes them all by
one entry of the table.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...autograd.node import Node
from ...core.tensor import Tensor
from .callables import function_of, in_place
from .elementwise import Pointwise
from .op import attach, check_tensors, export, named, named_in_place


def overload(call: Any, node: str, *numbers: str) -> Any:
    """The pointwise operation ``call``, recorded by nodes called ``node``; its operands ``numbers`` are such.

    PyTorch has nodes of their own for what is done in place, and several functions that share a formula.  Formula,
    rules and kernels are those of ``call``, and so is the place in the table.
    """
    op: Pointwise = copy.copy(call.op)
    op.node_class = op.make_node_class(node, *numbers)
    result: Any = function_of(op.with_own_entries())
    result.__doc__ = call.__doc__
    result.op = op
    result.scalar_function = call.scalar_function
    result.inplace = in_place(op)
    return result


def of_tensors(call: Any) -> Callable[[Any, Any], Tensor]:
    """Export a pointwise operation on two tensors that takes no number for either: ``<name>_op`` as ``<name>``."""
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
    """Stands where an operation has no derivative: going backward through it is an error."""

    __slots__ = ("operation",)

    operation: str

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        shape = list(self.layout.shape)
        raise RuntimeError(f"derivative for aten::{self.operation} is not implemented (shape {shape})")


_NODE: Any = type("NotImplemented", (_Undifferentiated,), {"__slots__": (), "__module__": "numgrad.autograd"})


def undifferentiated(name: str, out: Tensor) -> Tensor:
    """A new result whose derivative PyTorch does not define, so that only backward fails, as there."""
    if out._requires_grad and out._edge is not None:
        node = _NODE(out._edge[0].edges, out._layout)
        node.operation = name
        out._edge = (node, 0)
    return out
