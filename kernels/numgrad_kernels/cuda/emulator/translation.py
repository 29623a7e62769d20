"""Translation of a program in PTX to LLVM's language: the function that runs one thread.

The function has the signature ``i32 step(ptr R, ptr P, i64 S, i32 thread, i32 block, ptr C)``.  R is the record of the
thread: a header (see below), and then its registers and local variables.  P is the memory of the kernel's parameters, S
the address of the block's shared memory, and C the context (see ``checks.py``).  The function returns a code when the
thread has to wait for others; the record then holds the number of the place at which the next call resumes.

Registers live in memory: only so can a thread stop anywhere.  LLVM keeps them in the processor's registers in between.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from . import checks
from .flow import basic_blocks
from .ptx import Instruction, Label, PTXKernel, UntranslatedError, number_bits

#: Results of ``step``: the thread has ended; waits for its block, its warp, or a value from its warp; or is faulty.
EXIT, BARRIER, WARP, EXCHANGE, FAULT = 0, 1, 2, 3, -1

#: Offsets in a record: where to resume; the kind of exchange (see ``warps.py``); the value to exchange, and the result;
#: the lane that it comes from; and the mask of the lanes that take part.
RESUME, KIND, VALUE, RESULT, SOURCE, MASK, HEAD = 0, 4, 8, 16, 24, 28, 32

#: LLVM's types of PTX's.
TYPES = {
    "pred": "i8", "b8": "i8", "u8": "i8", "s8": "i8", "b16": "i16", "u16": "i16", "s16": "i16", "f16": "half",
    "b32": "i32", "u32": "i32", "s32": "i32", "f32": "float", "b64": "i64", "u64": "i64", "s64": "i64", "f64": "double",
}

#: Bits of LLVM's types, the integer type of each floating type, and the suffix of LLVM's functions for it.
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128, "half": 16, "float": 32, "double": 64}
INTEGER_OF = {"half": "i16", "float": "i32", "double": "i64"}
SUFFIX = {"half": "f16", "float": "f32", "double": "f64"}

Handler = Callable[["Translator", Instruction], None]

#: The translation of each instruction, by the first part of its opcode.
handlers: dict[str, Handler] = {}


def translates(*names: str) -> Callable[[Handler], Handler]:
    """Register a function as the translation of these instructions."""

    def register(function: Handler) -> Handler:
        handlers.update(dict.fromkeys(names, function))
        return function

    return register


class Translator:
    """The translation of one program; if ``traced``, threads note which basic blocks they enter."""

    def __init__(self, program: PTXKernel, traced: bool = False):
        self.program = program
        self.traced = traced
        self.accesses: dict[int, tuple[int, int]] = {}  #: the size and the code of each access (see ``checks.py``)
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self.resumes: list[int] = []  #: the instructions at which threads wait
        self.where = 0  #: the number of the current instruction
        self._count = 0
        offset = HEAD
        self.offsets: dict[str, int] = {}
        for name, type_ in program.registers.items():
            size = BITS[TYPES[type_]] // 8
            offset = -(-offset // size) * size
            self.offsets[name] = offset
            offset += size
        self.local = -(-offset // 16) * 16  #: the offset of the local variables
        self.record_size = -(-(self.local + program.sizes["local"]) // 64) * 64

    def translate(self) -> str:
        """Return the module of the function ``step``.

        Raises:
            UntranslatedError: the program has an instruction that is not translated.
        """
        self.lines.append("start:")
        blocks = set(basic_blocks(self.program))
        for where, part in enumerate(self.program.code):
            self.where = where
            if isinstance(part, Label):
                self.label(_label(part.name))
            if self.traced and where in blocks:
                self.emit(f"call void @numgrad_note(i32 {where}, i32 %thread, ptr %C)")
            if isinstance(part, Instruction):
                self._instruction(part)
        self.emit(f"ret i32 {EXIT}")
        cases = " ".join(f"i32 {number}, label %resume{number}" for number in range(1, len(self.resumes) + 1))
        return "\n".join([
            "declare i32 @numgrad_check(i64, i32, i32, i32, i32, i32, ptr, ptr)",
            "declare void @numgrad_note(i32, i32, ptr)", *sorted(self.declarations),
            "define i32 @step(ptr noalias %R, ptr noalias %P, i64 %S, i32 %thread, i32 %block, ptr %C) {",
            "entry:", "  %written = alloca [32 x i8], align 16", "  %place = load i32, ptr %R",
            f"  switch i32 %place, label %start [ {cases} ]", *self.lines, "fault:", f"  ret i32 {FAULT}", "}",
        ])

    def _instruction(self, instruction: Instruction) -> None:
        handler = handlers.get(instruction.opcode[0])
        if handler is None:
            raise UntranslatedError(instruction.text)
        after = ""
        if instruction.guard:
            condition = self.read(instruction.guard.lstrip("!"), "i1")
            guarded, after = self.fresh("guarded"), self.fresh("after")
            targets = (after, guarded) if instruction.guard.startswith("!") else (guarded, after)
            self.branch(condition, *targets)
            self.lines.append(f"{guarded}:")
        try:
            handler(self, instruction)
        except (KeyError, IndexError, ValueError, StopIteration) as error:
            raise UntranslatedError(instruction.text) from error
        if after:
            self.label(after)

    # The text of LLVM's language

    def fresh(self, stem: str) -> str:
        """Return a new name of a label."""
        self._count += 1
        return f"{stem}{self._count}"

    def emit(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def do(self, text: str) -> str:
        """Append an instruction; return the name of its result."""
        self._count += 1
        self.emit(f"%v{self._count} = {text}")
        return f"%v{self._count}"

    def call(self, function: str, result: str, *arguments: tuple[str, str]) -> str:
        """Append a call of a function with these types and values; return the name of its result."""
        self.declarations.add(f"declare {result} @{function}({', '.join(type_ for type_, _ in arguments)})")
        return self.do(f"call {result} @{function}({', '.join(f'{type_} {value}' for type_, value in arguments)})")

    def label(self, name: str) -> None:
        """Begin the block of a label, to which the preceding code continues."""
        self.emit(f"br label %{name}")
        self.lines.append(f"{name}:")

    def branch(self, condition: str, yes: str, no: str) -> None:
        """End a block with a branch."""
        self.emit(f"br i1 {condition}, label %{yes}, label %{no}")

    def end_block(self) -> None:
        """Begin a block that nothing branches to, after an instruction that ends a block."""
        self.lines.append(f"{self.fresh('unreached')}:")

    def jump(self, name: str) -> None:
        """Branch to a label of the program."""
        self.emit(f"br label %{_label(name)}")
        self.end_block()

    def switch(self, number: str, names: list[str]) -> None:
        """Branch to the label with this number."""
        cases = " ".join(f"i32 {case}, label %{_label(name)}" for case, name in enumerate(names))
        self.emit(f"switch i32 {number}, label %{_label(names[-1])} [ {cases} ]")
        self.end_block()

    # Values

    def field(self, offset: int) -> str:
        """Return a pointer to a field of the record."""
        return self.do(f"getelementptr i8, ptr %R, i64 {offset}")

    def context(self, number: int) -> str:
        """Return a number of the context."""
        pointer = self.do(f"getelementptr i64, ptr %C, i64 {number}")
        return self.do(f"load i64, ptr {pointer}")

    def read(self, operand: str, target: str) -> str:
        """Return the value of an operand, as bits of this type of LLVM."""
        if operand in self.offsets:
            stored = TYPES[self.program.registers[operand]]
            return self.convert(self.do(f"load {stored}, ptr {self.field(self.offsets[operand])}"), stored, target)
        if operand.startswith("%"):
            return self.convert(self._special(operand), "i32", target)
        if operand == "WARP_SZ":
            return "32"
        if operand in self.program.variables:
            return self.convert(self.address_of(operand), "i64", target)
        size = max(BITS[target] // 8, 1)
        floating = operand[:2].lower() in ("0f", "0d")
        if target == "i1":
            return str(number_bits(operand, size) & 1)
        integer = INTEGER_OF.get(target, target)
        if target != integer and not floating:
            raise UntranslatedError(f"the number {operand} as {target}")
        return self.convert(str(number_bits(operand, size)), integer, target)

    def _special(self, name: str) -> str:
        """Return a special register, of 32 bits."""
        if name == "%laneid":
            return self.do("and i32 %thread, 31")
        if name == "%warpid":
            return self.do("lshr i32 %thread, 5")
        if name == "%lanemask_lt":
            bit = self.do(f"shl i32 1, {self._special('%laneid')}")
            return self.do(f"sub i32 {bit}, 1")
        stem, _, axis = name.partition(".")
        if stem not in ("%tid", "%ntid", "%ctaid", "%nctaid") or axis not in ("x", "y", "z"):
            raise UntranslatedError(f"the register {name}")
        extents = checks.BLOCKS if "cta" in stem else checks.THREADS

        def extent(number: int) -> str:
            return self.do(f"trunc i64 {self.context(extents + number)} to i32")

        number = "xyz".index(axis)
        if stem.startswith("%n"):
            return extent(number)
        value = "%block" if "cta" in stem else "%thread"
        for before in range(number):
            value = self.do(f"udiv i32 {value}, {extent(before)}")
        return value if number == 2 else self.do(f"urem i32 {value}, {extent(number)}")

    def convert(self, value: str, old: str, new: str) -> str:
        """Return the bits of a value as those of another type: cut off, or extended by zeros."""
        if old == new:
            return value
        if old in INTEGER_OF:
            return self.convert(self.do(f"bitcast {old} {value} to {INTEGER_OF[old]}"), INTEGER_OF[old], new)
        if new in INTEGER_OF:
            return self.do(f"bitcast {INTEGER_OF[new]} {self.convert(value, old, INTEGER_OF[new])} to {new}")
        return self.do(f"{'trunc' if BITS[old] > BITS[new] else 'zext'} {old} {value} to {new}")

    def write(self, register: str, value: str, have: str, signed: bool = False) -> None:
        """Set a register to a value, which is extended by its sign if ``signed``."""
        if register == "_":
            return
        stored = TYPES[self.program.registers[register]]
        if signed and stored not in INTEGER_OF and have not in INTEGER_OF and BITS[have] < BITS[stored]:
            value = self.do(f"sext {have} {value} to {stored}")
        else:
            value = self.convert(value, have, stored)
        self.emit(f"store {stored} {value}, ptr {self.field(self.offsets[register])}")

    # Memory

    def address_of(self, name: str) -> str:
        """Return the address of a variable, which for shared memory is relative to its start."""
        variable = self.program.variables[name]
        if variable.memory == "shared":
            return str(variable.offset)
        if variable.memory == "data":
            return self.do(f"add i64 {self.context(checks.DATA)}, {variable.offset}")
        return self.do(f"ptrtoint ptr {self.field(self.local + variable.offset)} to i64")

    def check(self, address: str, size: int, code: int) -> None:
        """Check an access; where it is faulty, the thread stops."""
        where = self.where
        self.accesses[where] = size, code
        bad = self.do(
            f"call i32 @numgrad_check(i64 {address}, i32 {size}, i32 {code}, i32 %thread, i32 %block, i32 {where}, "
            "ptr %written, ptr %C)"
        )
        right = self.fresh("right")
        self.branch(self.do(f"icmp eq i32 {bad}, 0"), right, "fault")
        self.lines.append(f"{right}:")

    # Waiting

    def set_field(self, offset: int, type_: str, value: str) -> None:
        """Set a field of the record's header."""
        self.emit(f"store {type_} {value}, ptr {self.field(offset)}")

    def wait(self, code: int) -> None:
        """Return a code to the scheduler; the next call resumes here."""
        self.resumes.append(self.where)
        number = len(self.resumes)
        self.set_field(RESUME, "i32", str(number))
        self.emit(f"ret i32 {code}")
        self.lines.append(f"resume{number}:")


def _label(name: str) -> str:
    return "L" + re.sub(r"\W", lambda letter: f"_{ord(letter[0])}_", name)


def typed(instruction: Instruction) -> tuple[str, str]:
    """Return the type of an instruction, the last part of its opcode, and LLVM's type."""
    return instruction.opcode[-1], TYPES[instruction.opcode[-1]]


def pick(instruction: Instruction, *choices: str, default: Any = None) -> str:
    """Return the first part of an opcode that is among these.

    Raises:
        StopIteration: none is, and there is no default.
    """
    choice = (part for part in instruction.opcode[1:] if part in choices)
    return next(choice) if default is None else next(choice, default)
