"""Backward of pointwise operations: what is saved, and the one kernel that computes all gradients of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import devices
from .._layout import broadcast_strides, output_strides
from .._tensor import Tensor, fresh, strided
from .._types import TensorType, dtype
from ..autograd.grad_mode import GRAD, _Mode, state
from ..autograd.graph import edge_of
from ..autograd.saved import freed_error, modified_error
from .table import OpNode, Rule, parameters, public_functions

if TYPE_CHECKING:
    from .elementwise import Pointwise

__all__ = ["FlatNode", "Plan", "PointwiseNode", "kind_of", "new_output", "operand"]


_ONE, _FIRST, _BOTH = ("kernel",), ("kernel", None), ("kernel", "kernel")
_PASS_ONE, _PASS_FIRST, _PASS_BOTH = ("passed",), ("passed", None), ("passed", "passed")
_FREQUENT: dict[Any, Any] = {
    pattern: pattern for pattern in (_ONE, _FIRST, _BOTH, _PASS_ONE, _PASS_FIRST, _PASS_BOTH)
}


class Plan:
    """How one combination of needed gradients is computed.

    Attributes:
        passed: the inputs whose gradient is the incoming one, handed on without a kernel.
        computed: the others that need one, with their rules.
        names: what the computed rules need besides ``grad`` and the ``constants``.
    """

    def __init__(self, op: Pointwise, needed: tuple[bool, ...], statics: Mapping[str, Any]):
        self.op = op
        self.constants = constants = op.constants(statics)
        rules = {i: op.rules[name] for i, name in enumerate(op.inputs) if needed[i]}
        self.passed = tuple([i for i, rule in rules.items() if _hands_on(rule, statics, constants)])
        self.computed = {i: rule for i, rule in rules.items() if i not in self.passed}
        self.names: tuple[str, ...] = ()
        for rule in self.computed.values():
            known = {"grad", *constants, *self.names}
            self.names += tuple([name for name in parameters(rule) if name not in known])
        self.width = len(op.inputs)
        self.arguments = {i: parameters(rule) for i, rule in self.computed.items()}
        #: For each input what its gradient is: "kernel", "passed" or None.
        pattern = tuple([
            "kernel" if i in self.computed else "passed" if i in self.passed else None for i in range(self.width)
        ])
        self.pattern: tuple[str | None, ...] = _FREQUENT.get(pattern, pattern)
        #: Whether tensors are saved, so that a second backward finds them gone.
        self.frees = any(name not in op.statics for name in self.names)
        self.programs: dict[Any, devices.Program] = {}
        self.launchers: dict[Any, Any] = {}

    def save(
        self, operands: Sequence[Any], statics: Mapping[str, Any], into: Tensor | None
    ) -> tuple[list[Any], list[int | None]]:
        """What the rules name, except the output; an input about to be overwritten is copied."""
        known = {**statics, **dict(zip(self.op.inputs, operands, strict=True))}
        values = []
        for name in self.names:
            value = known.get(name)
            values.append(_kept_copy(value) if into is not None and value is into else value)
        return values, [v._counter[0] if isinstance(v, Tensor) else None for v in values]

    def program(self, gradient: Tensor, values: Sequence[Any], compute: dtype, outs: Sequence[dtype]) -> Any:
        """The kernel description for what was saved."""
        op = self.op
        kinds = tuple([kind_of(value) for value in values])
        key = (gradient._type, kinds, compute, tuple(outs))
        program = self.programs.get(key)
        if program is None:
            inputs = [operand("grad", gradient._type.numpy, True)]
            inputs += [devices.Operand(name, constant=value) for name, value in self.constants.items()]
            inputs += [
                operand(name, kind, name not in op.conditions) for name, kind in zip(self.names, kinds, strict=True)
            ]
            outputs = [(f"grad_{op.inputs[i]}", out.numpy) for i, out in zip(self.computed, outs, strict=True)]
            program = self.programs[key] = devices.Program(
                f"{op.name}_backward", compute.numpy, tuple(inputs), tuple(outputs), tuple(self.computed.values())
            )
        return program


class PointwiseNode(OpNode):
    """The node of a pointwise operation."""

    __slots__ = ("compute", "plan")

    op: Pointwise
    plan: Plan
    compute: dtype  # what the operation was computed in

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names that the rules use."""
        return self.plan.names

    def release(self) -> None:
        if self.plan.frees:
            self.saved = None

    def apply(self, gradient: Tensor) -> tuple[Any, ...]:
        plan = self.plan
        results: list[Any] = [gradient if source == "passed" else None for source in plan.pattern]
        if len(plan.passed) > 1:
            gradient._shared = True
        if plan.computed:
            values = self.unpack()
            if state.mode & GRAD:
                known = {**plan.constants, **values, "grad": gradient}
                for i, rule in plan.computed.items():
                    results[i] = rule(*[known[name] for name in plan.arguments[i]])
            else:
                for i, out in zip(plan.computed, self._compute(gradient, list(values.values())), strict=True):
                    results[i] = out
        return tuple(results)

    def _compute(self, gradient: Tensor, values: list[Any]) -> list[Tensor]:
        """All computed gradients, by one kernel."""
        plan = self.plan
        edges = [self.edges[i] for i in plan.computed]
        types = [node.output(number)[1] for node, number in edges]
        program = plan.program(gradient, values, self.compute, [type.dtype for type in types])
        arguments = [gradient, *values]
        tensors = [a for a in arguments if isinstance(a, Tensor)]
        outs = [new_output(tensors, gradient._shape, type) for type in types]
        devices.run_pointwise(program, arguments, outs)
        return outs


