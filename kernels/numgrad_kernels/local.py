"""Arrays in a kernel: small ones on the stack, rows of other arrays, and windows on memory given by its address."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numba.core import cgutils, types

from .buffer_types import BlockBufferType, BufferType, ElementBufferType
from .declarations import generated


def local_array(size: int, dtype: Any) -> np.ndarray:
    """An uninitialised 1-D array of a literal ``size``; in compiled code it is on the stack.

    It needs no allocation, and LLVM can infer that it overlaps no other array: loops over it vectorise without run-time
    checks.  It must not leave the function.
    """
    return np.empty(size, dtype)


def array_at(address: int, start: int, count: int, dtype: Any) -> np.ndarray:
    """The ``count`` elements from number ``start`` of the buffer that begins at ``address``.

    A kernel over many buffers takes one array of their addresses, since Numba compiles a kernel for each number of
    array arguments.  The caller that passes an address keeps the buffer alive.
    """
    item = np.dtype(dtype).itemsize
    memory = (ctypes.c_char * int(count * item)).from_address(int(address + start * item))
    return np.frombuffer(memoryview(memory), dtype)


def row(array: np.ndarray, indices: tuple[int, ...]) -> np.ndarray:
    """The elements along the last dimension at these ``indices`` of the others, which must be contiguous in memory.

    LLVM can infer that the stride of such a row is one element, which it cannot for an array of several dimensions.
    """
    return array[indices]


def element_row(array: np.ndarray, indices: tuple[int, ...]) -> np.ndarray:
    """A row for a kernel that computes element by element; see ``ElementBufferType``."""
    return row(array, indices)


def block_row(array: np.ndarray, indices: tuple[int, ...], number: int, count: int) -> np.ndarray:
    """A row for a kernel that writes ``count`` arrays; see :class:`~numgrad_kernels.buffer_types.BlockBufferType`."""
    return row(array, indices)


def view(memory: np.ndarray, start: int, sizes: tuple[int, ...], steps: tuple[int, ...]) -> np.ndarray:
    """The elements of ``memory`` from number ``start`` on, in steps of these numbers of elements."""
    item = memory.itemsize
    return np.ndarray(sizes, memory.dtype, memory, start * item, tuple([step * item for step in steps]))


@generated(local_array, prefer_literal=True)
def _stack_array(typing_context: Any, size: Any, dtype: Any) -> Any:
    if not isinstance(size, types.IntegerLiteral):
        return None
    element = dtype.dtype
    result = BufferType(element)
    count = size.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = cgutils.alloca_once(builder, context.get_data_type(element), size=count)
        return _row(context, builder, result, data, context.get_constant(types.intp, count))

    return result(size, dtype), generate


@generated(array_at)
def _window(typing_context: Any, address: Any, start: Any, count: Any, dtype: Any) -> Any:
    result = BufferType(dtype.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = builder.inttoptr(arguments[0], context.get_data_type(dtype.dtype).as_pointer())
        return _row(context, builder, result, builder.gep(first, [arguments[1]]), arguments[2])

    return result(types.intp, types.intp, types.intp, dtype), generate


@generated(row)
def _inner_row(typing_context: Any, array: Any, indices: Any) -> Any:
    return _inner(BufferType(array.dtype), array, indices)


@generated(element_row)
def _inner_element_row(typing_context: Any, array: Any, indices: Any) -> Any:
    return _inner(ElementBufferType(array.dtype), array, indices)


@generated(block_row, prefer_literal=True)
def _inner_block_row(typing_context: Any, array: Any, indices: Any, number: Any, count: Any) -> Any:
    if not (isinstance(number, types.IntegerLiteral) and isinstance(count, types.IntegerLiteral)):
        return None
    result = BlockBufferType(array.dtype, number.literal_value, count.literal_value)
    return _inner(result, array, indices, number, count)


def _inner(result: BufferType, array: Any, indices: Any, *literals: Any) -> Any:
    index_types = types.Tuple([types.intp] * len(indices))  # type: ignore[attr-defined]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.make_array(array)(context, builder, arguments[0])
        strides = cgutils.unpack_tuple(builder, whole.strides)
        data = whole.data
        for stride, index in zip(strides, cgutils.unpack_tuple(builder, arguments[1])):  # noqa: B905 - but the last
            data = cgutils.pointer_add(builder, data, builder.mul(stride, index))
        return _row(context, builder, result, data, cgutils.unpack_tuple(builder, whole.shape)[-1])

    return result(array, index_types, *literals), generate


@generated(view)
def _strided_view(typing_context: Any, memory: Any, start: Any, sizes: Any, steps: Any) -> Any:
    result = types.Array(memory.dtype, len(sizes), "A")
    numbers = types.Tuple([types.intp] * len(sizes))  # type: ignore[attr-defined]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = builder.gep(context.make_array(memory)(context, builder, arguments[0]).data, [arguments[1]])
        strides = [builder.mul(step, _item(context, memory)) for step in cgutils.unpack_tuple(builder, arguments[3])]
        return _array(context, builder, result, data, cgutils.unpack_tuple(builder, arguments[2]), strides)

    return result(memory, types.intp, numbers, numbers), generate


def _row(context: Any, builder: Any, array_type: Any, data: Any, extent: Any) -> Any:
    """Emit an array of ``extent`` elements at ``data`` that owns no memory."""
    return _array(context, builder, array_type, data, [extent], [_item(context, array_type)])


def _array(context: Any, builder: Any, array_type: Any, data: Any, shape: Any, strides: Any) -> Any:
    """Emit an array that owns no memory."""
    from numba.np.arrayobj import populate_array  # slow to import, and needed only to compile

    array = context.make_array(array_type)(context, builder)
    populate_array(array, data, shape, strides, _item(context, array_type), meminfo=None)
    return array._getvalue()


def _item(context: Any, array_type: Any) -> Any:
    return context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(array_type.dtype)))
