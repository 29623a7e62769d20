"""Instructions that compute: arithmetic, comparisons, conversions and bits.

Fast approximations (``ex2.approx`` and the like) are computed by the C library: their last bits differ from a GPU's.
"""

from __future__ import annotations

from .ptx import Instruction, UntranslatedError
from .translation import BITS, INTEGER_OF, SUFFIX, TYPES, Translator, pick, translates, typed

#: LLVM's comparisons of floating numbers.
_COMPARISONS = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "equ": "ueq", "neu": "une",
    "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge", "num": "ord", "nan": "uno",
}

#: LLVM's numbers of rounding modes, and the functions that round to integers.
_MODES = {"rz": 0, "rp": 2, "rm": 3}
_ROUNDED = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}

_DOUBLED = {"i16": "i32", "i32": "i64", "i64": "i128"}


def _reads(t: Translator, instruction: Instruction, type_: str) -> list[str]:
    return [t.read(operand, type_) for operand in instruction.operands[1:]]


def _intrinsic(t: Translator, name: str, type_: str, *values: str) -> str:
    """Return the result of LLVM's function of this name, for arguments and a result of one type."""
    return t.call(f"llvm.{name}.{SUFFIX.get(type_, type_)}", type_, *((type_, value) for value in values))


def _wide(t: Translator, value: str, type_: str, signed: bool) -> str:
    return t.do(f"{'sext' if signed else 'zext'} {type_} {value} to {_DOUBLED[type_]}")


def _rounded(t: Translator, instruction: Instruction, name: str, type_: str, values: list[str]) -> str:
    """Return a result in the rounding mode of the instruction."""
    mode = pick(instruction, *_MODES, default="rn")
    if mode == "rn":
        if name == "fma":
            return _intrinsic(t, "fma", type_, *values)
        return t.do(f"f{name} {type_} {', '.join(values)}")
    t.declarations.add("declare void @llvm.set.rounding(i32)")
    function = f"llvm.experimental.constrained.{name if name == 'fma' else f'f{name}'}.{SUFFIX[type_]}"
    kinds = ", ".join([type_] * len(values) + ["metadata"] * 2)
    t.declarations.add(f"declare {type_} @{function}({kinds})")
    t.emit(f"call void @llvm.set.rounding(i32 {_MODES[mode]})")
    arguments = ", ".join(f"{type_} {value}" for value in values)
    result = t.do(f'call {type_} @{function}({arguments}, metadata !"round.dynamic", metadata !"fpexcept.strict")')
    t.emit("call void @llvm.set.rounding(i32 1)")
    return result


def _carried(t: Translator, instruction: Instruction, name: str, type_: str, a: str, b: str) -> str:
    """Return a sum or difference that takes the carry, or sets it, as the opcode says."""
    wide = _DOUBLED[type_]
    total = t.do(f"{name} {wide} {_wide(t, a, type_, False)}, {_wide(t, b, type_, False)}")
    if instruction.opcode[0].endswith("c"):
        carry = t.do(f"zext i8 {t.read('%cc', 'i8')} to {wide}")
        total = t.do(f"{name} {wide} {total}, {carry}")
    if "cc" in instruction.opcode:
        carry = t.do(f"and {wide} {t.do(f'lshr {wide} {total}, {BITS[type_]}')}, 1")
        t.write("%cc", t.do(f"trunc {wide} {carry} to i1"), "i1")
    return t.do(f"trunc {wide} {total} to {type_}")


@translates("add", "sub", "addc", "subc")
def _(t: Translator, instruction: Instruction) -> None:
    _, type_ = typed(instruction)
    name = instruction.opcode[0][:3]
    a, b = _reads(t, instruction, type_)
    if type_ in INTEGER_OF:
        value = _rounded(t, instruction, name, type_, [a, b])
        if "sat" in instruction.opcode:
            value = _between_0_and_1(t, value, type_)
    elif "cc" in instruction.opcode or instruction.opcode[0].endswith("c"):
        value = _carried(t, instruction, name, type_, a, b)
    elif "sat" in instruction.opcode:
        value = _intrinsic(t, f"s{name}.sat", type_, a, b)
    else:
        value = t.do(f"{name} {type_} {a}, {b}")
    t.write(instruction.operands[0], value, type_)


