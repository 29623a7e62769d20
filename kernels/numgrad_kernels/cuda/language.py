"""Extensions of Numba's language for GPU kernels: atomic updates of buffers, and buffers given by their address.

A kernel takes the address of a buffer's first element; ``buffer[i]`` reads and writes elements.  In the simulator
buffers are arrays, and these functions do the same in plain Python.
"""

from __future__ import annotations

import ctypes
import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import make_intrinsic_template

from ..instructions import Value, device_function

#: The import statement for Numba's own language in the text of a kernel.
IMPORT = "from numba import cuda"

_lock = threading.Lock()
_pending: list[Callable[[], None]] = []


def atomic_add(buffer: Any, index: int, value: Any) -> None:
    """Add to an element, of a buffer or a shared array, to which other threads may be adding at the same time.

    The order of the additions is unspecified.
    """
    with _lock:
        _memory(buffer, index)[index] += value


def compare_and_swap(buffer: Any, index: int, expected: Any, replacement: Any) -> Any:
    """Return an element of a buffer of uint32 or uint64, and overwrite it atomically if it is the expected one."""
    with _lock:
        memory = _memory(buffer, index)
        result = memory[index]
        if result == expected:
            memory[index] = replacement
        return result


def _memory(buffer: Any, index: int) -> Any:
    """Return the array to update in the simulator, recording the update if races are detected."""
    return buffer.updated(index, 3) if hasattr(buffer, "updated") else buffer


def as_word(number: Any) -> Any:
    """Return the bits of a number of 32 or 64 bits as an unsigned integer."""
    return number.view(f"u{number.dtype.itemsize}")


def as_number(word: Any, dtype: Any) -> Any:
    """Return the number of a dtype that has these bits."""
    return word.view(dtype)


def row_at(address: int, dtype: Any) -> Any:
    """Return the buffer that begins at an address; the address of an unused buffer is 0."""
    element = np.dtype(dtype)
    if not address:
        return np.empty(0, element)
    memory = (ctypes.c_char * (1 << 40)).from_address(int(address))
    return np.frombuffer(memoryview(memory), element)


def load4(buffer: Any, quad: int) -> Any:
    """Return the elements ``4 * quad`` to ``4 * quad + 3``, in as few accesses of 16 bytes as possible.

    The buffer must be aligned to 16 bytes, or to four elements if these are smaller.  Not for complex numbers.
    """
    return buffer[4 * quad], buffer[4 * quad + 1], buffer[4 * quad + 2], buffer[4 * quad + 3]


def store4(buffer: Any, quad: int, a: Any, b: Any, c: Any, d: Any) -> None:
    """Write the elements ``4 * quad`` to ``4 * quad + 3``, in as few accesses as :func:`load4`."""
    buffer[4 * quad], buffer[4 * quad + 1], buffer[4 * quad + 2], buffer[4 * quad + 3] = a, b, c, d


def quotient(number: int, divisor: int) -> int:
    """``number // divisor`` of non-negative numbers below 2**32: a GPU divides 64 bits slowly."""
    return number // divisor


def rest(number: int, divisor: int) -> int:
    """``number % divisor`` of non-negative numbers below 2**32."""
    return number % divisor


def high_product(a: int, b: int) -> Any:
    """The upper 32 of the 64 bits of a product of two uint32."""
    return np.uint32(int(a) * int(b) >> 32)


def sinpi(x: Any) -> Any:
    """The sine of pi times a float."""
    return x.dtype.type(np.sin(np.pi * np.float64(x)))


def cospi(x: Any) -> Any:
    """The cosine of pi times a float."""
    return x.dtype.type(np.cos(np.pi * np.float64(x)))


def register() -> None:
    """Register with numba-cuda how to compile calls of these functions."""
    while _pending:
        _pending.pop()()


