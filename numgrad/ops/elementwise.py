"""Pointwise operations: from scalar functions to recorded, fused, compiled ones.

``@pointwise`` turns a function of scalars into an operation on tensors.  Its positional parameters are the
operands, broadcast against each other; keyword-only ones are numbers that configure it.  The function and its
rules are never called on elements: they are compiled (one pass over memory computes all the gradients that are
needed), and the rules are called with tensors where the gradient itself is to be differentiated.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from .. import devices
from .._layout import Layout, outgrown
from .._tensor import Tensor, check_in_place, tensor_of
from .._types import (
    bool_,
    default_dtype_changed,
    dtype,
    float32,
    get_default_dtype,
    real_of,
    tensor_type,
)
from ..autograd.grad_mode import TRANSFORMED, state
from ..autograd.node import Node
from .arguments import wrong_kind
from .callables import function_of, in_place
from .dispatch import change, perform
from .entries import Entries, Entry
from .numbers import NUMBERS, check_fits, plain_number
from .plan import PointwiseNode, PointwiseRecipe, Rules, common_device, common_shape, kinds_passed, new_layout, operand
from .promotion import number_dtype, result_dtype
from .sharing import check_overlap
from .table import Op, attach, public, public_functions
from .transforms import PointwiseCall, transformed

__all__ = ["Pointwise", "check_target", "pointwise", "prepared"]


class Pointwise(Op):
    """A pointwise entry of the table.

    Attributes:
        statics: the keyword-only parameters and their defaults.
        result: "same" (computed in the promoted dtype), "float" (in a floating-point one), "bool" (a comparison).
        real: whether the result of complex numbers is real.
        dtypes: the kinds of dtype that it is defined for: "b" bool, "i" integers, "f" floating point, "c" complex.
        baked: for a static number, the values that get a kernel of their own.
        refused: dtypes that the operation is not defined for, and the message that says so; one with "not implemented"
            is raised as NotImplementedError, as PyTorch has it, any other as RuntimeError.
        refused_operands: the same for dtypes that no operand may have, whatever the operation is computed in.
        check_integers: called with the operands before a computation in integers, to refuse some values.
        numbers: for an operand, the nodes' classes where it is a number: in the general way and in the short.
        complex_entry: the entry that does it for complex numbers, where they have formulas of their own.
    """

    node_base = PointwiseNode

    def __init__(
        self,
        function: Callable[..., Any],
        node: str,
        fixed: Sequence[str],
        result: str,
        real: bool,
        dtypes: str,
        conditions: Sequence[str],
        baked: Mapping[str, frozenset[float]],
        refused: Mapping[dtype, str],
        refused_operands: Mapping[dtype, str],
        check_integers: Callable[[Sequence[Any]], None] | None,
        numbers: Mapping[str, str],
        complex_entry: Pointwise | None,
    ):
        signature = inspect.signature(function).parameters.values()
        operands = [p.name for p in signature if p.kind is p.POSITIONAL_OR_KEYWORD]
        self.statics: Mapping[str, Any] = {p.name: p.default for p in signature if p.kind is p.KEYWORD_ONLY}
        self.result = result
        self.real = real
        self.dtypes = dtypes
        self.conditions = frozenset(conditions)
        self.baked = dict(baked)
        self.refused = dict(refused)
        self.refused_operands = dict(refused_operands)
        self.check_integers = check_integers
        self.complex_entry = complex_entry
        self.types: dict[Any, tuple[dtype, dtype]] = {}
        default_dtype_changed.append(self.types.clear)
        self.programs: dict[Any, devices.Program] = {}
        self.rules_of: dict[Any, Rules] = {}
        super().__init__(function, node, operands, operands if result == "bool" else fixed)
        self.numbers = {operands.index(i): self.make_node_class(node, i) for i, node in numbers.items()}
        #: For each edge of a node the position of the operand that it belongs to; None for one without a gradient.
        self.edge_positions = tuple([
            None if name in self.nondifferentiable else position for position, name in enumerate(operands)
        ])
        self.with_own_entries()

    def saveable(self) -> set[str]:
        return super().saveable() | {*self.statics}

    def node_classes(self) -> Sequence[type[Node]]:
        return [self.node_class, *self.numbers.values()]

    def constants(self, statics: Mapping[str, Any]) -> dict[str, Any]:
        """The static numbers that are written into the kernel: defaults, and those with a form of their own.

        A zero that was given is not: it may be -0.0.
        """
        if statics is self.statics:
            return dict(statics)
        return {
            name: value
            for name, value in statics.items()
            if value and (value == self.statics[name] or value in self.baked.get(name, ()))
        }

    def completed(self, given: Iterable[tuple[str, Any]]) -> Mapping[str, Any]:
        """The static numbers given, and the defaults of the others.

        Raises:
            TypeError: there is no such number, or it is none.
        """
        statics = dict(self.statics)
        for name, value in given:
            if name not in statics:
                raise TypeError(f"{self.name}() got an unexpected keyword argument '{name}'")
            statics[name] = value if value.__class__ in NUMBERS else _as_number(self, name, value)
        return statics

    def recipe(self, entry: Entry, needed: int) -> PointwiseRecipe:
        """How a call with this entry is recorded where the inputs in the bits of ``needed`` need a gradient."""
        details: _Details = entry.details
        constants = self.constants(details.statics)
        key = (needed, *[(name, value, value.__class__) for name, value in constants.items()])
        rules = self.rules_of.get(key)
        if rules is None:
            which = tuple([bool(needed >> n & 1) for n in range(len(self.inputs))])
            rules = self.rules_of[key] = Rules(self, which, details.statics)
        return PointwiseRecipe(details.node_class, rules, details.compute, details.passed, details.types)

    def compute_types(self, operands: Sequence[Any]) -> tuple[dtype, dtype]:
        """The dtype to compute in and that of the result.

        Raises:
            RuntimeError, NotImplementedError: the operation is not defined for that dtype.
        """
        key = tuple([
            v.__class__ if v.__class__ in NUMBERS else v._layout.type if v._layout.shape else (v._layout.type,)
            for v in operands
        ])
        found = self.types.get(key)
        if found is None:
            found = self.types[key] = self._types(operands)
        return found

    def _types(self, operands: Sequence[Any]) -> tuple[dtype, dtype]:
        values = [v for name, v in zip(self.inputs, operands, strict=True) if name not in self.conditions]
        compute = result_dtype(values)
        tensors = [v for v in values if isinstance(v, Tensor)]
        message = self.refused.get(compute)
        for value in values:
            kind = value._layout.type.dtype if isinstance(value, Tensor) else number_dtype(value)
            message = message or self.refused_operands.get(kind)
        if message is None and compute.kind not in self.dtypes:
            message = f"\"{self.name.removesuffix('_op')}_cpu\" not implemented for '{compute.legacy}'"
        if message is not None:
            error = NotImplementedError if "not implemented" in message else RuntimeError
            raise error(f"{message} (shapes {', '.join([str(list(t._layout.shape)) for t in tensors])})")
        if self.result == "float" and compute.category < float32.category:
            compute = get_default_dtype()
        if self.result == "bool":
            return compute, bool_
        return compute, real_of(compute) if self.real else compute

    def program(self, kinds: Sequence[Any], statics: Mapping[str, Any], compute: dtype, out: dtype) -> devices.Program:
        """The kernel description for operands of these dtypes, or numbers of these classes."""
        key: Any = (tuple(kinds), compute, out)
        constants = self.constants(statics)
        if statics is not self.statics:
            key = (key, *[(n, constants.get(n), v.__class__) for n, v in statics.items()])
        program = self.programs.get(key)
        if program is None:
            inputs = [
                operand(name, kind, name not in self.conditions)
                for name, kind in zip(self.inputs, kinds, strict=True)
            ]
            inputs += [
                devices.Operand(name, constant=value) if name in constants else operand(name, value.__class__, True)
                for name, value in statics.items()
            ]
            program = self.programs[key] = devices.Program(
                self.name, compute.numpy, tuple(inputs), (("out", out.numpy),), (self.function,)
            )
        return program

    def launcher(
        self, operands: Sequence[Any], out: Layout, into: bool = False, compute: dtype | None = None
    ) -> Callable[..., Any]:
        """What computes it of operands of these layouts, or numbers of these classes; in the dtype of the first."""
        layouts = [v if isinstance(v, Layout) else None for v in operands]
        kinds = [v.type.numpy if isinstance(v, Layout) else v for v in operands]
        program = self.program(kinds, self.statics, compute or operands[0].type.dtype, out.type.dtype)
        return devices.pointwise_launcher(program, layouts, [out], into)

    def run(self, operands: Sequence[Any], statics: Mapping[str, Any], into: Tensor | None = None) -> Tensor:
        """Compute, into a new tensor or in place into ``into``, and record."""
        if state.mode & TRANSFORMED:
            op = self._for(operands, into)
            return transformed(PointwiseCall(op, operands, statics, into))
        if into is not None:
            check_target(into, operands)
        entry, operands = self.entry(operands, statics, into)
        operands = (*operands, *[statics[name] for name in entry.details.passed])
        return perform(entry, operands, True) if into is None else change(entry, operands, into)

    def with_statics(self, statics: Mapping[str, Any]) -> Pointwise:
        """The operation with other numbers where none are given."""
        other = copy.copy(self)
        other.statics = statics
        other.programs, other.rules_of = {}, {}
        return other.with_own_entries()

    def with_own_entries(self) -> Pointwise:
        """The operation, a copy of another, which decides for itself what calls come to."""
        self.entries, self.entries_into, self.entries_configured = Entries(), Entries(), Entries()
        numbers = {*self.statics.values()}.union(*self.baked.values())
        #: Static numbers that may be written into a kernel.
        self.baked_numbers = frozenset([number for number in numbers if number])
        return self

    def entry(
        self, operands: Sequence[Any], statics: Mapping[str, Any], into: Tensor | None = None
    ) -> tuple[Entry, Sequence[Any]]:
        """What a call comes to, and its operands as tensors and Python's numbers.

        Raises:
            TypeError: an operand is neither, or none is a tensor.
            RuntimeError, NotImplementedError: the operation is not defined for these dtypes, shapes or devices.
        """
        try:
            key: Any = [v.__class__ if v.__class__ in NUMBERS else v._layout for v in operands]
        except AttributeError:
            operands = [prepared(self, name, v) for name, v in zip(self.inputs, operands, strict=True)]
            key = [v.__class__ if v.__class__ in NUMBERS else v._layout for v in operands]
        entries = self.entries
        if into is not None:
            entries = self.entries_into
        if statics is not self.statics:
            baked = self.baked_numbers
            key += [(v.__class__, v) if v in baked else v.__class__ for v in statics.values()]
            entries = self.entries_configured
        if into is not None:
            key.append(into._layout)
        key = key[0] if len(key) == 1 else tuple(key)
        entry = entries.find(key)
        if entry is None:
            if not any(isinstance(value, Tensor) for value in operands):
                raise _no_operand(self, self.inputs[0], operands[0], Tensor)
            entry = entries.add(key, self._for(operands, into).prepare(operands, statics, into))
        return entry, operands

    def decided(self, operands: Sequence[Any], **numbers: Any) -> tuple[Layout, Callable[..., Any]]:
        """The layout of the result for operands of these layouts, or numbers, and what computes it, unrecorded."""
        given = [tensor_of(value, None) if isinstance(value, Layout) else value for value in operands]
        statics = self.completed(numbers.items()) if numbers else self.statics
        entry, _ = self.entry(given, statics)
        passed = [statics[name] for name in entry.details.passed]
        return entry.layout, (lambda *values: entry.launch(*values, *passed)) if passed else entry.launch

    def _for(self, operands: Sequence[Any], into: Tensor | None) -> Pointwise:
        """The operation that does it for operands of these kinds of numbers."""
        if self.complex_entry is None or not any(map(_is_complex, operands)):
            return self
        if self.real and into is not None:
            raise RuntimeError(f"In-place {self.name} is not supported for complex tensors.")
        return self.complex_entry

    def prepare(self, operands: Sequence[Any], statics: Mapping[str, Any], into: Tensor | None) -> Entry:
        """Decide what a call comes to; nothing is computed, and of the operands only layouts are looked at."""
        compute, kind = self.compute_types(operands)
        if not compute.is_complex:
            _check_real(statics)
        shape = common_shape(operands)
        if into is None:
            out = new_layout(operands, shape, tensor_type(kind, common_device(operands)))
        else:
            out = into._layout
            if shape != out.shape:
                raise outgrown(out.shape, shape)
            if kind.category > out.type.dtype.category:
                raise _not_cast(kind, out.type.dtype)
        program = self.program(kinds_passed(operands, out), statics, compute, out.type.dtype)
        passed = tuple([i.name for i in program.arguments if i.name in self.statics])
        layouts = [None if value.__class__ in NUMBERS else value._layout for value in operands]
        types = [layout and layout.type for layout in layouts]
        launch = devices.pointwise_launcher(program, [*layouts, *[None] * len(passed)], [out], into is not None)
        if compute.kind in "bi":
            if statics is not self.statics:
                _check_statics(statics.items(), compute)
                numbers = [*enumerate(passed, len(operands))]
                launch = _checked(lambda given: _check_statics([(n, given[i]) for i, n in numbers], compute), launch)
            if self.check_integers is not None:
                launch = _checked(self.check_integers, launch)
        node_class = self.node_class
        for position, own in self.numbers.items():
            if operands[position].__class__ in NUMBERS:
                node_class = own
        recorded = bool(self.rules) and out.type.dtype.differentiable
        positions = None if len(passed) == len(self.statics) else (
            *range(len(operands)), *[len(operands) + n for n, name in enumerate(self.statics) if name in passed]
        )
        return Entry(self, launch, out, recorded, _Details(compute, statics, passed, positions, types, node_class))


class _Details(NamedTuple):
    """What a pointwise entry knows besides: the dtype computed in, the static numbers, which of them are passed at run
    time and where these stand among operands and numbers (None for all), the types of its operands (None for a number),
    and the class of its nodes."""

    compute: dtype
    statics: Mapping[str, Any]
    passed: tuple[str, ...]
    positions: tuple[int, ...] | None
    types: Sequence[Any]
    node_class: type[Any]


def _checked(check: Callable[[Sequence[Any]], None], launch: Callable[..., Any]) -> Callable[..., Any]:
    """A launcher that first looks at the values of its operands."""

    def run(*operands: Any) -> Any:
        check(operands)
        return launch(*operands)

    return run


def _as_number(op: Pointwise, name: str, value: Any) -> bool | int | float | complex:
    """A static number as Python's: NumPy's and 0-d tensors are taken, too.

    Raises:
        TypeError: it is no number.
    """
    if isinstance(value, np.generic) or (isinstance(value, Tensor) and not value._layout.shape):
        value = value.item()
    if isinstance(value, bool | int | float | complex):
        return plain_number(value)
    raise TypeError(f"{op.name}(): argument '{name}' must be a number, not {type(value).__name__}")


def prepared(op: Pointwise, name: str, value: Any) -> Any:
    """An operand as a tensor or a Python number."""
    if isinstance(value, Tensor) or value.__class__ in NUMBERS:
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return public_functions["from_numpy"](value)
    if isinstance(value, int | float | complex):
        return plain_number(value)
    raise _no_operand(op, name, value, Tensor | Number)


def _no_operand(op: Pointwise, name: str, value: Any, kind: Any) -> TypeError:
    return wrong_kind(op.name.removesuffix("_op"), name, op.inputs.index(name) + 1, kind, value)


def _is_complex(value: Any) -> bool:
    """Whether a tensor, an array or a number is complex."""
    return isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", None) == "c"


def _check_real(statics: Mapping[str, Any]) -> None:
    """Raise if a static number beside real operands is complex."""
    for name, value in statics.items():
        if isinstance(value, complex):
            raise RuntimeError(f"For non-complex input tensors, argument {name} must not be a complex number.")


def _check_statics(numbers: Iterable[tuple[str, Any]], compute: dtype) -> None:
    """Raise if a static number would be cut off, or wrap around, to become an integer."""
    for name, value in numbers:
        if isinstance(value, float):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
        check_fits(value, compute)


def check_target(target: Tensor, operands: Sequence[Any]) -> None:
    """Raise unless ``target`` may be overwritten with a result computed from these operands."""
    tensors = [value for value in operands if isinstance(value, Tensor)]
    check_in_place(target, *tensors)
    for value in tensors:
        check_overlap(target, value)


def _not_cast(kind: dtype, target: dtype) -> RuntimeError:
    return RuntimeError(f"result type {kind.legacy} can't be cast to the desired output type {target.legacy}")


def pointwise(
    node: str,
    *,
    result: str = "same",
    real: bool = False,
    dtypes: str = "bif",
    nondifferentiable: Sequence[str] = (),
    conditions: Sequence[str] = (),
    baked: Mapping[str, frozenset[float]] | None = None,
    refused: Mapping[dtype, str] | None = None,
    refused_operands: Mapping[dtype, str] | None = None,
    check_integers: Callable[[Sequence[Any]], None] | None = None,
    numbers: Mapping[str, str] | None = None,
    complex: Any = None,
    inplace: bool | None = None,
    export: bool = True,
) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function of scalars to make it an operation on tensors.

    Args:
        node: name of the node class.
        result: "same" to compute in the promoted dtype, "float" in a floating-point one, "bool" for a comparison.
        real: whether the result of complex numbers is real, of the dtype of their parts.
        dtypes: the kinds of dtype that it is defined for: "b" bool, "i" integers, "f" floating point, "c" complex.
        nondifferentiable: operands that have no gradient.
        conditions: operands that are read as they are and take no part in type promotion.
        baked: for a static number, the values that get a kernel of their own, with the value written into it.
        refused: dtypes that the operation is not defined for, and what to say.
        refused_operands: dtypes that no operand may have, and what to say.
        check_integers: called with the operands before a computation in integers; raises if a value will not do.
        numbers: for an operand, the name of the node class where it is a number, if that is another.
        complex: the operation that does it for complex numbers, where they have formulas of their own.
        inplace: whether there is an in-place method, too; by default unless the result is bool.
        export: whether ``numgrad`` exports the function and Tensor has the method.

    The result is the public function.  It has ``gradient``, to declare rules with, ``op``, the table's entry, and
    ``scalar_function``, the text of which goes into kernels of other operations that call it.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        op = Pointwise(
            function, node, nondifferentiable, result, real, dtypes, conditions, baked or {}, refused or {},
            refused_operands or {}, check_integers, numbers or {}, None if complex is None else complex.op,
        )
        call: Any = function_of(op)
        call.__doc__ = function.__doc__
        call.op = op
        call.gradient = op.gradient
        call.scalar_function = function
        if export:
            public(call, name=op.name)
        if inplace or (inplace is None and result != "bool"):
            call.inplace = in_place(op)
            if export:
                attach(op.name + "_", call.inplace)
        return call

    return decorate
