"""Operations under ``vmap``: calls on tensors that stand for examples, done once on the physical tensors.

Pointwise operations align the ranks of their operands.  Other entries of the table follow their declaration or their
rule (see Note [Batches of calls] in ``planned``), or run for one example after the other.

Operations on physical tensors are recorded below the level.  Operations on tensors of this level are recorded here, in
the same way as in ``table``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...autograd.function_call import FunctionCall
from ...autograd.grad_mode import GRAD, state
from ...autograd.levels import tensors_in
from ...autograd.views import check_writable, reshaped_in_place, views
from ...tensors.tensor import Tensor, check_in_place
from ..memory.copying import convert
from ..memory.overwriting import OverwriteCall, copy_
from ..shapes.joining import stack_op
from ..shapes.parts import select_op
from ..shapes.views import reshape
from ..table.checks import check
from ..table.dispatch import connect
from ..table.operands import check_target, common_shape, given_of
from ..table.recording import begin, finish
from ..table.transforms import ChangeCall, GeneralCall, PointwiseCall, ShapeCall
from .batches import Batched, below, is_shared, lifted, like_parts, mapped, mapped_to, physical
from .examples import EachCall
from .functions import batched_function
from .physical import aligned, expanded


def _all_lifted(level: Batched, args: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arguments with all tensors lifted to the level."""
    return mapped_to(args, lambda tensor: lifted(level, tensor))


# -- pointwise ------------------------------------------------------------------------------------------------------


def pointwise(call: PointwiseCall, level: Batched) -> Any:
    """Compute a pointwise operation, in place if there is a target."""
    op, attributes, target = call.op, call.attributes, call.target
    operands = list(call.args)
    if target is not None:
        operands[0] = target = _to_overwrite(level, target, operands, "inplace arithmetic")
    operands = list(_all_lifted(level, operands))
    tensors = tensors_in(operands)
    compute, dtype = op.compute_types(given_of(operands))
    shape = common_shape(given_of(tensors))
    if target is not None:
        check_target(target, operands)
    entry, operands = op.entry(operands, attributes, target)
    pending = begin(entry, (*operands, *[attributes[name] for name in entry.details.passed]), target)
    batched = not all(map(is_shared, tensors))
    with below(level):
        values = [aligned(value, len(shape)) if isinstance(value, Tensor) else value for value in operands]
        # 0-d examples have a lower priority in type promotion.
        if batched and op.compute_types(given_of(values)) != (compute, dtype):
            values = [
                convert(value, compute) if isinstance(value, Tensor) and name not in op.conditions else value
                for name, value in zip(op.inputs, values, strict=True)
            ]
            if target is not None:
                values[0] = physical(target)
        done = op.run(values, attributes, None if target is None else values[0])
    if target is None:
        several = done.__class__ is tuple
        out = tuple([mapped(level, tensor, batched) for tensor in done]) if several else mapped(level, done, batched)
    else:
        out = target
        _count(target)
    if pending is not None:
        finish(pending, out, target)
    return out if call.target is None else call.target


def _to_overwrite(level: Batched, target: Tensor, others: Sequence[Any], name: str) -> Tensor:
    """Return the target as a tensor of this level, adopted if the written values require gradients.

    Raises:
        RuntimeError: if all examples share it, and the written values differ.
    """
    if level.concerns(target) and target._mapped.batched:
        return target
    concerned = [other for other in tensors_in(others) if level.concerns(other)]
    check(
        all(not other._mapped.batched for other in concerned),
        "vmap: {}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
        "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over "
        "in a vmap. Please try to use out-of-place operators instead of {}, such as index_put() for an assignment to "
        "x[index], or write to a tensor of which there is one for each example, such as other.new_zeros({}).",
        name, name, target,
    )
    if not level.concerns(target) and state.mode & GRAD and any(other.requires_grad for other in concerned):
        level.adopt(target)
    return lifted(level, target)


