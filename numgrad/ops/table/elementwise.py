"""Pointwise operations: from scalar functions to recorded, fused, compiled ones.

``@pointwise`` turns a function of scalars into an operation on tensors.  Its positional parameters are the operands,
broadcast against each other; its keyword-only parameters are numbers that configure it.  The function and its rules are
never called on elements.  They are compiled: one pass over memory computes all the gradients that are needed.  The
rules are called with tensors only to differentiate the gradient itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ... import devices
from ...autograd.calls import transformed
from ...autograd.grad_mode import AUTOCAST, TRANSFORMED, state
from ...autograd.node import Node
from ...core.layout import Layout, layout_of, outgrown
from ...core.types import bool_, default_dtype_changed, dtype, float32, get_default_dtype, real_of, tensor_type
from ...devices import NUMBERS
from ...tensors.tensor import Tensor
from .ahead import Sample
from .autocasting import cast_call
from .checks import check, check_type
from .dispatch import change, perform
from .elementwise_backward import PointwiseBackwardPlan, PointwiseNode, Rules
from .entries import Entries, Entry
from .forms import Calls
from .op import Op, parameters, public_functions
from .operands import (
    attribute_number,
    check_attributes,
    check_real,
    check_target,
    common_device,
    common_shape,
    given_of,
    kinds_passed,
    new_layout,
    no_operand,
    operand,
    operand_of,
)
from .out import not_cast
from .promotion import meeting_dtype, number_dtype
from .recording import OpNode
from .transforms import PointwiseCall


class Pointwise(Calls, Op):
    """A pointwise entry of the table.

    Args:
        function: the function of scalars.
        node: name of the node class.
        result: "same" to compute in the promoted dtype, "float" in a floating-point one, "bool" for a comparison.
        real: True if the result of complex numbers is real, of the dtype of their parts.
        dtypes: the supported categories of dtype: "b" bool, "i" integers, "f" floating point, "c" complex.
        nondifferentiable: operands that have no gradient.
        passed, constant: operands whose gradient is that of the result, and operands whose gradient is 0.
        underived: operands whose derivative is not known: a backward that needs it raises an error.
        conditions: operands that are not converted to another dtype and take no part in type promotion.
        baked: for an attribute, the values that get a kernel of their own, with the value written into it.
        refused: dtypes that the operation is not defined for, and the error message; a message with "not implemented"
            is raised as NotImplementedError, as in PyTorch, any other as RuntimeError.
        refused_operands: dtypes that no operand may have, whatever dtype the operation computes in, and the error
            message.
        check_integers: function of the operands called before a computation in integers; raises for invalid values.
        numbers: for an operand, the name of the node class if it is a number and the name differs.
        complex: the operation that computes complex numbers, if they have formulas of their own.
        takes_numbers: True if all operands may be numbers; the first one then counts as a 0-d tensor.

    Attributes:
        attributes: the keyword-only parameters and their defaults.
        complex_entry: the entry that computes complex numbers.
        outputs: the names of the outputs, which have one layout.
        derived: True if the derivatives of any order are derived from the function, by ``tangents`` in forward mode.
        of_result: the operation with a rule that does not need the input: see ``by_result``.
    """

    node_base: type[OpNode] = PointwiseNode
    outputs: tuple[str, ...] = ("out",)
    derived = False
    of_result: Pointwise | None = None
    probabilities: tuple[tuple[str, str], ...] = ()  # see ``PointwiseProgram``

    def __init__(
        self,
        function: Callable[..., Any],
        node: str,
        *,
        result: str = "same",
        real: bool = False,
        dtypes: str = "bif",
        nondifferentiable: Sequence[str] = (),
        passed: Sequence[str] = (),
        constant: Sequence[str] = (),
        underived: Sequence[str] = (),
        conditions: Sequence[str] = (),
        baked: Mapping[str, frozenset[float]] = MappingProxyType({}),
        refused: Mapping[dtype, str] = MappingProxyType({}),
        refused_operands: Mapping[dtype, str] = MappingProxyType({}),
        check_integers: Callable[..., None] | None = None,
        numbers: Mapping[str, str] = MappingProxyType({}),
        complex: Any = None,
        takes_numbers: bool = False,
        aten: str = "",
    ):
        operands = parameters(function)[: function.__code__.co_argcount]
        self.attributes: Mapping[str, Any] = function.__kwdefaults__ or {}
        self.result, self.real, self.dtypes, self.takes_numbers = result, real, dtypes, takes_numbers
        self.conditions = frozenset(conditions)
        self.baked, self.refused, self.refused_operands = baked, refused, refused_operands
        self.check_integers, self._numbers = check_integers, numbers
        self.complex_entry: Pointwise | None = None if complex is None else complex.op
        self.types: dict[Any, tuple[dtype, dtype]] = {}
        default_dtype_changed.append(self.types.clear)
        self.programs: dict[Any, devices.PointwiseProgram] = {}
        self.rules_of: dict[Any, Rules] = {}
        fixed = operands if result == "bool" else nondifferentiable
        super().__init__(function, node, operands, fixed, aten, passed, constant, underived)
        #: For each edge of a node, the position of its operand; None for an operand without a gradient.
        self.edge_positions = tuple([
            None if name in self.nondifferentiable else position for position, name in enumerate(operands)
        ])
        self.with_own_entries()

    @property
    def scalar_function(self) -> Callable[..., Any]:
        """The function whose text goes into kernels that call the operation."""
        return self.function

    @property
    def functions(self) -> tuple[Any, ...]:
        """The functions of scalars that compute the outputs."""
        return (self.function,)

    @functools.cached_property
    def numbers(self) -> dict[int, type[Node]]:
        """Node classes for operands that are numbers, by the position of the operand."""
        return {self.inputs.index(name): self.make_node_class(node, name) for name, node in self._numbers.items()}

    def saveable(self) -> set[str]:
        return super().saveable() | {*self.attributes}

    def forget(self) -> None:
        super().forget()
        self.rules_of.clear()

    def node_classes(self) -> Sequence[type[Node]]:
        return [self.node_class, *self.numbers.values()]

    def constants(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes written into the kernel: defaults, and values that have a kernel of their own.

        A zero that the caller passed is not written into the kernel, since it may be -0.0.
        """
        if attributes is self.attributes:
            return dict(attributes)
        return {
            name: value
            for name, value in attributes.items()
            if value and (value == self.attributes[name] or value in self.baked.get(name, ()))
        }

    def completed(self, pairs: Iterable[tuple[str, Any]]) -> Mapping[str, Any]:
        """Return the given attributes, completed with the defaults.

        Raises:
            TypeError: if the operation has no such number, or the value is not a number.
        """
        attributes = dict(self.attributes)
        for name, value in pairs:
            check_type(name in attributes, "{}() got an unexpected keyword argument '{}'", self.name, name)
            attributes[name] = value if value.__class__ in NUMBERS else attribute_number(self, name, value)
        return attributes

    def example(self, entry: Entry, needed: int) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Return example operands for a call with this entry, with samples for tensors, and its attributes."""
        shape: tuple[int, ...] = entry.layout.shape
        args = [
            float if type is None else Sample(layout_of(type, shape), bool(needed >> position & 1))
            for position, type in enumerate(entry.details.types)
        ]
        return args, dict(entry.details.attributes)

    def backward_plan(self, entry: Entry, needed: int) -> PointwiseBackwardPlan:
        """Return the backward plan of a call if the inputs in the bits of ``needed`` need a gradient."""
        details: _Details = entry.details
        rules = self._rules(needed, details.attributes)
        without = None
        if self.of_result is not None:
            without = self.of_result.backward_plan(entry, needed)
            without.plan = entry.plan
        return PointwiseBackwardPlan(details.node_class, rules, details.compute, details.passed, details.types, without)

    def _rules(self, needed: int, attributes: Mapping[str, Any]) -> Rules:
        constants = self.constants(attributes)
        key = (needed, *[(name, value, value.__class__) for name, value in constants.items()])
        rules = self.rules_of.get(key)
        if rules is None:
            which = tuple([bool(needed >> n & 1) for n in range(len(self.inputs))])
            rules = self.rules_of[key] = Rules(self, which, attributes)
        return rules

    def compute_types(self, kinds: Sequence[Any]) -> tuple[dtype, dtype]:
        """Return the dtypes of the computation and of the result for these layouts, or classes of numbers.

        Raises:
            RuntimeError, NotImplementedError: if the operation is not defined for that dtype.
        """
        key = tuple([
            layout if layout.__class__ is not Layout else layout.type if layout.shape else (layout.type,)
            for layout in kinds
        ])
        cached = self.types.get(key)
        if cached is None:
            cached = self.types[key] = self._types(kinds)
        return cached

    def _types(self, kinds: Sequence[Any]) -> tuple[dtype, dtype]:
        values = [kind for name, kind in zip(self.inputs, kinds, strict=True) if name not in self.conditions]
        compute = meeting_dtype(values)
        layouts = [value for value in values if isinstance(value, Layout)]
        message = self.refused.get(compute)
        for kind in values:
            dtype = kind.type.dtype if isinstance(kind, Layout) else number_dtype(kind())
            message = message or self.refused_operands.get(dtype)
        if message is None and compute.kind not in self.dtypes:
            message = f"\"{self.name.removesuffix('_op')}_cpu\" not implemented for '{compute.legacy}'"
        if message is not None:
            error = NotImplementedError if "not implemented" in message else RuntimeError
            raise error(f"{message} (shapes {', '.join([str(list(kind.shape)) for kind in layouts])})")
        if self.result == "float" and compute.category < float32.category:
            compute = get_default_dtype()
        if self.result == "bool":
            return compute, bool_
        return compute, real_of(compute) if self.real else compute

    def program(
        self, operand_types: Sequence[Any], attributes: Mapping[str, Any], compute: dtype, out: dtype
    ) -> devices.PointwiseProgram:
        """Return the kernel description for operands of these dtypes, or numbers of these classes."""
        key: Any = (tuple(operand_types), compute, out)
        constants = self.constants(attributes)
        if attributes is not self.attributes:
            key = (key, *[(n, constants.get(n), v.__class__) for n, v in attributes.items()])
        program = self.programs.get(key)
        if program is None:
            inputs = [
                operand(name, type, name not in self.conditions)
                for name, type in zip(self.inputs, operand_types, strict=True)
            ]
            inputs += [
                devices.Operand(name, constant=value) if name in constants else operand(name, value.__class__, True)
                for name, value in attributes.items()
            ]
            program = self.programs[key] = devices.PointwiseProgram(
                self.name, compute.compute.numpy, tuple(inputs), tuple([(name, out.numpy) for name in self.outputs]),
                self.functions, self.probabilities,
            )
        return program

    def plan(self, layouts: Sequence[Layout], out: Layout, into: bool = False) -> devices.Plan:
        """Return the plan for tensors of these layouts, computed in the dtype of the first one."""
        types = [layout.type.numpy for layout in layouts]
        program = self.program(types, self.attributes, layouts[0].type.dtype, out.type.dtype)
        return devices.pointwise_plan(program, layouts, [out], into)

    def build(
        self, p: devices.Plan, *operands: Any, into: devices.TensorRef | None = None, wide: bool = False, **numbers: Any
    ) -> devices.TensorRef:
        """Add the computation on tensors of a plan and numbers, into a new tensor or ``into``.

        Operands may be numbers that come with the call, or Python numbers.  The attributes ``numbers`` are Python
        numbers.  If ``wide``, results of float16 and bfloat16 stay in float32.
        """
        attribute = {devices.TensorRef: "layout", devices.Given: "kind"}
        kinds = [getattr(operand, attribute.get(operand.__class__, "__class__")) for operand in operands]
        op = self._for(kinds, into is not None)
        compute, result = op.compute_types(kinds)
        result = result.compute if wide else result
        out = into or p.new_tensor(new_layout(kinds, common_shape(kinds), tensor_type(result, common_device(kinds))))
        attributes = op.completed(numbers.items()) if numbers else op.attributes
        types = list(kinds_passed(kinds, out.layout))
        values: list[Any] = list(operands)
        for position, argument in enumerate(operands):
            if argument.__class__ is devices.TensorRef and types[position].__class__ is type:
                if argument.memory.__class__ is devices.Input and not argument.start:
                    values[position] = devices.InputNumber(argument.memory.number)
                else:
                    types[position] = argument.type.numpy
        program = op.program(types, attributes, compute, result)
        values += [attributes[i.name] for i in program.arguments if i.name in attributes]
        p.pointwise(program, values, out)
        return out

    def run(self, operands: Sequence[Any], attributes: Mapping[str, Any], into: Tensor | None = None) -> Tensor:
        """Compute into a new tensor, or in place into ``into``, and record the call."""
        if state.mode & AUTOCAST and into is None:
            result = cast_call(self.listed, lambda *operands: self.run(operands, attributes), operands)
            if result is not NotImplemented:
                return result
        if state.mode & TRANSFORMED:
            operands = self.prepared(operands)
            op = self._for(given_of(operands), into is not None)
            return transformed(PointwiseCall(op, operands, attributes, into))
        if into is not None:
            check_target(into, operands)
        entry, operands = self.entry(operands, attributes, into)
        operands = (*operands, *[attributes[name] for name in entry.details.passed])
        return perform(entry, operands, True) if into is None else change(entry, operands, into)

    def with_attributes(self, attributes: Mapping[str, Any]) -> Pointwise:
        """Return the operation with other defaults for its numbers."""
        other = self.recorded_by(*self.node)
        other.node_class = self.node_class
        other.attributes = attributes
        other.programs, other.rules_of = {}, {}
        return other.with_own_entries()

    def with_own_entries(self) -> Pointwise:
        """Return the operation, a copy of another one, after giving it separate entries."""
        self.entries = Entries()
        numbers = {*self.attributes.values()}.union(*self.baked.values())
        #: Static numbers that may be written into a kernel.
        self.baked_numbers = frozenset([number for number in numbers if number])
        return self

    def entry(
        self, operands: Sequence[Any], attributes: Mapping[str, Any], into: Tensor | None = None
    ) -> tuple[Entry, Sequence[Any]]:
        """Return the entry of a call, and its operands as tensors and Python numbers.

        Raises:
            TypeError: if an operand is neither, or none is a tensor.
            RuntimeError, NotImplementedError: if the operation is not defined for these dtypes, shapes or devices.
        """
        try:
            kinds = given_of(operands)
        except AttributeError:
            operands = self.prepared(operands)
            kinds = given_of(operands)
        entry = self._find_entry(kinds, attributes, None if into is None else into._layout)
        if entry is None:
            if not self.takes_numbers:
                raise no_operand(self, self.inputs[0], operands[0], Tensor)
            return self.entry((public_functions["tensor"](operands[0]), *operands[1:]), attributes)
        return entry, operands

    def _find_entry(self, kinds: list[Any], attributes: Mapping[str, Any], into: Layout | None) -> Entry | None:
        """Return the entry of a call with these operands; None if no tensor is among them."""
        key: Any = kinds
        if attributes is not self.attributes:
            baked = self.baked_numbers
            key = [*key, *[(v.__class__, v) if v in baked else v.__class__ for v in attributes.values()]]
        if into is not None:
            key = [*key, into]
        key = key[0] if len(key) == 1 else tuple(key)
        entry = self.entries.find(key)
        if entry is None and any(value.__class__ is Layout for value in kinds):
            op = self._for(kinds, into is kinds[0])
            entry = self.entries.make(key, functools.partial(op.prepare, kinds, attributes, into))
        return entry

    def prepared(self, operands: Sequence[Any]) -> list[Any]:
        """Return the operands as tensors and Python numbers.

        Raises:
            TypeError: if one is neither, nor a NumPy array or number.
        """
        return [operand_of(self, name, value) for name, value in zip(self.inputs, operands, strict=True)]

    def _for(self, kinds: Sequence[Any], in_place: bool) -> Pointwise:
        """Return the operation that computes operands of these categories."""
        other = self.complex_entry
        letters = [k.type.dtype.kind if isinstance(k, Layout) else "c" if k is complex else "" for k in kinds]
        if other is None or "c" not in letters:
            return self
        check(not self.real or not in_place, "In-place {} is not supported for complex tensors.", self.name)
        return other

    def prepare(
        self, kinds: Sequence[Any], attributes: Mapping[str, Any], into: Layout | None, again: bool = True
    ) -> Entry:
        """Return a new entry for operands of these layouts, or numbers of these classes."""
        compute, result = self.compute_types(kinds)
        if not compute.is_complex:
            check_real(attributes)
        shape = common_shape(kinds)
        if into is None:
            out = new_layout(kinds, shape, tensor_type(result, common_device(kinds)))
        else:
            out = into
            if shape != out.shape:
                raise outgrown(out.shape, shape)
            if result.category > out.type.dtype.category:
                raise not_cast(result, out.type.dtype)
            common_device(kinds, out)
        program = self.program(kinds_passed(kinds, out), attributes, compute, out.type.dtype)
        passed = tuple([i.name for i in program.arguments if i.name in self.attributes]) if self.attributes else ()
        types = [kind.type if isinstance(kind, Layout) else None for kind in kinds]
        checks: list[Any] = []
        if compute.kind in "bi":
            if self.check_integers is not None:
                checks.append((self.check_integers, range(len(kinds))))
            if attributes is not self.attributes:
                check_attributes(attributes.items(), compute)
                checks += [(_fits(name, compute), [number]) for number, name in enumerate(passed, len(kinds))]
        numbers = [attributes[name].__class__ for name in passed]
        outs = (out,) * len(self.outputs)
        plan = devices.pointwise_plan(program, [*kinds, *numbers], outs, into is not None, checks)
        node_class = self.node_class
        for position, kind in self.numbers.items():
            if kinds[position].__class__ is not Layout:
                node_class = kind
        recorded = self.has_gradient and out.type.dtype.differentiable
        positions = None if len(passed) == len(self.attributes) else (
            *range(len(kinds)), *[len(kinds) + n for n, name in enumerate(self.attributes) if name in passed]
        )
        details = _Details(compute, attributes, passed, positions, types, node_class)
        return Entry(self, plan, out if len(outs) == 1 else outs, recorded, details, again)


class _Details(NamedTuple):
    """Details of a pointwise entry that its backward plans need.

    Attributes:
        compute: the dtype of the computation.
        attributes: the attributes.
        passed: the names of the attributes that are passed at run time.
        positions: the positions of the launcher's arguments among operands and numbers; None for all.
        types: the types of the operands; None for a number.
        node_class: the class of the nodes.
    """

    compute: dtype
    attributes: Mapping[str, Any]
    passed: tuple[str, ...]
    positions: tuple[int, ...] | None
    types: Sequence[Any]
    node_class: type[Any]


@functools.cache
def _fits(name: str, compute: dtype) -> Callable[[Any], None]:
    """Return the check that an attribute is exact in an integer dtype."""
    return lambda value: check_attributes([(name, value)], compute)
