"""Operations under ``vmap``: calls on tensors that stand for examples, done on the physical tensors with all of them.

A pointwise operation is done with the ranks aligned.  An entry of the table that says which of its parameters are
dimensions and which are shapes (``planned(dims=, shapes=)``) is called with these shifted by the batch dimension;
others have a rule in the modules beside this one.  What has neither is done for one example after the other.

What the physical tensors are in is recorded there, below the level; what the tensors of this level are in is recorded
here, as ``table`` and ``elementwise`` do it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor import Tensor, check_in_place
from ...autograd.grad_mode import GRAD, state
from ...autograd.levels import tensors_in
from ...autograd.views import check_writable, reshaped_in_place, views
from ..batches import Batched, below, expanded, lifted, mapped, take_on
from ..copying import convert
from ..dispatch import connect
from ..operands import check_target, common_shape, given_of
from ..overwriting import OverwriteCall, copy_
from ..recording import begin, finish
from ..shapes.joining import stack_op
from ..shapes.parts import select_op
from ..shapes.views import reshape
from ..transforms import ChangeCall, GeneralCall, PointwiseCall, ShapeCall

__all__ = [
    "aligned", "change", "decomposed", "each_example", "general", "is_shared", "mapped_to", "overwrite", "physical",
    "pointwise", "reshape_in_place", "rule", "size_of",
]

#: How an entry is done on physical tensors, where that takes more than shifting dimensions and shapes: called below
#: the level with the arguments, tensors being those of the level, it returns physical tensors.
_RULES: dict[Any, Callable[..., Any]] = {}

#: Entries that are done as several other operations, which are batched and recorded themselves.
_DECOMPOSED: dict[Any, Callable[..., Any]] = {}


def rule(*ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate the rule for entries of the table."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _RULES.update(dict.fromkeys(ops, function))
        return function

    return register


def decomposed(*ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate what does the same as an entry, by other operations."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _DECOMPOSED.update(dict.fromkeys(ops, function))
        return function

    return register


# -- physical tensors -----------------------------------------------------------------------------------------------


def is_shared(tensor: Any) -> bool:
    """Whether a tensor of the level, or None, is the same for all examples."""
    return tensor is None or not tensor._mapped.batched


def size_of(tensor: Any) -> int:
    """The number of examples."""
    return tensor._mapped.level.size


def physical(tensor: Any) -> Any:
    """The physical tensor, with or without a batch dimension; None for None."""
    return None if tensor is None else tensor._mapped.tensor


def aligned(tensor: Tensor, rank: int) -> Tensor:
    """The physical tensor with dimensions of size 1 put in, so that its examples broadcast to ``rank`` dimensions."""
    own = tensor._mapped
    missing = rank - len(tensor._layout.shape)
    if not own.batched or missing <= 0:
        return own.tensor
    return reshape(own.tensor, (own.level.size, *(1,) * missing, *tensor._layout.shape))


def _all_lifted(level: Batched, args: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments with all tensors as those of the level."""
    return tuple([
        lifted(level, value) if isinstance(value, Tensor)
        else _all_lifted(level, value) if isinstance(value, tuple) and any(isinstance(v, Tensor) for v in value)
        else value
        for value in args
    ])


def mapped_to(args: Sequence[Any], function: Callable[[Tensor], Any]) -> tuple[Any, ...]:
    """The arguments with ``function`` of each tensor in its place."""
    return tuple([
        function(value) if isinstance(value, Tensor)
        else _like(value, mapped_to(value, function)) if isinstance(value, tuple | list)
        else value
        for value in args
    ])


def _like(given: Any, parts: tuple[Any, ...]) -> Any:
    """The parts as a list, tuple or named tuple such as was given."""
    kind = given.__class__
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


# -- pointwise ------------------------------------------------------------------------------------------------------


