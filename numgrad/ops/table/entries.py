"""What calls of operations come to, remembered: see Note [A call is a lookup] in ``dispatch``."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from ...autograd.views import views
from ...core.deterministic import deterministic_changed
from ...core.tensor import Tensor
from ...core.types import default_dtype_changed
from ...devices import Plan
from .ahead import tell

if TYPE_CHECKING:
    from .recording import Recipe


class Entry:
    """What a call comes to, for operands of certain layouts and certain other arguments.

    Attributes:
        op: the operation of the table that does it.
        launch: ``launch(*operands)`` runs what there is to run and returns the memory of the result; of an operation
            in place ``launch(*operands, target)`` overwrites the target.  None for a view, unless it is in another
            dtype: then ``launch(tensor)`` returns the tensor's memory in that, and where the view begins.
        delta: by how many elements a view begins later than the tensor; if the tensor is followed by numbers, for each
            1 of the first; of several views a tuple.
        plan: the steps that ``launch`` runs; None where there is none.
        layout: that of the result; a tuple where there are several; None where it depends on values: then ``launch``
            returns it with the memory.
        recorded: whether the result has a derivative.
        details: what else the operation wants to know when it makes a recipe.
        step: of a view, how it is made of a tensor again; of several views a tuple of that.
    """

    __slots__ = ("delta", "details", "launch", "layout", "op", "plan", "recipes", "recorded", "step", "views")

    def __init__(
        self, op: Any, launch: Any, layout: Any, recorded: bool, details: Any = None, again: bool = True
    ):
        self.op = op
        self.plan = launch if isinstance(launch, Plan) else None
        self.launch = launch if self.plan is None else self.plan.launcher(again)
        self.layout = layout
        self.recorded = recorded
        self.details = details
        self.step: Any = None
        self.delta: Any = None
        #: How calls are recorded, by which inputs need a gradient, as bits.
        self.recipes: dict[int, Recipe] = {}
        #: How views of tensors that are none themselves are made, by the mode.
        self.views: dict[int, Any] = {}

    def view(self, input: Tensor, mode: int) -> Any:
        """How the view, or the views, of a tensor are made."""
        if input._view is not None:
            return views(input, self.step, mode)
        found = self.views.get(mode)
        if found is None:
            found = self.views[mode] = views(input, self.step, mode)
        return found

    def recipe(self, needed: int) -> Recipe:
        """How a call is recorded where the inputs in the bits of ``needed`` need a gradient."""
        found = self.recipes.get(needed)
        if found is None:
            found = self.recipes[needed] = self.op.recipe(self, needed)
            tell(lambda: ("differentiate", (self.op.name, *self.op.example(self, needed))))
        return found


class Entries:
    """The entries of one operation, by what calls like these have in common.

    There may be many: programs go through ever new shapes.  One is kept when it is wanted for the second time, so that
    what comes once leaves nothing for the garbage collector to go through.  When there are ``LIMIT`` recent ones, they
    become the older ones; an older one that is used becomes recent again, and the others go with the next change.
    """

    LIMIT = 2048
    #: Recent entries of all operations together.
    LIMIT_OF_ALL = 1 << 15

    _all: ClassVar[weakref.WeakSet[Entries]] = weakref.WeakSet()
    _count: ClassVar[int] = 0
    _changing = threading.Lock()

    def __init__(self) -> None:
        self.recent: dict[Any, Any] = {}
        self.older: dict[Any, Any] = {}
        self._seen: set[int] = set()  # hashes of keys that were wanted once
        with Entries._changing:
            Entries._all.add(self)

    def find(self, key: Any) -> Any:
        """The entry of this key; None if none is kept."""
        entry = self.recent.get(key)
        if entry is None:
            entry = self.older.get(key)
            if entry is not None:
                with Entries._changing:
                    self._keep(key, entry)
        return entry

    def add(self, key: Any, entry: Any) -> Any:
        """Keep an entry, if its key has been wanted before; return it, or what another thread has kept meanwhile."""
        return self.make(key, lambda again: entry)

    def make(self, key: Any, make: Callable[[bool], Any]) -> Any:
        """Return the entry that ``make(again)`` returns, and keep it if its key has been wanted before, ``again``.

        If another thread has kept one meanwhile, that is returned.
        """
        mark = hash(key)
        with Entries._changing:
            again = mark in self._seen
            if not again:
                if len(self._seen) >= 2 * self.LIMIT:
                    self._seen.clear()
                self._seen.add(mark)
        entry = make(again)
        if not again:
            return entry
        with Entries._changing:
            return self._keep(key, entry)

    def _keep(self, key: Any, entry: Any) -> Any:
        if len(self.recent) >= self.LIMIT:
            self._age()
        elif Entries._count >= self.LIMIT_OF_ALL:
            for entries in Entries._all:
                entries._age()
            Entries._count = 0  # some operations may have gone with theirs
        before = len(self.recent)
        entry = self.recent.setdefault(key, entry)
        Entries._count += len(self.recent) - before  # another thread may have kept one meanwhile
        return entry

    def _age(self) -> None:
        Entries._count -= len(self.recent)
        self.older = self.recent.copy()
        self.recent.clear()  # the functions that look things up hold it

    def clear(self) -> None:
        """Forget all entries."""
        with Entries._changing:
            self._age()
            self.older = {}


def _renew_lock() -> None:
    """In the child of a fork: a thread that is not here may have had the lock."""
    Entries._changing = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def forget_calls() -> None:
    """Forget the entries of all operations."""
    with Entries._changing:
        known = [*Entries._all]
    for entries in known:
        entries.clear()


default_dtype_changed.append(forget_calls)
deterministic_changed.append(forget_calls)
