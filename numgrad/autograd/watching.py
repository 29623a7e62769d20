"""Watchers: objects called for every operation of one thread, and for every node that backward runs.

A profiler or a debugging aid registers a ``Watcher`` with ``watch`` and removes it with ``unwatch``.  Several can watch
at once, and they can leave in any order.  Without watchers, the bit WATCHED is clear and operations skip the check.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import Any

from .grad_mode import WATCHED, state, watchers_of_new_threads

#: Categories of spans: the engine's turn at a node, from its hooks to the delivery of its gradients; the node's own
#: computation within that turn; a block named by the program.
NODE, RULE, BLOCK = "node", "rule", "block"


class Stop(BaseException):
    """Exception that ends an operation and its callers when their results are not needed.

    It is not an Exception, so a function that catches its own errors does not catch it.
    """


class Watcher:
    """Base class of watchers, called before and after operations and at the start and end of spans.

    Subclasses override the methods that they need.  Calls nest: the operation or span that begins last ends first.
    """

    #: True if the watcher belongs to a mode of the thread; changes made in hooks are undone (see ``switch_back``).
    is_mode = False

    #: True if every operation must be reported; compiled functions then run uncompiled while it watches.
    needs_operations = True

    #: True if the watcher uses the gradients at the end of each RULE.  Nodes then return their gradients, and never add
    #: them to an existing sum directly, which may change the last bits of that sum.
    sees_gradients = True

    def before(self, call: Any) -> Any:
        """Handle the start of an operation, given as a call (see ``calls``).

        The return value is passed to ``after`` or ``failed``.
        """

    def after(self, call: Any, token: Any, result: Any) -> None:
        """Handle the end of the operation, with its result."""

    def failed(self, call: Any, token: Any) -> None:
        """Handle an error raised by the operation, or by a watcher's ``after``, possibly this one's."""

    def begin(self, category: str, subject: Any, value: Any) -> Any:
        """Handle the start of a span: NODE or RULE of a node with its gradient, or BLOCK of a name with a remark.

        The return value is passed to ``end``.
        """

    def end(self, token: Any, result: Any) -> None:
        """Handle the end or failure of a span; ``result`` has the gradients of a successful RULE, else None."""


def watch(watcher: Watcher) -> None:
    """Call the watcher for all operations and spans in this thread from now on."""
    state.watchers = (*state.watchers, watcher)
    state.mode |= WATCHED


def watch_everywhere(watcher: Watcher) -> None:
    """Watch as ``watch`` does, and also in threads that have done nothing yet."""
    watch(watcher)
    watchers_of_new_threads.append(watcher)


def unwatch(watcher: Watcher) -> None:
    """Stop calling the watcher; no effect if it is not watching."""
    if state.watchers and state.watchers[-1] is watcher:  # no function call: see Note [Ctrl-C]
        state.watchers = state.watchers[:-1]
    else:
        state.watchers = tuple([other for other in state.watchers if other is not watcher])
    if not state.watchers:
        state.mode &= ~WATCHED


class span:  # noqa: N801 - a context manager
    """Context manager that reports a span to the watchers; its ``result`` may be set within the block."""

    __slots__ = ("category", "result", "subject", "tokens", "value")

    def __init__(self, category: str, subject: Any, value: Any = None):
        self.category = category
        self.subject = subject
        self.value = value
        self.result: Any = None

    def __enter__(self) -> span:
        self.tokens = [(watcher, watcher.begin(self.category, self.subject, self.value)) for watcher in state.watchers]
        return self

    def __exit__(self, *exception: Any) -> None:
        for watcher, token in reversed(self.tokens):
            watcher.end(token, self.result)


def sees_gradients() -> bool:
    """Return True if a watcher uses the gradients of single nodes."""
    return any(watcher.sees_gradients for watcher in state.watchers)


def reported_walk(walk: Callable[[Iterable[Any]], None], order: Iterable[Any]) -> None:
    """Call ``walk(order)``, reporting the turn of each node to the watchers."""

    def turns() -> Generator[Any]:
        for node in order:
            with span(NODE, node):
                yield node

    with closing(turns()) as nodes:
        walk(nodes)
