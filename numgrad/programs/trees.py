"""Arguments and results as trees: tuples, lists, dictionaries and dataclasses, with tensors and other leaves."""

from __future__ import annotations

import dataclasses
import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
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


@dataclasses.dataclass(frozen=True)
class Placeholder:
    """A tensor in a tree, by its index in a list of tensors."""

    number: int


def with_placeholders(tree: Any, tensors: Sequence[Tensor]) -> Any:
    """Return the tree with placeholders for these tensors."""
    numbers = {id(tensor): number for number, tensor in [*enumerate(tensors)][::-1]}
    return mapped(tree, lambda leaf: Placeholder(numbers[id(leaf)]) if id(leaf) in numbers else leaf)


def filled(tree: Any, tensors: Sequence[Tensor]) -> Any:
    """Return the tree with tensors instead of their placeholders."""
    return mapped(tree, lambda leaf: tensors[leaf.number] if leaf.__class__ is Placeholder else leaf)


def contents(tree: Any) -> list[tuple[Any, list[Any]]]:
    """Return the lists, dictionaries and dataclass instances in a tree, each with its items."""
    subtrees = branches(tree)
    inner = [each for subtree in subtrees or () for each in contents(subtree)]
    return inner if subtrees is None or isinstance(tree, tuple) else [(tree, _items(tree)), *inner]


def have_changed(before: Iterable[tuple[Any, list[Any]]]) -> bool:
    """Return True if one of these trees contains other objects by now."""
    pairs = [(_items(tree), items) for tree, items in before]
    return any(len(now) != len(items) or not all(map(operator.is_, now, items)) for now, items in pairs)


def _items(tree: Any) -> list[Any]:
    """Return the items of a list, or the keys and values of a dictionary or dataclass."""
    if isinstance(tree, list):
        return [*tree]
    fields = tree if isinstance(tree, dict) else fields_of(tree)
    return [*fields, *fields.values()]
