"""Forward mode: the tangents of operations' results, from the rules that the table has for backward.

A rule is linear in the gradient, and the transpose of the rule maps the inputs' tangents to the result's tangent.  For
a pointwise operation on real numbers, whose Jacobian is diagonal, the transpose is the rule itself.  A linear operation
is its own tangent.  Any other rule is transposed by differentiating it: with ``v = rule(u)``, the derivative of ``v``
with respect to ``u`` in the direction of the tangent (Townsend, "A new trick for calculating Jacobian vector products",
2017).

All computation here is outside of the level whose tangents it computes, and is recorded if recording is on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.backward import grad
from ..autograd.function_call import FunctionCall
from ..autograd.grad_mode import GRAD, recording_apart, state
from ..autograd.levels import Level, Tangents, outside, set_tangent, tangent_of, with_duals
from ..core.layout import broadcast_shapes, outgrown, overlaps_itself
from ..core.types import TensorType, tensor_type
from ..tensors.tensor import Tensor, strided
from .batching.batches import cut, is_batched, is_mapped, zeros_with
from .memory.copying import clone_op, convert, filled_of
from .memory.overwriting import OverwriteCall, copy_, zero_
from .pointwise.arithmetic import add
from .pointwise.complexes import real
from .shapes.broadcasting import expand_op
from .table.elementwise_backward import as_gradient
from .table.op import Rule, parameters
from .table.operands import given_of
from .table.recording import OUTPUT
from .table.transforms import ChangeCall, GeneralCall, PointwiseCall, ShapeCall

#: Shape and type of an output, and the output itself if it exists.
Output = tuple[tuple[int, ...], TensorType, Tensor | None]


def _tangents(values: Sequence[Any], level: Level) -> list[Any]:
    """Return the tangents of tensors among the values and None for other values; nested for tuples and lists."""
    return [
        tangent_of(value, level) if isinstance(value, Tensor)
        else _tangents(value, level) if isinstance(value, tuple | list)
        else None
        for value in values
    ]


# -- pointwise --------------------------------------------------------------------------------------------------


def pointwise(call: PointwiseCall, level: Level) -> Any:
    """Compute a pointwise operation and its tangent, or those of several outputs."""
    tangents = _tangents(call.args, level)
    with outside(level) as around:
        if call.target is None:
            out = around.run(with_duals, call.run)
            outs = _as_tuple(out)
            layout = outs[0]._layout
            computed = _pointwise_tangents(call, tangents, layout.shape, layout.type, outs[0])
            for output, tangent in zip(outs, computed, strict=True):
                if tangent is not None:
                    set_tangent(output, level, laid_out_as(output, tangent))
            return out
        target, layout = call.target, call.target._layout
        shape = broadcast_shapes(*[value._layout.shape for value in call.args if isinstance(value, Tensor)])
        if shape != layout.shape:
            raise outgrown(layout.shape, shape)
        args, tangents = _unchanged(call.args, tangents, target)
        before = PointwiseCall(call.op, args, call.attributes)
        result = before.run() if "out" in call.op.saveable() else None
        (tangent,) = _pointwise_tangents(before, tangents, layout.shape, layout.type, result)
        around.run(with_duals, call.run)
        _overwrite_tangent(target, level, tangent)
    return target


def _pointwise_tangents(
    call: PointwiseCall, tangents: list[Any], shape: tuple[int, ...], type: TensorType, out: Tensor | None
) -> list[Tensor | None]:
    """Return the tangent of each output, None for those that have none; ``out`` is the first output."""
    op = call.op
    if not op.derived:
        return [_pointwise_tangent(call, tangents, shape, type, out)]
    used = [None if name in op.nondifferentiable else t for name, t in zip(op.inputs, tangents, strict=True)]
    if not type.dtype.differentiable or all(tangent is None for tangent in used):
        return [None] * len(op.outputs)
    computed = op.tangents(call.args, used, call.attributes)
    return [_unshared(_fitted(tangent, shape, type), tangents) for tangent in computed]


def _pointwise_tangent(
    call: PointwiseCall, tangents: list[Any], shape: tuple[int, ...], type: TensorType, out: Tensor | None
) -> Tensor | None:
    op = call.op
    rules = [
        (op.rule(name), tangent)
        for name, tangent in zip(op.inputs, tangents, strict=True)
        if tangent is not None and name not in op.nondifferentiable and type.dtype.differentiable
    ]
    if not rules:
        return None
    compute = tensor_type(op.compute_types(given_of(call.args))[0], type.device)
    values = {**call.attributes, "out": out}
    values.update({n: _as_operand(op, n, value, compute) for n, value in zip(op.inputs, call.args, strict=True)})

    def of_rule(rule: Rule, gradient: Tensor) -> Any:
        return as_gradient(rule(*[gradient if name == "grad" else values[name] for name in parameters(rule)]), gradient)

    if compute.dtype.is_complex:  # rules may treat real and imaginary part differently
        output: Output = (shape, type, out)
        return _transposed(lambda grads: [(of_rule(rule, grads[0]), t) for rule, t in rules], [output], tangents)[0]
    terms = [of_rule(rule, tangent) for rule, tangent in rules]
    return _unshared(_fitted(functools.reduce(add, terms), shape, type), tangents)


def _as_operand(op: Any, name: str, value: Any, compute: TensorType) -> Any:
    """Return an operand in the form that rules take: a number as a tensor, complex if the computation is."""
    if not isinstance(value, Tensor):
        return filled_of((), value, compute)
    return convert(value, compute.dtype) if compute.dtype.is_complex and name not in op.conditions else value


def _fitted(tangent: Tensor, shape: tuple[int, ...], type: TensorType) -> Tensor:
    """Return a tangent in this shape and dtype."""
    if tangent._layout.type.dtype.is_complex and not type.dtype.is_complex:
        tangent = real(tangent)
    tangent = convert(tangent, type.dtype)
    return tangent if tangent._layout.shape == shape else expand_op(tangent, shape)


def _unshared(tangent: Tensor, others: Sequence[Any]) -> Tensor:
    """Return the tangent on memory of its own, since an in-place change must not change another tensor."""
    if tangent._view is not None or any(tangent is other for other in others):
        return clone_op(tangent)
    return tangent


# -- other operations -------------------------------------------------------------------------------------------


def general(call: GeneralCall, level: Level) -> Any:
    """Compute an operation of the table and its tangents."""
    op, args = call.op, call.args
    tangents = _tangents(args, level)
    with outside(level) as around:
        out = around.run(with_duals, call.run)
        outs = _as_tuple(out)
        if not any(output._layout.type.dtype.differentiable for output in outs):
            return out
        if op.view:
            results: Sequence[Any] = _as_tuple(op(tangents[0], *args[1:]))
        elif not any(tangent._layout.size for tangent in _flat(tangents)):  # a mean would divide by their number, 0
            results = [_zero(o._layout) for o in outs[: op.graded]]
        elif op.linear:
            results = _as_tuple(_by_linearity(op, args, tangents))
        else:
            results = _transposed_general(op, args, tangents, [(o._layout.shape, o._layout.type, o) for o in outs])
        for output, tangent in zip(outs[: op.graded], results, strict=True):
            if tangent is not None:
                set_tangent(output, level, tangent if op.view else laid_out_as(output, tangent))
    return out


def _zero(layout: Any) -> Tensor | None:
    """Return the tangent of an output that depends on no element, None if the output has no derivative."""
    return filled_of(layout.shape, 0, layout.type) if layout.type.dtype.differentiable else None


def _as_tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def _by_linearity(op: Any, args: Sequence[Any], tangents: list[Any]) -> Any:
    """Return the tangents of an operation that is linear in each of its inputs."""
    if op.sequence:
        pairs = zip(args[0], tangents[0], strict=True)
        filled = [filled_of(x._layout.shape, 0, x._layout.type) if t is None else t for x, t in pairs]
        return op(tuple(filled), *args[1:])
    terms = [
        op(*args[:position], tangents[position], *args[position + 1 :])
        for position in op.positions if tangents[position] is not None
    ]
    return functools.reduce(add, terms) if terms else None


def _transposed_general(op: Any, args: Sequence[Any], tangents: list[Any], outputs: Sequence[Output]) -> list[Any]:
    """Return the tangents of the outputs of an operation that is not pointwise."""
    return _transposed(
        lambda cotangents: _gradients(op, args, tangents, outputs, cotangents), outputs[: op.graded], _flat(tangents)
    )


def _flat(tangents: list[Any]) -> list[Tensor]:
    """Return the existing tangents as a flat list."""
    return [
        t
        for tangent in tangents if tangent is not None
        for t in (_flat(tangent) if isinstance(tangent, list) else (tangent,))
    ]


def _transposed(
    gradients_of: Callable[[list[Tensor]], list[tuple[Any, Any]]], outputs: Sequence[Output], tangents: Sequence[Any]
) -> list[Any]:
    """Return the tangents of an operation's outputs, None for outputs that have no derivative.

    ``gradients_of`` maps the gradients of the outputs to a pair for each input: the gradient by its rule, and the
    tangent.
    """
    differentiable = [n for n, (_, type, _) in enumerate(outputs) if type.dtype.differentiable]
    results: list[Any] = [None] * len(outputs)
    if not differentiable:
        return results
    with recording_apart() as recorded:
        cotangents = [_variable(*outputs[n][:2]) for n in differentiable]
        pairs = [
            (gradient, _fitted(tangent, gradient._layout.shape, gradient._layout.type))
            for gradient, tangent in gradients_of(cotangents)
            if gradient is not None and tangent is not None and gradient.requires_grad
        ]
        if not pairs:
            return results
        gradients, directions = zip(*pairs, strict=True)
        derivatives = grad(gradients, cotangents, directions, create_graph=recorded, allow_unused=True)
    for n, tangent in zip(differentiable, derivatives, strict=True):
        if tangent is not None:
            results[n] = _unshared(_fitted(tangent, *outputs[n][:2]), tangents)
    return results


def _variable(shape: tuple[int, ...], type: TensorType) -> Tensor:
    """Return zeros that require a gradient: since the rule is linear, any value will do."""
    variable = cut(filled_of(shape, 0, type))
    variable._requires_grad = True
    return variable


def _gradients(
    op: Any, args: Sequence[Any], tangents: list[Any], outputs: Sequence[Output], cotangents: list[Tensor]
) -> list[tuple[Any, Any]]:
    """Return, for each input with a tangent, its gradient, computed from the cotangents, and that tangent."""
    entry, operands = op.entry(args)
    by_input = tangents[0] if op.sequence else [tangents[position] for position in op.positions]
    needed = 1 if op.sequence else sum([1 << n for n, tangent in enumerate(by_input) if tangent is not None])
    plan = entry.backward_plan(needed)
    saved = [operands[source] if source >= 0 else outputs[OUTPUT - source][2] for source in plan.sources]
    gradients = plan.gradients(cotangents if len(cotangents) > 1 else cotangents[0], saved)
    return [pair for pair in zip(gradients[0] if op.joint else gradients, by_input, strict=True) if pair[1] is not None]


def laid_out_as(tensor: Tensor, tangent: Tensor) -> Tensor:
    """Return the tangent with the offset and the memory size of its tensor, so that the same views exist of both.

    The tangent of a batched tensor is batched, too, since values that differ among the examples may overwrite it.
    """
    shape, strides = tensor._layout.shape, tensor._layout.strides
    same = _lies_like(tangent, tensor) and _extent(tangent) == _extent(tensor)
    has_room = is_batched(tangent) or not is_batched(tensor)
    if (same and has_room) or overlaps_itself(shape, strides):
        return tangent
    if is_mapped(tensor) or is_mapped(tangent):
        return copy_(zeros_with((tensor, tangent), shape, tangent._layout.type, strides), tangent)
    type = tangent._layout.type
    storage = type.backend.zeros((len(tensor._storage),), type)
    laid_out = strided(storage, shape, strides, tensor._offset, type)
    return copy_(laid_out, tangent)


def _lies_like(tensor: Tensor, other: Tensor) -> bool:
    """Return True if two tensors have the same strides and offset."""
    return tensor._layout.strides == other._layout.strides and tensor._offset == other._offset


def _extent(tensor: Tensor) -> int:
    """Return the number of elements of a tensor's memory; per example if the tensor is mapped."""
    if not is_mapped(tensor):
        return len(tensor._storage)
    mapping = tensor._mapped
    return _extent(mapping.tensor) // (max(mapping.level.size, 1) if mapping.batched else 1)


