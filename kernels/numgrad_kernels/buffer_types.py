"""Numba types of the buffers that kernels read and write.  Indices count from the first element.

With Numba's own arrays, a signed index might count from the end.  Checking for that takes instructions, prevents loops
from being vectorised, and takes compile time.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_builtin
from numba.np.numpy_support import from_dtype

from .declarations import registered


class BufferType(types.Array):
    """Numba's type of contiguous one-dimensional arrays with non-negative indices."""

    def __init__(self, element: types.Type):
        super().__init__(element, 1, "C")

    def __repr__(self) -> str:
        return f"BufferType({self.dtype!r})"  # distinguishes these kernels from those with Numba's own arrays


class ElementBufferType(BufferType):
    """A buffer of a kernel that writes one element per round, computed from the elements at the same index.

    Note [Buffers that are the same]

    In an operation in place, the buffer that is written is one of those that are read.  LLVM cannot prove that the
    others do not overlap it, and checks before a vectorised loop where buffers begin and end.  It finds that these two
    overlap and would process one element at a time, which takes three to seven times as long.  These buffers therefore
    declare that nothing that is written is read.  That is not true of the buffer that is both read and written.  But a
    round's result depends on everything that the round reads, so it is written after that, and no other round reads it.
    If a kernel writes several elements in a round, the second could depend on the first, so its buffers declare
    nothing.  Buffers that overlap in another way are refused before a kernel runs (``check_in_place``), or copied.
    """

    def __repr__(self) -> str:
        return f"ElementBufferType({self.dtype!r})"


class BlockBufferType(BufferType):
    """A buffer of a kernel that writes several elements per round, each computed from the elements at the same index.

    The kernel's buffers lie in separate blocks of memory: it reads and writes a block through one buffer.

    Attributes:
        number: the number of the buffer among those that the kernel writes; -1 if the kernel only reads it.
        count: the number of buffers that the kernel writes.
    """

    def __init__(self, element: types.Type, number: int, count: int):
        self.number, self.count = number, count
        super().__init__(element)
        self.name = repr(self)

    @property
    def key(self) -> Any:
        return (*super().key, self.number, self.count)

    def __repr__(self) -> str:
        return f"BlockBufferType({self.dtype!r}, {self.number}, {self.count})"


def type_given(value: Any) -> types.Type:
    """Return the type of a kernel's argument: a buffer or its dtype, a number or its class."""
    if isinstance(value, np.ndarray | np.dtype):
        return BufferType(from_dtype(value if isinstance(value, np.dtype) else value.dtype))
    return _NUMBERS[value if isinstance(value, type) else type(value)]


_NUMBERS = {bool: types.boolean, int: types.int64, float: types.float64, complex: types.complex128}


@registered
def _register_types() -> None:
    for kind in (BufferType, ElementBufferType, BlockBufferType):
        register_default(kind)(models.ArrayModel)
    lower_builtin(operator.getitem, BufferType, types.Integer)(_read)
    lower_builtin(operator.setitem, BufferType, types.Integer, types.Any)(_write)


def _read(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    buffer_type, index_type = signature.args
    element = _element(context, builder, buffer_type, index_type, *arguments)
    before = len(builder.block.instructions)
    value = context.unpack_value(builder, buffer_type.dtype, element)
    _mark(builder, buffer_type, before, "load")
    return value


def _write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    buffer_type, index_type, value_type = signature.args
    buffer, index, value = arguments
    element = _element(context, builder, buffer_type, index_type, buffer, index)
    value = context.cast(builder, value, value_type, buffer_type.dtype)
    before = len(builder.block.instructions)
    context.pack_value(builder, buffer_type.dtype, value, element)
    _mark(builder, buffer_type, before, "store")


def _mark(builder: Any, buffer_type: Any, before: int, operation: str) -> None:
    """Attach the declarations of a buffer's type to its accesses emitted since ``before``."""
    scopes: dict[str, list[str]] = {}
    if isinstance(buffer_type, ElementBufferType):  # Note [Buffers that are the same]
        scopes = {"noalias" if operation == "load" else "alias.scope": ["written"]}
    elif isinstance(buffer_type, BlockBufferType):
        written = [f"written {number}" for number in range(buffer_type.count)]
        others = [name for number, name in enumerate(written) if number != buffer_type.number]
        scopes = {"noalias": others, "alias.scope": written[buffer_type.number :][: buffer_type.number >= 0]}
    module = builder.module
    for kind, names in scopes.items():
        if names:
            domain = module.add_metadata(["buffers"])
            declared = module.add_metadata([module.add_metadata([name, domain]) for name in names])
            for instruction in builder.block.instructions[before:]:
                if instruction.opname == operation:
                    instruction.set_metadata(kind, declared)


def _element(context: Any, builder: Any, buffer_type: Any, index_type: Any, buffer: Any, index: Any) -> Any:
    """Emit the address of an element."""
    data = builder.extract_value(buffer, context.data_model_manager[buffer_type].get_field_position("data"))
    index = context.cast(builder, index, index_type, types.intp if index_type.signed else types.uintp)
    return builder.gep(data, [index], inbounds=True)
