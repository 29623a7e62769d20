"""Compact values: copies and summaries of tensors as they were at one moment, and the text of their elements."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.layout import numel
from ..core.types import Size, dtype, size_of
from ..tensors.tensor import Tensor, fresh

#: Tensors of up to this many elements are printed in full.
PRINTED = 24

#: The number of elements shown of a larger tensor.
SHOWN = 3

#: The number of items of a tuple that are printed.
PARTS = 8


@dataclass(frozen=True)
class Summary:
    """A summary of a tensor that is too large to copy, or of one under ``vmap``, which has no elements to show.

    Attributes:
        shape: its shape.
        dtype: its dtype.
        first: its first elements, in row-major order.
        least, greatest: its least and greatest element, NaN if any element is NaN; None if it is complex or empty.
    """

    shape: Size
    dtype: dtype
    first: tuple[Any, ...]
    least: Any
    greatest: Any

    def __str__(self) -> str:
        dots = ", ..." if numel(self.shape) > len(self.first) else ""
        elements = f": {', '.join(map(number_text, self.first))}{dots}" if self.first else ""
        extent = "" if self.least is None else f" (from {number_text(self.least)} to {number_text(self.greatest)})"
        return f"{self.dtype.name} {list(self.shape)}{elements}{extent}"


#: A copy of a tensor, or its summary.
Value = Tensor | Summary


def snapshot(value: Any, limit: float) -> Any:
    """Return a copy of a value: a tensor of at most ``limit`` elements without its graph, a larger one as a summary.

    Tuples and lists become tuples and lists of snapshots.  Anything else but numbers is kept as text.
    """
    if isinstance(value, Tensor):
        layout = value._layout
        if hasattr(value, "_mapped"):  # one example of many, under vmap
            return Summary(size_of(layout.shape), layout.type.dtype, (), None, None)
        array = value._all_elements()
        if array.size > limit:
            return summary(value, array)
        return fresh(np.array(array, order="C").reshape(-1), layout.shape, layout.type)
    if isinstance(value, tuple | list):
        parts = [snapshot(part, limit) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    return value if value is None or isinstance(value, bool | int | float | complex | str) else reprlib.repr(value)


def summary(tensor: Tensor, array: np.ndarray) -> Summary:
    """Return the summary of a tensor with these elements."""
    first = tuple(array.flat[:SHOWN].tolist())
    ordered = array.size > 0 and array.dtype.kind != "c"
    least, greatest = (array.min().item(), array.max().item()) if ordered else (None, None)
    return Summary(size_of(tensor._layout.shape), tensor._layout.type.dtype, first, least, greatest)


def value_text(value: Any) -> str:
    """Return a snapshot as text: small tensors with all their elements, which may take several lines."""
    if isinstance(value, Tensor):
        return repr(value) if value._layout.size <= PRINTED else str(summary(value, value._numbers()))
    if isinstance(value, tuple | list):
        texts = [value_text(part) for part in value[:PARTS]]
        if len(value) > PARTS:
            texts.append("...")
        return f"[{', '.join(texts)}]" if isinstance(value, list) else f"({', '.join(texts)}{',' * (len(texts) == 1)})"
    return str(value) if isinstance(value, Summary) else repr(value)


#: Tensors of more than FEW elements show only the first FIRST.
FEW, FIRST = 12, 3


def values_text(tensor: Any) -> list[str]:
    """Return the elements as lines: all of a small tensor; the first, the least and the greatest of a large one."""
    try:
        array = tensor._numbers()
    except RuntimeError:  # one example of many, under vmap
        return ["elements under vmap"]
    if array.size == 0:
        return ["no elements"]
    if array.size <= FEW and array.ndim < 2:
        return [_row(array.tolist())]
    if array.size <= FEW and array.ndim == 2:
        return f"[{',~ '.join(map(_row, array.tolist()))}]".split("~")
    first = ", ".join(map(number_text, array.reshape(-1)[:FIRST].tolist()))
    if array.dtype.kind in "cb":
        return [f"{first}, …"]
    return [f"{first}, … from {number_text(array.min().item())} to {number_text(array.max().item())}"]


def _row(values: Any) -> str:
    return f"[{', '.join(map(number_text, values))}]" if isinstance(values, list) else number_text(values)


def number_text(value: Any) -> str:
    """Return an element as text with few digits."""
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, complex):
        return f"{value.real:.3g}{value.imag:+.3g}j"
    return f"{value:.4g}"
