"""Display helpers: rich representations in notebooks, and text for counts, bytes, times and classes."""

from __future__ import annotations

import codecs
import importlib
import sys
from collections.abc import Callable
from typing import Any

#: Characters that some terminals cannot show, with substitutes.
_SUBSTITUTES = {"µ": "u", "…": "...", "→": "->", "│": "|", "├": "|", "└": "`", "─": "-"}


def _substitute(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    failed = error.object[error.start : error.end]
    return "".join([_SUBSTITUTES.get(character) or ascii(character)[1:-1] for character in failed]), error.end


#: The name of the handler of encoding errors that substitutes such characters.
SUBSTITUTE = "numgrad.substitute"
codecs.register_error(SUBSTITUTE, _substitute)


def for_terminal(text: str) -> str:
    """Return a text in characters that standard output can show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, SUBSTITUTE).decode(encoding)


def shown_by(name: str) -> Callable[[Any], str | None]:
    """Return a ``_repr_html_`` method for a class that calls the function ``name`` of ``numgrad.viz.rich``.

    The module is imported when a notebook first displays such an object.  For a subclass with a ``__repr__`` defined
    outside numgrad, the method returns None, so that its own text is shown.
    """

    def _repr_html_(self: Any) -> str | None:
        writer = getattr(type(self).__repr__, "__module__", "numgrad")  # absent for a built-in class
        if writer.partition(".")[0] != "numgrad":
            return None
        html: str | None = getattr(importlib.import_module("numgrad.viz.rich"), name)(self)
        return html

    return _repr_html_


def picture_of_node(node: Any, include: Any = None, exclude: Any = None) -> dict[str, str]:
    """Return the drawn graph behind a node, as its ``_repr_mimebundle_``; the node's text stays the same."""
    return importlib.import_module("numgrad.viz.graph.drawing").node_mimebundle(node)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Format a count: "1 element", "12,345 elements"; ``plural`` is for nouns with an irregular plural."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def number_of_bytes(size: float) -> str:
    """Format a number of bytes in a suitable unit, in powers of 1000."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} GB"


def duration(seconds: float) -> str:
    """Format a time in a suitable unit."""
    factor, unit = (1, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    return f"{seconds * factor:.3g} {unit}"


def class_name(cls: type) -> str:
    """Return the name of a class with its module, unless it is built in."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
