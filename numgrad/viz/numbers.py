"""Elements of a tensor in little room."""

from __future__ import annotations

from typing import Any

#: Tensors of more elements than this show the first ones alone.
FEW, FIRST = 12, 3


def values_text(tensor: Any) -> list[str]:
    """The elements in lines: all of a small tensor, of a large one the first, the least and the greatest."""
    try:
        array = tensor._host_array()
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
    """An element with few digits."""
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, complex):
        return f"{value.real:.3g}{value.imag:+.3g}j"
    return f"{value:.4g}"
