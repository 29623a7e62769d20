"""``torch._dynamo`` beyond ``torch.compiler``, and settings of PyTorch's compiler, which have no effect."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ...compiler import allow_in_graph, compile

__all__ = [
    "cpp", "disallow_in_graph", "forbid_in_graph", "graph_break", "mark_dynamic", "mark_static", "mark_static_address",
    "maybe_mark_dynamic", "optimize", "triton",
]

#: Groups of settings.
triton, cpp = SimpleNamespace(), SimpleNamespace()

disallow_in_graph = forbid_in_graph = allow_in_graph


def mark_dynamic(t: Any, index: Any = None, **options: Any) -> None:
    """Do nothing: programs are recorded for each shape."""


maybe_mark_dynamic = mark_static = mark_static_address = mark_dynamic


def graph_break(msg: str = "") -> None:
    """Do nothing: Python between the kernels of a program is not an obstacle."""


def optimize(backend: Any = "inductor", *, nopython: bool = False, **options: Any) -> Callable[..., Any]:
    """Return :func:`numgrad.compile` as a decorator."""
    return compile(backend=backend)
