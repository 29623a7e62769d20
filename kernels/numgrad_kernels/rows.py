"""The type of a kernel's arrays: rows of elements, with indices that count from the first.

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


class Row(types.Array):
    """Numba's type of contiguous one-dimensional arrays with non-negative indices."""

    def __init__(self, element: types.Type):
        super().__init__(element, 1, "C")

    def __repr__(self) -> str:
        return f"Row({self.dtype!r})"  # distinguishes these kernels from those with Numba's own arrays


class ElementRow(Row):
    """A row of a kernel that writes one element per round, computed from the elements at the same index.

    Note [Rows that are the same]

    In an operation in place, the row that is written is one of those that are read.  LLVM cannot prove that the others
    do not overlap it, and checks before a vectorised loop where rows begin and end.  It finds that these two overlap
    and would process one element at a time, which takes three to seven times as long.  These rows therefore declare
    that nothing that is written is read.  That is not true of the row that is both read and written.  But a round's
    result depends on everything that the round reads, so it is written after that, and no other round reads it.  If a
    kernel writes several elements in a round, the second could depend on the first, so its rows declare nothing.  Rows
    that overlap in another way are refused before a kernel runs (``check_in_place``), or copied.
    """

    def __repr__(self) -> str:
        return f"ElementRow({self.dtype!r})"


def type_given(value: Any) -> types.Type:
    """Return the type of a kernel's argument: a row of elements, its dtype in place of one, a number or its class."""
    if isinstance(value, np.ndarray | np.dtype):
        return Row(from_dtype(value if isinstance(value, np.dtype) else value.dtype))
    return _NUMBERS[value if isinstance(value, type) else type(value)]


_NUMBERS = {bool: types.boolean, int: types.int64, float: types.float64, complex: types.complex128}


@registered
def _tell_numba() -> None:
    for kind in (Row, ElementRow):
        register_default(kind)(models.ArrayModel)
    lower_builtin(operator.getitem, Row, types.Integer)(_read)
    lower_builtin(operator.setitem, Row, types.Integer, types.Any)(_write)


def _read(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    row_type, index_type = signature.args
    element = _element(context, builder, row_type, index_type, *arguments)
    before = len(builder.block.instructions)
    value = context.unpack_value(builder, row_type.dtype, element)
    _mark(builder, row_type, before, "load", "noalias")
    return value


def _write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    row_type, index_type, value_type = signature.args
    row, index, value = arguments
    element = _element(context, builder, row_type, index_type, row, index)
    value = context.cast(builder, value, value_type, row_type.dtype)
    before = len(builder.block.instructions)
    context.pack_value(builder, row_type.dtype, value, element)
    _mark(builder, row_type, before, "store", "alias.scope")


def _mark(builder: Any, row_type: Any, before: int, operation: str, kind: str) -> None:
    """Attach the declaration of Note [Rows that are the same] to the row accesses emitted since ``before``."""
    if not isinstance(row_type, ElementRow):
        return
    module = builder.module
    domain = module.add_metadata(["rows"])
    scopes = module.add_metadata([module.add_metadata(["written", domain])])
    for instruction in builder.block.instructions[before:]:
        if instruction.opname == operation:
            instruction.set_metadata(kind, scopes)


def _element(context: Any, builder: Any, row_type: Any, index_type: Any, row: Any, index: Any) -> Any:
    """Emit the address of an element."""
    data = builder.extract_value(row, context.data_model_manager[row_type].get_field_position("data"))
    index = context.cast(builder, index, index_type, types.intp if index_type.signed else types.uintp)
    return builder.gep(data, [index], inbounds=True)
