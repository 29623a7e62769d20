"""Backward of pointwise operations: one kernel computes all gradients of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import devices
from ...autograd.grad_mode import TRACED, state
from ...autograd.node import types_given
from ...autograd.saved import has_changed
from ...core.layout import Layout, layout_of
from ...core.types import dtype, tensor_type
from ...devices import NUMBERS
from ...tensors.tensor import Tensor, tensor_of
from ..batching.batches import zeros_with
from ..memory.copying import convert, filled_of
from .op import Rule, parameters
from .operands import given_of, kinds_passed, new_layout, operand
from .recording import OUTPUT, BackwardPlan, OpNode

if TYPE_CHECKING:
    from .elementwise import Pointwise


class Rules:
    """Rules of an operation with certain constants, for one combination of needed gradients.

    Attributes:
        pattern: the source of each input's gradient: "kernel", "passed" if it is the incoming gradient, or None.
        computed: the inputs whose gradients the kernel computes, with their rules.
        underived: needed inputs whose rules raise an error.
        names: the values that the computed rules need besides ``grad`` and the ``constants``.
    """

    def __init__(self, op: Pointwise, needed: tuple[bool, ...], attributes: Mapping[str, Any]):
        self.op = op
        self.constants = constants = op.constants(attributes)
        rules = {i: op.rule(name) for i, name in enumerate(op.inputs) if needed[i]}
        self.underived = [op.inputs[i] for i in rules if op.inputs[i] in op.underived]
        passed = [] if self.underived else [i for i, rule in rules.items() if _hands_on(rule, attributes, constants)]
        self.computed = {i: rule for i, rule in rules.items() if i not in passed}
        self.pattern = tuple([
            "kernel" if i in self.computed else "passed" if i in passed else None for i in range(len(op.inputs))
        ])
        self.passed = len(passed)
        #: The one input whose gradient is needed; None if there are several.
        self.only = next(iter(rules)) if len(rules) == 1 else None
        self.arguments = {i: parameters(rule) for i, rule in self.computed.items()}
        self.names: tuple[str, ...] = ()
        for names in self.arguments.values():
            defined = {"grad", *constants, *self.names}
            self.names += tuple([name for name in names if name not in defined])
        self.programs: dict[Any, devices.PointwiseProgram] = {}

    def program(
        self, operand_types: tuple[Any, ...], compute: dtype, outs: Sequence[dtype]
    ) -> devices.PointwiseProgram:
        """Return the kernel description for a gradient and saved values of these dtypes or classes of numbers."""
        op = self.op
        key = (operand_types, compute, tuple(outs))
        program = self.programs.get(key)
        if program is None:
            names = ("grad", *self.names)
            inputs = [operand(n, type, n not in op.conditions) for n, type in zip(names, operand_types, strict=True)]
            inputs += [devices.Operand(name, constant=value) for name, value in self.constants.items()]
            outputs = [(f"grad_{op.inputs[i]}", out.numpy) for i, out in zip(self.computed, outs, strict=True)]
            program = self.programs[key] = devices.PointwiseProgram(
                f"{op.name}_backward", compute.compute.numpy, tuple(inputs), tuple(outputs),
                tuple(self.computed.values()),
            )
        return program


#: Number of launchers that a backward plan keeps.
_MOST_LAUNCHES = 64


class PointwiseBackwardPlan(BackwardPlan):
    """Backward plan of pointwise calls.

    Attributes:
        types: the types of the inputs whose gradients are computed.
        launches: the launchers that compute gradients, and the gradients' layouts.  In the usual case, in which the
            saved values are unchanged and the gradients have the types of their inputs, the key is the layout of the
            incoming gradient; otherwise it consists of the layouts of all operands, and the types.
        without_input: the plan to use if the input has changed; None if that is an error.
    """

    __slots__ = ("compute", "launches", "rules", "types", "without_input")

    def __init__(
        self, node_class: type[Any], rules: Rules, compute: dtype, attributes: Sequence[str], types: Sequence[Any],
        without_input: PointwiseBackwardPlan | None,
    ):
        positions = {name: n for n, name in enumerate((*rules.op.inputs, *attributes))}
        for name in rules.names:
            if name != "out" and name not in positions:
                raise TypeError(
                    f"{rules.op.name}: a rule has the parameter '{name}', which is not an input, attribute or result"
                )
        sources = [OUTPUT if name == "out" else positions[name] for name in rules.names]
        super().__init__(node_class, rules.names, sources, rules.constants)
        self.rules = rules
        self.compute = compute
        self.types = [types[i] for i in rules.computed]
        self.without_input = without_input
        self.launches: dict[Any, tuple[Any, list[Layout]]] = {}

    def find(self, key: Any, gradient: Tensor, values: Sequence[Any], types: Sequence[Any]) -> Any:
        """Return the launcher that computes gradients of these types from these operands, and their layouts."""
        kinds = given_of((gradient, *values))
        shape = gradient._layout.shape
        strides = new_layout(kinds, shape, gradient._layout.type).strides
        outs = [layout_of(type, shape, strides) for type in types]
        program = self.rules.program(kinds_passed(kinds, outs[0]), self.compute, [type.dtype for type in types])
        launch = devices.pointwise_plan(program, kinds, outs).launcher(self.plan.is_bound)
        if len(self.launches) >= _MOST_LAUNCHES:
            self.launches.clear()
        result = self.launches[key] = launch, outs
        return result


class PointwiseNode(OpNode):
    """The node of a pointwise operation."""

    __slots__ = ()

    op: Pointwise
    backward_plan: PointwiseBackwardPlan

    @property
    def compute(self) -> dtype:
        """Dtype of the operation's computation."""
        return self.backward_plan.compute

    def apply(self, gradient: Tensor) -> tuple[Any, ...]:
        plan = self.backward_plan
        rules = plan.rules
        computed: Any = gradient
        if rules.computed:
            cached = plan.launches.get(gradient._layout)
            saved: Any = self.saved  # a local reference, as another thread may release it
            if cached is None or saved.__class__ is not tuple or types_given or state.mode & TRACED:
                return self._in_general(gradient)
            launch, layouts = cached
            if len(saved) == 1:
                (value,), (version,) = saved, self.versions
                if version is not None and value._counter[0] != version:  # a PackedTensor never has this version
                    return self._in_general(gradient)
                buffers = launch(gradient, value)
            else:
                for value, version in zip(saved, self.versions):  # noqa: B905 - of one length; strict= costs time
                    if version is not None and value._counter[0] != version:
                        return self._in_general(gradient)
                buffers = launch(gradient, *saved)
            if len(layouts) == len(self.edges) == 2:
                (first, second), (first_buffer, second_buffer) = layouts, buffers
                return tensor_of(first, first_buffer), tensor_of(second, second_buffer)
            if len(layouts) > 1:
                return self._arranged([tensor_of(layout, buffer) for layout, buffer in zip(layouts, buffers)], gradient)  # noqa: B905
            computed = tensor_of(layouts[0], buffers)
        only = rules.only
        if only is not None:
            count = len(self.edges)
            if count == 2:
                return (computed, None) if only == 0 else (None, computed)
            if count == 1:
                return (computed,)
        return self._arranged((computed,), gradient)

    def _arranged(self, computed: Sequence[Tensor], gradient: Tensor) -> tuple[Any, ...]:
        """Return each input's gradient: a computed one, the incoming one, or None."""
        rules = self.backward_plan.rules
        count = len(rules.pattern)
        if rules.passed > 1:
            gradient._shared = True
            if rules.passed == count:
                return (gradient,) * count
        elif len(computed) == count:
            return tuple(computed)
        new = iter(computed)
        return tuple([
            next(new) if source == "kernel" else gradient if source == "passed" else None for source in rules.pattern
        ])

    def _in_general(self, gradient: Tensor) -> tuple[Any, ...]:
        """Return the gradients, whatever has happened to the saved values."""
        plan = self._current_backward_plan()
        for name in plan.rules.underived:
            self.op.rule(name)(gradient)
        if state.mode & TRACED:
            return self._arranged(self._traced(plan, gradient), gradient)
        values: Sequence[Any] = self.kept()
        as_saved = all(v is None or value._counter[0] == v for value, v in zip(values, self.versions, strict=True))
        if not as_saved:
            values = list(self._unpacked(plan).values())
        edges: list[Any] = [self.edges[i] for i in plan.rules.computed]
        types = self._types(gradient, [node.output(number).type for node, number in edges])
        key: Any = gradient._layout
        if not as_saved or types_given or types != self._types(gradient, plan.types):
            key = (key, *[v._layout for v in values if v.__class__ not in NUMBERS], *types)
        launch, layouts = plan.launches.get(key) or plan.find(key, gradient, values, types)
        buffers = launch(gradient, *values)
        buffers = buffers if len(layouts) > 1 else (buffers,)
        return self._arranged(
            [tensor_of(layout, buffer) for layout, buffer in zip(layouts, buffers, strict=True)], gradient
        )

    def _current_backward_plan(self) -> PointwiseBackwardPlan:
        """Return the backward plan, or the one without the input if the input has changed since it was saved."""
        without = self.backward_plan.without_input
        return self.backward_plan if without is None or not has_changed(self.kept()[0], self.versions[0]) else without

    def _unpacked(self, plan: PointwiseBackwardPlan) -> dict[str, Any]:
        """Return the saved values that the rules of a backward plan need, by name."""
        return self.unpack() if plan is self.backward_plan else {n: self.value_of(n) for n in plan.names}

    def modified(self) -> list[tuple[Any, int]]:
        modified = super().modified()
        if self._current_backward_plan() is self.backward_plan:
            return modified
        return [pair for pair in modified if pair[0] is not self.kept()[0]]  # the input is not needed

    def _traced(self, plan: PointwiseBackwardPlan, gradient: Tensor) -> tuple[Tensor, ...]:
        """Return the computed gradients, from operations that are recorded or transformed themselves."""
        rules = plan.rules
        values = {name: self._operand(name, value) for name, value in self._unpacked(plan).items()}
        arguments = {**rules.constants, **values, "grad": gradient}
        return tuple([
            as_gradient(rule(*[arguments[name] for name in rules.arguments[i]]), gradient)
            for i, rule in rules.computed.items()
        ])

    def _operand(self, name: str, value: Any) -> Any:
        """Return a saved value as rules take it: numbers become tensors, and real operands complex if needed."""
        if name not in self.op.inputs or name in self.op.conditions:
            return value
        if isinstance(value, Tensor):
            return convert(value, self.compute) if self.compute.is_complex else value
        return filled_of((), value, tensor_type(self.compute, self.layout.type.device))

    def _types(self, gradient: Tensor, inputs: Sequence[Any]) -> list[Any]:
        """Return the types of the computed gradients for inputs of these types; None stands for any type."""
        default = gradient._layout.type
        types = [type or default for type in inputs]
        types = [t if t.device is default.device else tensor_type(t.dtype, default.device) for t in types]
        if self.compute.is_complex:  # the engine takes the real part for a real input
            types = [t if t.dtype.is_complex else tensor_type(self.compute, t.device) for t in types]
        return types


def as_gradient(result: Any, gradient: Tensor) -> Tensor:
    """Return the gradient that a rule returned; for the number 0, zeros laid out like ``gradient``."""
    if result.__class__ is not int:
        return result
    layout = new_layout([gradient._layout], gradient._layout.shape, gradient._layout.type)
    return zeros_with((gradient,), layout.shape, layout.type, layout.strides)  # batched like the gradient


class _Probe:
    """Stand-in for a gradient that detects rules that pass it on: multiplication by 1 returns the probe itself."""

    def __mul__(self, factor: Any) -> Any:
        if isinstance(factor, int | float) and factor == 1:
            return self
        raise TypeError("not handed on")

    __rmul__ = __mul__


def _hands_on(rule: Rule, attributes: Mapping[str, Any], constants: Mapping[str, Any]) -> bool:
    names = parameters(rule)
    if any(name != "grad" and name not in constants for name in names):
        return False
    probe = _Probe()
    try:
        return rule(*[probe if name == "grad" else attributes[name] for name in names]) is probe
    except (TypeError, AttributeError):
        return False
