"""How notebooks show things: the HTML of tensors, modules, profiles and the like, each in a file of its own.

A class says ``_repr_html_ = shown_by("tensors")``; the file is imported when a notebook first shows such an object.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["picture_of_node", "shown_by"]


def shown_by(name: str) -> Callable[[Any], str | None]:
    """The method ``_repr_html_`` of a class whose objects the module ``name`` of this package shows.

    A class derived from it that says by a ``__repr__`` of its own how it is to be shown is shown so.
    """

    def _repr_html_(self: Any) -> str | None:
        writer = getattr(type(self).__repr__, "__module__", "numgrad")  # a built-in class's has none
        if writer.partition(".")[0] != "numgrad":
            return None
        return importlib.import_module(f".{name}", __name__).html(self)

    return _repr_html_


def picture_of_node(node: Any, include: Any = None, exclude: Any = None) -> dict[str, str]:
    """The method ``_repr_mimebundle_`` of the graph's nodes: the graph behind one, drawn; its text stays what it is."""
    return importlib.import_module("..viz.draw_graph", __name__).node_mimebundle(node)
