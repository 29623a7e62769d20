"""Automatic differentiation: walking back through what was recorded.

Nothing in this package knows an operation; see ``numgrad.ops`` for those.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .._missing import missing_from
from . import anomaly_mode, function, grad_mode, graph
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .backward import backward, grad
from .function import Function
from .grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .graph import _unsafe_preserve_version_counter as _unsafe_preserve_version_counter
from .saved import SavedTensor
from .variable import Variable

__all__ = [
    "Function", "SavedTensor", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad",
    "enforce_grad_layout_policy", "function", "functional", "grad", "grad_mode", "graph", "inference_mode",
    "is_multithreading_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled",
]

#: What is imported when it is first asked for: each name with the module that it is or that has it.
_LATER = {"functional": "functional"}

if TYPE_CHECKING:
    from . import functional

    def __getattr__(name: str) -> Any: ...

else:
    _raise_missing = missing_from(globals(), "autograd")

    def __getattr__(name):
        if name not in _LATER:
            return _raise_missing(name)
        module = importlib.import_module(f".{_LATER[name]}", __name__)
        value = globals()[name] = module if name == _LATER[name] else getattr(module, name)
        return value

    def __dir__():
        return sorted({*globals(), *_LATER})
