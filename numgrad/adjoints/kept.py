"""Derivatives as compiled functions, whose machine code other processes find in the kernel cache."""

from __future__ import annotations

import ast
import hashlib
from types import ModuleType
from typing import Any

import numpy as np
from numba import njit, typeof

from ..devices import stored_module
from .procedures import RULES, source_of_files
from .source import compiled, names_in
from .support import same_length

_OPTIONS = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}


def dispatcher(source: str, title: str, namespace: dict[str, Any]) -> Any:
    """Return the function of a source, compiled when it is first called.

    Its machine code is kept if it follows from the source: it may call only functions of this package.
    """
    used = {each: namespace[each] for each in sorted(names_in(ast.parse(source)) & namespace.keys())}
    about = [_description(value) for value in used.values()]
    if None in about:
        return njit(**_OPTIONS)(compiled(source, title, namespace))
    return stored_module(title, source, used, f"{source_of_files()} {about}", **_OPTIONS)


def _description(value: Any) -> str | None:
    """Return a text that differs for different values; None for what has no such text."""
    if isinstance(value, np.ndarray):
        return f"{typeof(value)!r} {hashlib.sha256(value.tobytes()).hexdigest()} {value.shape}"
    if isinstance(value, (bool, int, float, np.generic)):
        return f"{type(value)} {value!r}"
    own = isinstance(value, ModuleType) or value is same_length or getattr(value, "py_func", None) in RULES
    return value.__name__ if own else None