@translates("mul", "mad", "madc", "fma")
def _(t: Translator, instruction: Instruction) -> None:
    kind, type_ = typed(instruction)
    values = _reads(t, instruction, type_) if "wide" not in instruction.opcode else []
    if type_ in INTEGER_OF:
        name = "mul" if len(values) == 2 else "fma"
        value = _rounded(t, instruction, name, type_, values)
        if "sat" in instruction.opcode:
            value = _between_0_and_1(t, value, type_)
        t.write(instruction.operands[0], value, type_)
        return
    part = pick(instruction, "lo", "hi", "wide")
    signed = kind.startswith("s")
    if part == "lo":
        value = t.do(f"mul {type_} {values[0]}, {values[1]}")
    else:
        a, b = (_wide(t, t.read(operand, type_), type_, signed) for operand in instruction.operands[1:3])
        wide = _DOUBLED[type_]
        value = t.do(f"mul {wide} {a}, {b}")
        if part == "hi":
            value = t.do(f"trunc {wide} {t.do(f'lshr {wide} {value}, {BITS[type_]}')} to {type_}")
        else:
            type_ = wide
    if len(instruction.operands) == 4:
        added = t.read(instruction.operands[3], type_)
        if "cc" in instruction.opcode or instruction.opcode[0] == "madc":
            value = _carried(t, instruction, "add", type_, value, added)
        else:
            value = t.do(f"add {type_} {value}, {added}")
    t.write(instruction.operands[0], value, type_)


@translates("div", "rem")
def _(t: Translator, instruction: Instruction) -> None:
    kind, type_ = typed(instruction)
    a, b = _reads(t, instruction, type_)
    name = instruction.opcode[0]
    if type_ in INTEGER_OF:
        value = _rounded(t, instruction, name, type_, [a, b])
    else:
        # division by zero, and of the least number by -1, are undefined in LLVM's language
        safe = t.do(f"select i1 {t.do(f'icmp eq {type_} {b}, 0')}, {type_} 1, {type_} {b}")
        if kind.startswith("s"):
            least = t.do(f"icmp eq {type_} {a}, {-(1 << (BITS[type_] - 1))}")
            both = t.do(f"and i1 {least}, {t.do(f'icmp eq {type_} {b}, -1')}")
            safe = t.do(f"select i1 {both}, {type_} 1, {type_} {safe}")
        value = t.do(f"{kind[0] if kind[0] == 's' else 'u'}{name} {type_} {a}, {safe}")
    t.write(instruction.operands[0], value, type_)


@translates("min", "max")
def _(t: Translator, instruction: Instruction) -> None:
    kind, type_ = typed(instruction)
    name = instruction.opcode[0]
    if type_ in INTEGER_OF:
        function = f"{name}imum" if "NaN" in instruction.opcode else f"{name}num"
    else:
        function = f"{'s' if kind.startswith('s') else 'u'}{name}"
    t.write(instruction.operands[0], _intrinsic(t, function, type_, *_reads(t, instruction, type_)), type_)


@translates("neg", "abs", "copysign")
def _(t: Translator, instruction: Instruction) -> None:
    _, type_ = typed(instruction)
    values = _reads(t, instruction, type_)
    name = instruction.opcode[0]
    if name == "neg":
        value = t.do(f"fneg {type_} {values[0]}" if type_ in INTEGER_OF else f"sub {type_} 0, {values[0]}")
    elif name == "copysign":  # here the first operand has the sign
        value = _intrinsic(t, "copysign", type_, values[1], values[0])
    elif type_ in INTEGER_OF:
        value = _intrinsic(t, "fabs", type_, values[0])
    else:
        value = t.call(f"llvm.abs.{type_}", type_, (type_, values[0]), ("i1", "false"))
    t.write(instruction.operands[0], value, type_)


