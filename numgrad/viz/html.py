"""Pieces of HTML: elements, whose content is escaped, and the frame that everything is shown in.

It has the colours of the page, so that it suits light and dark pages alike, and can be read where the style is taken
away, as some web sites do.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, /, *content: Any, **attributes: str) -> Html:
    """An element with this content, escaped unless it is HTML; ``class_`` stands for the attribute ``class``."""
    given = "".join([f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items()])
    return Html(f"<{name}{given}>{joined(content)}</{name}>")


def joined(parts: Iterable[Any], separator: str = "") -> Html:
    """The parts one after the other, escaped unless they are HTML."""
    return Html(separator.join([part if part.__class__ is Html else escape(str(part)) for part in parts]))


def faint(*content: Any) -> Html:
    """What matters less."""
    return element("span", *content, class_="faint")


def table(rows: Iterable[Iterable[Any]], head: Iterable[Any] = (), **attributes: str) -> Html:
    """A table; the first cell of each row is its heading.  A cell that is no ``<td>`` or ``<th>`` becomes one."""
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
    """What can be unfolded below its heading."""
    attributes = {"open": ""} if is_open else {}
    return element("details", element("summary", head), *content, **attributes)


def framed(*content: Any, height: str = "32em") -> str:
    """The whole of what is shown, with its style; where that is taken away, it is still no larger than its cell.

    What is higher than ``height`` scrolls; "none" is for what can be folded instead.
    """
    size = f"max-width: 100%; max-height: {height}; overflow: auto"
    return element("div", element("style", Html(_STYLE)), *content, class_="numgrad", style=size)


# The selectors have to outdo JupyterLab's own for tables.
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
