"""Optimizers: a table of their options, with a column for each group of parameters."""

from __future__ import annotations

from typing import Any

from ...core.display import counted
from .html import element, framed, table


def html(optimizer: Any) -> str:
    """The optimizer as HTML."""
    groups = optimizer.param_groups
    names = sorted({name for group in groups for name in group} - {"params", "param_names"})
    rows: list[list[Any]] = [[name, *[group.get(name, "") for group in groups]] for name in names]
    rows.insert(0, ["parameters", *[_size(group["params"]) for group in groups]])
    head = ["", *[f"group {number}" for number in range(len(groups))]] if len(groups) > 1 else ()
    return framed(element("p", element("b", type(optimizer).__name__)), table(rows, head, class_="left"))


def _size(tensors: list[Any]) -> str:
    return f"{counted(len(tensors), 'tensor')} of {counted(sum(tensor.numel() for tensor in tensors), 'element')}"
