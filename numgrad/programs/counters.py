"""Attributes that a function only counts up: replays count them, too, and do not depend on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..devices.recording import Effect
from ..nn.modules.module import Module
from .mentions import attributes_of
from .places import Found


@dataclass(eq=False)
class Counter(Effect):
    """An attribute to which each call adds a number, and which the function does not read otherwise."""

    holder: Any
    key: Any
    change: int

    def advance(self) -> None:
        self.holder[self.key] += self.change

    def undo(self) -> None:
        self.holder[self.key] -= self.change

    def repeats(self, other: Effect) -> bool:
        if not isinstance(other, Counter):
            return False
        return other.holder is self.holder and (other.key, other.change) == (self.key, self.change)


def is_counter(place: Found, before: Any) -> bool:
    """Return whether the call has changed an integer that is a plain attribute of an object."""
    if not (place.value.__class__ is before.__class__ is int and place.holder.__class__ is dict and place.way):
        return False
    owner: Any = type(place.way.value)
    if owner.__setattr__ not in (object.__setattr__, Module.__setattr__):
        return False
    return place.holder is attributes_of(place.way.value) and not hasattr(getattr(owner, place.key, 0), "__set__")
