"""Instructions that end, branch, or wait for other threads.

To exchange values, each lane stores its own in its record, with the kind of exchange; the scheduler computes the
results when all lanes of the mask have arrived.
"""

from __future__ import annotations

from .ptx import Instruction, UntranslatedError
from .translation import (
    BARRIER,
    EXCHANGE,
    EXIT,
    KIND,
    MASK,
    RESULT,
    SOURCE,
    VALUE,
    WARP,
    Translator,
    pick,
    translates,
    typed,
)

#: Kinds of exchanges: of one lane's value; the lanes whose value is not 0, or is equal; and the reductions.
SHUFFLE, BALLOT, MATCH, ADD, AND, OR, XOR, MIN, MAX, UMIN, UMAX = range(11)

#: Functions of the lane to read from, by the mode of a shuffle.
_MOVES = {"up": "sub", "down": "add", "bfly": "xor"}


@translates("ret", "exit")
def _(t: Translator, instruction: Instruction) -> None:
    t.emit(f"ret i32 {EXIT}")
    t.end_block()


@translates("bra")
def _(t: Translator, instruction: Instruction) -> None:
    t.jump(instruction.operands[0])


@translates("brx")
def _(t: Translator, instruction: Instruction) -> None:
    number, labels = instruction.operands
    t.switch(t.read(number, "i32"), t.program.targets[labels])


@translates("bar", "barrier")
def _(t: Translator, instruction: Instruction) -> None:
    if instruction.opcode[1] == "warp":
        t.set_field(MASK, "i32", t.read(instruction.operands[0], "i32"))
        t.wait(WARP)
    elif "sync" in instruction.opcode and len(instruction.operands) == 1:
        t.wait(BARRIER)
    elif "red" in instruction.opcode and len(instruction.operands) == 3:
        _reduce_at_barrier(t, instruction)
    else:
        raise UntranslatedError(instruction.text)


def _reduce_at_barrier(t: Translator, instruction: Instruction) -> None:
    """Wait for the block; then tell in how many threads, in any or in all, a condition holds."""
    target, _, condition = instruction.operands
    value = t.read(condition.lstrip("!"), "i1")
    if condition.startswith("!"):
        value = t.do(f"xor i1 {value}, true")
    t.set_field(VALUE, "i64", t.do(f"zext i1 {value} to i64"))
    t.wait(BARRIER)
    counts = t.do(f"load i64, ptr {t.field(RESULT)}")
    holds = t.do(f"trunc i64 {counts} to i32")
    if "popc" in instruction.opcode:
        t.write(target, holds, "i32")
    elif "or" in instruction.opcode:
        t.write(target, t.do(f"icmp ne i32 {holds}, 0"), "i1")
    else:
        t.write(target, t.do(f"icmp ult i64 {counts}, {1 << 32}"), "i1")


def _exchange(t: Translator, kind: int, value: str, mask: str, source: str = "0") -> str:
    """Return the result, of 64 bits, of an exchange of this kind among the lanes of the mask."""
    for offset, type_, field in (
        (KIND, "i32", str(kind)), (VALUE, "i64", value), (SOURCE, "i32", source), (MASK, "i32", mask)
    ):
        t.set_field(offset, type_, field)
    t.wait(EXCHANGE)
    return t.do(f"load i64, ptr {t.field(RESULT)}")


@translates("shfl")
def _(t: Translator, instruction: Instruction) -> None:
    mode = pick(instruction, "up", "down", "bfly", "idx")
    target, _, within = instruction.operands[0].partition("|")
    value = t.do(f"zext i32 {t.read(instruction.operands[1], 'i32')} to i64")
    distance, limits, mask = (t.read(operand, "i32") for operand in instruction.operands[2:5])
    lane = t.do("and i32 %thread, 31")
    clamp = t.do(f"and i32 {limits}, 31")
    segment = t.do(f"and i32 {t.do(f'lshr i32 {limits}, 8')}, 31")
    first = t.do(f"and i32 {lane}, {segment}")
    inner = t.do(f"xor i32 {segment}, 31")
    last = t.do(f"or i32 {first}, {t.do(f'and i32 {clamp}, {inner}')}")
    distance = t.do(f"and i32 {distance}, 31")
    if mode == "idx":
        source = t.do(f"or i32 {first}, {t.do(f'and i32 {distance}, {inner}')}")
    else:
        source = t.do(f"{_MOVES[mode]} i32 {lane}, {distance}")
    valid = t.do(f"icmp {'sge' if mode == 'up' else 'sle'} i32 {source}, {last}")
    source = t.do(f"select i1 {valid}, i32 {source}, i32 {lane}")
    if within:
        t.write(within, valid, "i1")
    t.write(target, t.do(f"trunc i64 {_exchange(t, SHUFFLE, value, mask, source)} to i32"), "i32")


@translates("vote")
def _(t: Translator, instruction: Instruction) -> None:
    mode = pick(instruction, "any", "all", "ballot")
    target, condition, members = instruction.operands
    value = t.read(condition.lstrip("!"), "i1")
    if condition.startswith("!"):
        value = t.do(f"xor i1 {value}, true")
    mask = t.read(members, "i32")
    lanes = t.do(f"trunc i64 {_exchange(t, BALLOT, t.do(f'zext i1 {value} to i64'), mask)} to i32")
    if mode == "ballot":
        t.write(target, lanes, "i32")
    else:
        compared = f"ne i32 {lanes}, 0" if mode == "any" else f"eq i32 {lanes}, {t.read(members, 'i32')}"
        t.write(target, t.do(f"icmp {compared}"), "i1")


@translates("match")
def _(t: Translator, instruction: Instruction) -> None:
    mode = pick(instruction, "any", "all")
    _, type_ = typed(instruction)
    target, _, same = instruction.operands[0].partition("|")
    value = t.convert(t.read(instruction.operands[1], type_), type_, "i64")
    lanes = t.do(f"trunc i64 {_exchange(t, MATCH, value, t.read(instruction.operands[2], 'i32'))} to i32")
    if mode == "all":
        everyone = t.do(f"icmp eq i32 {lanes}, {t.read(instruction.operands[2], 'i32')}")
        lanes = t.do(f"select i1 {everyone}, i32 {lanes}, i32 0")
        if same:
            t.write(same, everyone, "i1")
    t.write(target, lanes, "i32")


@translates("redux")
def _(t: Translator, instruction: Instruction) -> None:
    kind, _ = typed(instruction)
    what = pick(instruction, "add", "and", "or", "xor", "min", "max")
    signed = kind.startswith("s")
    number = {"add": ADD, "and": AND, "or": OR, "xor": XOR, "min": MIN, "max": MAX}[what]
    if what in ("min", "max") and not signed:
        number += UMIN - MIN
    value = t.do(f"{'sext' if signed else 'zext'} i32 {t.read(instruction.operands[1], 'i32')} to i64")
    result = _exchange(t, number, value, t.read(instruction.operands[2], "i32"))
    t.write(instruction.operands[0], t.do(f"trunc i64 {result} to i32"), "i32")


@translates("activemask")
def _(t: Translator, instruction: Instruction) -> None:
    """Return this lane alone, as a GPU may: the lanes of a warp need not execute an instruction together."""
    t.write(instruction.operands[0], t.do(f"shl i32 1, {t.do('and i32 %thread, 31')}"), "i32")