@translates("sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh")
def _(t: Translator, instruction: Instruction) -> None:
    _, type_ = typed(instruction)
    value = t.read(instruction.operands[1], type_)
    name = instruction.opcode[0]
    if pick(instruction, *_MODES, default="rn") != "rn":
        raise UntranslatedError(instruction.text)
    if name in ("sqrt", "rsqrt"):
        value = _intrinsic(t, "sqrt", type_, value)
    elif name == "tanh":
        value = t.call("tanhf", "float", ("float", value))
    elif name != "rcp":
        value = _intrinsic(t, {"ex2": "exp2", "lg2": "log2"}.get(name, name), type_, value)
    if name in ("rcp", "rsqrt"):
        value = t.do(f"fdiv {type_} 1.0, {value}")
    t.write(instruction.operands[0], value, type_)


@translates("setp")
def _(t: Translator, instruction: Instruction) -> None:
    kind, type_ = typed(instruction)
    if kind == "pred":
        type_ = "i1"
    a, b = (t.read(operand, type_) for operand in instruction.operands[1:3])
    operation = instruction.opcode[1]
    if type_ in INTEGER_OF:
        value = t.do(f"fcmp {_COMPARISONS[operation]} {type_} {a}, {b}")
    else:
        operation = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(operation, operation)
        sign = "" if operation in ("eq", "ne") else "s" if kind.startswith("s") else "u"
        value = t.do(f"icmp {sign}{operation} {type_} {a}, {b}")
    target, _, opposite = instruction.operands[0].partition("|")
    inverse = t.do(f"xor i1 {value}, true") if opposite else ""
    if len(instruction.operands) == 4:
        third = instruction.operands[3]
        condition = t.read(third.lstrip("!"), "i1")
        if third.startswith("!"):
            condition = t.do(f"xor i1 {condition}, true")
        value = t.do(f"{instruction.opcode[2]} i1 {value}, {condition}")
        if opposite:
            inverse = t.do(f"{instruction.opcode[2]} i1 {inverse}, {condition}")
    t.write(target, value, "i1")
    if opposite:
        t.write(opposite, inverse, "i1")


@translates("selp")
def _(t: Translator, instruction: Instruction) -> None:
    _, type_ = typed(instruction)
    a, b = (t.read(operand, type_) for operand in instruction.operands[1:3])
    condition = t.read(instruction.operands[3], "i1")
    t.write(instruction.operands[0], t.do(f"select i1 {condition}, {type_} {a}, {type_} {b}"), type_)


@translates("and", "or", "xor", "not")
def _(t: Translator, instruction: Instruction) -> None:
    kind, type_ = typed(instruction)
    if kind == "pred":
        type_ = "i1"
    values = _reads(t, instruction, type_)
    name = instruction.opcode[0]
    value = t.do(f"xor {type_} {values[0]}, -1" if name == "not" else f"{name} {type_} {values[0]}, {values[1]}")
    t.write(instruction.operands[0], value, type_)


@translates("shl", "shr")
def _(t: Translator, instruction: Instruction) -> None:
    kind, type_ = typed(instruction)
    value, distance = t.read(instruction.operands[1], type_), t.read(instruction.operands[2], "i32")
    bits = BITS[type_]
    far = t.do(f"icmp uge i32 {distance}, {bits}")  # undefined in LLVM's language
    near = t.convert(t.do(f"select i1 {far}, i32 {bits - 1}, i32 {distance}"), "i32", type_)
    operation = "shl" if instruction.opcode[0] == "shl" else "ashr" if kind.startswith("s") else "lshr"
    value = t.do(f"{operation} {type_} {value}, {near}")
    if operation != "ashr":
        value = t.do(f"select i1 {far}, {type_} 0, {type_} {value}")
    t.write(instruction.operands[0], value, type_)


