"""Keys that lead from a tree to a leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["GetAttrKey", "KeyEntry", "KeyPath", "MappingKey", "SequenceKey", "key_get", "keystr"]


@dataclass(frozen=True)
class SequenceKey:
    """Index of an element of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """Return the element."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """Key of an entry of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """Return the value of the entry."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """Name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Return the attribute."""
        return getattr(obj, self.name)


KeyEntry: TypeAlias = Any
KeyPath: TypeAlias = tuple[KeyEntry, ...]


def keystr(kp: Sequence[Any]) -> str:
    """Return the keys as a text, such as ``"['a'][0].x"``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Sequence[Any]) -> Any:
    """Return the part of a tree to which the keys lead."""
    for key in kp:
        obj = key.get(obj)
    return obj
