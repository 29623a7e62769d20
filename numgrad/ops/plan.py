"""Backward of pointwise operations: what is saved, and the one kernel that computes all gradients of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import devices
from .._tensor import Tensor, fresh, strided
from .._types import TensorType, dtype, tensor_type
from ..autograd.grad_mode import TRACED, state
from ..autograd.places import Place
from ..autograd.saved import keep
from .batches import is_batched, zeros_beside
from .calls import Calls, kind_of, layout_key, new_strides, number_places
from .copying import convert, kept_copy
from .new import filled_of
from .nodes import OpNode
from .table import Rule, parameters

if TYPE_CHECKING:
    from .elementwise import Pointwise

__all__ = ["OUTPUT", "Plan", "PointwiseNode", "as_gradient", "new_output", "operand", "passed_values"]


#: Among the sources of what is saved: the operation's own result.
OUTPUT = -1


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
        places = {**{name: place for place, name in enumerate(op.inputs)}, "out": OUTPUT}
        #: Where the ``names`` come from: the place of an operand, OUTPUT, or the name of a static number.
        self.sources: tuple[Any, ...] = tuple([places.get(name, name) for name in self.names])
        #: For each input what its gradient is: "kernel", "passed" or None.
        self.pattern = tuple([
            "kernel" if i in self.computed else "passed" if i in self.passed else None for i in range(self.width)
        ])
        #: Whether tensors are saved, so that a second backward finds them gone.
        self.frees = any(name not in op.statics for name in self.names)
        self.programs: dict[Any, devices.Program] = {}
        #: What computes the gradients, by the layouts of the incoming one and of what was saved.
        self.launches = Calls()

    def save(
        self, operands: Sequence[Any], statics: Mapping[str, Any], into: Tensor | None
    ) -> tuple[list[Any], list[int | None]]:
        """What the rules name, except the output; the first input is copied if it is about to be overwritten."""
        values: list[Any] = []
        versions: list[int | None] = []
        for source in self.sources:
            if source.__class__ is not int:
                value = statics[source]
            elif source == OUTPUT:
                value = None
            elif source == 0 and into is not None:
                value = kept_copy(into)
            else:
                value = operands[source]
            version = None
            if isinstance(value, Tensor):
                value, version = keep(value)
            values.append(value)
            versions.append(version)
        return values, versions

    def program(self, kinds: tuple[Any, ...], compute: dtype, outs: Sequence[dtype]) -> devices.Program:
        """The kernel description for a gradient and what was saved, of these kinds (see ``kind_of``)."""
        op = self.op
        key = (kinds, compute, tuple(outs))
        program = self.programs.get(key)
        if program is None:
            names = ("grad", *self.names)
            inputs = [operand(n, kind, n not in op.conditions) for n, kind in zip(names, kinds, strict=True)]
            inputs += [devices.Operand(name, constant=value) for name, value in self.constants.items()]
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

    @property
    def constants(self) -> Mapping[str, Any]:  # type: ignore[override]
        """The static numbers that are written into the kernel."""
        return self.plan.constants

    def release(self, freed_by: Place) -> None:
        if self.plan.frees:
            self.saved = freed_by

    def apply(self, gradient: Tensor) -> tuple[Any, ...]:
        plan = self.plan
        results: list[Any] = [gradient if source == "passed" else None for source in plan.pattern]
        if len(plan.passed) > 1:
            gradient._shared = True
        if plan.computed:
            values = self.unpack()
            if state.mode & TRACED:
                known = {**plan.constants, **{n: self._operand(n, v) for n, v in values.items()}, "grad": gradient}
                for i, rule in plan.computed.items():
                    results[i] = as_gradient(rule(*[known[name] for name in plan.arguments[i]]), gradient)
            else:
                for i, out in zip(plan.computed, self._compute(gradient, list(values.values())), strict=True):
                    results[i] = out
        return tuple(results)

    def _operand(self, name: str, value: Any) -> Any:
        """What was saved, as a rule takes it: an operand that was a number, or real beside complex ones, converted."""
        if name not in self.op.inputs or name in self.op.conditions:
            return value
        if isinstance(value, Tensor):
            return convert(value, self.compute) if self.compute.is_complex else value
        type = tensor_type(self.compute, self.layout.type.device)
        return filled_of((), value, type)

    def _compute(self, gradient: Tensor, values: list[Any]) -> list[Tensor]:
        """All computed gradients, by one kernel."""
        plan = self.plan
        operands = [gradient, *values]
        edges: list[Any] = [self.edges[i] for i in plan.computed]
        # None: see grad_dtype
        types = tuple([node.output(number).type or gradient._layout.type for node, number in edges])
        place = gradient._layout.type.device
        types = tuple([t if t.device is place else tensor_type(t.dtype, place) for t in types])  # the engine moves it
        if self.compute.is_complex:  # the engine takes the real part for a real input
            types = tuple([t if t.dtype.is_complex else tensor_type(self.compute, t.device) for t in types])
        key = layout_key(operands), self.compute, types
        launch, numbers, strides = plan.launches.get(key) or self._find_launch(key, operands, types)
        if numbers:
            operands = [devices.as_number(v) if n in numbers else v for n, v in enumerate(operands)]
        shape = gradient._layout.shape
        rows = launch(operands)
        if strides is None:
            return [fresh(row, shape, type) for row, type in zip(rows, types, strict=True)]
        return [strided(row, shape, strides, 0, type) for row, type in zip(rows, types, strict=True)]

    def _find_launch(self, key: Any, operands: list[Any], types: tuple[TensorType, ...]) -> Any:
        """What computes the gradients from operands of these layouts, which of them as numbers, and the strides."""
        assert key[0] is not None  # else launches of all layouts would be one
        plan, shape = self.plan, operands[0]._layout.shape
        strides = new_strides([value for value in operands if isinstance(value, Tensor)], shape)
        numbers = number_places(operands, shape, types[0])
        values = [devices.as_number(v) if n in numbers else v for n, v in enumerate(operands)]
        program = plan.program(tuple(map(kind_of, values)), self.compute, [type.dtype for type in types])
        layouts = [(v._layout.shape, None if v._layout.row_major else v._layout.strides) if isinstance(v, Tensor) else None for v in values]
        launch = devices.layout_launcher(program, shape, layouts, [strides] * len(types), types[0])
        return plan.launches.remember(key, (launch, numbers, strides))


def operand(name: str, kind: Any, cast: bool) -> devices.Operand:
    """The description of a kernel's input."""
    if isinstance(kind, np.dtype):
        return devices.Operand(name, kind, cast=cast)
    return devices.Operand(name, np.dtype(kind), scalar=True, cast=cast)


