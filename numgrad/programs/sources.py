"""Sources: the objects that a function uses, each with the place where the function finds it."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from ..tensors.tensor import Tensor

#: Attributes of modules that messages omit, because users read their items as attributes of the module.
REGISTRIES = ("_buffers", "_modules", "_parameters")


class _Absent:
    """The value of a place that contains no object yet."""


ABSENT = _Absent()


@dataclass(eq=False, slots=True)
class Source:
    """An object and the place where it was found.

    Attributes:
        value: the object; ABSENT if there is none.
        holder: the dictionary, list, cell, class or object that contains it; None for parts of the function itself,
            which do not change.
        key: its key in the holder: None for a cell, an attribute's name or descriptor for an object.
        parent: the source of the object that the holder belongs to.
        read_names: for an attribute, collections of names; it is read only if one of them contains its name. None if it
            is always read.
    """

    value: Any
    holder: Any = None
    key: Any = None
    parent: Source | None = None
    read_names: Any = None
    _steps: str | None = field(default=None, init=False, repr=False)

    @property
    def attribute(self) -> Any:
        """The key, or the name of a descriptor."""
        key = self.key
        return key.__name__ if key.__class__ in (MemberDescriptorType, GetSetDescriptorType) else key

    @property
    def is_read(self) -> bool:
        """True if the program may read this place."""
        if self.read_names is None:
            return True
        key = self.attribute
        return True in [key in names for names in self.read_names]

    def outwards(self) -> Iterator[Source]:
        """Yield this source and those of the objects around it."""
        source: Source | None = self
        while source is not None:  # no recursion: a list may be linked through thousands of objects
            yield source
            source = source.parent

    def name(self) -> str:
        """Return its name for messages, such as ``model.fc.weight``."""
        *_, root = self.outwards()
        return self.path() or type(root.value).__name__

    def path(self) -> str:
        """Return the attributes and keys that lead to it; an empty string for a part of the function itself."""
        if self._steps is None:
            parts: list[str] = []
            source: Source | None = self
            while source is not None:  # no recursion: a list may be linked through thousands of objects
                if source._steps is not None:
                    parts.append(source._steps)
                    break
                key = source.attribute
                if isinstance(key, str):
                    parts += () if key in REGISTRIES else (f".{key}",)
                elif key is not None:
                    parts.append(f"[a tensor of shape {list(key.shape)}]" if isinstance(key, Tensor) else f"[{key}]")
                source = source.parent
            self._steps = "".join(reversed(parts))
        return self._steps.strip(".")


def cells_of(function: FunctionType) -> Iterator[Source]:
    """Yield the sources in a function's closure."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # the cell is empty
            value = ABSENT
        yield Source(value, cell, None, Source(None, key=name))


def equivalent(first: Any, second: Any) -> bool:
    """Return True if values are equivalent for a program: one object, or equal numbers, strings or tuples of these.

    An object with attributes is equivalent only to itself.
    """
    if first is second:
        return True
    if first.__class__ is not second.__class__ or hasattr(first, "__dict__"):
        return False
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(equivalent, first, second))
    return isinstance(first, int | float | complex | str | bytes) and repr(first) == repr(second)


#: Classes of containers whose iterators are not written in Python.
_BUILT_IN = frozenset({dict, list, tuple, set, frozenset})


def items_of(container: Any) -> list[Any]:
    """Return the items of a container, or the keys of a dictionary, without calling code of a user's class."""
    cls: Any = type(container)
    if cls not in _BUILT_IN:
        cls = next(cls for cls in cls.__mro__ if not isinstance(vars(cls).get("__iter__"), FunctionType))
    return [*cls.__iter__(container)]


def equivalent_items(items: Any, others: Any) -> bool:
    """Return True if two lists, sets or collections of keys have equivalent items in the same order."""
    if len(items) != len(others):
        return False
    return all(map(operator.is_, items, others)) or all(map(equivalent, items, others))
