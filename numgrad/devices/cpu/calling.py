"""Linked programs as functions that machine code calls which Numba compiles of users' functions."""

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

#: What a program returns that is running already.
BUSY = -1

#: Whatever such machine code works on: it lives as long as the process, as nobody knows when it is called last.
_kept: list[Any] = []


def caller(linked: Linked, table: np.ndarray, lines: Sequence[int], one_thread: bool) -> Any:
    """A function for Numba's own: ``run(addresses)`` puts these into lines of the table, and runs the program.

    It returns what the program does, or BUSY: the table and the memory are those of one run at a time.  Numba keeps
    no machine code on disk that calls it, as that has addresses in it.

    Args:
        one_thread: whether BLAS is to use one thread.
    """
    busy = np.zeros(1, np.int64)
    threads = thread_functions() if one_thread else None
    _kept.append((linked, table, busy))
    number, small = ir.IntType(64), ir.IntType(32)

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def function(address: int, result: Any, *parameters: Any) -> Any:
            pointer = context.add_dynamic_addr(builder, address, "numgrad")
            return builder.bitcast(pointer, ir.FunctionType(result, parameters).as_pointer())

        def row(array: np.ndarray) -> Any:
            return builder.bitcast(context.add_dynamic_addr(builder, array.ctypes.data, "numgrad"), number.as_pointer())

        taken, rows = row(busy), row(table)
        result = cgutils.alloca_once_value(builder, number(BUSY))
        is_free = builder.icmp_signed("==", builder.atomic_rmw("xchg", taken, number(1), "acq_rel"), number(0))
        with builder.if_then(is_free, likely=True):
            for line, address in zip(lines, cgutils.unpack_tuple(builder, arguments[0]), strict=True):
                builder.store(address, builder.gep(rows, [number(line)]))
            if threads is not None:
                before = builder.call(function(threads[0], small), [])
                set_threads = function(threads[1], ir.VoidType(), small)
                builder.call(set_threads, [small(1)])
            builder.store(builder.call(function(linked.address, number, number.as_pointer()), [rows]), result)
            if threads is not None:
                builder.call(set_threads, [before])
            builder.store_atomic(number(0), taken, "release", 8)
        return builder.load(result)

    @intrinsic
    def run(typing: Any, addresses: Any) -> Any:
        return types.int64(addresses), write

    return run
