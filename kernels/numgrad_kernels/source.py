"""The text of a hand-written kernel, together with everything it calls, as one module for the kernel store."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["module_text"]

#: Modules whose functions are imported by the text, not copied into it.
_IMPORTED = ("numgrad_kernels.scalar", "numgrad_kernels.local")


def module_text(function: Callable[..., Any], compute: np.dtype) -> str:
    """A module that defines ``kernel``, the given function, with ``T`` standing for the ``compute`` dtype.

    Functions that it calls from its own package are copied in, so that the digest of the text covers them.

    Raises:
        TypeError: the function uses a name that a kernel cannot have.
    """
    collected = _Collected(compute)
    collected.add(function)  # type: ignore[arg-type]
    copies = collected.copies
    root = copies.pop(function.__name__)
    lines = [f'"""{function.__name__}, computed in {compute}."""', ""]
    lines += [*sorted(collected.imports), "", *sorted(collected.constants)]
    for text in copies.values():
        lines += ["", "", '@njit(error_model="numpy", fastmath={"contract"})', text]
    lines += ["", "", root.replace(f"def {function.__name__}(", "def kernel(", 1)]
    return "\n".join(lines) + "\n"


class _Collected:
    def __init__(self, compute: np.dtype):
        self.compute = compute
        self.imports: set[str] = set()
        self.constants: set[str] = set()
        self.copies: dict[str, str] = {}

    def add(self, function: FunctionType) -> None:
        """Copy a function and what it names; callees come before their callers."""
        text = textwrap.dedent(inspect.getsource(function)).rstrip()
        for name in _global_names(text, function):
            self._resolve(name, function.__globals__[name], function)
        self.copies[function.__name__] = text
        if len(self.copies) > 1:
            self.imports.add("from numba import njit")

    def _resolve(self, name: str, value: Any, function: FunctionType) -> None:
        if name == "T":
            element = "bool_" if self.compute.kind == "b" else self.compute.name
            self.imports.add(f"from numpy import {element} as T")
        elif isinstance(value, ModuleType):
            self.imports.add(f"import {value.__name__} as {name}")
        elif getattr(value, "__module__", None) in _IMPORTED:
            self.imports.add(f"from {value.__module__} import {name}")
        elif name == "prange":
            self.imports.add("from numba import prange")
        elif isinstance(value, FunctionType):
            if name not in self.copies:
                self.add(value)
        elif isinstance(value, int | float):
            self.constants.add(f"{name} = {value!r}")
        else:
            raise TypeError(f"{function.__qualname__}: a kernel cannot use '{name}', which is a {type(value).__name__}")


def _global_names(text: str, function: FunctionType) -> list[str]:
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return sorted(name for name in names if name in function.__globals__)
