"""The public functions of pointwise operations, and the short way through them.

Most calls meet the simple case: one tensor, or two of one type and shape, or a tensor and a number, elements in a
row.  These functions look for just that, launch the kernel on the bare rows and record a node; all else
(broadcasting, mixed dtypes, strides, arrays) goes the general way, ``Pointwise.run``.  Both record the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .. import devices
from .._tensor import Tensor, fresh
from .._types import TensorType, tensor_type
from ..autograd.grad_mode import GRAD, state
from ..autograd.graph import edge_of, next_sequence

if TYPE_CHECKING:
    from .elementwise import Pointwise
    from .plan import Plan

__all__ = ["inplace_recorder", "recorder"]

_new = object.__new__

#: What is saved, as places among (first input, second input, output): the frequent combinations.
_NOTHING: tuple[int, ...] = ()
_INPUT, _OTHER, _OUTPUT, _BOTH = (0,), (1,), (2,), (1, 0)
_FREQUENT = {places: places for places in (_NOTHING, _INPUT, _OTHER, _OUTPUT, _BOTH)}


def recorder(op: Pointwise, fixed: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """The function that users call; ``fixed`` gives static numbers that it does not take."""
    makers = {1: _unary, 2: _binary}
    call = makers.get(len(op.inputs), _any)(op, {**op.statics, **(fixed or {})})
    call.__name__ = call.__qualname__ = op.name
    return call


def inplace_recorder(op: Pointwise) -> Callable[..., Any]:
    """The in-place method."""
    defaults = op.statics

    def call(input, *others, **statics):
        return op.run((input, *others), {**defaults, **statics} if statics else defaults, input)

    call.__name__ = call.__qualname__ = op.name + "_"
    return call


def _any(op: Pointwise, defaults: Mapping[str, Any]) -> Callable[..., Any]:
    def call(*operands, **statics):
        return op.run(operands, {**defaults, **statics})

    return call


def _unary(op: Pointwise, defaults: Mapping[str, Any]) -> Callable[..., Any]:
    shortcut = _Shortcut(op, defaults)
    launchers, run, recorded = shortcut.launchers, op.run, op.result != "bool"

    def call(input, **statics):
        if statics or not isinstance(input, Tensor) or input._flat is None:
            return run((input,), {**defaults, **statics})
        type = input._type
        found = launchers.get(type)
        if found is None:
            found = shortcut.find((input,), type)
        launch, result = found
        out = fresh(launch(input._flat), input._shape, result)
        mode = state.mode
        if mode & GRAD and input._requires_grad and recorded:
            if mode != GRAD:
                return run((input,), defaults)
            edge = input._edge
            if edge is None or input._view is not None:
                edge = edge_of(input)
            if edge is not None:
                shortcut.record(out, type, (edge,), 1, input, None)
        return out

    return call


def _binary(op: Pointwise, defaults: Mapping[str, Any]) -> Callable[..., Any]:
    shortcut = _Shortcut(op, defaults)
    launchers, run, recorded = shortcut.launchers, op.run, op.result != "bool"

    def call(input, other, **statics):
        if statics or not isinstance(input, Tensor) or input._flat is None:
            return run((input, other), {**defaults, **statics})
        key: Any = input._type
        kind = other.__class__
        if kind is float or kind is int:
            key = (key, kind)
            row = other
            second = None
        elif isinstance(other, Tensor) and other._type is key and other._shape == input._shape:
            row = other._flat
            if row is None:
                return run((input, other), defaults)
            second = other
        else:
            return run((input, other), defaults)
        found = launchers.get(key)
        if found is None:
            found = shortcut.find((input, other), key)
        launch, result = found
        if launch is None:
            return run((input, other), defaults)
        out = fresh(launch(input._flat, row), input._shape, result)
        mode = state.mode
        if recorded and mode & GRAD and (input._requires_grad or (second is not None and second._requires_grad)):
            if mode != GRAD:
                return run((input, other), defaults)
            needed = 0
            first_edge = second_edge = None
            if input._requires_grad:
                first_edge = input._edge
                if first_edge is None or input._view is not None:
                    first_edge = edge_of(input)
                if first_edge is not None:
                    needed = 1
            if second is not None and second._requires_grad:
                second_edge = second._edge
                if second_edge is None or second._view is not None:
                    second_edge = edge_of(second)
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
            node.saved = node.versions = ()
        elif sources is _OUTPUT:
            node.saved = (out._flat,)
            node.versions = (out._counter,)
        elif sources is _INPUT:
            node.saved = (input,)
            node.versions = (input._counter[0],)
        elif sources is _OTHER:
            node.saved = (other,)
            node.versions = (other._counter[0] if isinstance(other, Tensor) else None,)
        elif sources is _BOTH:
            node.saved = (other, input)
            node.versions = (other._counter[0], input._counter[0])
        else:
            values = [(input, other, out._flat)[source] for source in sources]
            node.saved = tuple(values)
            node.versions = tuple([
                out._counter if source == 2 else value._counter[0] if isinstance(value, Tensor) else None
                for value, source in zip(values, sources, strict=True)
            ])
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
