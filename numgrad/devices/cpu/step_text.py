"""The steps of a linked program, and the text of the LLVM instructions that run them."""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core import types
from numba.np.numpy_support import as_dtype, from_dtype

from numgrad_kernels.store import Kernel

#: Offsets of the address of the elements in an array, and of the items in a tuple.  See Note [Passed buffers] in
#: ``linking``.
BEFORE_DATA, _BEFORE_ITEMS = object.__basicsize__, tuple.__basicsize__


@dataclass(frozen=True, slots=True)
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


class StepWriter:
    """Writer of the instructions of the steps, as LLVM's text.

    Note [Calls of Numba's functions]
    The parameters are an address for a result, one for an exception, and then the arguments as scalars: the owner, the
    object, the number of elements, the bytes of an element, the address, the shape and the strides of an array; the
    parts of a complex number; a byte for a truth value.  Numba's description of the types would load most of its
    compiler.
    """

    def __init__(self, passed: Sequence[int]):
        self.passed = {line: number for number, line in enumerate(passed)}
        self.parameters = ["table", *["buffers"] * bool(passed)]
        self.start = ["  %unused = alloca i64"]  # kernels write no results and no exceptions
        self.lines: dict[int, None] = {}  # lines of the table whose addresses are read at the beginning
        self.body: list[str] = []
        self.names = itertools.count()

    def function(self, name: str, parameters: str) -> str:
        """Return the text of the function."""
        lines = [f"define i64 @{name}({parameters}) {{", *self.start]
        for line in self.lines:
            number = self.passed.get(line)
            if number is None:
                lines += self.loaded(f"%line{line}", "%table", 8 * line)
            else:
                lines += self.loaded(f"%buffer{line}", "%buffers", _BEFORE_ITEMS + 8 * number)
                lines += self.loaded(f"%line{line}", f"%buffer{line}", BEFORE_DATA)
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
        self.call(step.kernel, step.operands)
        for parameter in step.reports:
            kind: Any = step.kernel.arguments[parameter]
            self.check(kind.dtype, step.operands[parameter], number)

    def call(self, kernel: Kernel, operands: Sequence[Any]) -> None:
        """Write the call of a kernel."""
        arguments = ["ptr %unused", "ptr %unused"]
        for kind, operand in zip(kernel.arguments, operands, strict=True):
            arguments += self.buffer(kind, operand) if isinstance(kind, types.Array) else self.number(kind, operand)
        self.body.append(f"  ; {kernel.name}")
        callee = self.add(f"inttoptr i64 {_address_of(kernel)} to ptr")
        self.add(f"call i32 {callee}({', '.join(arguments)})")

    def buffer(self, kind: Any, place: Any) -> list[str]:
        return self.array(self.pointer(place), str(place.count), as_dtype(kind.dtype).itemsize)

    def array(self, pointer: str, count: str, size: int) -> list[str]:
        """Return the arguments for an array of ``count`` elements of ``size`` bytes."""
        return ["ptr null", "ptr null", f"i64 {count}", f"i64 {size}", f"ptr {pointer}", f"i64 {count}", f"i64 {size}"]

    def number(self, kind: Any, operand: Any) -> list[str]:
        if isinstance(operand, ReadNumber):
            return self.read_number(kind, operand)
        type = type_of(kind)
        if isinstance(kind, types.Complex):
            return [f"{type} {_constant(operand.real, type)}", f"{type} {_constant(operand.imag, type)}"]
        return [f"{type} {_constant(operand, type)}"]

    def read_number(self, kind: Any, operand: ReadNumber) -> list[str]:
        """Return a number from memory, converted."""
        stored: Any = from_dtype(operand.dtype)
        type, loaded = type_of(kind), type_of(stored)
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
        source = type_of(kind)
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
        type = type_of(kind)
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


def type_of(kind: Any) -> str:
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