def new_output(tensors: Sequence[Tensor], shape: tuple[int, ...], type: TensorType) -> Tensor:
    """A new tensor with the strides that PyTorch would give it."""
    row = devices.empty(shape, type)
    strides = new_strides(tensors, shape)
    return fresh(row, shape, type) if strides is None else strided(row, shape, strides, 0, type)


def passed_values(operands: Sequence[Any], target: Tensor) -> list[Any]:
    """The operands as they are given to a kernel that writes to ``target``: what repeats one value as a number, where
    the device likes that, and 0-d tensors of the CPU beside others."""
    shape, place = target._layout.shape, target._layout.type.device
    values = []
    for value in operands:
        if isinstance(value, Tensor) and (
            value._flat is None or value._layout.shape != shape or value._layout.type.device is not place
        ):
            number = devices.as_number(value)
            values.append(value if number is None else number)
        else:
            values.append(value)
    return values


def as_gradient(result: Any, gradient: Tensor) -> Tensor:
    """What a rule gives for a gradient; where that is the number 0, zeros that lie as the gradient does."""
    if result.__class__ is not int:
        return result
    shape, type = gradient._layout.shape, gradient._layout.type
    if is_batched(gradient):  # a tangent may be overwritten with what differs among the examples
        return zeros_beside((gradient,), shape, type)
    row, strides = devices.zeros(shape, type), new_strides([gradient], shape)
    return fresh(row, shape, type) if strides is None else strided(row, shape, strides, 0, type)


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
