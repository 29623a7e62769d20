"""Pointwise operations: from scalar functions to recorded, fused, compiled ones.

``@pointwise`` turns a function of scalars into an operation on tensors.  Its positional parameters are the
operands, broadcast against each other; keyword-only ones are numbers that configure it.  The function and its
rules are never called on elements: they are compiled (one pass over memory computes all the gradients that are
needed), and the rules are called with tensors where the gradient itself is to be differentiated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from .. import devices
from .._layout import outgrown
from .._tensor import Tensor, check_in_place
from .._types import (
    bool_,
    default_dtype_changed,
    dtype,
    float32,
    get_default_dtype,
    real_of,
)
from ..autograd.grad_mode import GRAD, TRANSFORMED, state
from ..autograd.node import Node, edge_of
from ..autograd.origins import UNRECORDED
from ..autograd.saved import keep
from ..autograd.views import record_inplace
from .arguments import wrong_kind
from .calls import Call, Calls, kind_of, layout_key
from .flat import FlatNode
from .numbers import check_fits, plain_number
from .plan import Plan, PointwiseNode, operand, passed_values
from .promotion import number_dtype, result_dtype
from .recorder import inplace_recorder, recorder
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
        conditions: operands that are read as they are.
        baked: for a static number, the values that get a kernel of their own.
        refused: dtypes that the operation is not defined for, and the message that says so; one with "not implemented"
            is raised as NotImplementedError, as PyTorch has it, any other as RuntimeError.
        refused_operands: the same for dtypes that no operand may have, whatever the operation is computed in.
        check_integers: called with the operands before a computation in integers, to refuse some values.
        numbers: for an operand, the nodes' classes where it is a number: in the general way and in the short.
        complex_entry: the entry that does it for complex numbers, where they have formulas of their own.
    """

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
        self.statics = {p.name: p.default for p in signature if p.kind is p.KEYWORD_ONLY}
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
        self.plans: dict[Any, Plan] = {}
        self.calls = Calls()
        default_dtype_changed.append(self.calls.clear)
        super().__init__(function, node, operands, operands if result == "bool" else fixed)
        #: Whether all operands but the conditions have a gradient, as the short way takes for granted.
        self.differentiable = not self.nondifferentiable - self.conditions
        self.flat_node_class = self.node_class_of(node, FlatNode)
        self.numbers = {
            operands.index(i): (self.node_class_of(node, PointwiseNode, i), self.node_class_of(node, FlatNode, i))
            for i, node in numbers.items()
        }

    def make_node_class(self, name: str) -> type[Node]:
        return self.node_class_of(name, PointwiseNode)

    def node_class_of(self, name: str, kind: type[Any], *numbers: str) -> type[Any]:
        """A class of nodes that do not show the conditions, nor the operands ``numbers``."""
        hidden = frozenset([place for place, i in enumerate(self.inputs) if i in self.conditions or i in numbers])
        return type(name, (kind,), {"op": self, "hidden": hidden, "__slots__": (), "__module__": "numgrad.autograd"})

    def node_classes(self, operands: Sequence[Any]) -> tuple[type[Node], type[FlatNode]]:
        """The classes of the nodes that record the operation on these operands: in the general way and in the short."""
        for place, classes in self.numbers.items():
            if operands[place].__class__ in devices.NUMBERS:
                return classes
        return self.node_class, self.flat_node_class

    def constants(self, statics: Mapping[str, Any]) -> dict[str, Any]:
        """The static numbers that are written into the kernel: defaults, and those with a form of their own."""
        return {
            name: value
            for name, value in statics.items()
            if value == self.statics[name] or value in self.baked.get(name, ())
        }

    def plan(self, needed: tuple[bool, ...], statics: Mapping[str, Any]) -> Plan:
        """How the gradients of the ``needed`` inputs are computed."""
        constants = self.constants(statics)
        key = (needed, *[(name, value, value.__class__) for name, value in constants.items()])
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = Plan(self, needed, statics)
        return plan

    def compute_types(self, operands: Sequence[Any]) -> tuple[dtype, dtype]:
        """The dtype to compute in and that of the result.

        Raises:
            RuntimeError, NotImplementedError: the operation is not defined for that dtype.
        """
        key = tuple([
            v.__class__ if v.__class__ in devices.NUMBERS else v._layout.type if v._layout.shape else (v._layout.type,) for v in operands
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

    def program(
        self, operands: Sequence[Any], statics: Mapping[str, Any], compute: dtype, out: dtype
    ) -> devices.Program:
        """The kernel description for these operands: tensors, or numbers passed at run time."""
        kinds = tuple([kind_of(value) for value in operands])
        key: Any = (kinds, compute, out)
        if statics is not self.statics:
            written = self.constants(statics)
            key = (key, *[(n, written.get(n), v.__class__) for n, v in statics.items()])
        program = self.programs.get(key)
        if program is None:
            constants = self.constants(statics)
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

    def run(self, operands: Sequence[Any], statics: Mapping[str, Any], into: Tensor | None = None) -> Tensor:
        """Compute, into a new tensor or in place into ``into``, and record."""
        if self.complex_entry is not None and any(map(_is_complex, operands)):
            if self.real and into is not None:
                raise RuntimeError(f"In-place {self.name} is not supported for complex tensors.")
            return self.complex_entry.run(operands, statics, into)
        if state.mode & TRANSFORMED:
            return transformed(PointwiseCall(self, operands, statics, into))
        key = layout_key(operands)
        if key is None:
            operands = [prepared(self, name, v) for name, v in zip(self.inputs, operands, strict=True)]
            key = layout_key(operands)
        if statics is not self.statics:
            written = self.constants(statics)
            key = (key, *[(n, written.get(n), v.__class__) for n, v in statics.items()])
        call = self.calls.get(key)
        if call is None:
            if not any(isinstance(value, Tensor) for value in operands):
                raise _no_operand(self, self.inputs[0], operands[0], Tensor)
            if not self.compute_types(operands)[0].is_complex:
                _check_real(statics)
            call = self.calls.remember(key, Call(self, operands, statics))
        if call.compute.kind in "bi":
            if statics is not self.statics:
                _check_statics(statics, call.compute)
            if self.check_integers is not None:
                self.check_integers(operands)
        if into is not None:
            check_target(into, operands, call.shape, call.kind)
        plan = None
        if state.mode & GRAD and self.rules:
            edges = self._edges(operands)
            if any(edges):
                needed = tuple([edge is not None for edge in edges])
                plan = call.plans.get(needed)
                if plan is None:
                    plan = call.plans[needed] = self.plan(needed, statics)
                saved, versions = plan.save(operands, statics, into)
        if into is None:
            out = call.result(operands, statics)
            if not state.mode & GRAD:
                out._origin = UNRECORDED
        else:
            out = into
            self._overwrite(into, operands, statics, call.compute)
        if plan is not None:
            self.record((edges, plan, saved, versions), operands, call.compute, call.shape, out, into)
        return out

    def pending(self, operands: Sequence[Any], statics: Mapping[str, Any], into: Tensor | None) -> Any:
        """What ``record`` is to be given once the result is there; None if nothing is to be recorded."""
        edges = self._edges(operands) if state.mode & GRAD and self.rules else ()
        if not any(edges):
            return None
        plan = self.plan(tuple([edge is not None for edge in edges]), statics)
        return edges, plan, *plan.save(operands, statics, into)

    def record(
        self, pending: Any, operands: Sequence[Any], compute: dtype, shape: tuple[int, ...], out: Tensor,
        into: Tensor | None,
    ) -> None:
        """Make a node the origin of ``out``, which is ``into`` if it was computed in place."""
        edges, plan, saved, versions = pending
        node: Any = self.node_classes(operands)[0](edges, out._layout)
        node.plan, node.compute, node.saved, node.versions = plan, compute, None, ()
        if into is None:
            out._edge = (node, 0)
            out._requires_grad = True
        else:
            record_inplace(into, node)  # before the result is saved: it has been changed, whatever a hook does
        if "out" in plan.names:
            place = plan.names.index("out")
            saved[place], versions[place] = keep(out, 0)
        node.saved, node.versions = tuple(saved), tuple(versions)

    def _overwrite(self, into: Tensor, operands: Sequence[Any], statics: Mapping[str, Any], compute: dtype) -> None:
        """Compute in place."""
        values = passed_values(operands, into)
        program = self.program(values, statics, compute, into._layout.type.dtype)
        if statics is not self.statics:
            values += [statics[i.name] for i in program.arguments if i.name in statics]
        devices.run_pointwise(program, values, [into])
        into._counter[0] += 1

    def _edges(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        """An edge for each input that needs a gradient, taken before anything is changed."""
        return tuple([
            edge_of(v) if isinstance(v, Tensor) and v._requires_grad and name not in self.nondifferentiable else None
            for name, v in zip(self.inputs, operands)  # noqa: B905 - of one length; strict= costs time
        ])


def prepared(op: Pointwise, name: str, value: Any) -> Any:
    """An operand as a tensor or a Python number."""
    if isinstance(value, Tensor) or value.__class__ in devices.NUMBERS:
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


def _check_statics(statics: Mapping[str, Any], compute: dtype) -> None:
    """Raise if a static number would be cut off, or wrap around, to become an integer."""
    for name, value in statics.items():
        if isinstance(value, float):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
        check_fits(value, compute)


def check_target(target: Tensor, operands: Sequence[Any], shape: tuple[int, ...], kind: dtype) -> None:
    """Raise unless ``target`` may be overwritten with a result of this shape and dtype."""
    tensors = [value for value in operands if isinstance(value, Tensor)]
    check_in_place(target, *tensors)
    if shape != target._layout.shape:
        raise outgrown(target._layout.shape, shape)
    if kind.category > target._layout.type.dtype.category:
        raise RuntimeError(
            f"result type {kind.legacy} can't be cast to the desired output type {target._layout.type.dtype.legacy}"
        )
    for value in tensors:
        check_overlap(target, value)


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
        call: Any = recorder(op)
        call.__doc__ = function.__doc__
        call.op = op
        call.gradient = op.gradient
        call.scalar_function = function
        if export:
            public(call, name=op.name)
        if inplace or (inplace is None and result != "bool"):
            call.inplace = inplace_recorder(op)
            if export:
                attach(op.name + "_", call.inplace)
        return call

    return decorate
