"""Nested structures: tuples, lists, dictionaries and named tuples, flattened and rebuilt.

Any other value, including None, is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Structure:
    """Nesting of leaves.

    Attributes:
        container: the class of the tuple, list or dictionary; None for a leaf.
        keys: the keys of a dictionary, in order.
        parts: the structures of its elements, in order.
    """

    container: type | None = None
    keys: tuple[Any, ...] | None = None
    parts: tuple[Structure, ...] = ()

    @property
    def count(self) -> int:
        """The number of leaves."""
        return 1 if self.container is None else sum([part.count for part in self.parts])

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the structure with these leaves, which must match it in number."""
        return self._take(iter(leaves))

    def _take(self, leaves: Iterator[Any]) -> Any:
        if self.container is None:
            return next(leaves)
        parts = [part._take(leaves) for part in self.parts]
        if self.keys is not None:
            return self.container(zip(self.keys, parts, strict=True))
        return self.container(*parts) if hasattr(self.container, "_fields") else self.container(parts)

    def __str__(self) -> str:
        """Return the structure as a literal, with a star for each leaf."""
        if self.container is None:
            return "*"
        parts = [str(part) for part in self.parts]
        if self.keys is not None:
            text = "{" + ", ".join([f"{key!r}: {part}" for key, part in zip(self.keys, parts, strict=True)]) + "}"
            return text if self.container is dict else f"{self.container.__name__}({text})"
        if hasattr(self.container, "_fields"):
            fields = [f"{name}={part}" for name, part in zip(self.container._fields, parts, strict=True)]
            return f"{self.container.__name__}({', '.join(fields)})"
        text = ", ".join(parts)
        if self.container is list:
            return f"[{text}]"
        return f"({text},)" if len(parts) == 1 else f"({text})"


_LEAF = Structure()


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """Return the leaves of a nested structure, in order, and the structure."""
    leaves: list[Any] = []
    return leaves, _structure(tree, leaves)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return the same structure with the result of ``function`` for each leaf."""
    leaves, structure = flatten(tree)
    return structure.unflatten([function(leaf) for leaf in leaves])


def _structure(tree: Any, leaves: list[Any]) -> Structure:
    container = tree.__class__
    if container is dict or container is OrderedDict:
        return Structure(container, tuple(tree), tuple([_structure(part, leaves) for part in tree.values()]))
    if container is tuple or container is list or (isinstance(tree, tuple) and hasattr(container, "_fields")):
        return Structure(container, None, tuple([_structure(part, leaves) for part in tree]))
    leaves.append(tree)
    return _LEAF