class FlatNode(PointwiseNode):
    """The node that the short way records: everything saved is a row of the output's type and length, or a number.

    ``key`` tells kernels apart: the TensorType, with the Python type of a number operand.  Where the output is
    saved, ``saved`` has its row and ``versions`` its version counter, which stood at 0.
    """

    __slots__ = ("key",)

    key: Any

    def unpack(self) -> dict[str, Any]:
        if self.saved is not None:
            for place, version in enumerate(self.versions):
                if version.__class__ is list:
                    alias = self.output_alias(self.saved[place], version)
                    self.saved = (*self.saved[:place], alias, *self.saved[place + 1 :])
                    self.versions = (*self.versions[:place], 0, *self.versions[place + 1 :])
        return super().unpack()

    def output_alias(self, row: Any, counter: Any) -> Tensor:
        """The saved output as a tensor without a graph."""
        alias = fresh(row, self.shape, self.type)
        alias._counter = counter
        return alias

    def apply(self, gradient: Tensor) -> tuple[Any, ...]:
        plan = self.plan
        if not plan.computed:
            return _handed_on(plan, gradient)
        type = self.type
        row = gradient._flat
        launch = plan.launchers.get(self.key)
        if launch is None or row is None or gradient._type is not type or state.mode & GRAD:
            return self._apply_general(gradient)
        saved = self.saved
        if saved is None:
            raise freed_error()
        versions = self.versions
        count = len(saved)
        if count == 1:
            out = launch(row, row_of(self, saved[0], versions[0]))
        elif count == 2:
            out = launch(row, row_of(self, saved[0], versions[0]), row_of(self, saved[1], versions[1]))
        else:
            out = launch(row, *[row_of(self, value, version) for value, version in zip(saved, versions, strict=True)])
        shape = self.shape
        pattern = plan.pattern
        if pattern is _ONE:
            return (fresh(out, shape, type),)
        if pattern is _FIRST:
            return fresh(out, shape, type), None
        if pattern is _BOTH:
            return fresh(out[0], shape, type), fresh(out[1], shape, type)
        outs = iter(out if len(plan.computed) > 1 else (out,))
        return tuple([
            fresh(next(outs), shape, type) if source == "kernel" else gradient if source == "passed" else None
            for source in pattern
        ])

    def _apply_general(self, gradient: Tensor) -> tuple[Any, ...]:
        """The general way; then, if the gradient is an ordinary one, the kernel for the next time."""
        results = PointwiseNode.apply(self, gradient)
        plan = self.plan
        if self.key not in plan.launchers and gradient._flat is not None and gradient._type is self.type:
            assert self.saved is not None
            program = plan.program(gradient, self.saved, self.compute, [self.type.dtype] * len(plan.computed))
            plan.launchers[self.key] = devices.flat_launcher(program)
        return results


def _handed_on(plan: Plan, gradient: Tensor) -> tuple[Any, ...]:
    pattern = plan.pattern
    if pattern is _PASS_FIRST:
        return gradient, None
    if pattern is _PASS_BOTH:
        gradient._shared = True
        return gradient, gradient
    return tuple([gradient if source == "passed" else None for source in pattern])


def row_of(node: FlatNode, value: Any, version: Any) -> Any:
    """A saved value as the kernel takes it."""
    if version.__class__ is int:
        if value._counter[0] != version:
            raise modified_error(node, value, version, False)
        return value._flat
    if version is not None and version[0]:
        raise modified_error(node, node.output_alias(value, version), 0, True)
    return value


def _kept_copy(value: Tensor) -> Tensor:
    """A copy of a tensor about to be overwritten, in its place in the graph."""
    edge = edge_of(value)
    with _Mode(GRAD, False):
        copy = public_functions["clone"](value)
    copy._edge = edge
    copy._requires_grad = edge is not None
    return copy


def kind_of(value: Any) -> Any:
    """What distinguishes kernels: an array's dtype, or the Python type of a number passed at run time."""
    return value._type.numpy if isinstance(value, Tensor) else value.__class__


def operand(name: str, kind: Any, cast: bool) -> devices.Operand:
    """The description of a kernel's input."""
    if isinstance(kind, np.dtype):
        return devices.Operand(name, kind, cast=cast)
    return devices.Operand(name, np.dtype(kind), scalar=True, cast=cast)


def new_output(tensors: Sequence[Tensor], shape: tuple[int, ...], type: TensorType) -> Tensor:
    """A new tensor with the strides that PyTorch would give it."""
    row = devices.empty(shape, type)
    for tensor in tensors:
        if tensor._flat is None or (tensor._shape != shape and tensor._shape):
            break
    else:
        return fresh(row, shape, type)
    steps = tuple([broadcast_strides(t._shape, t._element_strides(), shape) for t in tensors])
    return strided(row, shape, output_strides(shape, steps), 0, type)


class _Probe:
    """Stands for a gradient to find out whether a rule hands it on: multiplied by 1 it stays itself."""

    def __mul__(self, factor: Any) -> Any:
        if isinstance(factor, int | float) and factor == 1:
            return self
        raise TypeError("not handed on")

    __rmul__ = __mul__


def _hands_on(rule: Rule, statics: Mapping[str, Any], constants: Mapping[str, Any]) -> bool:
    names = parameters(rule)
    if any(name != "grad" and name not in constants for name in names):
        return False
    probe = _Probe()
    try:
        return rule(*[probe if name == "grad" else statics[name] for name in names]) is probe
    except (TypeError, AttributeError):
        return False
