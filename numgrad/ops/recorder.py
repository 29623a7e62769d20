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
from .._types import default_dtype_changed, tensor_type
from ..autograd.grad_mode import GRAD, ORDINARY, state
from ..autograd.node import edge_of
from ..autograd.origins import UNRECORDED
from .calls import kind_of
from .flat import Recipe
from .outputs import write_out

if TYPE_CHECKING:
    from .elementwise import Pointwise

__all__ = ["OPERANDS", "inplace_recorder", "operator", "recorder", "unary"]

#: What may stand beside a tensor in an expression.
OPERANDS = (Tensor, bool, int, float, complex, np.ndarray, np.generic)


def as_number(op: Pointwise, name: str, value: Any) -> bool | int | float | complex:
    """A static number as Python's: NumPy's and 0-d tensors are taken, too.

    Raises:
        TypeError: it is no number.
    """
    if value.__class__ in (float, int, bool, complex):
        return value
    if isinstance(value, np.generic) or (isinstance(value, Tensor) and not value._layout.shape):
        value = value.item()
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float | complex):
        return float(value) if isinstance(value, float) else complex(value)
    raise TypeError(f"{op.name}(): argument '{name}' must be a number, not {type(value).__name__}")


def _completed(op: Pointwise, statics: Mapping[str, Any]) -> Mapping[str, Any]:
    """The static numbers given, and the defaults of the others."""
    for name in statics:
        if name not in op.statics:
            raise TypeError(f"{op.name}() got an unexpected keyword argument '{name}'")
    return {**op.statics, **{name: as_number(op, name, value) for name, value in statics.items()}}


