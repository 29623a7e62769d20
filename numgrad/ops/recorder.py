"""The public functions of pointwise operations, and the short way through them.

Most calls meet the simple case: one tensor, or two of one type and shape, or a tensor and a number, elements in a
row.  These functions look for just that, launch the kernel on the bare rows and record a node; all else
(broadcasting, mixed dtypes, strides, arrays) goes the general way, ``Pointwise.run``.  Both record the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import devices
from .._tensor import Tensor, fresh
from .._types import TensorType, tensor_type
from ..autograd.grad_mode import GRAD, state
from ..autograd.graph import edge_of, next_sequence

from .plan import NUMBER, Plan

if TYPE_CHECKING:
    from .elementwise import Pointwise

__all__ = ["inplace_recorder", "operator", "recorder", "unary"]

#: What may stand beside a tensor in an expression.
OPERANDS = (Tensor, bool, int, float, np.ndarray, np.generic)

_new = object.__new__

#: What is saved, as places among (first input, second input, output): the frequent combinations.
_NOTHING: tuple[int, ...] = ()
_OTHER, _OUTPUT = (1,), (2,)
_FREQUENT: dict[tuple[int, ...], tuple[int, ...]] = {places: places for places in (_NOTHING, _OTHER, _OUTPUT)}


def recorder(op: Pointwise) -> Callable[..., Any]:
    """The function that users call."""
    call = _function_of(op)
    call.__name__ = call.__qualname__ = op.name
    return call


def _function_of(op: Pointwise) -> Callable[..., Any]:
    defaults, run = op.statics, op.run
    if len(op.inputs) == 1 and not defaults:
        return unary(op, defaults)
    if len(op.inputs) != 2:

        def call(*operands, **statics):
            return run(operands, {**defaults, **statics} if statics else defaults)

        return call

    short = operator(op)

    def call(input, other, **statics):
        if statics or not isinstance(input, Tensor):
            return run((input, other), {**defaults, **statics})
        result = short(input, other)
        return run((input, other), defaults) if result is NotImplemented else result  # which raises

    return call


def inplace_recorder(op: Pointwise) -> Callable[..., Any]:
    """The in-place method."""
    defaults = op.statics

    def call(input, *others, **statics):
        return op.run((input, *others), {**defaults, **statics} if statics else defaults, input)

    call.__name__ = call.__qualname__ = op.name + "_"
    return call


def unary(op: Pointwise, statics: Mapping[str, Any]) -> Callable[[Any], Any]:
    """The operation on one operand, with these static numbers."""
    shortcut = _Shortcut(op, statics)
    launchers, run, recorded = shortcut.launchers, op.run, op.result != "bool"

    def call(input):
        if not isinstance(input, Tensor) or input._flat is None:
            return run((input,), statics)
        type = input._type
        found = launchers.get(type)
        if found is None:
            found = shortcut.find((input,), type)
        launch, result = found
        if launch is None:
            return run((input,), statics)
        mode = state.mode
        if not (mode & GRAD and input._requires_grad and recorded):
            return fresh(launch(input._flat), input._shape, result)
        if mode != GRAD:
            return run((input,), statics)
        out = fresh(launch(input._flat), input._shape, result)
        edge = input._edge
        if edge is None or input._view is not None:
            edge = edge_of(input)
        if edge is not None:
            shortcut.record(out, type, (edge,), 1, input, None)
        return out

    return call


def operator(op: Pointwise) -> Callable[[Tensor, Any], Any]:
    """The operation as a method of Python's: for an operand it does not know it returns NotImplemented."""
    shortcut = _Shortcut(op, op.statics)
    launchers, recorded = shortcut.launchers, op.result != "bool"

    def run(input, other):
        return op.run((input, other), op.statics) if isinstance(other, OPERANDS) else NotImplemented

    def call(input, other):
        first = input._flat
        if first is None:
            return run(input, other)
        key: Any = input._type
        kind = other.__class__
        if kind is float or kind is int:
            key = (key, kind)
            second = other
            needs = 0
        elif isinstance(other, Tensor) and other._type is key and other._shape == input._shape:
            second = other._flat
            if second is None:
                return run(input, other)
            needs = other._requires_grad
        else:
            return run(input, other)
        found = launchers.get(key)
        if found is None:
            found = shortcut.find((input, other), key)
        launch, result = found
        if launch is None:
            return run(input, other)
        mode = state.mode
        if not (mode & GRAD and (needs or input._requires_grad) and recorded):
            return fresh(launch(first, second), input._shape, result)
        if mode != GRAD:
            return run(input, other)
        out = fresh(launch(first, second), input._shape, result)
        needed = 0
        first_edge = second_edge = None
        if input._requires_grad:
            first_edge = input._edge
            if first_edge is None or input._view is not None:
                first_edge = edge_of(input)
            if first_edge is not None:
                needed = 1
        if needs:
            second_edge = other._edge
            if second_edge is None or other._view is not None:
                second_edge = edge_of(other)
            if second_edge is not None:
                needed += 2
        if needed:
            shortcut.record(out, key, (first_edge, second_edge), needed, input, other)
        return out

    return call


