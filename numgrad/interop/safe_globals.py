"""Classes and functions that the user takes for safe: what files may name besides tensors and plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "name_of", "safe_global", "safe_globals"]

#: A class or function, also with the name that files have for it.
SafeGlobal = Callable[..., Any] | tuple[Callable[..., Any], str]

_safe: dict[str, Callable[..., Any]] = {}


def name_of(function: Any) -> str:
    """The name of a class or function in files: that which the user gave it, or its module's and its own."""
    given = [name for name, one in _safe.items() if one is function]
    return given[0] if given else f"{function.__module__}.{function.__qualname__}"


def _entry(given: SafeGlobal) -> tuple[str, Callable[..., Any]]:
    function, name = given if isinstance(given, tuple) else (given, f"{given.__module__}.{given.__qualname__}")
    if not callable(function) or type(name) is not str:
        raise TypeError(f"a safe global is a class or function, or such a one and its name in files, not {given!r}")
    return name, function


def add_safe_globals(safe_globals: Sequence[SafeGlobal]) -> None:
    """Have ``load`` build these classes, and call these functions, where a file names them, and ``save`` store them.

    Each may come as a pair, with the name that files have for it.
    """
    _safe.update(map(_entry, safe_globals))


def get_safe_globals() -> list[Callable[..., Any]]:
    """The classes and functions that were named to :func:`add_safe_globals`."""
    return list(_safe.values())


def clear_safe_globals() -> None:
    """Forget what was named to :func:`add_safe_globals`."""
    _safe.clear()


@contextmanager
def safe_globals(safe_globals: Sequence[SafeGlobal]) -> Iterator[None]:
    """``with safe_globals([cls]):`` as :func:`add_safe_globals`, until the block ends."""
    before = dict(_safe)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        clear_safe_globals()
        _safe.update(before)


def safe_global(name: str) -> Callable[..., Any] | None:
    """The class or function of this name in files, if the user named it."""
    return _safe.get(name)
