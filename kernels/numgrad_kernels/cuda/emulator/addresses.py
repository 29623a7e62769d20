"""Pointers made of addresses, and calls of machine code, in functions that Numba compiles."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic


def _pointer_to(element: Any) -> Any:
    @intrinsic
    def at(typing, address):
        def generate(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(types.int64), generate

    return at


int64_at = _pointer_to(types.int64)
uint8_at = _pointer_to(types.uint8)


@intrinsic
def address_of(typing, pointer):
    """Return the address of a pointer."""

    def generate(context, builder, signature, arguments):
        return builder.ptrtoint(arguments[0], ir.IntType(64))

    return types.int64(pointer), generate


@intrinsic
def call_step(typing, function, record, parameters, shared, thread, block, context):
    """Call the machine code of ``step`` (see ``translation.py``) at an address."""
    wide, narrow = types.int64, types.int32

    def generate(unused, builder, signature, arguments):
        pointer, i64, i32 = ir.IntType(8).as_pointer(), ir.IntType(64), ir.IntType(32)
        step = ir.FunctionType(i32, [pointer, pointer, i64, i32, i32, pointer]).as_pointer()
        at, record, parameters, shared, thread, block, context = arguments
        return builder.call(builder.inttoptr(at, step), [
            builder.inttoptr(record, pointer), builder.inttoptr(parameters, pointer), shared, thread, block,
            builder.inttoptr(context, pointer),
        ])

    return narrow(wide, wide, wide, wide, narrow, narrow, wide), generate