@translates("shf")
def _(t: Translator, instruction: Instruction) -> None:
    low, high, distance = _reads(t, instruction, "i32")
    if "wrap" in instruction.opcode:
        distance = t.do(f"and i32 {distance}, 31")
    else:
        distance = t.call("llvm.umin.i32", "i32", ("i32", distance), ("i32", "32"))
    wide = t.do(f"zext i32 {distance} to i64")
    both = t.do(f"shl i64 {t.do(f'zext i32 {high} to i64')}, 32")
    both = t.do(f"or i64 {both}, {t.do(f'zext i32 {low} to i64')}")
    if "l" in instruction.opcode:
        both = t.do(f"lshr i64 {t.do(f'shl i64 {both}, {wide}')}, 32")
    else:
        both = t.do(f"lshr i64 {both}, {wide}")
    t.write(instruction.operands[0], t.do(f"trunc i64 {both} to i32"), "i32")


@translates("popc", "clz", "brev", "bfind")
def _(t: Translator, instruction: Instruction) -> None:
    kind, type_ = typed(instruction)
    value = t.read(instruction.operands[1], type_)
    name = instruction.opcode[0]
    if name == "bfind":
        if kind.startswith("s") or "shiftamt" in instruction.opcode:
            raise UntranslatedError(instruction.text)
        zeros = t.call(f"llvm.ctlz.{type_}", type_, (type_, value), ("i1", "false"))
        value = t.do(f"sub {type_} {BITS[type_] - 1}, {zeros}")
    elif name == "clz":
        value = t.call(f"llvm.ctlz.{type_}", type_, (type_, value), ("i1", "false"))
    else:
        value = _intrinsic(t, {"popc": "ctpop", "brev": "bitreverse"}[name], type_, value)
    t.write(instruction.operands[0], value, type_)


@translates("bfi")
def _(t: Translator, instruction: Instruction) -> None:
    _, type_ = typed(instruction)
    inserted, base = (t.read(operand, type_) for operand in instruction.operands[1:3])
    position, length = (int(operand, 0) for operand in instruction.operands[3:5])
    mask = ((1 << length) - 1) << position
    kept = ~mask & ((1 << BITS[type_]) - 1)
    shifted = t.do(f"and {type_} {t.do(f'shl {type_} {inserted}, {position}')}, {mask}")
    value = t.do(f"or {type_} {shifted}, {t.do(f'and {type_} {base}, {kept}')}")
    t.write(instruction.operands[0], value, type_)


@translates("bfe")
def _(t: Translator, instruction: Instruction) -> None:
    kind, type_ = typed(instruction)
    value = t.read(instruction.operands[1], type_)
    position, length = (int(operand, 0) for operand in instruction.operands[2:4])
    up = t.do(f"shl {type_} {value}, {BITS[type_] - position - length}")
    down = t.do(f"{'ashr' if kind.startswith('s') else 'lshr'} {type_} {up}, {BITS[type_] - length}")
    t.write(instruction.operands[0], down, type_)


@translates("prmt")
def _(t: Translator, instruction: Instruction) -> None:
    low, high = (t.read(operand, "i32") for operand in instruction.operands[1:3])
    selectors = int(instruction.operands[3], 0)
    if len(instruction.opcode) > 2:
        raise UntranslatedError(instruction.text)
    both = t.do(f"shl i64 {t.do(f'zext i32 {high} to i64')}, 32")
    both = t.do(f"or i64 {both}, {t.do(f'zext i32 {low} to i64')}")
    value = "0"
    for number in range(4):
        selector = selectors >> 4 * number & 15
        byte = t.do(f"trunc i64 {t.do(f'lshr i64 {both}, {8 * (selector & 7)}')} to i8")
        if selector & 8:  # its sign, repeated
            byte = t.do(f"ashr i8 {byte}, 7")
        shifted = t.do(f"shl i32 {t.do(f'zext i8 {byte} to i32')}, {8 * number}")
        value = t.do(f"or i32 {value}, {shifted}")
    t.write(instruction.operands[0], value, "i32")


