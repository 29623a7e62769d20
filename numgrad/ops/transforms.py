"""Calls of operations as values, for whoever does them in another way: levels (see ``autograd/levels.py``), watchers.

Where a bit of TRANSFORMED is set, an operation comes here with its arguments instead of being computed.  Watchers are
told; then the innermost level that an argument concerns does the call.  Where there is none it is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .._tensor import Tensor
from ..autograd.grad_mode import TRANSFORMED, WATCHED, state
from ..autograd.levels import Level, level_of

if TYPE_CHECKING:
    from .elementwise import Pointwise
    from .table import _Operation

__all__ = ["Call", "ChangeCall", "GeneralCall", "OverwriteCall", "PointwiseCall", "ShapeCall", "Watcher", "transformed"]


class Watcher(Protocol):
    """Who wants to know of operations; ``state.watchers`` has them, and the bit WATCHED is set."""

    def before(self, call: Call) -> Any:
        """The call is about to be done.  What is returned is handed to ``after``."""

    def after(self, call: Call, token: Any, result: Any) -> None:
        """It was done, with this result."""


class Call:
    """One call of an operation.

    Attributes:
        name: the operation's.
        args: its operands and other arguments, in order.
        target: the tensor that it overwrites, if any.
        closed: whether levels and watchers have nothing to do with what it calls in turn.
    """

    name: str
    args: Sequence[Any]
    target: Tensor | None = None
    closed = True

    def run(self) -> Any:
        """Do it, as the levels and watchers that are left want it."""
        raise NotImplementedError(f"{type(self).__name__} does not define run")

    def with_tangents(self, level: Level) -> Any:
        """Do it, and give the results their tangents at a level of forward mode."""
        raise NotImplementedError(f"{type(self).__name__} does not define with_tangents")


class PointwiseCall(Call):
    """A pointwise operation on operands, in place if there is a target, which is the first of them."""

    def __init__(
        self, op: Pointwise, operands: Sequence[Any], statics: Mapping[str, Any], target: Tensor | None = None
    ):
        self.op = op
        self.name = op.name
        self.args = operands
        self.statics = statics
        self.target = target

    def run(self) -> Any:
        return self.op.run(self.args, self.statics, self.target)

    def with_tangents(self, level: Level) -> Any:
        from . import forward

        return forward.pointwise(self, level)


class GeneralCall(Call):
    """Any other operation of the table."""

    def __init__(self, op: _Operation, args: tuple[Any, ...]):
        self.op = op
        self.name = op.name
        self.args = args

    def run(self) -> Any:
        return self.op(*self.args)

    def with_tangents(self, level: Level) -> Any:
        from . import forward

        return forward.general(self, level)


class ChangeCall(Call):
    """An operation of the table done in place by ``change``, on the first of its arguments."""

    def __init__(self, op: _Operation, change: Callable[..., None], args: tuple[Any, ...]):
        self.op = op
        self.name = op.name
        self.change = change
        self.args = args
        self.target = args[0]

    def run(self) -> Any:
        from .indexing.updating import in_place

        return in_place(self.op, self.change, *self.args)

    def with_tangents(self, level: Level) -> Any:
        from . import forward

        return forward.change(self, level)


class OverwriteCall(Call):
    """A tensor is overwritten with another, or (None) with what has no derivative."""

    def __init__(self, name: str, overwrite: Callable[[], Tensor], target: Tensor, source: Tensor | None = None):
        self.name = name
        self.overwrite = overwrite
        self.target = target
        self.source = source
        self.args = (target,) if source is None else (target, source)

    def run(self) -> Any:
        return self.overwrite()

    def with_tangents(self, level: Level) -> Any:
        from . import forward

        return forward.overwrite(self, level)


class ShapeCall(Call):
    """A tensor takes on the shape of a view of itself."""

    def __init__(self, op: _Operation, change: Callable[..., Tensor], args: tuple[Any, ...]):
        self.op = op
        self.name = op.name + "_"
        self.change = change
        self.args = args
        self.target = args[0]

    def run(self) -> Any:
        return self.change(*self.args)

    def with_tangents(self, level: Level) -> Any:
        from . import forward

        return forward.reshape(self, level)


def transformed(call: Call) -> Any:
    """Do a call as watchers and levels want it."""
    mode = state.mode
    if mode & WATCHED:
        return _watched(call)
    return _done(call)


def _done(call: Call) -> Any:
    mode = state.mode
    level = level_of(call.args)
    if level is not None:
        return level.perform(call)
    if not call.closed:
        return call.run()
    state.mode = mode & ~TRANSFORMED
    try:
        return call.run()
    finally:
        state.mode = mode


def _watched(call: Call) -> Any:
    mode, watchers = state.mode, state.watchers
    tokens = [watcher.before(call) for watcher in watchers]
    if call.closed:
        state.mode = mode & ~WATCHED
    try:
        result = _done(call)
    finally:
        state.mode = mode
    for watcher, token in zip(watchers, tokens, strict=True):
        watcher.after(call, token, result)
    return result
