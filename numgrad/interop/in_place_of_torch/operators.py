"""``torch.ops``: operations by namespace and name, as in ``torch.ops.example.double`` and ``torch.ops.aten.add``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numgrad

from ... import native_functions
from .library import defined
from .refusals import refusing

__all__: list[str] = []


class _Packet:
    """An operation, which is all of its overloads, as in ``torch.ops.aten.add.Tensor``."""

    def __init__(self, function: Callable[..., Any]):
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)

    def __getattr__(self, overload: str) -> _Packet:
        if overload.startswith("_"):
            raise AttributeError(overload)
        return self


@functools.cache
def _packet(name: str) -> _Packet:
    """Return the operation of ``aten`` of this name, the same object each time, for tables with such keys."""
    for module in (native_functions, numgrad):
        if hasattr(module, name):
            return _Packet(getattr(module, name))
    return _Packet(refusing("torch.ops.aten", name, "operation of this name"))


class _Namespace:
    """The operations of :func:`library.custom_op` in a namespace; those of ``aten`` are numgrad's."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if self._name == "aten":
            return _packet(name)
        if (qualified := f"{self._name}::{name}") in defined:
            return defined[qualified]
        raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return _Namespace(name)