def _count(target: Tensor) -> None:
    """Count a change of a mapped tensor, unless it shares the counter with the physical tensor, which has counted."""
    if target._counter is not target._mapped.tensor._counter:
        target._counter[0] += 1


# -- other operations -----------------------------------------------------------------------------------------------


def general(call: GeneralCall, level: Batched) -> Any:
    """Compute an entry of the table."""
    op = call.op
    if op.decomposition is not None:
        return op.decomposition(*call.args)
    args = _all_lifted(level, call.args)
    done, batched = _done(op, level, args)
    out = (
        tuple([mapped(level, tensor, batched) for tensor in done]) if isinstance(done, tuple)
        else mapped(level, done, batched)
    )
    if op.view:
        step = op.step(args[1:], len(out) if isinstance(out, tuple) else None)
        connect(args[0], out, views(args[0], step, state.mode))
    _record(op, args, out)
    return out


def _record(op: Any, args: tuple[Any, ...], out: Any) -> None:
    """Record the result of an operation on tensors of the level, if any of them require gradients."""
    if state.mode & GRAD and any(tensor._requires_grad for tensor in tensors_in(args)):
        entry, operands = op.entry(args)
        pending = begin(entry, operands)
        if pending is not None:
            finish(pending, out)


def _done(op: Any, level: Batched, args: tuple[Any, ...]) -> tuple[Any, bool]:
    """Return the result of an entry for physical tensors, and whether it has a batch dimension."""
    with below(level):
        if all(map(is_shared, tensors_in(args))):
            return op(*mapped_to(args, physical)), False
        if _is_declared(op, args):
            return _declared(op, level, args), True
        done = NotImplemented if op.batch_rule is None else op.batch_rule(*args)
        return (each_example(op, level, args) if done is NotImplemented else done), True


def _is_declared(op: Any, args: tuple[Any, ...]) -> bool:
    """Return True if an entry declares its batches, and the declaration applies to these arguments."""
    if op.dims is None or not all(is_shared(args[op.parameters.index(name)]) for name in op.shared):
        return False
    if op.view or not op.dims or all(tensor._layout.shape for tensor in tensors_in(args)):
        return True
    values = dict(zip(op.parameters, args, strict=False))
    return all(values.get(name) in (None, ()) for name in op.dims)  # a 0-d tensor may have a dimension 0


def _declared(op: Any, level: Batched, args: tuple[Any, ...]) -> Any:
    """Call an entry once, with the batch dimension in front of each input, or merged with the first one."""
    kept = [op.parameters.index(name) for name in op.shared]
    mapped_args = [None if position in kept else value for position, value in enumerate(args)] if kept else args
    values = list(mapped_to(mapped_args, _merged if op.batch else expanded))
    for position in kept:
        values[position] = physical(args[position])
    for name in op.shapes:
        position = op.parameters.index(name)
        shape = values[position]
        values[position] = (level.size * shape[0], *shape[1:]) if op.batch else (level.size, *shape)
    if op.batch:
        first = args[0]._layout.shape[0]
        return mapped_to((op(*values),), lambda out: reshape(out, (level.size, first, *out._layout.shape[1:])))[0]
    for name in op.dims:
        position = op.parameters.index(name)
        dim = values[position]
        values[position] = tuple([d + 1 for d in dim]) if isinstance(dim, tuple) else dim + 1
    return op(*values)


def _merged(tensor: Tensor) -> Tensor:
    """Return the physical tensor with the batch dimension and the first one merged."""
    whole = expanded(tensor)
    size, first, *trailing = whole._layout.shape
    return reshape(whole, (size * first, *trailing))


def _example(args: tuple[Any, ...], number: int) -> tuple[Any, ...]:
    """Return the arguments of one example."""
    return mapped_to(
        args, lambda tensor: physical(tensor) if is_shared(tensor) else select_op(physical(tensor), 0, number)
    )


