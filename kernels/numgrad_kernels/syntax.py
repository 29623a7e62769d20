"""Syntax trees of functions, from which kernels are made."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import os
import textwrap
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["syntax_tree", "where"]

#: CPython counts the depth of trees in one place for all threads, and fails if two of them build trees at once.
_parsing = threading.RLock()

if hasattr(os, "register_at_fork"):  # a copy made while another thread parses would wait for that thread forever
    os.register_at_fork(before=_parsing.acquire, after_in_parent=_parsing.release, after_in_child=_parsing.release)


def syntax_tree(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the syntax tree of a function without its docstring: a new one, which may be rewritten in place.

    Raises:
        TypeError: its text is not available, it is not defined with ``def``, or its text has changed.
    """
    definition = _parsed(_block(function)) or _parsed(_source(function))
    if definition is None:  # the text of a lambda is the whole line that contains it
        raise TypeError(f"{where(function)}: define it with 'def'")
    code = function.__code__
    names = [argument.arg for argument in definition.args.args + definition.args.kwonlyargs]
    if definition.name != code.co_name or names != [*code.co_varnames[: len(names)]]:
        raise TypeError(f"{where(function)}: its source text has changed since it was imported")
    definition.decorator_list = []
    if ast.get_docstring(definition) is not None:
        definition.body = definition.body[1:]
    return definition


def where(function: Callable[..., Any]) -> str:
    """Return the name of a function and where it is defined, for messages."""
    code = function.__code__
    return f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno})"


def _parsed(text: str) -> ast.FunctionDef | None:
    """Return the function definition that is the whole of a text, or None."""
    try:
        with _parsing:  # parsed again, which takes a fifth of the time of copying a tree
            body = ast.parse(text).body
    except SyntaxError:
        return None
    return body[0] if len(body) == 1 and isinstance(body[0], ast.FunctionDef) else None


@functools.lru_cache(maxsize=1024)
def _block(function: Callable[..., Any]) -> str:
    """Return the text of a function by its indented and continued lines, in a tenth of the time that Python takes.

    If that is not the whole function, as with a string of several lines, the result cannot be parsed.
    """
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)[code.co_firstlineno - 1 :]
    first = next(iter(lines), "")
    outside = first[: len(first) - len(first.lstrip())]
    inside = tuple([outside + mark for mark in " \t)"])
    begun = False
    for number, line in enumerate(lines):
        if begun and line.strip() and not line.startswith(inside) and not line.lstrip().startswith("#"):
            return textwrap.dedent("".join(lines[:number]))
        begun |= line.startswith(f"{outside}def ")
    return textwrap.dedent("".join(lines))


@functools.lru_cache(maxsize=1024)
def _source(function: Callable[..., Any]) -> str:
    """Return the text of a function as found by Python."""
    try:
        return textwrap.dedent(inspect.getsource(function))
    except OSError as error:
        raise TypeError(f"{where(function)}: its source text is needed to make a kernel of it") from error
