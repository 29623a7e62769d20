"""State of a thread, saved and restored around code that may change it."""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import Any, TypeVar

from .grad_mode import WATCHED, inference_blocks, state

R = TypeVar("R")

copyreg.pickle(type(state), lambda _: "state")  # by its name: functions that are pickled by value may mention it


def thread_state() -> dict[str, Any]:
    """Return a copy of this thread's state, for :func:`switch_back`."""
    return state.__dict__.copy()


def switch_back(before: dict[str, Any]) -> bool:
    """Restore this thread's state after user code may have changed it; return True if it had changed.

    Watchers that belong to no mode are left alone: a profile that begins or ends in a hook stays begun or ended.
    """
    attributes = state.__dict__
    if attributes == before:
        return False
    surplus = state.inference_entered - before.get("inference_entered", 0)
    if surplus > 0:
        del inference_blocks[-surplus:]
    else:
        inference_blocks.extend([None] * -surplus)
    watchers = state.watchers
    attributes.update(before)
    for name in attributes.keys() - before.keys():
        del attributes[name]
    if watchers != state.watchers:
        modes, others = [w for w in state.watchers if w.is_mode], [w for w in watchers if not w.is_mode]
        state.watchers = *modes, *others
        state.mode = state.mode | WATCHED if state.watchers else state.mode & ~WATCHED
    return True


def undisturbed(function: Callable[..., R], *args: Any) -> R:
    """Call a user's function and return its result, undoing any changes that it made to this thread's state."""
    before = thread_state()
    try:
        return function(*args)
    finally:
        switch_back(before)


def guarded(function: Callable[..., R], *args: Any) -> R:
    """Call one of numgrad's functions and return its result; if it raises, restore this thread's state.

    Note [Ctrl-C]
    Python checks for signals when a Python function begins and after each call of C code.  Ctrl-C can therefore
    interrupt the start of ``__exit__``, or of a function called in ``finally``, before it restores anything.  Code that
    enters a state hence does so in its last step, and code that leaves a state does so in its first, with no call in
    between.  A call that restores state is repeated if it raised.
    """
    before = thread_state()
    try:
        return function(*args)
    except BaseException:
        try:
            switch_back(before)
        except BaseException:
            switch_back(before)
            raise
        raise
