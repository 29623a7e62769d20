"""The text of a hand-written kernel, together with everything it calls, as one module for the kernel store."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

__all__ = ["module_text"]

#: Modules whose functions are imported by the text, not copied into it.
_IMPORTED = ("numgrad_kernels.scalar", "numgrad_kernels.local")


def module_text(
    function: Callable[..., Any], compute: np.dtype, parts: Mapping[str, Any] = MappingProxyType({})
) -> str:
    """A module that defines ``kernel``, the given function, with ``T`` standing for the ``compute`` dtype.

    Functions that it calls from its own package are copied in, so that the digest of the text covers them; those
    that ``parts`` names are replaced by the functions given there.

    Raises:
        TypeError: the function uses a name that a kernel cannot have.
    """
    collected = _Collected(compute, parts)
    collected.add(function.__name__, function)
    copies = collected.copies
    root = copies.pop(function.__name__)
    lines = [f'"""{function.__name__}, computed in {compute}."""', ""]
    lines += [*sorted(collected.imports), "", *sorted(collected.constants)]
    for text in copies.values():
        lines += ["", "", '@njit(error_model="numpy", fastmath={"contract"})', text]
    lines += ["", "", root.replace(f"def {function.__name__}(", "def kernel(", 1)]
    return "\n".join(lines) + "\n"


class _Collected:
    def __init__(self, compute: np.dtype, parts: Mapping[str, Any]):
        self.compute = compute
        self.parts = parts
        self.imports: set[str] = set()
        self.constants: set[str] = set()
        self.copies: dict[str, str] = {}

    def add(self, name: str, function: Any) -> None:
        """Copy a function, as ``name``, and what it names; callees come before their callers."""
        text = textwrap.dedent(inspect.getsource(function)).rstrip()
        for used in _global_names(text, function):
            self._resolve(used, self.parts.get(used, function.__globals__[used]), function)
        self.copies[name] = text.replace(f"def {function.__name__}(", f"def {name}(", 1)
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
                self.add(name, value)
        elif isinstance(value, int | float):
            self.constants.add(f"{name} = {value!r}")
        else:
            raise TypeError(f"{function.__qualname__}: a kernel cannot use '{name}', which is a {type(value).__name__}")


def _global_names(text: str, function: FunctionType) -> list[str]:
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return sorted(name for name in names if name in function.__globals__)
