"""The rules of the op table as text: what is written there, read from the source."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

__all__ = ["formula"]


@functools.cache
def formula(function: Callable[..., Any]) -> str:
    """What a function returns, as text; the statements before it in front."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(definition, ast.FunctionDef)
    statements = definition.body[ast.get_docstring(definition) is not None :]
    texts = [" ".join(ast.unparse(statement).split()) for statement in statements]
    return "; ".join([*texts[:-1], texts[-1].removeprefix("return ")])
