"""Arguments and results as trees: tuples, lists, dictionaries and dataclasses of tensors and other values."""

from __future__ import annotations

import dataclasses
import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from ..core.tensor import Tensor

#: Classes of dictionaries that are trees; those of others are more than their items.
DICTIONARIES = (dict, OrderedDict)


def is_record(value: Any) -> bool:
    """Return whether a value is an object of a program's own dataclass, which is a tree of its attributes."""
    cls = type(value)
    return hasattr(cls, "__dataclass_fields__") and not cls.__module__.startswith(_OWN) and not callable(value)


#: Where dataclasses are whose objects are values, such as devices.
_OWN = f"{__name__.partition('.')[0]}."


def parts_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an object of a dataclass."""
    names = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
    return {name: getattr(value, name) for name in names} | getattr(value, "__dict__", {})


def record(cls: type, parts: dict[str, Any]) -> Any:
    """Return an object of a dataclass with these attributes, for which none of its code is called."""
    made: Any = object.__new__(cls)
    for name, value in parts.items():
        object.__setattr__(made, name, value)
    return made


def _inner(tree: Any) -> Iterable[Any] | None:
    """Return what a tree consists of; None if it is a leaf."""
    if isinstance(tree, tuple) or tree.__class__ is list:
        return tree
    if tree.__class__ in DICTIONARIES:
        return tree.values()
    return parts_of(tree).values() if is_record(tree) else None


def records_in(tree: Any) -> list[Any]:
    """Return the objects of dataclasses in a tree."""
    own = [tree] if is_record(tree) else []
    return own + [one for part in _inner(tree) or () for one in records_in(part)]


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree, from the first to the last."""
    found: list[Any] = []
    _walk(tree, found)
    return found


def _walk(tree: Any, found: list[Any]) -> None:
    parts = _inner(tree)
    if parts is None:
        found.append(tree)
    else:
        for one in parts:
            _walk(one, found)


def tensors_in(tree: Any) -> list[Tensor]:
    """The tensors of a tree."""
    return [one for one in leaves(tree) if isinstance(one, Tensor)]


def mapped(tree: Any, function: Callable[[Any], Any]) -> Any:
    """The tree with ``function`` of each of its leaves."""
    if isinstance(tree, tuple):
        made = [mapped(one, function) for one in tree]
        return type(tree)(*made) if hasattr(tree, "_fields") else type(tree)(made)
    if tree.__class__ is list:
        return [mapped(one, function) for one in tree]
    if tree.__class__ in DICTIONARIES:
        return type(tree)([(key, mapped(one, function)) for key, one in tree.items()])
    if is_record(tree):
        return record(type(tree), {name: mapped(one, function) for name, one in parts_of(tree).items()})
    return function(tree)


class Copies:
    """Trees with other leaves: what is in them is as it was where no leaf is another, and else a copy.

    What a function does to a list, a dictionary or a dataclass that it is given, it may have done to a copy.
    """

    def __init__(self) -> None:
        self._all: list[tuple[Any, Any, Any]] = []  # a list or the like, what was given for it, and what that had

    def of(self, tree: Any, function: Callable[[Any], Any]) -> Any:
        """The tree with ``function`` of each of its leaves."""
        if isinstance(tree, tuple):
            made = [self.of(one, function) for one in tree]
            if all(map(operator.is_, made, tree)):
                return tree
            return type(tree)(*made) if hasattr(tree, "_fields") else type(tree)(made)
        if tree.__class__ is list:
            made = [self.of(one, function) for one in tree]
            return self._noted(tree, tree if all(map(operator.is_, made, tree)) else made, [*made])
        if tree.__class__ in DICTIONARIES:
            values = [self.of(one, function) for one in tree.values()]
            items = [*zip(tree, values, strict=True)]
            same = all(map(operator.is_, values, tree.values()))
            return self._noted(tree, tree if same else type(tree)(items), items)
        if is_record(tree):
            parts = parts_of(tree)
            others = {name: self.of(one, function) for name, one in parts.items()}
            same = all(map(operator.is_, others.values(), parts.values()))
            return self._noted(tree, tree if same else record(type(tree), others), [*others.items()])
        return function(tree)

    def _noted(self, tree: Any, given: Any, held: list[Any]) -> Any:
        self._all.append((tree, given, held))
        return given

    def give_back(self, function: Callable[[Any], Any]) -> bool:
        """Do to lists, dictionaries and dataclasses what was done to their copies, with ``function`` of each leaf.

        Return whether anything was done to any.
        """
        changed = False
        for tree, given, held in self._all:
            now = given
            if not isinstance(given, list):
                now = [*(given if isinstance(given, dict) else parts_of(given)).items()]
            if len(now) == len(held) and all(map(_same_item, now, held)):
                continue
            changed = True
            if given is not tree:
                items = mapped([*now], function)
                if not isinstance(tree, list | dict):
                    for name in parts_of(tree):
                        object.__delattr__(tree, name)
                    for name, value in items:
                        object.__setattr__(tree, name, value)
                    continue
                tree.clear()
                tree.update(items) if isinstance(tree, dict) else tree.extend(items)
        return changed


def _same_item(one: Any, other: Any) -> bool:
    """Whether an item of a list, or a pair of a key and a value, is the same."""
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return all(map(operator.is_, one, other))
    return one is other
