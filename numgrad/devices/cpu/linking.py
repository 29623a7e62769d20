"""Kernels linked to one function: LLVM IR that calls their machine code, one after the other, without Python between.

The function gets the address of a table of addresses, those of the blocks of memory that it works on, and finds in it
all that kernels are given.  It allocates nothing and knows no tensor.  Linking compiles a page of calls, no kernel.
"""

from __future__ import annotations

import ctypes
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


_number = itertools.count()

#: Steps of one function: what LLVM takes for one grows faster than its length.
_PART = 512

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
    target_context()  # makes LLVM ready for this processor
    name = f"numgrad_program_{next(_number)}"
    text = _text(name, steps, passed)
    # LLVM's fastest way: what is called is optimised, and the calls themselves are not worth it
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0, jit=True)  # which the engine then owns
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    address = engine.get_function_address(name)
    kind = ctypes.PYFUNCTYPE if brief else ctypes.CFUNCTYPE  # which lets other threads of Python run
    run = kind(ctypes.c_int64, *[ctypes.c_void_p] * (1 + bool(passed)))(address)
    run.machine_code = engine  # type: ignore[attr-defined]
    return Linked(run, text, address)


def _text(name: str, steps: Sequence[Run | Copied], passed: Sequence[int]) -> str:
    """Return the module, in which a function of each ``_PART`` steps is called by the one of this name."""
    parameters = f"i64 %table{', i64 %rows' * bool(passed)}"
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
    """Writes the instructions of the steps, as LLVM's text.

    Note [How Numba's functions are called]
    They take a place for a result, one for an exception, and then their arguments taken apart: of an array the owner,
    the object, the number of elements, the bytes of one, the memory, shape and strides; of a complex number its parts;
    a truth value is a byte.  Numba's own description of the types would first have to load most of its compiler.
    """

    def __init__(self, passed: Sequence[int]):
        self.passed = {line: number for number, line in enumerate(passed)}
        self.lines: dict[int, None] = {}  # of the table, whose addresses are read at the beginning
        self.body: list[str] = []
        self.names = itertools.count()

    def function(self, name: str, parameters: str) -> str:
        """Return the function that does what was written."""
        lines = [
            f"define i64 @{name}({parameters}) {{",
            "  %aside = alloca i64",  # for results and exceptions, of which there are none
        ]
        for line in self.lines:
            number = self.passed.get(line)
            if number is None:
                lines += self.loaded(f"%line{line}", "%table", 8 * line)
            else:
                lines += self.loaded(f"%row{line}", "%rows", _BEFORE_ITEMS + 8 * number)
                lines += self.loaded(f"%line{line}", f"%row{line}", _BEFORE_DATA)
        return "\n".join([*lines, *self.body, "  ret i64 0", "}", ""])

    def loaded(self, name: str, address: str, offset: int) -> list[str]:
        """Instructions that load an address from memory."""
        return [
            f"  {name}.a = add i64 {address}, {offset}", f"  {name}.p = inttoptr i64 {name}.a to ptr",
            f"  {name} = load i64, ptr {name}.p",
        ]

    def add(self, instruction: str) -> str:
        """Write an instruction; its result."""
        name = f"%v{next(self.names)}"
        self.body.append(f"  {name} = {instruction}")
        return name

    def address(self, place: Place) -> str:
        """The address of a place, as a number."""
        self.lines.setdefault(place.line)
        line = f"%line{place.line}"
        return self.add(f"add i64 {line}, {place.offset}") if place.offset else line

    def pointer(self, place: Place) -> str:
        """The same as a pointer."""
        return self.add(f"inttoptr i64 {self.address(place)} to ptr")

    def copy(self, step: Copied) -> None:
        target = self.pointer(step.target)
        if step.source is None:
            self.body.append(f"  call void @llvm.memset.p0.i64(ptr {target}, i8 0, i64 {step.size}, i1 false)")
        else:
            both = f"ptr {target}, ptr {self.pointer(step.source)}"
            self.body.append(f"  call void @llvm.memcpy.p0.p0.i64({both}, i64 {step.size}, i1 false)")

    def run(self, step: Run, number: int) -> None:
        for parameter, index, place in step.addresses:
            row = step.operands[parameter]
            cell = self.pointer(Place(row.line, row.offset + 8 * index, 1))
            self.body.append(f"  store i64 {self.address(place)}, ptr {cell}")
        given = ["ptr %aside", "ptr %aside"]
        kinds: tuple[Any, ...] = step.kernel.arguments
        for kind, operand in zip(kinds, step.operands, strict=True):
            given += self.row(kind, operand) if isinstance(kind, types.Array) else self.number(kind, operand)
        self.body.append(f"  ; {step.kernel.name}")
        callee = self.add(f"inttoptr i64 {step.kernel.address()} to ptr")
        self.add(f"call i32 {callee}({', '.join(given)})")
        for parameter in step.reports:
            self.check(kinds[parameter].dtype, step.operands[parameter], number)

    def row(self, kind: Any, place: Place) -> list[str]:
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
        """A number from memory, converted."""
        own: Any = from_dtype(operand.dtype)
        type, given = _type_of(kind), _type_of(own)
        place = operand.place
        parts = [self.converted(self.add(f"load {given}, ptr {self.pointer(place)}"), own, type)]
        if isinstance(kind, types.Complex):
            if isinstance(own, types.Complex):
                second = Place(place.line, place.offset + operand.dtype.itemsize // 2, 1)
                parts.append(self.converted(self.add(f"load {given}, ptr {self.pointer(second)}"), own, type))
            else:
                parts.append(_constant(0.0, type))
        return [f"{type} {part}" for part in parts]

    def converted(self, value: str, own: Any, type: str) -> str:
        given = _type_of(own)
        if given == type:
            return value
        signed = isinstance(own, types.Integer) and bool(own.signed)  # type: ignore[attr-defined]
        if isinstance(own, types.Float | types.Complex):
            operation = "fpext" if type == "double" else "fptrunc"
        elif type in ("float", "double"):
            operation = "sitofp" if signed else "uitofp"
        elif int(type[1:]) < int(given[1:]):
            operation = "trunc"
        else:
            operation = "sext" if signed else "zext"
        return self.add(f"{operation} {given} {value} to {type}")

    def check(self, kind: Any, place: Place, number: int) -> None:
        """Return the number of the step if it has reported something; see ``facts.Report``."""
        type = _type_of(kind)
        size = as_dtype(kind).itemsize
        found = "ne" if isinstance(kind, types.Boolean) else "sge"
        for index in range(place.count):
            element = self.pointer(Place(place.line, place.offset + index * size, 1))
            value = self.add(f"load {type}, ptr {element}")
            wrong = self.add(f"icmp {found} {type} {value}, 0")
            end = f"end{next(self.names)}"
            self.body += [
                f"  br i1 {wrong}, label %{end}.wrong, label %{end}", f"{end}.wrong:", f"  ret i64 {number}", f"{end}:",
            ]


def _type_of(kind: Any) -> str:
    """LLVM's type of a number, of a complex one that of its parts; a truth value is a byte."""
    if isinstance(kind, types.Complex):
        kind = kind.underlying_float
    if isinstance(kind, types.Float):
        return "float" if kind.bitwidth == 32 else "double"
    return "i8" if isinstance(kind, types.Boolean) else f"i{kind.bitwidth}"


def _constant(value: Any, type: str) -> str:
    """A number in LLVM's text: of a real one the bits, those of a double also where it is a float."""
    if type not in ("float", "double"):
        return str(int(value))
    number = np.float32(value) if type == "float" else float(value)
    return f"0x{struct.unpack('>Q', struct.pack('>d', number))[0]:016X}"