# -- changes in place -------------------------------------------------------------------------------------------


def change(call: ChangeCall, level: Level) -> Tensor:
    """Compute an operation of the table in place, and the tangent of its target."""
    op, target = call.op, call.target
    tangents = _tangents(call.args, level)
    with outside(level) as around:
        args, tangents = _unchanged(call.args, tangents, target)
        result = op(*args) if "out" in op.saveable() else None
        (tangent,) = _transposed_general(op, args, tangents, [(target._layout.shape, target._layout.type, result)])
        around.run(with_duals, call.run)
        _overwrite_tangent(target, level, tangent)
    return target


def _unchanged(args: Sequence[Any], tangents: list[Any], target: Tensor) -> tuple[Sequence[Any], list[Any]]:
    """Return arguments and tangents, with copies of overwritten ones, because recorded calls may save them."""
    if not state.mode & GRAD:
        return args, tangents
    copy = clone_op(target)
    written = [value is target for value in args]
    return (
        tuple([copy if is_target else value for value, is_target in zip(args, written, strict=True)]),
        [clone_op(t) if is_target and t is not None else t for t, is_target in zip(tangents, written, strict=True)],
    )


def overwrite(call: OverwriteCall, level: Level) -> Tensor:
    """Overwrite a tensor with another one; its tangent becomes that of the source."""
    target, source = call.target, call.source
    tangent = None if source is None or not target._layout.type.dtype.differentiable else tangent_of(source, level)
    with outside(level) as around:
        around.run(with_duals, call.run)
        if tangent is not None:
            tangent = _unshared(_fitted(tangent, target._layout.shape, target._layout.type), [tangent])
        _overwrite_tangent(target, level, tangent)
    return target


