"""Who made a tensor that requires no gradient.  It is noted where anomaly mode watches operations."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import ref

from .places import Place, calling_place

__all__ = ["Origin", "note_origin", "origin_of"]


class Origin(NamedTuple):
    """The operation that made a tensor.

    Attributes:
        name: the operation's.
        reason: why it was not recorded.
        place: who called it.
    """

    name: str
    reason: str
    place: Place


#: By the identity of the tensor, which is held weakly.
_noted: dict[int, tuple[ref[Any], Origin]] = {}


def note_origin(tensor: Any, name: str, reason: str) -> None:
    """Note that the operation ``name`` has made a tensor, and was not recorded."""
    key = id(tensor)
    _noted[key] = ref(tensor, lambda _: _noted.pop(key, None)), Origin(name, reason, calling_place())


def origin_of(tensor: Any) -> Origin | None:
    """What was noted of a tensor."""
    weak, origin = _noted.get(id(tensor), (None, None))
    return origin if weak is not None and weak() is tensor else None
