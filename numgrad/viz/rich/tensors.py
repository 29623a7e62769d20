"""Tensors: a line that says what it is, and the numbers that its text shows, in rows and columns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...autograd.grad_mode import LEVELS, state
from ...core import printing
from ...core.text import origin_text
from .html import Html, element, faint, framed, joined

#: Where more numbers than these would be shown, since it was asked to print all, it is done in text.
_MOST = 10_000


def html(tensor: Any) -> str | None:
    """The tensor as HTML; None where only its text tells everything: within transforms, and with tangents."""
    if state.mode & LEVELS or hasattr(tensor, "_mapped"):
        return None
    array = tensor._host_array()
    positions = printing.shown_positions(array)
    shown = printing.taken(array, positions)
    if shown.size > _MOST or (array.size and not shown.size):
        return None
    return framed(_caption(tensor), _numbers(shown, positions, array.shape))


def _caption(tensor: Any) -> Html:
    origin = origin_text(tensor)
    parts = [element("b", type(tensor).__name__), list(tensor._layout.shape), tensor._layout.type.dtype.name]
    if tensor.is_cuda:
        parts.append(str(tensor.device))
    if origin is not None:
        parts.append(faint(origin))
    return element("p", joined(parts, " "))


def _numbers(array: np.ndarray, positions: Sequence[np.ndarray], shape: tuple[int, ...]) -> Html:
    if array.size == 0:
        return faint("no elements")
    padded, width = printing.element_texts(array.reshape(-1))
    texts = [text.strip() for text in padded]
    return _line(texts, width, positions, shape) if array.ndim < 2 else _rows(texts, positions, shape)


def _line(texts: list[str], width: int, positions: Sequence[np.ndarray], shape: tuple[int, ...]) -> Html:
    """Numbers of equal width, in as many lines as the window asks for."""
    style = f"min-width: {width}ch"
    cells = [element("span", text, style=style) for text in texts]
    if shape and len(texts) < shape[0]:
        cells.insert(_gap(positions[0]), element("span", "…", style=style))
    return element("div", joined(cells, " "), class_="numbers")


def _gap(positions: np.ndarray) -> int:
    """Where in a row of entries some are left out."""
    return len(positions) // 2


def _rows(texts: list[str], positions: Sequence[np.ndarray], shape: tuple[int, ...]) -> Html:
    """A table with a row for each index but the last; a line where one of the outer indices changes."""
    columns = positions[-1]
    step = len(columns)
    has_gap = step < shape[-1]

    def row(heading: Any, cells: list[Any], name: str = "td", **attributes: str) -> Html:
        if has_gap:
            cells = [*cells[: _gap(columns)], "…", *cells[_gap(columns) :]]
        return element("tr", element("th", faint(heading)), *[element(name, cell) for cell in cells], **attributes)

    lines = []
    before: tuple[int, ...] | None = None
    for number, index in enumerate(itertools.product(*[place.tolist() for place in positions[:-1]])):
        attributes = {}
        if before is not None:
            changed = next(place for place, (old, new) in enumerate(zip(before, index, strict=True)) if old != new)
            if index[changed] > before[changed] + 1:
                lines.append(row("⋮", ["⋮"] * step))
            if changed < len(index) - 1:
                attributes["class_"] = "next"
        lines.append(row(", ".join(map(str, index)), texts[number * step : (number + 1) * step], **attributes))
        before = index
    head = element("thead", row("", [faint(column) for column in columns], "th"))
    return element("table", head, element("tbody", *lines))
