"""Automatic differentiation: the backward pass through the graph that operations record.

The modules of this package are independent of the operations, which ``numgrad.ops`` defines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.missing import found_later as _found_later
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
from .gradcheck import gradcheck, gradgradcheck
from .graph import _unsafe_preserve_version_counter as _unsafe_preserve_version_counter
from .saved import SavedTensor
from .variable import Variable

__all__ = [
    "Function", "SavedTensor", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad",
    "enforce_grad_layout_policy", "forward_ad", "function", "functional", "grad", "grad_mode", "gradcheck",
    "gradgradcheck", "graph", "inference_mode", "is_multithreading_enabled", "no_grad", "profiler", "profiler_util",
    "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled",
]

#: Modules imported on first access, each under its own name.
_LATER = {name: name for name in ("forward_ad", "functional", "profiler", "profiler_util")}

if TYPE_CHECKING:
    from . import forward_ad, functional, profiler, profiler_util

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__, __dir__ = _found_later(globals(), "autograd", _LATER)