def _with_keywords(op: Pointwise, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The operation with static numbers, or with ``out``, the tensor to overwrite with its result."""
    out = keywords.pop("out", None)
    result = op.run(operands, _completed(op, keywords) if keywords else op.statics)
    return result if out is None else write_out(op.name.removesuffix("_op"), out, result)


def recorder(op: Pointwise) -> Callable[..., Any]:
    """The function that users call."""
    call = _function_of(op)
    call.__name__ = call.__qualname__ = op.name
    return call


def _function_of(op: Pointwise) -> Callable[..., Any]:
    defaults, run = op.statics, op.run
    if len(op.inputs) == 1:
        return _unary_with(op) if defaults else unary(op, defaults)
    if len(op.inputs) == 2:
        return _binary(op)
    if op.conditions and len(op.inputs) == 3 and not defaults:
        return _choice(op)

    def call(*operands, **statics):
        return _with_keywords(op, operands, statics) if statics else run(operands, defaults)

    return call


def _unary_with(op: Pointwise) -> Callable[..., Any]:
    """The operation on one operand that takes static numbers."""
    short = unary(op, op.statics)

    def call(input, **statics):
        return _with_keywords(op, (input,), statics) if statics else short(input)

    return call


def _binary(op: Pointwise) -> Callable[..., Any]:
    defaults, run = op.statics, op.run
    short = operator(op)

    def call(input, other, **statics):
        if statics:
            return _with_keywords(op, (input, other), statics)
        if not isinstance(input, Tensor):
            return run((input, other), defaults)
        result = short(input, other)
        return run((input, other), defaults) if result is NotImplemented else result  # which raises

    return call


def _choice(op: Pointwise) -> Callable[..., Any]:
    """The operation on a condition and two operands."""
    shortcut = _Shortcut(op, op.statics)
    known = shortcut.known

    def call(condition, input, other):
        operands = condition, input, other
        first = input if isinstance(input, Tensor) else other
        mode = state.mode
        if not isinstance(first, Tensor) or mode > ORDINARY:
            return op.run(operands, op.statics)
        type, shape = first._layout.type, first._layout.shape
        rows, edges = [], []
        needed = 0
        for place, value in enumerate(operands):
            edge = None
            if value.__class__ is float or value.__class__ is int:
                rows.append(value)
            elif (
                not isinstance(value, Tensor)
                or value._flat is None
                or value._layout.shape != shape
                or (value._layout.type is not type and (place or value._layout.type.device is not type.device))
            ):
                return op.run(operands, op.statics)
            else:
                rows.append(value._flat)
                if place and value._requires_grad and mode & GRAD:
                    edge = edge_of(value)
                    needed += (edge is not None) << place
            edges.append(edge)
        key = type, input.__class__, other.__class__
        found = known.get(key)
        if found is None:
            found = shortcut.find(operands, key)
        launch, result, recipes = found
        if launch is None:
            return op.run(operands, op.statics)
        out = fresh(launch(*rows), shape, result)
        if not mode & GRAD:
            out._origin = UNRECORDED
        elif needed:
            (recipes[needed] or shortcut.recipe(key, needed, operands)).record(out, tuple(edges), operands)
        return out

    return call


def inplace_recorder(op: Pointwise) -> Callable[..., Any]:
    """The in-place method."""
    defaults = op.statics

    def call(input: Tensor, *others: Any, **statics: Any) -> Tensor:
        if len(others) + 1 != len(op.inputs):
            raise TypeError(f"{op.name}_() takes {len(op.inputs) - 1} arguments ({len(others)} given)")
        return op.run((input, *others), _completed(op, statics) if statics else defaults, input)

    call.__name__ = call.__qualname__ = op.name + "_"
    call.__doc__ = f"``{op.name}`` in place: overwrites the tensor and returns it."
    return call


def unary(op: Pointwise, statics: Mapping[str, Any]) -> Callable[[Any], Any]:
    """The operation on one operand, with these static numbers."""
    shortcut = _Shortcut(op, statics)
    known, run, recorded = shortcut.known, op.run, op.differentiable

    def call(input, *, out=None):
        if out is not None:
            return write_out(op.name, out, run((input,), statics))
        if not isinstance(input, Tensor) or input._flat is None:
            return run((input,), statics)
        type = input._layout.type
        found = known.get(type)
        if found is None:
            found = shortcut.find((input,), type)
        launch, result, recipes = found
        if launch is None:
            return run((input,), statics)
        mode = state.mode
        if mode > ORDINARY:
            return run((input,), statics)
        out = fresh(launch(input._flat), input._layout.shape, result)
        if not mode & GRAD:
            out._origin = UNRECORDED
            return out
        if not (input._requires_grad and recorded):
            return out
        edge = input._edge
        if edge is None or input._view is not None:
            edge = edge_of(input)
        if edge is not None:
            (recipes[1] or shortcut.recipe(type, 1, (input,))).record(out, (edge,), (input,))
        return out

    return call


def operator(op: Pointwise) -> Callable[[Tensor, Any], Any]:
    """The operation as a method of Python's: for an operand it does not know it returns NotImplemented."""
    shortcut = _Shortcut(op, op.statics)
    known, recorded = shortcut.known, op.differentiable

    def run(input, other):
        return op.run((input, other), op.statics) if isinstance(other, OPERANDS) else NotImplemented

    def call(input, other):
        first = input._flat
        if first is None:
            return run(input, other)
        key: Any = input._layout.type
        kind = other.__class__
        if kind is float or kind is int:
            key = (key, kind)
            second = other
            needs = 0
        elif isinstance(other, Tensor) and other._layout.type is key and other._layout.shape == input._layout.shape:
            second = other._flat
            if second is None:
                return run(input, other)
            needs = other._requires_grad
        else:
            return run(input, other)
        found = known.get(key)
        if found is None:
            found = shortcut.find((input, other), key)
        launch, result, recipes = found
        if launch is None:
            return run(input, other)
        mode = state.mode
        if mode > ORDINARY:
            return run(input, other)
        out = fresh(launch(first, second), input._layout.shape, result)
        if not mode & GRAD:
            out._origin = UNRECORDED
            return out
        if not ((needs or input._requires_grad) and recorded):
            return out
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
            operands = (input, other)
            recipe = recipes[needed] or shortcut.recipe(key, needed, operands)
            recipe.record(out, (first_edge, second_edge), operands)
        return out

    return call


class _Shortcut:
    """What the short way of one operation has found out so far, by the kinds of the operands.

    A kind is the TensorType of the operands, with the Python types of those that are numbers.  Known are the kernel's
    launcher, the type of the result and, by which inputs need a gradient, as bits, the recipes.
    """

    def __init__(self, op: Pointwise, statics: Mapping[str, Any]):
        self.op = op
        self.statics = statics
        self.known: dict[Any, tuple[Any, Any, list[Recipe | None]]] = {}
        default_dtype_changed.append(self.known.clear)

    def find(self, operands: tuple[Any, ...], key: Any) -> tuple[Any, Any, list[Recipe | None]]:
        """The entry for operands like these; its launcher is None if only the general way will do."""
        op = self.op
        type = key[0] if isinstance(key, tuple) else key
        compute, kind = op.compute_types(operands)
        found: tuple[Any, Any, list[Recipe | None]] = (None, None, [])
        # The short way records either all operands that need a gradient or none.
        if (op.check_integers is not None and compute.kind in "bi") or (op.rules and not op.differentiable):
            self.known[key] = found
            return found
        # A program over rows reads each operand in its own dtype; what is recorded must have one dtype throughout.
        one = compute is type.dtype and (kind is compute or not op.rules)
        if op.complex_entry is not None and compute.is_complex:
            one = False
        if one or not type.dtype.differentiable:
            program = op.program(operands, self.statics, compute, kind)
            if all(i.name not in self.statics for i in program.arguments):
                result = tensor_type(kind, type.device)
                found = (devices.flat_launcher(program, type), result, [None] * 2 ** len(op.inputs))
        self.known[key] = found
        return found

    def recipe(self, key: Any, needed: int, operands: tuple[Any, ...]) -> Recipe:
        """How to record where the inputs in the bits of ``needed`` need a gradient."""
        op = self.op
        type = key[0] if isinstance(key, tuple) else key
        plan = op.plan(tuple([bool(needed >> n & 1) for n in range(len(op.inputs))]), self.statics)
        node_class = op.node_classes(operands)[1]
        found = self.known[key][2][needed] = Recipe(op, node_class, plan, type, tuple(map(kind_of, operands)))
        return found
