"""HTML building blocks: elements with escaped content, and the frame around all output.

The frame takes its colours from the page, so it suits light and dark pages.  It stays readable where the style is
removed, as some web sites do.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any


class Html(str):
    """Text that is already HTML and is not escaped."""

    __slots__ = ()


def element(name: str, /, *content: Any, **attributes: str) -> Html:
    """Return an element with this content, escaped unless it is HTML; ``class_`` stands for the attribute ``class``."""
    attribute_text = "".join([f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items()])
    return Html(f"<{name}{attribute_text}>{joined(content)}</{name}>")


def joined(parts: Iterable[Any], separator: str = "") -> Html:
    """Return the concatenated parts, escaped unless they are HTML."""
    return Html(separator.join([part if part.__class__ is Html else escape(str(part)) for part in parts]))


def faint(*content: Any) -> Html:
    """Return the content in a faint colour, for secondary information."""
    return element("span", *content, class_="faint")


def table(rows: Iterable[Iterable[Any]], head: Iterable[Any] = (), **attributes: str) -> Html:
    """Return a table whose rows begin with their headings.  Cells that are not ``<td>`` or ``<th>`` become such."""
    titles = [_cell("th", title) for title in head]
    lines = [
        element("tr", *[_cell("td" if index else "th", cell) for index, cell in enumerate(row)]) for row in rows
    ]
    top = element("thead", element("tr", *titles)) if titles else Html()
    return element("table", top, element("tbody", *lines), **attributes)


def _cell(name: str, content: Any) -> Html:
    done = content.__class__ is Html and content.startswith(("<td", "<th"))
    return content if done else element(name, content)


def unfolding(head: Any, *content: Any, is_open: bool = False) -> Html:
    """Return content that unfolds below its heading."""
    attributes = {"open": ""} if is_open else {}
    return element("details", element("summary", head), *content, **attributes)


def framed(*content: Any, height: str = "32em") -> str:
    """Return the complete output with its style.  Where the style is removed, the output still fits its cell.

    Content taller than ``height`` scrolls; use "none" for content that can be folded instead.
    """
    size = f"max-width: 100%; max-height: {height}; overflow: auto"
    return element("div", element("style", Html(_STYLE)), *content, class_="numgrad", style=size)


# The selectors must override JupyterLab's own for tables.
_STYLE = """
.numgrad.numgrad { line-height: 1.4; font-size: 13px; }
.numgrad.numgrad p { margin: 0 0 .3em; }
.numgrad.numgrad .faint { opacity: .65; font-weight: normal; }
.numgrad.numgrad table { margin: 0; border-collapse: collapse; font-size: inherit; color: inherit; }
.numgrad.numgrad tr, .numgrad.numgrad tr:nth-child(n) { background: none; }
.numgrad.numgrad th, .numgrad.numgrad td {
  padding: .1em .6em; text-align: right; vertical-align: top; white-space: nowrap; border: none; color: inherit; }
.numgrad.numgrad th { font-weight: normal; }
.numgrad.numgrad thead th { border-bottom: 1px solid rgba(128,128,128,.35); }
.numgrad.numgrad tbody tr:hover { background: rgba(128,128,128,.12); }
.numgrad.numgrad td, .numgrad.numgrad pre, .numgrad.numgrad .numbers { font-family: monospace; }
.numgrad.numgrad .numbers > span { display: inline-block; text-align: right; padding: 0 .5em; }
.numgrad.numgrad .next > * { border-top: 1px solid rgba(128,128,128,.35); }
.numgrad.numgrad .left :is(th, td), .numgrad.numgrad .names th:first-child { text-align: left; white-space: normal; }
.numgrad.numgrad .names th:first-child { min-width: 15em; overflow-wrap: anywhere; }
.numgrad.numgrad .words td { font-family: inherit; }
.numgrad.numgrad summary { cursor: pointer; }
"""
