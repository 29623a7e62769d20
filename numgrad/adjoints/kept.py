"""Derivatives as compiled functions, whose machine code other processes find in the kernel cache."""

from __future__ import annotations

import ast
import hashlib
import inspect
import math
from types import ModuleType
from typing import Any

import numpy as np
from numba import njit, typeof
from numba.core.registry import CPUDispatcher

from ..devices import sources, stored_module, text_in
from .procedures import RULES, source_of_files
from .source import compiled, names_in
from .support import same_length

_OPTIONS = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}


def dispatcher(source: str, title: str, namespace: dict[str, Any]) -> Any:
    """Return the function of a source, compiled when it is first called.

    Its machine code is kept if it follows from the source: it may call functions of this package, and derivatives.
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
    title: str = getattr(value, "__name__", "")
    if value is np.float32 or getattr(math, title, None) is value:
        return title
    if getattr(value, "__module__", None) == "numgrad.scalar":
        texts = [text_in(np.dtype(compute), value.op.function) for compute in (np.float32, np.float64)]
        return f"{title} {texts} {sources('numgrad_kernels.scalar ')}"
    if isinstance(value, CPUDispatcher) and value is not same_length:
        return _description_of_derivative(value.py_func)
    own = isinstance(value, ModuleType) or value is same_length or getattr(value, "py_func", None) in RULES
    return title if own else None


def _description_of_derivative(function: Any) -> str | None:
    """Return the source of a derivative of a function of numbers, with descriptions of what it refers to."""
    named = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    used = {name: value for name, value in named.items() if value is not None}
    about = [_description(value) for value in used.values()]
    calls_procedures = any(getattr(value, "py_func", None) in RULES for value in used.values())
    return None if None in about or calls_procedures else f"{inspect.getsource(function)} {[*used]} {about}"
