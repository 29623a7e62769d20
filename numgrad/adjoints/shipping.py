"""Pickling of functions that are compiled from their source: by name, or with the source for other processes.

Such a function is pure: it reads only numbers and other functions.  One that is defined in the main program, or within
a function, is therefore stored as bytes that contain everything it needs, and any pickler can store these.
"""

from __future__ import annotations

import functools
import linecache
import pickle
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from numba.core.serialize import dumps

from ..core.references import is_importable
from .source import namespace_of

#: The number of functions that a process keeps: one that is received again is not compiled again.
KEPT = 256


def reduced(decorated: Any, make: Callable[..., Any], arguments: tuple[Any, ...], functions: Iterable[Any]) -> Any:
    """Return what ``__reduce__`` of a decorated function returns.

    Args:
        decorated: the function, with the name of the Python function that it was made from.
        make: called with the arguments, it makes the function again.
        arguments: its arguments.
        functions: the Python functions among the arguments.
    """
    if is_importable(decorated):
        return decorated.__qualname__
    return _unpickled, (dumps((make, arguments)), _sources(functions))


@functools.lru_cache(KEPT)
def _unpickled(payload: bytes, sources: tuple[tuple[str, str], ...]) -> Any:
    for file, text in sources:
        linecache.cache.setdefault(file, (len(text), None, text.splitlines(True), file))
    make, arguments = pickle.loads(payload)
    return make(*arguments)


def _sources(functions: Iterable[Any]) -> tuple[tuple[str, str], ...]:
    """Return the names and texts of the files that define functions, or what they call, except importable modules."""
    files: dict[str, str] = {}
    left, known = [*functions], set()
    while left:
        function = left.pop()
        if id(function) in known or not hasattr(function, "__qualname__") or is_importable(function):
            continue
        known.add(id(function))
        python = getattr(function, "scalar_function", getattr(function, "py_func", function))
        if isinstance(python, FunctionType):
            code, namespace = python.__code__, namespace_of(python)
            files[code.co_filename] = "".join(linecache.getlines(code.co_filename, python.__globals__))
            left += [namespace.get(name) for name in (*code.co_names, *code.co_freevars)]
    return tuple(files.items())
