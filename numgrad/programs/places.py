"""Places: where a function finds objects, and whether those that it finds there are the same to it."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from ..core.tensor import Tensor

#: Attributes of modules whose items users call attributes of the module.
UNNAMED = ("_buffers", "_modules", "_parameters")


#: Bytes of arrays that are compared before each call with what they were.
LARGEST_ARRAY = 1 << 16


class _Absent:
    """What is found where there is nothing yet."""


ABSENT = _Absent()


@dataclass(eq=False)
class Found:
    """An object, and where it was found.

    Attributes:
        value: the object; ABSENT where there is none.
        holder: what it is in: a dictionary, a list, a cell, a class, or an object; None for what the function itself is
            made of, which does not change.
        key: under which it is there; of a cell None, of an object an attribute or the descriptor of one.
        way: to the object that the holder belongs to.
        among: names that the program mentions, in collections, for an attribute: only if it is one of these it is read.
    """

    value: Any
    holder: Any = None
    key: Any = None
    way: Found | None = None
    among: Any = None

    @property
    def attribute(self) -> Any:
        """The key, of a descriptor its name."""
        key = self.key
        return key.__name__ if key.__class__ in (MemberDescriptorType, GetSetDescriptorType) else key

    @property
    def is_read(self) -> bool:
        """Whether the program reads this place, as far as that can be told."""
        if self.among is None:
            return True
        key = self.attribute
        return any(key in names for names in self.among)

    def name(self) -> str:
        """How messages call it: ``model.fc.weight``."""
        root = self
        while root.way is not None:
            root = root.way
        return self.path() or type(root.value).__name__

    def path(self) -> str:
        """Return the attributes and keys that lead to it; of what the function itself is made of, none."""
        parts: list[str] = []
        place: Found | None = self
        while place is not None:  # a list may be linked through thousands of objects
            key = place.attribute
            if isinstance(key, str):
                parts += () if key in UNNAMED else (f".{key}",)
            elif key is not None:
                parts.append(f"[{_key_text(key)}]")
            place = place.way
        return "".join(reversed(parts)).strip(".")


def _key_text(key: Any) -> str:
    """A key, a tensor without its elements."""
    return f"a tensor of shape {list(key.shape)}" if isinstance(key, Tensor) else str(key)


def cells_of(function: FunctionType) -> Iterator[Found]:
    """What a function finds in its closure."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # it is empty
            value = ABSENT
        yield Found(value, cell, None, Found(None, key=name))


def same(one: Any, other: Any) -> bool:
    """Return whether a program cannot tell values apart: one object, equal numbers without attributes, tuples."""
    if one is other:
        return True
    if one.__class__ is not other.__class__ or hasattr(one, "__dict__"):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, int | float | complex | str | bytes) and repr(one) == repr(other)


def items_of(container: Any) -> list[Any]:
    """The items of a container, or a dictionary's keys, for which no code of a class of the program's own is called."""
    cls: Any = next(cls for cls in type(container).__mro__ if not isinstance(vars(cls).get("__iter__"), FunctionType))
    return [*cls.__iter__(container)]


def same_items(items: Any, held: Any) -> bool:
    """Whether a list, a set, or a dictionary's keys are what they were."""
    if len(items) != len(held):
        return False
    return all(map(operator.is_, items, held)) or all(map(same, items, held))


def all_texts(keys: Iterable[Any]) -> bool:
    """Whether all of these are texts."""
    return all(key.__class__ is str for key in keys)