@translates("lop3")
def _(t: Translator, instruction: Instruction) -> None:
    inputs = [t.read(operand, "i32") for operand in instruction.operands[1:4]]
    table = int(instruction.operands[4], 0)
    inverse = [t.do(f"xor i32 {value}, -1") for value in inputs]
    value = "0"
    for row in range(8):
        if table >> row & 1:
            a, b, c = (inputs[i] if row >> (2 - i) & 1 else inverse[i] for i in range(3))
            term = t.do(f"and i32 {t.do(f'and i32 {a}, {b}')}, {c}")
            value = t.do(f"or i32 {value}, {term}")
    t.write(instruction.operands[0], value, "i32")


@translates("dp2a", "dp4a")
def _(t: Translator, instruction: Instruction) -> None:
    """Add the products of two halves with two bytes, or of four bytes with four."""
    pairs = instruction.opcode[0] == "dp2a"
    a, b, value = _reads(t, instruction, "i32")
    signs = [kind.startswith("s") for kind in instruction.opcode[-2:]]
    first = 2 if "hi" in instruction.opcode else 0

    def piece(word: str, number: int, bits: int, signed: bool) -> str:
        up = t.do(f"shl i32 {word}, {32 - bits * (number + 1)}")
        return t.do(f"{'ashr' if signed else 'lshr'} i32 {up}, {32 - bits}")

    for number in range(2 if pairs else 4):
        left = piece(a, number, 16 if pairs else 8, signs[0])
        right = piece(b, number + first, 8, signs[1])
        value = t.do(f"add i32 {value}, {t.do(f'mul i32 {left}, {right}')}")
    t.write(instruction.operands[0], value, "i32")


@translates("testp")
def _(t: Translator, instruction: Instruction) -> None:
    _, type_ = typed(instruction)
    classes = {"infinite": 516, "finite": 504, "number": 1020, "notanumber": 3}[instruction.opcode[1]]
    value = t.read(instruction.operands[1], type_)
    is_of_class = t.call(f"llvm.is.fpclass.{SUFFIX[type_]}", "i1", (type_, value), ("i32", str(classes)))
    t.write(instruction.operands[0], is_of_class, "i1")


def _between_0_and_1(t: Translator, value: str, type_: str) -> str:
    return _intrinsic(t, "minnum", type_, _intrinsic(t, "maxnum", type_, value, "0.0"), "1.0")


@translates("cvt")
def _(t: Translator, instruction: Instruction) -> None:
    kind, source_kind = instruction.opcode[-2:]
    target, source = TYPES[kind], TYPES[source_kind]
    value = t.read(instruction.operands[1], source)
    if pick(instruction, *_MODES, default="rn") != "rn":
        raise UntranslatedError(instruction.text)
    rounding = pick(instruction, *_ROUNDED, default="")
    if target in INTEGER_OF and source in INTEGER_OF:
        if rounding:
            value = _intrinsic(t, _ROUNDED[rounding], source, value)
        if target != source:
            operation = "fptrunc" if BITS[source] > BITS[target] else "fpext"
            value = t.do(f"{operation} {source} {value} to {target}")
        if "sat" in instruction.opcode:
            value = _between_0_and_1(t, value, target)
    elif target in INTEGER_OF:
        value = t.do(f"{'s' if source_kind.startswith('s') else 'u'}itofp {source} {value} to {target}")
    elif source in INTEGER_OF:
        value = _intrinsic(t, _ROUNDED[rounding or "rzi"], source, value)
        sign = "s" if kind.startswith("s") else "u"
        value = t.call(f"llvm.fpto{sign}i.sat.{target}.{SUFFIX[source]}", target, (source, value))
    elif BITS[target] != BITS[source]:
        signed = source_kind.startswith("s")
        operation = "trunc" if BITS[source] > BITS[target] else "sext" if signed else "zext"
        value = t.do(f"{operation} {source} {value} to {target}")
    t.write(instruction.operands[0], value, target, kind.startswith("s"))