def pointwise(call: PointwiseCall, level: Batched) -> Tensor:
    """A pointwise operation, in place if there is a target."""
    op, statics, target = call.op, call.statics, call.target
    operands = list(call.args)
    if target is not None:
        _check_room(level, target, operands, "inplace arithmetic")
        target = _own(level, target, operands)
        operands[0] = target
    operands = list(_all_lifted(level, operands))
    tensors = tensors_in(operands)
    compute, kind = op.compute_types(given_of(operands))
    shape = common_shape(given_of(tensors))
    if target is not None:
        check_target(target, operands)
    entry, operands = op.entry(operands, statics, target)
    pending = begin(entry, (*operands, *[statics[name] for name in entry.details.passed]), target)
    batched = not all(map(is_shared, tensors))
    with below(level):
        values = [aligned(value, len(shape)) if isinstance(value, Tensor) else value for value in operands]
        # Examples without dimensions count for less.
        if batched and op.compute_types(given_of(values)) != (compute, kind):
            values = [
                convert(value, compute) if isinstance(value, Tensor) and name not in op.conditions else value
                for name, value in zip(op.inputs, values, strict=True)
            ]
            if target is not None:
                values[0] = physical(target)
        done = op.run(values, statics, None if target is None else values[0])
    if target is None:
        out = mapped(level, done, batched)
    else:
        out = target
        _count(target)
    if pending is not None:
        finish(pending, out, target)
    return out if call.target is None else call.target


def _check_room(level: Batched, target: Tensor, others: Sequence[Any], name: str) -> None:
    """Raise if a tensor that all examples have in common would be overwritten with what differs.

    Raises:
        RuntimeError: it would.
    """
    if level.concerns(target) and target._mapped.batched:
        return
    if any(level.concerns(other) and other._mapped.batched for other in tensors_in(others)):
        raise RuntimeError(
            f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that "
            "has more elements than `self`. This happened due to `other` being vmapped over but `self` not being "
            f"vmapped over in a vmap. Please try to use out-of-place operators instead of {name}. If said operator is "
            "being called inside the PyTorch framework, please file a bug report instead."
        )


def _own(level: Batched, target: Tensor, others: Sequence[Any]) -> Tensor:
    """A tensor to overwrite as one of this level, recorded as such if what is written is."""
    if level.concerns(target):
        return target
    if state.mode & GRAD and any(level.concerns(other) and other.requires_grad for other in tensors_in(others)):
        level.adopt(target)
        return target
    return lifted(level, target)


def _count(target: Tensor) -> None:
    """Count a change of what a tensor stands for, unless the physical tensor has done that for it."""
    if target._counter is not target._mapped.tensor._counter:
        target._counter[0] += 1


# -- other operations -----------------------------------------------------------------------------------------------


def general(call: GeneralCall, level: Batched) -> Any:
    """An entry of the table."""
    op = call.op
    instead = _DECOMPOSED.get(op)
    if instead is not None:
        return instead(*call.args)
    args = _all_lifted(level, call.args)
    done, batched = _done(op, level, args)
    out = (
        tuple([mapped(level, one, batched) for one in done]) if isinstance(done, tuple)
        else mapped(level, done, batched)
    )
    if op.view:
        step = op.step(args[1:], len(out) if isinstance(out, tuple) else None)
        connect(args[0], out, views(args[0], step, state.mode))
    _record(op, args, out)
    return out


def _record(op: Any, args: tuple[Any, ...], out: Any) -> None:
    """Record what has been made of tensors of the level, where they require gradients."""
    if state.mode & GRAD and any(tensor._requires_grad for tensor in tensors_in(args)):
        entry, operands = op.entry(args)
        pending = begin(entry, operands)
        if pending is not None:
            finish(pending, out)


def _done(op: Any, level: Batched, args: tuple[Any, ...]) -> tuple[Any, bool]:
    """What an entry gives for physical tensors, and whether that has a batch dimension."""
    with below(level):
        if all(map(is_shared, tensors_in(args))):
            return op(*mapped_to(args, physical)), False
        own = _RULES.get(op)
        if own is not None:
            return own(*args), True
        if _may_shift(op, args):
            return _shifted(op, level, args), True
        return each_example(op, level, args), True


