"""Nested structures: tuples, lists, dictionaries and named tuples of tensors, taken apart and put together again.

What is none of these is a leaf, None too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Structure:
    """How leaves are nested.

    Attributes:
        kind: the class of the tuple, list or dictionary; None for a leaf.
        keys: those of a dictionary, in its order.
        parts: the structures of what is in it, in order.
    """

    kind: type | None = None
    keys: tuple[Any, ...] | None = None
    parts: tuple[Structure, ...] = ()

    @property
    def count(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum([part.count for part in self.parts])

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The structure with these leaves, of which there are as many as it has."""
        return self._take(iter(leaves))

    def _take(self, leaves: Iterator[Any]) -> Any:
        if self.kind is None:
            return next(leaves)
        parts = [part._take(leaves) for part in self.parts]
        if self.keys is not None:
            return self.kind(zip(self.keys, parts, strict=True))
        return self.kind(*parts) if hasattr(self.kind, "_fields") else self.kind(parts)

    def __str__(self) -> str:
        """The structure as a literal, with a star for each leaf."""
        if self.kind is None:
            return "*"
        parts = [str(part) for part in self.parts]
        if self.keys is not None:
            text = "{" + ", ".join([f"{key!r}: {part}" for key, part in zip(self.keys, parts, strict=True)]) + "}"
            return text if self.kind is dict else f"{self.kind.__name__}({text})"
        if hasattr(self.kind, "_fields"):
            fields = [f"{name}={part}" for name, part in zip(self.kind._fields, parts, strict=True)]
            return f"{self.kind.__name__}({', '.join(fields)})"
        text = ", ".join(parts)
        if self.kind is list:
            return f"[{text}]"
        return f"({text},)" if len(parts) == 1 else f"({text})"


_LEAF = Structure()


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves of a nested structure, in order, and the structure."""
    leaves: list[Any] = []
    return leaves, _structure(tree, leaves)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same structure with what ``function`` makes of each leaf."""
    leaves, structure = flatten(tree)
    return structure.unflatten([function(leaf) for leaf in leaves])


def _structure(tree: Any, leaves: list[Any]) -> Structure:
    kind = tree.__class__
    if kind is dict or kind is OrderedDict:
        return Structure(kind, tuple(tree), tuple([_structure(part, leaves) for part in tree.values()]))
    if kind is tuple or kind is list or (isinstance(tree, tuple) and hasattr(kind, "_fields")):
        return Structure(kind, None, tuple([_structure(part, leaves) for part in tree]))
    leaves.append(tree)
    return _LEAF