class _Shortcut:
    """What the short way of one operation has found out so far."""

    def __init__(self, op: Pointwise, statics: Mapping[str, Any]):
        self.op = op
        self.statics = statics
        #: By TensorType (with the type of a number operand): the kernel's launcher and the result's type.
        self.launchers: dict[Any, tuple[Any, TensorType | None]] = {}
        #: By which inputs need a gradient, as bits: the plan, and for each thing it saves 0 for the first input,
        #: 1 for the second, 2 for the output.
        self.plans: dict[int, tuple[Plan, tuple[int, ...]]] = {}
        self.node_class = op.flat_node_class

    def find(self, operands: tuple[Any, ...], key: Any) -> tuple[Any, TensorType | None]:
        """The launcher for operands like these; None if only the general way will do."""
        op = self.op
        type = operands[0]._type
        compute, kind = op.compute_types(operands)
        found: tuple[Any, TensorType | None] = (None, None)
        # A program over rows reads each operand in its own dtype; what is recorded must have one dtype throughout.
        if not type.dtype.is_floating_point or compute is type.dtype:
            program = op.program(operands, self.statics, compute, kind)
            if all(i.name not in self.statics for i in program.arguments):
                found = (devices.flat_launcher(program), tensor_type(kind, type.device))
        self.launchers[key] = found
        return found

    def record(self, out: Tensor, key: Any, edges: tuple[Any, ...], needed: int, input: Tensor, other: Any) -> None:
        """Give the result its node."""
        plan, sources = self.plans.get(needed) or self._plan(needed)
        node = _new(self.node_class)
        node.edges = edges
        node.shape = out._shape
        node.type = out._type
        node.more_outputs = node.attached = None
        node.plan = plan
        node.compute = out._type.dtype
        node.key = key
        if sources is _NOTHING:
            node.saved = ()
        elif sources is _OUTPUT:
            node.saved = (out._flat, out._counter, 0, None)
        elif sources is _OTHER:
            node.saved = _kept(other)
        else:
            saved: tuple[Any, ...] = ()
            for source in sources:
                saved += (out._flat, out._counter, 0, None) if source == 2 else _kept(other if source else input)
            node.saved = saved
        node.sequence = next_sequence()
        out._edge = (node, 0)
        out._requires_grad = True

    def _plan(self, needed: int) -> tuple[Plan, tuple[int, ...]]:
        """The plan for the inputs in the bits of ``needed``, and where to take what it saves from."""
        op = self.op
        plan = op.plan(tuple([bool(needed >> n & 1) for n in range(len(op.inputs))]), self.statics)
        places = {**{name: n for n, name in enumerate(op.inputs)}, "out": 2}
        sources = tuple([places[name] for name in plan.names])
        found = plan, _FREQUENT.get(sources, sources)
        self.plans[needed] = found
        return found


def _kept(value: Any) -> tuple[Any, list[int], int, Any]:
    """An operand as a node keeps it; see FlatNode."""
    if isinstance(value, Tensor):
        counter = value._counter
        return value._flat, counter, counter[0], value
    return value, NUMBER, 0, None
