"""``torch.compile`` and ``torch.compiler``: programs that call them run, with each operation compiled by itself."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
]

_told: set[str] = set()


def told_once(text: str, stacklevel: int) -> None:
    """Warn, unless that was said before."""
    if text not in _told:
        _told.add(text)
        warnings.warn(text, stacklevel=stacklevel + 1)


def compile(
    model: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
    backend: Any = "inductor", mode: str | None = None, options: Any = None, disable: bool = False,
) -> Any:
    """The function or module as it is, or a decorator that returns it so; it is said once that nothing is compiled.

    Raises:
        RuntimeError: both ``mode`` and ``options`` are given.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if not disable:
        told_once("torch.compile: numgrad compiles each operation; programs run as they are, not as a whole", 2)
    return model if model is not None else lambda function: function


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function as it is, or a decorator that returns it so."""
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn: Any) -> Any:
    """The function as it is."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function as it is."""
    return fn


def is_compiling() -> bool:
    """False: the program runs."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Nothing: there is nothing to forget."""


def cudagraph_mark_step_begin() -> None:
    """Nothing: no graphs are kept."""


def set_stance(stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> Any:
    """A context without effect."""
    return contextlib.nullcontext()


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """None are there."""
    return []
