"""What kernels for GPUs say beside Numba's own words: atomic updates of rows, and rows given by their address.

A kernel gets the address of a row's first element; ``row[i]`` reads and writes elements.  In the simulator rows are
arrays, and these functions do in plain Python what they do on a GPU.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

__all__ = ["atomic_add", "register", "row_at"]

_lock = threading.Lock()
_pending: list[Callable[[], None]] = []


def atomic_add(row: Any, place: int, value: Any) -> None:
    """Add to an element, which other threads may be adding to at the same time; in which order is not said."""
    with _lock:
        row[place] += value


def row_at(address: int, dtype: Any) -> Any:
    """The row of elements that begins at an address, which lies in an array of addresses."""
    kind = np.dtype(dtype)
    memory = (ctypes.c_char * (1 << 40)).from_address(int(address))
    return np.frombuffer(memoryview(memory), kind)


def register() -> None:
    """Tell numba-cuda how to compile calls of these functions."""
    while _pending:
        _pending.pop()()


def _compiled(public: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorator: the instructions that calls of ``public`` become, as Numba's ``intrinsic`` says."""

    def decorate(implementation: Any) -> Any:
        def tell() -> None:
            from numba.cuda.cudadecl import registry
            from numba.core.typing.templates import make_intrinsic_template

            template = make_intrinsic_template(public, implementation, public.__name__)
            registry.register_global(public, types.Function(template))

        _pending.append(tell)
        return implementation

    return decorate


@_compiled(atomic_add)
def _atomic_add(typing_context: Any, row: Any, place: Any, value: Any) -> Any:
    element = row.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from numba.cuda import nvvmutils

        row, place, value = arguments
        target = builder.gep(row, [place])
        if isinstance(element, types.Float):  # NVVM has no instruction for it, but functions
            add = getattr(nvvmutils, f"declare_atomic_add_{element.name}")(builder.module)
            builder.call(add, [target, value])
        else:
            builder.atomic_rmw("add", target, value, "monotonic")
        return context.get_dummy_value()

    return types.void(row, types.intp, element), generate


@_compiled(row_at)
def _row_at(typing_context: Any, address: Any, dtype: Any) -> Any:
    result = types.CPointer(dtype.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(result))

    return result(types.intp, dtype), generate
