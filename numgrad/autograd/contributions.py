"""How the ``grad`` of a leaf came about.  In anomaly mode each backward pass that adds to one is noted."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import ref

from .hooks import hook_name
from .locations import Location

#: Contributions that are remembered for each leaf, the latest.
REMEMBERED = 16


class Contribution(NamedTuple):
    """What one backward pass added to a ``grad``.

    Attributes:
        call: who asked for the pass.
        sources: the nodes whose gradients were summed, by name, with the calls that recorded them.
        changed_by: the names of the leaf's hooks, if these changed the sum.
    """

    call: Location
    sources: tuple[tuple[str, Location | None], ...]
    changed_by: tuple[str, ...]


class Contributions:
    """What made the present ``grad`` of a leaf, or the last one that it had.

    Attributes:
        latest: the last contributions, in their order.
        count: how many there were.
        grad: the tensor that they made, if it is still there.
        complete: whether the leaf had no ``grad`` before them.
    """

    def __init__(self, leaf: Any, key: int, complete: bool):
        self.leaf = ref(leaf, lambda _: _noted.pop(key, None))
        self.latest: deque[Contribution] = deque(maxlen=REMEMBERED)
        self.count = 0
        self.grad: Any = None
        self.complete = complete

    def made(self, gradient: Any) -> bool:
        """Whether they made this tensor."""
        return gradient is not None and self.grad is not None and self.grad() is gradient


#: By the identity of the leaf, which it is held weakly by.
_noted: dict[int, Contributions] = {}


def note_contribution(leaf: Any, before: Any, call: Location, sources: Sequence[Any], hooked: bool) -> None:
    """Note that a backward pass has added to the ``grad`` of a leaf, which was ``before`` until then.

    ``hooked`` says whether the leaf's hooks changed what was added.
    """
    known = contributions_to(leaf)
    if known is None or not known.made(before):
        known = _noted[id(leaf)] = Contributions(leaf, id(leaf), before is None)
    locations = [(node.name(), None if node.attached is None else node.attached.location) for node in sources]
    names = tuple([hook_name(hook) for hook in (leaf._backward_hooks or {}).values()]) if hooked else ()
    known.latest.append(Contribution(call, tuple(locations), names))
    known.count += 1
    known.grad = None if leaf._grad is None else ref(leaf._grad)  # a hook may have taken it


def contributions_to(leaf: Any) -> Contributions | None:
    """What was noted for a leaf."""
    known = _noted.get(id(leaf))
    return known if known is not None and known.leaf() is leaf else None