def _compiled(public: Callable[..., Any], signature: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorator of a function that generates code for calls of ``public``, like Numba's ``intrinsic``.

    ``signature`` maps the types of the passed values to the types of the arguments and of the result.
    """

    def decorate(generate: Any) -> Any:
        def implementation(typing_context: Any, *argument_types: Any) -> Any:
            return signature(*argument_types), generate

        declared = inspect.signature(public)
        context = inspect.Parameter("typing_context", inspect.Parameter.POSITIONAL_ONLY)
        implementation.__signature__ = declared.replace(parameters=[context, *declared.parameters.values()])  # type: ignore[attr-defined]

        def register() -> None:
            from numba.cuda.cudadecl import registry  # numba-cuda need not be installed

            template = make_intrinsic_template(public, implementation, public.__name__)
            registry.register_global(public, types.Function(template))

        _pending.append(register)
        return generate

    return decorate


@_compiled(atomic_add, lambda buffer, index, value: types.void(buffer, types.intp, buffer.dtype))
def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    from numba.cuda import nvvmutils  # numba-cuda need not be installed

    (buffer, index, value), buffer_type = arguments, signature.args[0]
    if isinstance(buffer_type, types.Array):  # in shared memory
        buffer = context.make_array(buffer_type)(context, builder, buffer).data
    target = builder.gep(buffer, [index])
    if isinstance(buffer_type.dtype, types.Float):  # NVVM has functions for it, but no instruction
        add = getattr(nvvmutils, f"declare_atomic_add_{buffer_type.dtype.name}")(builder.module)
        builder.call(add, [target, value])
    else:
        builder.atomic_rmw("add", target, value, "monotonic")
    return context.get_dummy_value()


@_compiled(compare_and_swap, lambda buffer, *_: buffer.dtype(buffer, types.intp, buffer.dtype, buffer.dtype))
def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    buffer, index, expected, replacement = arguments
    pair = builder.cmpxchg(builder.gep(buffer, [index]), expected, replacement, "monotonic", "monotonic")
    return builder.extract_value(pair, 0)


#: Unsigned integers by their bits.
_WORDS: dict[int, Any] = {32: types.uint32, 64: types.uint64}


def _same_bits(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))


_compiled(as_word, lambda number: _WORDS[number.bitwidth](number))(_same_bits)
_compiled(as_number, lambda word, dtype: dtype.dtype(word, dtype))(_same_bits)


def _quad(context: Any, builder: Any, element: Any, buffer: Any, quad: Any) -> tuple[Any, int]:
    """Emit the address of four elements as that of a vector; return it with its alignment."""
    stored = context.get_data_type(element)
    size = context.get_abi_sizeof(stored)
    first = builder.gep(buffer, [builder.shl(quad, ir.Constant(quad.type, 2))])
    return builder.bitcast(first, ir.VectorType(stored, 4).as_pointer()), min(4 * size, 16)


@_compiled(load4, lambda buffer, quad: types.UniTuple(buffer.dtype, 4)(buffer, types.uint64))  # type: ignore[attr-defined]
def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    element = signature.args[0].dtype
    address, alignment = _quad(context, builder, element, *arguments)
    vector = builder.load(address, align=alignment)
    lanes = [builder.extract_element(vector, ir.Constant(ir.IntType(32), lane)) for lane in range(4)]
    lanes = [context.data_model_manager[element].from_data(builder, lane) for lane in lanes]
    return context.make_tuple(builder, signature.return_type, lanes)


@_compiled(store4, lambda buffer, *_: types.void(buffer, types.uint64, *[buffer.dtype] * 4))
def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    element = signature.args[0].dtype
    address, alignment = _quad(context, builder, element, *arguments[:2])
    vector = ir.Constant(ir.VectorType(context.get_data_type(element), 4), ir.Undefined)
    for lane, value in enumerate(arguments[2:]):
        stored = context.data_model_manager[element].as_data(builder, value)
        vector = builder.insert_element(vector, stored, ir.Constant(ir.IntType(32), lane))
    builder.store(vector, address, align=alignment)
    return context.get_dummy_value()


def _narrow(instruction: str) -> Any:
    """Return the code generator of the instruction on the lower 32 bits of two numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        short = [builder.trunc(value, ir.IntType(32)) for value in arguments]
        return builder.zext(getattr(builder, instruction)(*short), ir.IntType(64))

    return generate


_compiled(quotient, lambda *_: types.uint64(types.uint64, types.uint64))(_narrow("udiv"))
_compiled(rest, lambda *_: types.uint64(types.uint64, types.uint64))(_narrow("urem"))


@_compiled(high_product, lambda a, b: types.uint32(types.uint32, types.uint32))
def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    word = ir.IntType(32)
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(word, [word] * 2), "__nv_umulhi")
    return builder.call(function, arguments)


def _circular(name: str) -> Any:
    """Return a function of NVIDIA's libdevice that, unlike its sin, reduces angles without float64 and memory."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return device_function(name, Value(builder, arguments[0])).value

    return generate


_compiled(sinpi, lambda x: x(x))(_circular("sinpi"))
_compiled(cospi, lambda x: x(x))(_circular("cospi"))


@_compiled(row_at, lambda address, dtype: types.CPointer(dtype.dtype)(types.intp, dtype))  # type: ignore[attr-defined]
def _(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    pointer = context.get_value_type(signature.return_type)
    in_global_memory = builder.inttoptr(arguments[0], pointer.pointee.as_pointer(addrspace=1))
    return builder.addrspacecast(in_global_memory, pointer)
