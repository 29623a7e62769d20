"""``torch.ops``: operations by namespace and name, as in ``torch.ops.example.double`` and ``torch.ops.aten.add``."""

from __future__ import annotations

from typing import Any

import numgrad

from ... import native_functions
from .library import defined

__all__: list[str] = []


class _Namespace:
    """The operations of :func:`library.custom_op` in a namespace; those of ``aten`` are numgrad's."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if self._name == "aten":
            return getattr(native_functions if hasattr(native_functions, name) else numgrad, name)
        if (qualified := f"{self._name}::{name}") in defined:
            return defined[qualified]
        raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return _Namespace(name)
