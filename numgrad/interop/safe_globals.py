"""Classes and functions registered as safe, which files may name besides tensors and plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "name_of", "safe_global", "safe_globals"]

#: A class or function, optionally paired with its name in files.
SafeGlobal = Callable[..., Any] | tuple[Callable[..., Any], str]

_safe: dict[str, Callable[..., Any]] = {}


def name_of(function: Any) -> str:
    """Return the name of a class or function in files: the registered name, or its module and qualified name."""
    registered_names = [name for name, registered in _safe.items() if registered is function]
    return registered_names[0] if registered_names else f"{function.__module__}.{function.__qualname__}"


def _entry(entry: SafeGlobal) -> tuple[str, Callable[..., Any]]:
    function, name = entry if isinstance(entry, tuple) else (entry, f"{entry.__module__}.{entry.__qualname__}")
    if not callable(function) or type(name) is not str:
        raise TypeError(f"a safe global is a class or function, or a pair of one and its name in files, not {entry!r}")
    return name, function


def add_safe_globals(safe_globals: Sequence[SafeGlobal]) -> None:
    """Allow ``load`` to build these classes and call these functions if a file names them, and ``save`` to store them.

    Each item may be a pair with the name used in files.
    """
    _safe.update(map(_entry, safe_globals))


def get_safe_globals() -> list[Callable[..., Any]]:
    """Return the registered classes and functions."""
    return list(_safe.values())


def clear_safe_globals() -> None:
    """Remove all registered classes and functions."""
    _safe.clear()


@contextmanager
def safe_globals(safe_globals: Sequence[SafeGlobal]) -> Iterator[None]:
    """Context manager that registers classes and functions as :func:`add_safe_globals` does, until the block ends."""
    before = dict(_safe)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        clear_safe_globals()
        _safe.update(before)


def safe_global(name: str) -> Callable[..., Any] | None:
    """Return the class or function registered under this name in files, or None."""
    return _safe.get(name)
