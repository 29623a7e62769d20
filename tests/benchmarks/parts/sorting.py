"""Sorting, selection and histograms of large tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from timing import Case, Input, Part, tensor_of

__all__ = ["parts"]

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sort of rows": lambda m, x: x.sort(-1),
    "sort of columns": lambda m, x: x.sort(0),
    "sort of rows of 10": lambda m, x: x.reshape(-1)[: x.numel() // 10 * 10].view(-1, 10).sort(-1),
    "sort of integers": lambda m, x: (x * 1000).long().sort(-1),
    "topk(1)": lambda m, x: x.topk(1),
    "topk(50)": lambda m, x: x.topk(50),
    "topk(5) of columns": lambda m, x: x.topk(5, 0),
    "topk(50) of all": lambda m, x: x.reshape(-1).topk(50),
    "topk(50) of ascending numbers": lambda m, x: m.arange(x.numel()).topk(50),
    "kthvalue": lambda m, x: x.kthvalue(x.shape[-1] // 3),
    "median of rows": lambda m, x: x.median(-1),
    "median of all": lambda m, x: x.median(),
    "mode": lambda m, x: x.round(decimals=1).mode(-1),
    "quantile": lambda m, x: x.quantile(0.9, -1),
    "unique": lambda m, x: x.round(decimals=2).unique(),
    "searchsorted": lambda m, x: m.searchsorted(m.linspace(-1, 1, 1000), x),
    "bincount": lambda m, x: m.bincount((x.reshape(-1) * 100 + 100).long()),
    "histc": lambda m, x: m.histc(x, 100),
    "cummax": lambda m, x: x.cummax(-1),
}


def parts(rows: int, columns: int) -> Iterator[Part]:
    """Each function, without gradients."""
    cases = []
    for name, function in FUNCTIONS.items():

        def make(module: Any, function: Any = function) -> Any:
            x = tensor_of(module, Input((rows, columns), grad=False), 1)
            return lambda: function(module, x)

        cases.append(Case(name, make))
    yield Part(f"Sorting and selection of {rows:,} x {columns:,} float32", cases, 1.1)