def _may_shift(op: Any, args: tuple[Any, ...]) -> bool:
    """Whether an entry has said how to do it, and that holds for these arguments."""
    if op.dims is None:
        return False
    if op.view or not op.dims or all(tensor._layout.shape for tensor in tensors_in(args)):
        return True
    values = dict(zip(op.parameters, args, strict=False))  # tensors without dimensions may have a dimension 0
    return all(values.get(name) in (None, ()) for name in op.dims)


def _shifted(op: Any, level: Batched, args: tuple[Any, ...]) -> Any:
    """An entry with its dimensions and shapes shifted by the batch dimension."""
    values = list(mapped_to(args, expanded))
    for name in op.dims:
        place = op.parameters.index(name)
        dim = values[place]
        values[place] = tuple([d + 1 for d in dim]) if isinstance(dim, tuple) else dim + 1
    for name in op.shapes:
        place = op.parameters.index(name)
        values[place] = (level.size, *values[place])
    return op(*values)


def each_example(function: Callable[..., Any], level: Batched, args: tuple[Any, ...]) -> Any:
    """What a function gives for each example, stacked.  To be called below the level."""

    def example(number: int) -> tuple[Any, ...]:
        return mapped_to(
            args, lambda tensor: physical(tensor) if is_shared(tensor) else select_op(physical(tensor), 0, number)
        )

    if not level.size:  # the shapes are those that zeros give
        empty = mapped_to(args, lambda tensor: physical(tensor).new_zeros(tensor._layout.shape))
        return _combined([function(*empty)], lambda rows: rows[0].new_zeros((0, *rows[0]._layout.shape)))
    return _combined([function(*example(number)) for number in range(level.size)], lambda rows: stack_op(rows, 0))


def _combined(results: list[Any], join: Callable[[tuple[Tensor, ...]], Tensor]) -> Any:
    if isinstance(results[0], tuple | list):
        return _like(results[0], tuple([_combined(list(rows), join) for rows in zip(*results, strict=True)]))
    return join(tuple(results)) if isinstance(results[0], Tensor) else results[0]


# -- in place -------------------------------------------------------------------------------------------------------


def change(call: ChangeCall, level: Batched) -> Tensor:
    """An entry of the table in place."""
    op = call.op
    assert call.target is not None
    _check_room(level, call.target, call.args[1:], f"aten::{op.name.removesuffix('_op')}_")
    target = _own(level, call.target, call.args)
    args = _all_lifted(level, (target, *call.args[1:]))
    check_in_place(*[args[place] for place in op.positions if args[place] is not None])
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
    """Overwriting, with another tensor or with what has no derivative."""
    given, source = call.target, call.source
    assert given is not None
    _check_room(level, given, (source,), "fill_" if call.node.__name__.startswith("Fill") else "inplace arithmetic")
    target = _own(level, given, (source,))
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
        target._counter[0] -= 1  # the physical tensor, which has the same counter, has counted
    return given


def _draw(call: OverwriteCall, level: Batched, target: Tensor) -> None:
    """Random numbers for each example, or for all the same."""
    own = physical(target)
    if level.randomness == "different" and not is_shared(target):
        for number in range(level.size):
            call.on(select_op(own, 0, number))
        return
    drawn = own.new_zeros(target._layout.shape)
    call.on(drawn)
    copy_(own, drawn)


def reshape_in_place(call: ShapeCall, level: Batched) -> Tensor:
    """A view in place."""
    op, target = call.op, call.target
    assert target is not None
    args = tuple(call.args)
    check_writable(target)
    seen = mapped(level, *_done(op, level, args))
    _record(op, args, seen)
    take_on(target, seen._mapped)
    target._counter[0] += 1
    reshaped_in_place(target, seen._edge and seen._edge[0], (op, args[1:]))
    return target

