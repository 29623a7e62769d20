"""Blocks: neighbouring elements of a buffer as one value, which a kernel uses like a number.

LLVM generates the same vector instructions for loops over as many elements, but such a loop takes several times as long
to compile: its body is compiled as a scalar, then for vectors, then for the remaining elements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

from . import polynomials, scalar
from .declarations import generated, registered
from .instructions import emitting


class BlockType(types.Type):
    """Numba's type of a block: ``size`` elements of a floating-point type."""

    def __init__(self, element: types.Type, size: int):
        super().__init__(f"BlockType({element}, {size})")
        self.element = element
        self.size = size


def block(x: np.ndarray, offset: int, size: int) -> np.ndarray:
    """The elements from number ``offset`` of a buffer of floats.

    Their number is a literal power of 2, as in all functions below.
    """
    return x[offset : offset + size].copy()


def every_other(x: np.ndarray, offset: int, size: int) -> np.ndarray:
    """The ``size`` elements number ``offset``, ``offset + 2`` and so on of a buffer."""
    return x[offset : offset + 2 * size - 1 : 2].copy()


def repeated(value: Any, size: int) -> np.ndarray:
    """A block of equal elements."""
    return np.full(size, value)


def put(x: np.ndarray, offset: int, values: np.ndarray) -> None:
    """Store a block as the elements from number ``offset`` of a buffer."""
    x[offset : offset + len(values)] = values


def fill(x: np.ndarray, value: Any, size: int) -> None:
    """Store a number, which may be complex, as the first ``size`` elements of a buffer."""
    x[:size] = value


def between(values: np.ndarray, first: int, stop: int, other: Any) -> np.ndarray:
    """The block with ``other`` instead of the elements before number ``first`` and from number ``stop`` on."""
    numbers = np.arange(len(values))
    return np.where((numbers >= first) & (numbers < stop), values, other)


