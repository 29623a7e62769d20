"""Linked programs as functions that can be called from users' functions compiled by Numba."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .blas import thread_functions
from .linking import Linked

__all__ = ["BUSY", "caller"]

#: Result of a program that is already running.
BUSY = -1

#: Operands of such machine code.  They live as long as the process, since the last call is unknown.
_kept: list[Any] = []


def caller(linked: Linked, table: np.ndarray, lines: Sequence[int], one_thread: bool) -> Any:
    """Return the function ``run(addresses)``, for code that Numba compiles.

    It writes the addresses to ``lines`` of the table, runs the program, and returns its result.  It returns BUSY during
    another run, as the table and the memory serve one run at a time.  Numba caches no machine code on disk that calls
    it, since that code contains addresses.

    Args:
        one_thread: True if BLAS must use one thread.
    """
    busy = np.zeros(1, np.int64)
    threads = thread_functions() if one_thread else None
    _kept.append((linked, table, busy))
    number, small = ir.IntType(64), ir.IntType(32)

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def function(address: int, result: Any, *parameters: Any) -> Any:
            pointer = context.add_dynamic_addr(builder, address, "numgrad")
            return builder.bitcast(pointer, ir.FunctionType(result, parameters).as_pointer())

        def elements(array: np.ndarray) -> Any:
            return builder.bitcast(context.add_dynamic_addr(builder, array.ctypes.data, "numgrad"), number.as_pointer())

        flag, entries = elements(busy), elements(table)
        result = cgutils.alloca_once_value(builder, number(BUSY))
        is_free = builder.icmp_signed("==", builder.atomic_rmw("xchg", flag, number(1), "acq_rel"), number(0))
        with builder.if_then(is_free, likely=True):
            for line, address in zip(lines, cgutils.unpack_tuple(builder, arguments[0]), strict=True):
                builder.store(address, builder.gep(entries, [number(line)]))
            if threads is not None:
                before = builder.call(function(threads[0], small), [])
                set_threads = function(threads[1], ir.VoidType(), small)
                builder.call(set_threads, [small(1)])
            builder.store(builder.call(function(linked.address, number, number.as_pointer()), [entries]), result)
            if threads is not None:
                builder.call(set_threads, [before])
            builder.store_atomic(number(0), flag, "release", 8)
        return builder.load(result)

    @intrinsic
    def run(typing: Any, addresses: Any) -> Any:
        return types.int64(addresses), write

    return run
