"""Calls of operations as values, for whoever does them in another way: levels (see ``levels``), watchers.

Where a bit of TRANSFORMED is set, an operation comes here with its arguments instead of being computed.  Watchers are
told; then the innermost level that an argument concerns does the call.  Where there is none it is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .grad_mode import LEVELS, TRANSFORMED, WATCHED, in_mode, state
from .levels import level_of


class Call:
    """One call of an operation.

    Attributes:
        name: the operation's.
        title: PyTorch's name of it, as profilers show it: ``aten::mul``.
        args: its operands and other arguments, in order.
        target: the tensor that it overwrites, if any.
        closed: whether levels and watchers have nothing to do with what it calls in turn.
    """

    name: str
    args: Sequence[Any]
    target: Any = None
    closed = True

    @property
    def title(self) -> str:
        return f"aten::{self.name}"

    def run(self) -> Any:
        """Do it, as the levels and watchers that are left want it."""
        raise NotImplementedError(f"{type(self).__name__} does not define run")


def transformed(call: Call) -> Any:
    """Do a call as watchers and levels want it."""
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
    if not watchers:  # the last has left while a mode that was to be restored said otherwise
        state.mode &= ~WATCHED
        return _done(call)
    tokens: list[tuple[Any, Any]] = []  # the last watcher first
    try:
        for watcher in watchers:
            tokens.insert(0, (watcher, watcher.before(call)))
        # Watchers have nothing to do with what levels call.
        result = in_mode(state.mode & ~WATCHED, _done, call) if call.closed and state.mode & LEVELS else _done(call)
        for watcher, token in tokens:
            watcher.after(call, token, result)
    except BaseException:
        for watcher, token in tokens:
            watcher.failed(call, token)
        raise
    return result
