"""How a tensor came about that requires no gradient: a word on it and, where anomaly mode watches, who made it."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import ref

from .locations import Location, calling_location

__all__ = ["DETACHED", "FOREIGN", "GIVEN", "UNRECORDED", "Origin", "note_origin", "origin_of"]

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
_noted: dict[int, tuple[ref[Any], Origin]] = {}


def note_origin(tensor: Any, name: str, reason: str) -> None:
    """Note that the operation ``name`` has made a tensor, and was not recorded."""
    key = id(tensor)
    _noted[key] = ref(tensor, lambda _: _noted.pop(key, None)), Origin(name, reason, calling_location())


def origin_of(tensor: Any) -> Origin | None:
    """What was noted of a tensor."""
    weak, origin = _noted.get(id(tensor), (None, None))
    return origin if weak is not None and weak() is tensor else None
