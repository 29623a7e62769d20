"""All that a thread is switched to, kept and put back around code that may leave it changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .grad_mode import WATCHED, inference_blocks, state

R = TypeVar("R")


def thread_state() -> dict[str, Any]:
    """Everything that this thread is switched to, to go back to with :func:`switch_back`."""
    return state.__dict__.copy()


def switch_back(before: dict[str, Any]) -> bool:
    """Undo what a user's code has switched in this thread and left so; returns whether there was anything.

    Watchers that are no modes are left alone: a profile that begins or ends in a hook has begun or ended.
    """
    own = state.__dict__
    if own == before:
        return False
    surplus = state.inference_entered - before.get("inference_entered", 0)
    if surplus > 0:
        del inference_blocks[-surplus:]
    else:
        inference_blocks.extend([None] * -surplus)
    watchers = state.watchers
    own.update(before)
    for name in own.keys() - before.keys():
        del own[name]
    if watchers != state.watchers:
        modes, others = [w for w in state.watchers if w.is_mode], [w for w in watchers if not w.is_mode]
        state.watchers = *modes, *others
        state.mode = state.mode | WATCHED if state.watchers else state.mode & ~WATCHED
    return True


def undisturbed(function: Callable[..., R], *args: Any) -> R:
    """What a function of the user's returns; what it has switched in this thread and left so is undone."""
    before = thread_state()
    try:
        return function(*args)
    finally:
        switch_back(before)


def guarded(function: Callable[..., R], *args: Any) -> R:
    """Return what a function of numgrad's returns; if it raises, this thread is switched to what it was before.

    Note [Ctrl-C]
    Python looks for signals as a function of Python's begins and after each call of C code.  So Ctrl-C may come as
    ``__exit__`` or what a ``finally`` calls begins, before anything is restored there.  What enters a state therefore
    does so in its last step, what leaves it in its first, without a call in between; and a call that restores is made
    again if it has raised.
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
