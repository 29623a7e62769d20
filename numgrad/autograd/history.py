"""How tensors came to be what they are, for messages: who made one that requires no gradient, who changed one in place.

Calls are noted where anomaly mode watches.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple
from weakref import ref

from .locations import Location, calling_location

#: What a tensor's ``_origin`` may be: cut off a graph; on another library's memory; made of data, or filled; computed
#: where nothing is recorded.  What was computed from tensors that require no gradient has none.
DETACHED, FOREIGN, GIVEN, UNRECORDED = "detached", "foreign", "given", "unrecorded"


class Origin(NamedTuple):
    """The operation that made a tensor.

    Attributes:
        name: the operation's.
        reason: why it was not recorded.
        location: what called it.
    """

    name: str
    reason: str
    location: Location


#: By the identity of the tensor, which is held weakly.
_origins: dict[int, tuple[ref[Any], Origin]] = {}


def note_origin(tensor: Any, name: str, reason: str) -> None:
    """Note that the operation ``name`` has made a tensor, and was not recorded."""
    key = id(tensor)
    _origins[key] = ref(tensor, lambda _: _origins.pop(key, None)), Origin(name, reason, calling_location())


def origin_of(tensor: Any) -> Origin | None:
    """What was noted of a tensor."""
    weak, origin = _origins.get(id(tensor), (None, None))
    return origin if weak is not None and weak() is tensor else None


#: Version counters that are remembered, and changes of each: the oldest are forgotten.
COUNTERS, CHANGES = 4096, 64

#: By the identity of a version counter: the counter, held so that no other gets its identity, and who made which
#: version of the memory that it counts for.
_changes: dict[int, tuple[list[int], dict[int, Location]]] = {}
_noting = threading.Lock()


def note_change(tensor: Any) -> None:
    """Note that ``tensor`` is about to be changed in place; if that fails the next change takes over the version."""
    counter = tensor._counter
    if counter.__class__ is not list:  # of an inference tensor, which no node saves
        return
    with _noting:
        known = _changes.get(id(counter))
        if known is None:
            if len(_changes) >= COUNTERS:
                del _changes[next(iter(_changes))]
            known = _changes[id(counter)] = (counter, {})
        locations = known[1]
        locations[counter[0] + 1] = calling_location()
        if len(locations) > CHANGES:
            del locations[next(iter(locations))]


def changes_since(tensor: Any, version: int) -> dict[int, Location]:
    """The changes of a tensor's memory that were noted, after the one that made this version, in their order."""
    counter = tensor._counter
    with _noting:
        _, locations = _changes.get(id(counter), (counter, {}))
        return {made: locations[made] for made in sorted(locations) if version < made <= counter[0]}
