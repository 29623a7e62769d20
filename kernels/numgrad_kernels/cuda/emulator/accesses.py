"""Instructions that access memory, and conversions of addresses."""

from __future__ import annotations

from . import checks
from .ptx import Instruction, UntranslatedError, split
from .translation import BITS, INTEGER_OF, TYPES, Translator, pick, translates, typed

_COPIED = "shared", "global"
_SPACES = ("global", "shared", "local", "param", "const")


def _address(t: Translator, operand: str, space: str) -> str:
    """Return the host's address of ``[base+offset]``."""
    base, _, offset = operand.strip()[1:-1].replace(" ", "").partition("+")
    if space == "param" and base in t.program.parameters:
        offset = str(t.program.parameters[base][0] + int(offset or 0))
        address = t.do("ptrtoint ptr %P to i64")
    else:
        address = t.read(base, "i64")
    if space == "shared":
        address = t.do(f"add i64 {address}, %S")
    return t.do(f"add i64 {address}, {int(offset)}") if offset else address


def _parts(t: Translator, instruction: Instruction, operand: str) -> list[str]:
    """Return the registers of an operand, which several parts of a vector access."""
    return split(operand.strip("<>")) if operand.startswith("<") else [operand]


def _code(access: int, space: str) -> int:
    return access | (checks.SHARED if space == "shared" else 0)


@translates("ld", "ldu")
def _(t: Translator, instruction: Instruction) -> None:
    kind, type_ = typed(instruction)
    space = pick(instruction, *_SPACES, default="generic")
    targets = _parts(t, instruction, instruction.operands[0])
    size = BITS[type_] // 8
    address = _address(t, instruction.operands[1], space)
    if space not in ("param", "local"):
        t.check(address, size * len(targets), _code(checks.READ, space))
    pointer = t.do(f"inttoptr i64 {address} to ptr")
    values = []
    for number in range(len(targets)):
        at = t.do(f"getelementptr {type_}, ptr {pointer}, i64 {number}")
        values.append(t.do(f"load {type_}, ptr {at}, align 1"))
    for target, value in zip(targets, values, strict=True):
        t.write(target, value, type_, kind.startswith("s"))


@translates("st")
def _(t: Translator, instruction: Instruction) -> None:
    _, type_ = typed(instruction)
    space = pick(instruction, *_SPACES, default="generic")
    address = _address(t, instruction.operands[0], space)
    values = [t.read(part, type_) for part in _parts(t, instruction, instruction.operands[1])]
    if space not in ("param", "local"):
        for number, value in enumerate(values):
            at = t.do(f"getelementptr {type_}, ptr %written, i64 {number}")
            t.emit(f"store {type_} {value}, ptr {at}, align 1")
        t.check(address, BITS[type_] // 8 * len(values), _code(checks.WRITE, space))
    pointer = t.do(f"inttoptr i64 {address} to ptr")
    for number, value in enumerate(values):
        at = t.do(f"getelementptr {type_}, ptr {pointer}, i64 {number}")
        t.emit(f"store {type_} {value}, ptr {at}, align 1")


@translates("cp")
def _(t: Translator, instruction: Instruction) -> None:
    """Copy from global to shared memory at once: a copy that nothing waits for is not found."""
    if instruction.opcode[:2] != ("cp", "async") or "bulk" in instruction.opcode:
        raise UntranslatedError(instruction.text)
    if not instruction.operands or "wait_group" in instruction.opcode:
        return
    size = int(instruction.operands[2])
    target, source = (_address(t, instruction.operands[number], space) for number, space in enumerate(_COPIED))
    t.check(source, size, _code(checks.READ, "global"))
    value = t.do(f"load i{8 * size}, ptr {t.do(f'inttoptr i64 {source} to ptr')}, align 1")
    t.emit(f"store i{8 * size} {value}, ptr %written, align 1")
    t.check(target, size, _code(checks.WRITE, "shared"))
    t.emit(f"store i{8 * size} {value}, ptr {t.do(f'inttoptr i64 {target} to ptr')}, align 1")


@translates("atom", "red")
def _(t: Translator, instruction: Instruction) -> None:
    kind, type_ = typed(instruction)
    space = pick(instruction, *_SPACES, default="generic")
    what = pick(instruction, "add", "cas", "exch", "min", "max", "and", "or", "xor", "inc", "dec")
    operands = list(instruction.operands)
    target = operands.pop(0) if instruction.opcode[0] == "atom" else "_"
    address = _address(t, operands[0], space)
    values = [t.read(operand, type_) for operand in operands[1:]]
    t.check(address, BITS[type_] // 8, _code(checks.ATOMIC, space))
    pointer = t.do(f"inttoptr i64 {address} to ptr")
    # threads run in turn: no other thread runs between the load and the store
    old = t.do(f"load {type_}, ptr {pointer}, align 1")
    if what == "exch":
        new = values[0]
    elif what == "cas":
        same = t.do(f"icmp eq {type_} {old}, {values[0]}")
        new = t.do(f"select i1 {same}, {type_} {values[1]}, {type_} {old}")
    elif what in ("min", "max") and type_ not in INTEGER_OF:
        sign = "s" if kind.startswith("s") else "u"
        new = t.call(f"llvm.{sign}{what}.{type_}", type_, (type_, old), (type_, values[0]))
    elif what == "inc":
        wraps = t.do(f"icmp uge {type_} {old}, {values[0]}")
        new = t.do(f"select i1 {wraps}, {type_} 0, {type_} {t.do(f'add {type_} {old}, 1')}")
    elif what == "add":
        new = t.do(f"{'fadd' if type_ in INTEGER_OF else 'add'} {type_} {old}, {values[0]}")
    elif what in ("and", "or", "xor"):
        new = t.do(f"{what} {type_} {old}, {values[0]}")
    else:
        raise UntranslatedError(instruction.text)
    t.emit(f"store {type_} {new}, ptr {pointer}, align 1")
    t.write(target, old, type_)


@translates("cvta")
def _(t: Translator, instruction: Instruction) -> None:
    value = t.read(instruction.operands[1], "i64")
    if "shared" in instruction.opcode:
        value = t.do(f"{'sub' if 'to' in instruction.opcode else 'add'} i64 {value}, %S")
    t.write(instruction.operands[0], value, "i64")


@translates("mov")
def _(t: Translator, instruction: Instruction) -> None:
    kind, type_ = typed(instruction)
    target, source = instruction.operands
    if target.startswith("<"):
        value = t.read(source, type_)
        targets = _parts(t, instruction, target)
        width = BITS[type_] // len(targets)
        for number, part in enumerate(targets):
            shifted = t.do(f"lshr {type_} {value}, {number * width}")
            t.write(part, t.do(f"trunc {type_} {shifted} to i{width}"), f"i{width}")
    elif source.startswith("<"):
        sources = _parts(t, instruction, source)
        width = BITS[type_] // len(sources)
        value = "0"
        for number, part in enumerate(sources):
            wide = t.do(f"zext i{width} {t.read(part, f'i{width}')} to {type_}")
            value = t.do(f"or {type_} {value}, {t.do(f'shl {type_} {wide}, {number * width}')}")
        t.write(target, value, type_)
    else:
        bits = "i1" if kind == "pred" else TYPES[kind]
        t.write(target, t.read(source, bits), bits)


@translates("membar", "fence", "prefetch", "nanosleep", "discard")
def _(t: Translator, instruction: Instruction) -> None:
    """Do nothing: memory is consistent, and has no caches."""
