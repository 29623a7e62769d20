"""Operation calls as objects, for levels (see ``levels``) and watchers.

If a bit of TRANSFORMED is set, an operation passes its arguments here instead of computing its result.  Watchers are
notified.  Then the innermost level that an argument concerns performs the call; without such a level, it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .grad_mode import LEVELS, TRANSFORMED, WATCHED, in_mode, state
from .levels import level_of


class Call:
    """One call of an operation.

    Attributes:
        name: the name of the operation.
        title: PyTorch's name of it, as shown by profilers: ``aten::mul``.
        args: the operands and other arguments, in order.
        target: the tensor that the operation overwrites, if any.
        closed: True if levels and watchers ignore the operations that it calls in turn.
    """

    name: str
    args: Sequence[Any]
    target: Any = None
    closed = True

    @property
    def title(self) -> str:
        return f"aten::{self.name}"

    def run(self) -> Any:
        """Run the operation at the remaining levels and watchers."""
        raise NotImplementedError(f"{type(self).__name__} does not define run")


def transformed(call: Call) -> Any:
    """Perform a call through watchers and levels."""
    mode = state.mode
    if mode & WATCHED:
        return _watched(call)
    return _done(call)


def _done(call: Call) -> Any:
    mode = state.mode
    level = level_of(call.args) if mode & LEVELS else None
    if level is not None:
        return level.perform(call)
    if not call.closed:
        return call.run()
    return in_mode(mode & ~TRANSFORMED, call.run)


def _watched(call: Call) -> Any:
    watchers = state.watchers
    if not watchers:  # the last watcher left, but restoring an earlier mode set the bit again
        state.mode &= ~WATCHED
        return _done(call)
    tokens: list[tuple[Any, Any]] = []  # last watcher first
    try:
        for watcher in watchers:
            tokens.insert(0, (watcher, watcher.before(call)))
        # Watchers do not see operations called by levels.
        result = in_mode(state.mode & ~WATCHED, _done, call) if call.closed and state.mode & LEVELS else _done(call)
        for watcher, token in tokens:
            watcher.after(call, token, result)
    except BaseException:
        for watcher, token in tokens:
            watcher.failed(call, token)
        raise
    return result
