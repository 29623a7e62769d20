"""How things are shown: by what in notebooks, and which words stand for numbers of things, bytes and classes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def shown_by(name: str) -> Callable[[Any], str | None]:
    """The method ``_repr_html_`` of a class: the function ``name`` of ``numgrad.viz.rich``.

    That is imported when a notebook first shows such an object.  A class derived from it that has a ``__repr__`` of
    its own outside of numgrad is shown as that says.
    """

    def _repr_html_(self: Any) -> str | None:
        writer = getattr(type(self).__repr__, "__module__", "numgrad")  # a built-in class's has none
        if writer.partition(".")[0] != "numgrad":
            return None
        html: str | None = getattr(importlib.import_module("numgrad.viz.rich"), name)(self)
        return html

    return _repr_html_


def picture_of_node(node: Any, include: Any = None, exclude: Any = None) -> dict[str, str]:
    """The method ``_repr_mimebundle_`` of the graph's nodes: the graph behind one, drawn; its text stays what it is."""
    return importlib.import_module("numgrad.viz.graph.drawing").node_mimebundle(node)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number of things: "1 element", "12,345 elements"; ``plural`` where an "s" is not enough."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def number_of_bytes(size: float) -> str:
    """A number of bytes in the unit that suits it, by thousands."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} GB"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    factor, unit = (1, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    return f"{seconds * factor:.3g} {unit}"


def class_name(cls: type) -> str:
    """A class with its module, unless it is one of Python's own."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
