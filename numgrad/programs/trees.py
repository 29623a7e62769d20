"""Arguments and results as trees: tuples, lists, dictionaries and dataclasses, with tensors and other leaves."""

from __future__ import annotations

import dataclasses
import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from ..tensors.tensor import Tensor

#: Classes of dictionaries that are trees; dictionaries of other classes may have more contents than their items.
DICTIONARIES = (dict, OrderedDict)

#: The largest depth of nested containers in an argument or a result; it is limited because functions here are
#: recursive.
DEEPEST = 100

#: The prefix of modules whose dataclasses are leaves, such as devices.
_NUMGRAD = f"{__name__.partition('.')[0]}."


def is_dataclass_value(value: Any) -> bool:
    """Return True for an instance of a dataclass outside this package, which is a tree of its fields."""
    cls = type(value)
    return hasattr(cls, "__dataclass_fields__") and not cls.__module__.startswith(_NUMGRAD) and not callable(value)


def fields_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an instance of a dataclass."""
    names = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
    return {name: getattr(value, name) for name in names} | getattr(value, "__dict__", {})


def new_instance(cls: type, fields: dict[str, Any]) -> Any:
    """Return an instance of a dataclass with these attributes, without running code of the class."""
    instance: Any = object.__new__(cls)
    for name, value in fields.items():
        object.__setattr__(instance, name, value)
    return instance


def branches(tree: Any) -> Iterable[Any] | None:
    """Return the subtrees of a tree; None for a leaf."""
    if isinstance(tree, tuple) or tree.__class__ is list:
        return tree
    if tree.__class__ in DICTIONARIES:
        return tree.values()
    return fields_of(tree).values() if is_dataclass_value(tree) else None


def is_deeper(tree: Any, depth: int = DEEPEST) -> bool:
    """Return True if the containers of a tree are nested more than ``depth`` deep."""
    subtrees = branches(tree)
    return subtrees is not None and (depth <= 0 or any(is_deeper(subtree, depth - 1) for subtree in subtrees))


def _like(tree: Any, subtrees: list[Any]) -> Any:
    """Return a tree of the same form with other subtrees."""
    cls = type(tree)
    if isinstance(tree, tuple):
        return cls(*subtrees) if hasattr(tree, "_fields") else cls(subtrees)
    if cls is list:
        return subtrees
    if cls in DICTIONARIES:
        return cls(zip(tree, subtrees, strict=True))
    return new_instance(cls, dict(zip(fields_of(tree), subtrees, strict=True)))


def classes_in(tree: Any) -> list[type]:
    """Return the classes of the dataclasses and named tuples in a tree, whose methods a function may call."""
    inner = [cls for subtree in branches(tree) or () for cls in classes_in(subtree)]
    return [type(tree), *inner] if is_dataclass_value(tree) or hasattr(tree, "_fields") else inner


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of a tree, from the first to the last."""
    result: list[Any] = []
    _add_leaves(tree, result)
    return result


def _add_leaves(tree: Any, leaves: list[Any]) -> None:
    subtrees = branches(tree)
    if subtrees is None:
        leaves.append(tree)
    else:
        for subtree in subtrees:
            _add_leaves(subtree, leaves)


def tensors_in(tree: Any) -> list[Tensor]:
    """Return the tensors of a tree."""
    return [leaf for leaf in leaves(tree) if isinstance(leaf, Tensor)]


def mapped(tree: Any, function: Callable[[Any], Any]) -> Any:
    """Return the tree with ``function(leaf)`` instead of each leaf."""
    subtrees = branches(tree)
    return function(tree) if subtrees is None else _like(tree, [mapped(subtree, function) for subtree in subtrees])


class Copies:
    """Copies of trees with other leaves; a subtree whose leaves stay the same is not copied.

    Changes of a copied list, dictionary or dataclass can be transferred to the original.
    """

    def __init__(self) -> None:
        self._mutable: list[tuple[Any, Any, list[Any]]] = []  # original, copy, and initial contents of the copy

    def of(self, tree: Any, function: Callable[[Any], Any]) -> Any:
        """Return the tree with ``function(leaf)`` instead of each leaf."""
        subtrees = branches(tree)
        if subtrees is None:
            return function(tree)
        new = [self.of(subtree, function) for subtree in subtrees]
        copy = tree if all(map(operator.is_, new, subtrees)) else _like(tree, new)
        if not isinstance(tree, tuple):
            self._mutable.append((tree, copy, _contents(copy)))
        return copy

    def transfer_changes(self, function: Callable[[Any], Any]) -> bool:
        """Repeat the changes of the copies on the originals, with ``function(leaf)`` instead of each leaf.

        Return True if any copy was changed.
        """
        changed = False
        for tree, copy, before in self._mutable:
            now = _contents(copy)
            if len(now) == len(before) and all(map(_is_same_item, now, before)):
                continue
            changed = True
            if copy is tree:
                continue
            contents = mapped(now, function)
            if isinstance(tree, list):
                tree[:] = contents
            elif isinstance(tree, dict):
                tree.clear()
                tree.update(contents)
            else:
                for name in fields_of(tree):
                    object.__delattr__(tree, name)
                for name, value in contents:
                    object.__setattr__(tree, name, value)
        return changed


def _contents(tree: Any) -> list[Any]:
    """Return the items of a list, or the keys and values of a dictionary or dataclass."""
    if isinstance(tree, list):
        return [*tree]
    return [*(tree if isinstance(tree, dict) else fields_of(tree)).items()]


def _is_same_item(first: Any, second: Any) -> bool:
    """Return True for the same object, or two pairs of the same key and value."""
    if isinstance(first, tuple) and isinstance(second, tuple) and len(first) == len(second):
        return all(map(operator.is_, first, second))
    return first is second
