"""Syntax trees of functions, which kernels are made of."""

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

#: CPython counts the depth of trees in one place for all threads, and fails if two make trees at once.
_parsing = threading.RLock()

if hasattr(os, "register_at_fork"):  # a copy made while another thread parses would wait for that thread forever
    os.register_at_fork(before=_parsing.acquire, after_in_parent=_parsing.release, after_in_child=_parsing.release)


def syntax_tree(function: Callable[..., Any]) -> ast.FunctionDef:
    """The syntax tree of a function, its docstring left out: a new one, which may be rewritten in place.

    Raises:
        TypeError: there is no text of it, it is not defined with ``def``, or its text has changed.
    """
    definition = _parsed(_block(function)) or _parsed(_source(function))
    if definition is None:  # a lambda's text is whatever line it stands in
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
    """Which function it is, and where it is defined: for messages."""
    code = function.__code__
    return f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno})"


def _parsed(text: str) -> ast.FunctionDef | None:
    """The definition that a text consists of, if it does."""
    try:
        with _parsing:  # anew, which takes a fifth of the time that a copy of a tree does
            body = ast.parse(text).body
    except SyntaxError:
        return None
    return body[0] if len(body) == 1 and isinstance(body[0], ast.FunctionDef) else None


@functools.lru_cache(maxsize=1024)
def _block(function: Callable[..., Any]) -> str:
    """The text of a function, as far as lines are indented or go on: found so in a tenth of the time that Python takes.

    Where that is not all of it, as in a string of several lines, it is nothing that can be parsed.
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
    """The text of a function as Python finds it."""
    try:
        return textwrap.dedent(inspect.getsource(function))
    except OSError as error:
        raise TypeError(f"{where(function)}: its source text is needed to make a kernel of it") from error