def larger(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """For each pair of elements, the first if it is larger, else the second."""
    return np.where(left > right, left, right)


def tree_total(array: np.ndarray, size: int) -> Any:
    """The sum of the ``size`` elements of an array or block: the two halves are added until one element is left."""
    while size > 1:
        size //= 2
        array = array[:size] + array[size : 2 * size]
    return array[0]


def tree_largest(array: np.ndarray, size: int) -> Any:
    """The largest of the ``size`` real elements of an array or block, by halves; undefined if one is NaN."""
    while size > 1:
        size //= 2
        array = np.where(array[size : 2 * size] > array[:size], array[size : 2 * size], array[:size])
    return array[0]


@generated(block, prefer_literal=True)
def _block(typing_context: Any, x: Any, offset: Any, size: Any) -> Any:
    if not isinstance(size, types.IntegerLiteral):
        return None
    result = BlockType(x.dtype, size.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, align = _address(context, builder, x, result, *arguments[:2])
        return builder.load(pointer, align=align)

    return result(x, types.intp, size), generate


@generated(every_other, prefer_literal=True)
def _every_other(typing_context: Any, x: Any, offset: Any, size: Any) -> Any:
    if not isinstance(size, types.IntegerLiteral):
        return None
    result = BlockType(x.dtype, size.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        buffer, first, _ = arguments
        loaded = []
        for offset in (first, builder.add(first, first.type(result.size - 1))):  # ends with the last element
            pointer, align = _address(context, builder, x, result, buffer, offset)
            loaded.append(builder.load(pointer, align=align))
        lanes = [*range(0, result.size, 2), *range(result.size + 1, 2 * result.size, 2)]
        return builder.shuffle_vector(*loaded, ir.Constant(ir.VectorType(ir.IntType(32), result.size), lanes))

    return result(x, types.intp, size), generate


@generated(put)
def _put(typing_context: Any, x: Any, offset: Any, values: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, align = _address(context, builder, x, values, *arguments[:2])
        builder.store(arguments[2], pointer, align=align)
        return context.get_dummy_value()

    return types.void(x, types.intp, values), generate


@generated(repeated, prefer_literal=True)
def _repeated(typing_context: Any, value: Any, size: Any) -> Any:
    if not isinstance(size, types.IntegerLiteral):
        return None
    result = BlockType(value, size.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _splat(builder, arguments[0], result.size)

    return result(value, size), generate


@generated(fill, prefer_literal=True)
def _fill(typing_context: Any, x: Any, value: Any, size: Any) -> Any:
    if not isinstance(size, types.IntegerLiteral):
        return None
    element = x.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        buffer, number, _ = arguments
        is_complex = isinstance(element, types.Complex)
        parts = [builder.extract_value(number, part) for part in (0, 1)] if is_complex else [number]
        values = ir.Constant(ir.VectorType(parts[0].type, len(parts)), ir.Undefined)
        for part, each in enumerate(parts):
            values = builder.insert_element(values, each, ir.IntType(32)(part))
        count = size.literal_value * len(parts)
        lanes = [lane % len(parts) for lane in range(count)]
        values = builder.shuffle_vector(values, values, ir.Constant(ir.VectorType(ir.IntType(32), count), lanes))
        pointer = builder.bitcast(context.make_array(x)(context, builder, buffer).data, values.type.as_pointer())
        builder.store(values, pointer, align=context.get_abi_sizeof(parts[0].type))
        return context.get_dummy_value()

    return types.void(x, element, size), generate


@generated(between)
def _between(typing_context: Any, values: Any, first: Any, stop: Any, other: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        inner, *numbers = arguments
        low, high, outside = [_splat(builder, number, values.size) for number in numbers]
        lanes = ir.Constant(low.type, list(range(values.size)))
        inside = builder.and_(builder.icmp_signed(">=", lanes, low), builder.icmp_signed("<", lanes, high))
        return builder.select(inside, inner, outside)

    return values(values, types.intp, types.intp, values.element), generate


@generated(larger)
def _larger(typing_context: Any, left: Any, right: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _first_if_larger(builder, *arguments)

    return left(left, right), generate


@generated(tree_total, prefer_literal=True)
def _tree_total(typing_context: Any, array: Any, size: Any) -> Any:
    def add(builder: Any, low: Any, high: Any) -> Any:
        return builder.add(low, high) if isinstance(low.type.element, ir.IntType) else builder.fadd(low, high)

    return _tree(array, size, add)


@generated(tree_largest, prefer_literal=True)
def _tree_largest(typing_context: Any, array: Any, size: Any) -> Any:
    return _tree(array, size, lambda builder, low, high: _first_if_larger(builder, high, low))


def _tree(array: Any, size: Any, combine: Any) -> Any:
    """Return the type of a tree's result, and a generator of the vector instructions that ``combine`` the two halves.

    A loop takes far longer to compile.  The parts of a complex number are two elements.
    """
    if not isinstance(size, types.IntegerLiteral):
        return None
    element: Any = array.element if isinstance(array, BlockType) else array.dtype
    parts = 2 if isinstance(element, types.Complex) else 1

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        count = size.literal_value * parts
        values = arguments[0]
        if not isinstance(array, BlockType):
            part = context.get_data_type(element.underlying_float if parts == 2 else element)
            memory = builder.bitcast(
                context.make_array(array)(context, builder, values).data, ir.VectorType(part, count).as_pointer()
            )
            values = builder.load(memory, align=context.get_abi_sizeof(part))
        while count > parts:
            count //= 2
            lanes = ir.VectorType(ir.IntType(32), count)
            halves = [range(count), range(count, 2 * count)]
            low, high = [builder.shuffle_vector(values, values, ir.Constant(lanes, list(half))) for half in halves]
            values = combine(builder, low, high)
        results = [builder.extract_element(values, ir.IntType(32)(part)) for part in range(parts)]
        if parts == 1:
            return results[0]
        number = context.make_complex(builder, element)
        number.real, number.imag = results
        return number._getvalue()

    return element(array, size), generate


@registered
def _register_types() -> None:
    @register_default(BlockType)
    class Model(models.PrimitiveModel):
        def __init__(self, manager: Any, block: BlockType):
            element = manager[block.element].get_value_type()
            super().__init__(manager, block, ir.VectorType(element, block.size))

    for function, instruction in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
        infer_global(function)(_Arithmetic)
        lower = _arithmetic(instruction)
        for operands in ((BlockType, BlockType), (BlockType, types.Float), (types.Float, BlockType)):
            lower_builtin(function, *operands)(lower)
    of_each: dict[Any, Any] = {
        operator.neg: lambda x: -x,
        **{getattr(scalar, name): getattr(polynomials, name) for name in ("exp", "sigmoid", "tanh")},
    }
    for name, computed in of_each.items():
        infer_global(name)(_ElementwiseTemplate)
        lower_builtin(name, BlockType)(emitting(computed))


class _Arithmetic(AbstractTemplate):
    """Numba's rule for two blocks, or a block and a number, which is converted to the type of the block's elements."""

    def generic(self, args: Any, kws: Any) -> Any:
        """Return the types to compute in, None if there is no block."""
        for arg in args:
            if isinstance(arg, BlockType) and all(isinstance(other, types.Float) or other == arg for other in args):
                return signature(arg, *[other if other == arg else arg.element for other in args])
        return None


class _ElementwiseTemplate(AbstractTemplate):
    """Numba's rule for a function of each element."""

    def generic(self, args: Any, kws: Any) -> Any:
        """Return the signature for a block, None for anything else."""
        return signature(args[0], args[0]) if isinstance(args[0], BlockType) else None


def _arithmetic(instruction: str) -> Callable[..., Any]:
    """Return the code generator of an instruction on two vectors, or a vector and a number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        size = signature.return_type.size
        vectors = [x if isinstance(x.type, ir.VectorType) else _splat(builder, x, size) for x in arguments]
        return getattr(builder, instruction)(*vectors)

    return generate


def _first_if_larger(builder: Any, first: Any, second: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", first, second), first, second)


def _splat(builder: Any, value: Any, size: int) -> Any:
    """A vector of equal elements."""
    first = builder.insert_element(ir.Constant(ir.VectorType(value.type, size), ir.Undefined), value, ir.IntType(32)(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), size), 0))


def _address(context: Any, builder: Any, x: Any, values: BlockType, buffer: Any, offset: Any) -> tuple[Any, int]:
    """Return the address of a block in a buffer, and its alignment in bytes."""
    element = context.get_data_type(values.element)
    first = builder.gep(context.make_array(x)(context, builder, buffer).data, [offset], inbounds=True)
    pointer = builder.bitcast(first, ir.VectorType(element, values.size).as_pointer())
    return pointer, context.get_abi_sizeof(element)
