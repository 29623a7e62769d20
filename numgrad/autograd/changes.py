"""Who changed a tensor in place.  In anomaly mode each change is noted, by the version that it made."""

from __future__ import annotations

import threading
from typing import Any

from .locations import Location, calling_location

__all__ = ["changes_since", "note_change"]

#: Version counters that are remembered, and changes of each: the oldest are forgotten.
COUNTERS, CHANGES = 4096, 64

#: By the identity of a version counter: the counter, held so that no other gets its identity, and who made which
#: version of the memory that it counts for.
_noted: dict[int, tuple[list[int], dict[int, Location]]] = {}
_noting = threading.Lock()


def note_change(tensor: Any) -> None:
    """Note that ``tensor`` is about to be changed in place; if that fails the next change takes over the version."""
    counter = tensor._counter
    if counter.__class__ is not list:  # of an inference tensor, which no node saves
        return
    with _noting:
        known = _noted.get(id(counter))
        if known is None:
            if len(_noted) >= COUNTERS:
                del _noted[next(iter(_noted))]
            known = _noted[id(counter)] = (counter, {})
        locations = known[1]
        locations[counter[0] + 1] = calling_location()
        if len(locations) > CHANGES:
            del locations[next(iter(locations))]


def changes_since(tensor: Any, version: int) -> dict[int, Location]:
    """The changes of a tensor's memory that were noted, after the one that made this version, in their order."""
    counter = tensor._counter
    with _noting:
        _, locations = _noted.get(id(counter), (counter, {}))
        return {made: locations[made] for made in sorted(locations) if version < made <= counter[0]}
