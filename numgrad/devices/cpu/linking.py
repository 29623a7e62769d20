"""Kernels linked to one function: LLVM IR that calls their machine code in sequence, without Python in between.

The function takes the address of a table that contains the addresses of the blocks of memory.  All operands of the
kernels lie in these blocks.  The function allocates nothing.  Linking compiles a page of calls, and no kernel.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import binding as llvm
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.np.numpy_support import as_dtype, from_dtype

from numgrad_kernels.store import Kernel, target_context

__all__ = ["Copied", "Linked", "Place", "ReadNumber", "Run", "link"]


@dataclass(slots=True)
class Place:
    """Place of a buffer of ``count`` elements: ``offset`` bytes from the address in a line of the table."""

    line: int
    offset: int
    count: int


@dataclass(slots=True)
class ReadNumber:
    """A number that is read from memory before a kernel runs."""

    place: Place
    dtype: np.dtype


@dataclass(slots=True)
class Run:
    """A run of a kernel.

    Attributes:
        kernel: the kernel.
        operands: for each parameter the place of a buffer, a number in memory, or a number.
        reports: numbers of the parameters that are reports of errors, which are checked afterwards.
        addresses: for buffers whose elements are addresses: the number of the parameter, the index of an element, and
            the place whose address it becomes.
    """

    kernel: Kernel
    operands: tuple[Any, ...]
    reports: tuple[int, ...] = ()
    addresses: tuple[tuple[int, int, Place], ...] = ()


@dataclass(slots=True)
class Copied:
    """A copy of bytes from one place to another, or of zeros if there is no source."""

    target: Place
    source: Place | None
    size: int


@dataclass(slots=True)
class Linked:
    """Linked program: ``run(address of the table)`` returns 0, or the number of the step that reports, from 1 on.

    If buffers are passed, it is ``run(address of the table, id(buffers))``, where ``buffers`` is a tuple.
    """

    run: Callable[..., int]
    text: str
    address: int


_number = itertools.count()

#: Greatest number of steps of one function: LLVM's compile time grows faster than the length.
_PART = 512

#: Offsets of the address of the elements in an array, and of the items in a tuple.  See Note [Passed buffers].
_BEFORE_DATA, _BEFORE_ITEMS = object.__basicsize__, tuple.__basicsize__


def _finds_rows() -> bool:
    array = np.zeros(1)
    return ctypes.c_int64.from_address(id(array) + _BEFORE_DATA).value == array.ctypes.data


#: True if buffers can be passed as arrays.
FINDS_ROWS = _finds_rows()


@global_compiler_lock
def link(steps: Sequence[Run | Copied], passed: Sequence[int] = (), brief: bool = False) -> Linked:
    """Return the function that runs these steps.

    Note [Passed buffers]
    Reading the address of an array from NumPy takes Python longer than a small kernel runs.  The address is the first
    field of an array after those of every object (``PyArray_DATA``, part of NumPy's binary interface), and the items
    of a tuple are contiguous.  So the buffers of a call are passed in a tuple, and the program reads their addresses.

    Args:
        steps: the steps, in order.
        passed: the lines of the table for the addresses of the passed buffers, in their order.
        brief: True if the steps are so short that other Python threads can wait for them.
    """
    target_context()  # initializes LLVM for this processor
    name = f"numgrad_program_{next(_number)}"
    text = _text(name, steps, passed)
    # opt=0 is fastest: the called code is optimized, and the calls themselves take little time
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0, jit=True)  # the engine takes ownership
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    address = engine.get_function_address(name)
    kind = ctypes.PYFUNCTYPE if brief else ctypes.CFUNCTYPE  # CFUNCTYPE lets other Python threads run
    run = kind(ctypes.c_int64, *[ctypes.c_void_p] * (1 + bool(passed)))(address)
    run.machine_code = engine  # type: ignore[attr-defined]
    return Linked(run, text, address)


def _text(name: str, steps: Sequence[Run | Copied], passed: Sequence[int]) -> str:
    """Return the text of the module, in which the function of this name calls one for each ``_PART`` steps."""
    parameters = f"ptr %table{', ptr %buffers' * bool(passed)}"
    parts: list[str] = []
    for begin in range(0, len(steps), _PART):
        writer = _Writer(passed)
        for number, step in enumerate(steps[begin : begin + _PART], begin + 1):
            writer.copy(step) if isinstance(step, Copied) else writer.run(step, number)
        parts.append(writer.function(name if len(steps) <= _PART else f"{name}.{len(parts)}", parameters))
    if len(parts) != 1:
        lines = [f"define i64 @{name}({parameters}) {{"]
        for number in range(len(parts)):
            lines += [
                f"  %part{number} = call i64 @{name}.{number}({parameters})",
                f"  %wrong{number} = icmp ne i64 %part{number}, 0",
                f"  br i1 %wrong{number}, label %end{number}.wrong, label %end{number}",
                f"end{number}.wrong:", f"  ret i64 %part{number}", f"end{number}:",
            ]
        parts.append("\n".join([*lines, "  ret i64 0", "}", ""]))
    return "\n".join([
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        *parts,
    ])


class _Writer:
    """Writer of the instructions of the steps, as LLVM's text.

    Note [Calls of Numba's functions]
    The parameters are an address for a result, one for an exception, and then the arguments as scalars: the owner, the
    object, the number of elements, the bytes of an element, the address, the shape and the strides of an array; the
    parts of a complex number; a byte for a truth value.  Numba's description of the types would load most of its
    compiler.
    """

    def __init__(self, passed: Sequence[int]):
        self.passed = {line: number for number, line in enumerate(passed)}
        self.lines: dict[int, None] = {}  # lines of the table whose addresses are read at the beginning
        self.body: list[str] = []
        self.names = itertools.count()

    def function(self, name: str, parameters: str) -> str:
        """Return the text of the function."""
        lines = [
            f"define i64 @{name}({parameters}) {{",
            "  %unused = alloca i64",  # kernels write no results and no exceptions
        ]
        for line in self.lines:
            number = self.passed.get(line)
            if number is None:
                lines += self.loaded(f"%line{line}", "%table", 8 * line)
            else:
                lines += self.loaded(f"%buffer{line}", "%buffers", _BEFORE_ITEMS + 8 * number)
                lines += self.loaded(f"%line{line}", f"%buffer{line}", _BEFORE_DATA)
        return "\n".join([*lines, *self.body, "  ret i64 0", "}", ""])

    def loaded(self, name: str, address: str, offset: int) -> list[str]:
        """Return the instructions that load an address from memory."""
        return [f"  {name}.p = getelementptr i8, ptr {address}, i64 {offset}", f"  {name} = load ptr, ptr {name}.p"]

    def add(self, instruction: str) -> str:
        """Write an instruction, and return the name of its result."""
        name = f"%v{next(self.names)}"
        self.body.append(f"  {name} = {instruction}")
        return name

    def pointer(self, place: Place) -> str:
        """Return the address of a place."""
        self.lines.setdefault(place.line)
        line = f"%line{place.line}"
        return self.add(f"getelementptr i8, ptr {line}, i64 {place.offset}") if place.offset else line

    def copy(self, step: Copied) -> None:
        target = self.pointer(step.target)
        if step.source is None:
            self.body.append(f"  call void @llvm.memset.p0.i64(ptr {target}, i8 0, i64 {step.size}, i1 false)")
        else:
            both = f"ptr {target}, ptr {self.pointer(step.source)}"
            self.body.append(f"  call void @llvm.memcpy.p0.p0.i64({both}, i64 {step.size}, i1 false)")

    def run(self, step: Run, number: int) -> None:
        for parameter, index, place in step.addresses:
            buffer = step.operands[parameter]
            element = self.pointer(Place(buffer.line, buffer.offset + 8 * index, 1))
            self.body.append(f"  store ptr {self.pointer(place)}, ptr {element}")
        arguments = ["ptr %unused", "ptr %unused"]
        kinds: tuple[Any, ...] = step.kernel.arguments
        for kind, operand in zip(kinds, step.operands, strict=True):
            arguments += self.buffer(kind, operand) if isinstance(kind, types.Array) else self.number(kind, operand)
        self.body.append(f"  ; {step.kernel.name}")
        callee = self.add(f"inttoptr i64 {_address_of(step.kernel)} to ptr")
        self.add(f"call i32 {callee}({', '.join(arguments)})")
        for parameter in step.reports:
            self.check(kinds[parameter].dtype, step.operands[parameter], number)

    def buffer(self, kind: Any, place: Place) -> list[str]:
        size = as_dtype(kind.dtype).itemsize
        count = f"i64 {place.count}"
        return ["ptr null", "ptr null", count, f"i64 {size}", f"ptr {self.pointer(place)}", count, f"i64 {size}"]

    def number(self, kind: Any, operand: Any) -> list[str]:
        if isinstance(operand, ReadNumber):
            return self.read_number(kind, operand)
        type = _type_of(kind)
        if isinstance(kind, types.Complex):
            return [f"{type} {_constant(operand.real, type)}", f"{type} {_constant(operand.imag, type)}"]
        return [f"{type} {_constant(operand, type)}"]

    def read_number(self, kind: Any, operand: ReadNumber) -> list[str]:
        """Return a number from memory, converted."""
        stored: Any = from_dtype(operand.dtype)
        type, loaded = _type_of(kind), _type_of(stored)
        place = operand.place
        parts = [self.converted(self.add(f"load {loaded}, ptr {self.pointer(place)}"), stored, type)]
        if isinstance(kind, types.Complex):
            if isinstance(stored, types.Complex):
                second = Place(place.line, place.offset + operand.dtype.itemsize // 2, 1)
                parts.append(self.converted(self.add(f"load {loaded}, ptr {self.pointer(second)}"), stored, type))
            else:
                parts.append(_constant(0.0, type))
        return [f"{type} {part}" for part in parts]

    def converted(self, value: str, kind: Any, type: str) -> str:
        """Return a value of a kind, converted to one of LLVM's types."""
        source = _type_of(kind)
        if source == type:
            return value
        signed = isinstance(kind, types.Integer) and bool(kind.signed)  # type: ignore[attr-defined]
        if isinstance(kind, types.Float | types.Complex):
            operation = "fpext" if type == "double" else "fptrunc"
        elif type in ("float", "double"):
            operation = "sitofp" if signed else "uitofp"
        elif int(type[1:]) < int(source[1:]):
            operation = "trunc"
        else:
            operation = "sext" if signed else "zext"
        return self.add(f"{operation} {source} {value} to {type}")

    def check(self, kind: Any, place: Place, number: int) -> None:
        """Write the instructions that return the number of the step if it has reported an error; see ``facts.Report``.
        """
        type = _type_of(kind)
        size = as_dtype(kind).itemsize
        comparison = "ne" if isinstance(kind, types.Boolean) else "sge"
        for index in range(place.count):
            element = self.pointer(Place(place.line, place.offset + index * size, 1))
            value = self.add(f"load {type}, ptr {element}")
            wrong = self.add(f"icmp {comparison} {type} {value}, 0")
            end = f"end{next(self.names)}"
            self.body += [
                f"  br i1 {wrong}, label %{end}.wrong, label %{end}", f"{end}.wrong:", f"  ret i64 {number}", f"{end}:",
            ]


@functools.cache
def _address_of(kernel: Kernel) -> int:
    return kernel.address()


def _type_of(kind: Any) -> str:
    """Return LLVM's type of a number, or of the parts of a complex number; a truth value is a byte."""
    if isinstance(kind, types.Complex):
        kind = kind.underlying_float
    if isinstance(kind, types.Float):
        return "float" if kind.bitwidth == 32 else "double"
    return "i8" if isinstance(kind, types.Boolean) else f"i{kind.bitwidth}"


def _constant(value: Any, type: str) -> str:
    """Return a number in LLVM's text: the bits of a double for a double and for a float."""
    if type not in ("float", "double"):
        return str(int(value))
    number = np.float32(value) if type == "float" else float(value)
    return f"0x{struct.unpack('>Q', struct.pack('>d', number))[0]:016X}"