def reshape(call: ShapeCall, level: Level) -> Tensor:
    """Make a tensor a view of itself in place; its tangent becomes the same view of itself."""
    target = call.target
    tangent = tangent_of(target, level)
    with outside(level) as around:
        around.run(with_duals, call.run)
        set_tangent(target, level, call.op(tangent, *call.args[1:]))
    return target


def _overwrite_tangent(target: Tensor, level: Level, tangent: Tensor | None) -> None:
    """Set the new tangent of a changed tensor; None stands for a value without a derivative."""
    if tangent is not None:
        write_tangent(target, level, tangent)
        return
    present = tangent_of(target, level)
    if present is not None:
        zero_(present)


def write_tangent(target: Tensor, level: Level, tangent: Tensor) -> None:
    """Overwrite the tangent of a tensor, or set it if there is none.

    The tangent of a view shares memory with its base's tangent, which is made if there is none.
    """
    present = tangent_of(target, level)
    if present is None:
        view = target._view
        if view is None or view.hides_tangent():
            set_tangent(target, level, laid_out_as(target, tangent))
            return
        base, layout = target._root, target._root._layout
        whole = laid_out_as(base, zeros_with((base, tangent), layout.shape, layout.type, layout.strides))
        set_tangent(base, level, whole)
        if target._layout.type is layout.type and target._layout.shape == layout.shape and _lies_like(target, base):
            set_tangent(target, level, whole)
        present = tangent_of(target, level)
    copy_(present, tangent)


Tangents.performers.update({
    PointwiseCall: pointwise, GeneralCall: general, ChangeCall: change, OverwriteCall: overwrite, ShapeCall: reshape,
    FunctionCall: FunctionCall.with_tangents,
})
