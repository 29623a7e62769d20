"""Arguments and results as trees: tuples, lists and dictionaries of tensors and other values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree, from the first to the last."""
    found: list[Any] = []
    _walk(tree, found)
    return found


def _walk(tree: Any, found: list[Any]) -> None:
    if isinstance(tree, tuple | list):
        for one in tree:
            _walk(one, found)
    elif isinstance(tree, dict):
        for one in tree.values():
            _walk(one, found)
    else:
        found.append(tree)


def tensors_in(tree: Any) -> list[Tensor]:
    """The tensors of a tree."""
    return [one for one in leaves(tree) if isinstance(one, Tensor)]


def mapped(tree: Any, function: Callable[[Any], Any]) -> Any:
    """The tree with ``function`` of each of its leaves."""
    if isinstance(tree, tuple):
        made = [mapped(one, function) for one in tree]
        return type(tree)(*made) if hasattr(tree, "_fields") else type(tree)(made)
    if isinstance(tree, list):
        return [mapped(one, function) for one in tree]
    if isinstance(tree, dict):
        return {key: mapped(one, function) for key, one in tree.items()}
    return function(tree)
