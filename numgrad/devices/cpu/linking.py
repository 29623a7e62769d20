"""Kernels linked to one function: LLVM IR that calls their machine code, one after the other, without Python between.

The function gets the address of a table of addresses, those of the blocks of memory that it works on, and finds in it
all that kernels are given.  It allocates nothing and knows no tensor.  Linking compiles a page of calls, no kernel.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.np.numpy_support import as_dtype, from_dtype

from numgrad_kernels.store import Kernel, target_context

__all__ = ["Copied", "Linked", "Place", "ReadNumber", "Run", "link"]

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_BYTES = _I8.as_pointer()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row of ``count`` elements begins: ``offset`` bytes from the address in a line of the table."""

    line: int
    offset: int
    count: int


@dataclass(frozen=True, slots=True)
class ReadNumber:
    """A number that a kernel is given and that stands in memory when the kernel's turn comes."""

    place: Place
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a kernel.

    Attributes:
        kernel: the kernel.
        operands: for each of its parameters where a row is, a number in memory, or a number.
        reports: which of the rows say that something is wrong, and are looked at afterwards.
        addresses: for rows whose elements are addresses: by the number of the parameter, which elements are to be the
            addresses of which places.
    """

    kernel: Kernel
    operands: tuple[Any, ...]
    reports: tuple[int, ...] = ()
    addresses: tuple[tuple[int, int, Place], ...] = ()


@dataclass(frozen=True, slots=True)
class Copied:
    """Bytes that are copied from one place to another, or zeros where there is no source."""

    target: Place
    source: Place | None
    size: int


@dataclass(frozen=True, slots=True)
class Linked:
    """What ``link`` returns: ``run(address of the table)`` is 0, or the number of the step that reports, from 1 on.

    Where rows are passed, ``run(address of the table, id(rows))`` is given a tuple of these.
    """

    run: Callable[..., int]
    text: str
    address: int
    library: Any  # owns the machine code


_number = itertools.count()


#: Bytes before what an array and a tuple have: the address of the elements, and the items.  See Note [Rows passed].
_BEFORE_DATA, _BEFORE_ITEMS = object.__basicsize__, tuple.__basicsize__


def _finds_rows() -> bool:
    row = np.zeros(1)
    return ctypes.c_int64.from_address(id(row) + _BEFORE_DATA).value == row.ctypes.data


#: Whether rows can be passed as they are.
FINDS_ROWS = _finds_rows()


@global_compiler_lock
def link(steps: Sequence[Run | Copied], passed: Sequence[int] = (), brief: bool = False) -> Linked:
    """The function that does these steps.

    Note [Rows passed]
    To ask NumPy for the address of a row takes Python longer than a small kernel runs.  It is the first thing in the
    structure of an array, after what every object has (``PyArray_DATA``, part of NumPy's binary interface), and the
    items of a tuple lie in it one after the other.  So a program that is given the rows of a call in a tuple finds
    their addresses itself.

    Args:
        steps: what is to be done.
        passed: the lines of the table that are the addresses of rows passed, in their order.
        brief: whether it is done so soon that other threads of Python may wait for it.
    """
    codegen = target_context().codegen()
    name = f"numgrad_program_{next(_number)}"
    module = ir.Module(name)
    function = ir.Function(module, ir.FunctionType(_I64, [_I64.as_pointer(), *[_I64] * bool(passed)]), name)
    writer = _Writer(module, function, passed)
    for number, step in enumerate(steps, 1):
        writer.copy(step) if isinstance(step, Copied) else writer.run(step, number)
    writer.builder.ret(_I64(0))
    library = codegen.create_library(name)
    library.add_ir_module(module)
    library.finalize()
    address = library.get_pointer_to_function(name)
    kind = ctypes.PYFUNCTYPE if brief else ctypes.CFUNCTYPE  # which lets other threads of Python run
    run = kind(ctypes.c_int64, *[ctypes.c_void_p] * (1 + bool(passed)))(address)
    return Linked(run, str(module), address, library)


class _Writer:
    """Writes the instructions of the steps.

    Note [How Numba's functions are called]
    They take a place for a result, one for an exception, and then their arguments taken apart: of an array the owner,
    the object, the number of elements, the bytes of one, the memory, shape and strides; of a complex number its parts;
    a truth value is a byte.  What pointers point to does not matter to machine code.  Numba's own description of the
    types would first have to load most of its compiler.
    """

    def __init__(self, module: Any, function: Any, passed: Sequence[int]):
        self.passed = {line: number for number, line in enumerate(passed)}
        self.rows = function.args[-1]
        self.module, self.table = module, function.args[0]
        self.builder = ir.IRBuilder(function.append_basic_block())
        self.aside = self.builder.alloca(_I64)  # for results and exceptions, of which there are none
        self.aside = self.builder.bitcast(self.aside, _BYTES)
        self.lines: dict[int, Any] = {}  # addresses that were read from the table

    def address(self, place: Place) -> Any:
        """The address of a place, as a number."""
        if place.line not in self.lines:
            with self.builder.goto_entry_block():  # so that it is known in all blocks
                self.lines[place.line] = self.line(place.line)
        base = self.lines[place.line]
        return self.builder.add(base, _I64(place.offset)) if place.offset else base

    def line(self, line: int) -> Any:
        number = self.passed.get(line)
        if number is None:
            return self.builder.load(self.builder.gep(self.table, [_I64(line)]))
        row = self.builder.load(self.at(self.rows, _BEFORE_ITEMS + 8 * number))
        return self.builder.load(self.at(row, _BEFORE_DATA))

    def at(self, address: Any, offset: int) -> Any:
        return self.builder.inttoptr(self.builder.add(address, _I64(offset)), _I64.as_pointer())

    def pointer(self, place: Place, element: Any = _I8) -> Any:
        """The same as a pointer to elements of a type."""
        return self.builder.inttoptr(self.address(place), element.as_pointer())

    def copy(self, step: Copied) -> None:
        target = self.pointer(step.target)
        if step.source is None:
            memset = self.module.declare_intrinsic("llvm.memset", [_BYTES, _I64])
            self.builder.call(memset, [target, _I8(0), _I64(step.size), ir.IntType(1)(0)])
            return
        memcpy = self.module.declare_intrinsic("llvm.memcpy", [_BYTES, _BYTES, _I64])
        self.builder.call(memcpy, [target, self.pointer(step.source), _I64(step.size), ir.IntType(1)(0)])

    def run(self, step: Run, number: int) -> None:
        for parameter, index, place in step.addresses:
            row = step.operands[parameter]
            cell = self.pointer(Place(row.line, row.offset + 8 * index, 1), _I64)
            self.builder.store(self.address(place), cell)
        given: list[Any] = [self.aside, self.aside]
        kinds: tuple[Any, ...] = step.kernel.arguments
        for kind, operand in zip(kinds, step.operands, strict=True):
            given += self.row(kind, operand) if isinstance(kind, types.Array) else self.number(kind, operand)
        type = ir.FunctionType(_I32, [value.type for value in given])
        self.builder.call(self.builder.inttoptr(_I64(step.kernel.address()), type.as_pointer()), given)
        for parameter in step.reports:
            self.check(kinds[parameter].dtype, step.operands[parameter], number)

    def row(self, kind: Any, place: Place) -> list[Any]:
        size = _I64(as_dtype(kind.dtype).itemsize)
        nothing = ir.Constant(_BYTES, None)
        return [nothing, nothing, _I64(place.count), size, self.pointer(place), _I64(place.count), size]

    def number(self, kind: types.Type, operand: Any) -> list[Any]:
        type = _type_of(kind)
        if isinstance(operand, ReadNumber):
            return self.read_number(kind, type, operand)
        if isinstance(kind, types.Complex):
            return [ir.Constant(type, operand.real), ir.Constant(type, operand.imag)]
        return [ir.Constant(type, float(operand) if isinstance(kind, types.Float) else int(operand))]

    def read_number(self, kind: types.Type, type: Any, operand: ReadNumber) -> list[Any]:
        """A number from memory, converted."""
        own: Any = from_dtype(operand.dtype)
        pointer = self.pointer(operand.place, _type_of(own))
        value = self.converted(self.builder.load(pointer), own, type)
        if not isinstance(kind, types.Complex):
            return [value]
        if not isinstance(own, types.Complex):
            return [value, ir.Constant(type, 0.0)]
        return [value, self.converted(self.builder.load(self.builder.gep(pointer, [_I64(1)])), own, type)]

    def converted(self, value: Any, own: Any, type: Any) -> Any:
        if value.type == type:
            return value
        widens = getattr(type, "width", 0) > getattr(value.type, "width", 0)
        signed = isinstance(own, types.Integer) and bool(own.signed)  # type: ignore[attr-defined]
        if isinstance(own, types.Float | types.Complex):
            return self.builder.fpext(value, type) if type == ir.DoubleType() else self.builder.fptrunc(value, type)
        if not isinstance(type, ir.IntType):
            return self.builder.sitofp(value, type) if signed else self.builder.uitofp(value, type)
        if not widens:
            return self.builder.trunc(value, type)
        return self.builder.sext(value, type) if signed else self.builder.zext(value, type)

    def check(self, kind: types.Type, place: Place, number: int) -> None:
        """Return the number of the step if it has reported something; see ``facts.Report``."""
        builder, element = self.builder, _type_of(kind)
        row = self.pointer(place, element)
        wrong = ir.IntType(1)(0)
        for index in range(place.count):
            value = builder.load(builder.gep(row, [_I64(index)]))
            found = "!=" if isinstance(kind, types.Boolean) else ">="
            wrong = builder.or_(wrong, builder.icmp_signed(found, value, element(0)))
        with builder.if_then(wrong, likely=False):
            builder.ret(_I64(number))


def _type_of(kind: Any) -> Any:
    """LLVM's type of a number, of a complex one that of its parts; a truth value is a byte."""
    if isinstance(kind, types.Complex):
        kind = kind.underlying_float
    if isinstance(kind, types.Float):
        return ir.FloatType() if kind.bitwidth == 32 else ir.DoubleType()
    return _I8 if isinstance(kind, types.Boolean) else ir.IntType(kind.bitwidth)
