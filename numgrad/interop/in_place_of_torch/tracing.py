"""The functions of ``torch.fx`` and ``torch.onnx`` that are useful without traces."""

from __future__ import annotations

from typing import Any

__all__ = ["is_in_onnx_export", "wrap"]


def wrap(fn_or_name: Any) -> Any:
    """Return the argument: a function, or its name, which traces would record as one call."""
    return fn_or_name


def is_in_onnx_export() -> bool:
    """Return False: nothing is exported."""
    return False
