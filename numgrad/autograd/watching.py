"""Watchers: objects that are called for every operation of one thread, and for every node that backward runs.

A profiler or a debugging aid is a ``Watcher`` that it enters with ``watch`` and takes out with ``unwatch``.  Several
may watch at once, and leave in any order.  While none watches, the bit WATCHED is not set and none is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from .grad_mode import WATCHED, state, watchers_of_new_threads

if TYPE_CHECKING:
    from .node import Node

#: The categories of spans: the engine's turn at a node, from its hooks to the delivery of its gradients; the node's own
#: computation within that; a block that the program has named.
NODE, RULE, BLOCK = "node", "rule", "block"


class Stop(BaseException):
    """Ends an operation, and what called it, whose results nobody needs.

    It is no Exception, so that a function that catches its own errors does not catch this.
    """


class Watcher:
    """Called before and after operations, at the begin and the end of spans; subclasses have the methods they need.

    Calls are nested as a stack: the operation or span that begins last ends first.
    """

    #: Whether it belongs to a mode of the thread, which hooks change for themselves only (see ``switch_back``).
    is_mode = False

    #: Whether it is to hear of each operation: while it watches, compiled functions run as they are.
    hears_operations = True

    def before(self, call: Any) -> Any:
        """An operation, given as a call (see ``calls``), is about to be done.

        Its result is handed to ``after`` or ``failed``.
        """

    def after(self, call: Any, token: Any, result: Any) -> None:
        """It was done, with this result."""

    def failed(self, call: Any, token: Any) -> None:
        """It raised an error, or a watcher did in its ``after``, this one's perhaps included."""

    def begin(self, category: str, subject: Any, given: Any) -> Any:
        """A span begins: NODE and RULE of a node, given the gradient; BLOCK of a name, given a remark or None.

        Its result is handed to ``end``.
        """

    def end(self, token: Any, result: Any) -> None:
        """It ends, also by an error.  A RULE that does not has the gradients that it returned, else it is None."""


def watch(watcher: Watcher) -> None:
    """Call the watcher for all operations and spans in this thread from now on."""
    state.watchers = (*state.watchers, watcher)
    state.mode |= WATCHED


def watch_everywhere(watcher: Watcher) -> None:
    """As ``watch``, also in threads that have done nothing yet."""
    watch(watcher)
    watchers_of_new_threads.append(watcher)


def unwatch(watcher: Watcher) -> None:
    """No longer call the watcher; nothing happens if it does not watch."""
    if state.watchers and state.watchers[-1] is watcher:  # as ever, without a call: see Note [Ctrl-C]
        state.watchers = state.watchers[:-1]
    else:
        state.watchers = tuple([other for other in state.watchers if other is not watcher])
    if not state.watchers:
        state.mode &= ~WATCHED


class span:  # noqa: N801 - a context manager
    """``with span(category, subject, given) as told:`` the watchers are told; ``told.result`` may be set."""

    __slots__ = ("category", "given", "result", "subject", "tokens")

    def __init__(self, category: str, subject: Any, given: Any = None):
        self.category = category
        self.subject = subject
        self.given = given
        self.result: Any = None

    def __enter__(self) -> span:
        self.tokens = [(watcher, watcher.begin(self.category, self.subject, self.given)) for watcher in state.watchers]
        return self

    def __exit__(self, *exception: Any) -> None:
        for watcher, token in reversed(self.tokens):
            watcher.end(token, self.result)


def apply_told(node: Node, gradient: Any) -> Any:
    """``node.apply(gradient)``, of which the watchers are told."""
    with span(RULE, node, gradient) as told:
        told.result = node.apply(gradient)
    return told.result


def walk_told(walk: Callable[[Iterable[Node]], None], order: Iterable[Node]) -> None:
    """``walk(order)``, the watchers being told of the turn of each node."""

    def turns() -> Generator[Node]:
        for node in order:
            with span(NODE, node):
                yield node

    with closing(turns()) as nodes:
        walk(nodes)
