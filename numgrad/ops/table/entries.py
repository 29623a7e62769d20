"""Remembered decisions for calls of operations: see Note [A call is a lookup] in ``dispatch``."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from ...autograd.views import views
from ...core.deterministic import deterministic_changed
from ...core.types import default_dtype_changed
from ...devices import Plan
from ...tensors.tensor import Tensor
from .ahead import submit

if TYPE_CHECKING:
    from .recording import BackwardPlan


class Entry:
    """Decision for a call with operands of certain layouts and certain other arguments.

    Attributes:
        op: the operation of the table that computes the call.
        launch: ``launch(*operands)`` runs the kernels and returns the memory of the result; for an in-place operation,
            ``launch(*operands, target)`` overwrites the target.  None for a view, unless the view has another dtype:
            then ``launch(tensor)`` returns the tensor's memory in that dtype, and the view's offset.
        delta: the number of elements by which a view begins after the tensor; if numbers follow the tensor, the number
            of elements per unit of the first number; for several views, a tuple.
        plan: the steps that ``launch`` runs; None if there are none.
        layout: the layout of the result; a tuple for several results; None if it depends on values: then ``launch``
            returns it with the memory.
        recorded: True if the result has a derivative.
        details: other data that the operation needs to make a backward plan.
        step: the step that makes a view from a tensor again; for several views, a tuple of steps.
    """

    __slots__ = ("backward_plans", "delta", "details", "launch", "layout", "op", "plan", "recorded", "step", "views")

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
        #: Backward plans, by the inputs that need a gradient, as bits.
        self.backward_plans: dict[int, BackwardPlan] = {}
        #: Results of ``view`` for tensors that are not views themselves, by the mode.
        self.views: dict[int, Any] = {}

    def view(self, input: Tensor, mode: int) -> Any:
        """Return the description of how the view, or each of the views, of a tensor is made."""
        if input._view is not None:
            return views(input, self.step, mode)
        cached = self.views.get(mode)
        if cached is None:
            cached = self.views[mode] = views(input, self.step, mode)
        return cached

    def backward_plan(self, needed: int) -> BackwardPlan:
        """Return the backward plan of a call if the inputs in the bits of ``needed`` need a gradient."""
        cached = self.backward_plans.get(needed)
        if cached is None:
            cached = self.backward_plans[needed] = self.op.backward_plan(self, needed)
            cached.plan = self.plan
            submit(lambda: ("differentiate", (self.op.name, *self.op.example(self, needed))))
        return cached


class Entries:
    """Entries of one operation, by the key that similar calls share.

    There may be many, as programs may use ever new shapes.  An entry is kept when its key is looked up for the second
    time, so that a call that comes once leaves nothing for the garbage collector to traverse.  When there are ``LIMIT``
    recent entries, they become the older ones.  An older entry that is used becomes recent again, and the others are
    dropped at the next change.
    """

    LIMIT = 2048
    #: Limit of the recent entries of all operations together.
    LIMIT_OF_ALL = 1 << 15

    _all: ClassVar[weakref.WeakSet[Entries]] = weakref.WeakSet()
    _count: ClassVar[int] = 0
    _changing = threading.Lock()

    def __init__(self) -> None:
        self.recent: dict[Any, Any] = {}
        self.older: dict[Any, Any] = {}
        self._seen: set[int] = set()  # hashes of keys that were looked up once
        with Entries._changing:
            Entries._all.add(self)

    def find(self, key: Any) -> Any:
        """Return the entry of this key; None if none is kept."""
        entry = self.recent.get(key)
        if entry is None:
            entry = self.older.get(key)
            if entry is not None:
                with Entries._changing:
                    self._keep(key, entry)
        return entry

    def add(self, key: Any, entry: Any) -> Any:
        """Keep an entry if its key has been looked up before.

        Return the entry, or the one that another thread has kept meanwhile.
        """
        return self.keep(key, entry) if self.again(key) else entry

    def make(self, key: Any, make: Callable[[bool], Any]) -> Any:
        """Return the entry that ``make(again)`` returns, and keep it if its key has been looked up before (``again``).

        If another thread has kept an entry meanwhile, return that one.
        """
        again = self.again(key)
        entry = make(again)
        return self.keep(key, entry) if again else entry

    def again(self, key: Any) -> bool:
        """Return True if a key has been looked up before, so that its entry should be kept."""
        mark, seen = hash(key), self._seen
        if mark in seen:
            return True
        if len(seen) >= 2 * self.LIMIT:
            seen.clear()
        seen.add(mark)
        return False

    def keep(self, key: Any, entry: Any) -> Any:
        """Keep an entry and return it, or the one that another thread has kept meanwhile."""
        with Entries._changing:
            return self._keep(key, entry)

    def _keep(self, key: Any, entry: Any) -> Any:
        if len(self.recent) >= self.LIMIT:
            self._age()
        elif Entries._count >= self.LIMIT_OF_ALL:
            for entries in Entries._all:
                entries._age()
            Entries._count = 0  # operations that no longer exist took their entries with them
        before = len(self.recent)
        entry = self.recent.setdefault(key, entry)
        Entries._count += len(self.recent) - before  # another thread may have kept one meanwhile
        return entry

    def _age(self) -> None:
        Entries._count -= len(self.recent)
        self.older = self.recent.copy()
        self.recent.clear()  # lookup functions hold this dictionary

    def clear(self) -> None:
        """Forget all entries."""
        with Entries._changing:
            self._age()
            self.older = {}


def _renew_lock() -> None:
    """Replace the lock in the child of a fork, as a thread that the fork did not copy may have held it."""
    Entries._changing = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def forget_calls() -> None:
    """Forget the entries of all operations."""
    with Entries._changing:
        tables = [*Entries._all]
    for entries in tables:
        entries.clear()


default_dtype_changed.append(forget_calls)
deterministic_changed.append(forget_calls)