def each_example(function: Callable[..., Any], level: Batched, args: tuple[Any, ...]) -> Any:
    """Return the results of a function for each example, stacked; to be called below the level."""
    if not level.size:  # zeros determine the shapes
        empty = mapped_to(args, lambda tensor: physical(tensor).new_zeros(tensor._layout.shape))
        return _combined([function(*empty)], lambda rows: rows[0].new_zeros((0, *rows[0]._layout.shape)))
    results = [function(*_example(args, number)) for number in range(level.size)]
    return _combined(results, lambda rows: stack_op(rows, 0))


def each(call: EachCall, level: Batched) -> Any:
    """Call a function for each example, or once if the result is the same for all."""
    names, count = tuple(call.keywords), len(call.positional)
    lifted = _all_lifted(level, call.args)
    shared = level.randomness != "different" if call.draws else all(map(is_shared, tensors_in(lifted)))

    def run(*values: Any) -> Any:
        return call.function(*values[:count], **dict(zip(names, values[count:], strict=True)))

    with below(level):
        done = run(*_example(lifted, 0)) if shared else each_example(run, level, lifted)
    return mapped_to((done,), lambda tensor: mapped(level, tensor, not shared))[0]


def _combined(results: list[Any], join: Callable[[tuple[Tensor, ...]], Tensor]) -> Any:
    if isinstance(results[0], tuple | list):
        return like_parts(results[0], tuple([_combined(list(rows), join) for rows in zip(*results, strict=True)]))
    return join(tuple(results)) if isinstance(results[0], Tensor) else results[0]


# -- in place -------------------------------------------------------------------------------------------------------


def change(call: ChangeCall, level: Batched) -> Tensor:
    """Compute an entry of the table in place."""
    op = call.op
    target = _to_overwrite(level, call.target, call.args[1:], f"aten::{op.name.removesuffix('_op')}_")
    args = _all_lifted(level, (target, *call.args[1:]))
    check_in_place(*[args[position] for position in op.positions if args[position] is not None])
    entry, operands = op.entry(args, True)
    pending = begin(entry, operands, target)
    done, _ = _done(op, level, args)
    with below(level):
        copy_(physical(target), done)
    _count(target)
    if pending is not None:
        finish(pending, target, target)
    return call.target


def overwrite(call: OverwriteCall, level: Batched) -> Tensor:
    """Overwrite a tensor, with another one or with values that have no derivative."""
    unlifted, source = call.target, call.source
    name = "fill_" if call.node.op_name == "Fill" else "inplace arithmetic"
    target = _to_overwrite(level, unlifted, (source,), name)
    source = None if source is None else lifted(level, source)
    edges = call.begin(target, source)
    with below(level):
        if call.draws:
            _draw(call, level, target)
        elif source is None:
            call.on(physical(target))
        else:
            copy_(physical(target), aligned(source, len(target._layout.shape)))
    counted = target._counter is target._mapped.tensor._counter
    call.commit(target, edges)
    if counted:
        target._counter[0] -= 1  # the physical tensor has counted with the same counter
    return unlifted


def _draw(call: OverwriteCall, level: Batched, target: Tensor) -> None:
    """Draw random numbers for each example, or the same for all."""
    whole = physical(target)
    if level.randomness == "different" and not is_shared(target):
        for number in range(level.size):
            call.on(select_op(whole, 0, number))
        return
    drawn = whole.new_zeros(target._layout.shape)
    call.on(drawn)
    copy_(whole, drawn)


def reshape_in_place(call: ShapeCall, level: Batched) -> Tensor:
    """Make a tensor a view of itself in place."""
    op, target = call.op, call.target
    args = tuple(call.args)
    check_writable(target)
    seen = mapped(level, *_done(op, level, args))
    _record(op, args, seen)
    seen._mapped.assign_to(target)
    target._counter[0] += 1
    reshaped_in_place(target, seen._edge and seen._edge[0], (op, args[1:]))
    return target


Batched.performers.update({
    PointwiseCall: pointwise, GeneralCall: general, ChangeCall: change, OverwriteCall: overwrite,
    ShapeCall: reshape_in_place, EachCall: each, FunctionCall: batched_function,
})
