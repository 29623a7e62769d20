"""Parser of PTX: from the text of a module to one flat program with the kernel's called functions inlined.

Inlining gives every register and every variable one place in a thread's record, and lets a called function contain
barriers.  Registers of a block ``{ ... }``, which inline assembly makes, become registers of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

#: Bytes of the types of PTX.
SIZES = {
    "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "b32": 4, "u32": 4, "s32": 4, "f32": 4,
    "b64": 8, "u64": 8, "s64": 8, "f64": 8, "pred": 1,
}

#: The memory of each state space: a block's shared memory, the module's own data, or a thread's record.
_MEMORIES = {"shared": "shared", "global": "data", "const": "data", "local": "local", "param": "local"}

_VARIABLE = re.compile(
    r"\.(shared|global|const|local|param)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)((?:\[\d*\])*)\s*(?:=\s*(.*))?$",
    re.S,
)
_NAME = re.compile(r"[%$A-Za-z_][\w$]*")
_INSTRUCTION = re.compile(r"(?:@(!?%\w+)\s+)?([\w.:]+)\s*(.*)", re.S)


class UntranslatedError(NotImplementedError):
    """PTX that the emulator does not run."""


@dataclass(frozen=True)
class Instruction:
    """An instruction: the parts of its ``opcode``, its ``operands``, its ``guard``, and its line in Python."""

    opcode: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str
    text: str
    location: tuple[int, int]  #: the number of the file, and the line; (0, 0) if unknown


@dataclass(frozen=True)
class Label:
    """The target of branches."""

    name: str


@dataclass(frozen=True)
class PTXVariable:
    """A variable: the memory that contains it ("shared", "data", "local"), and its offset there."""

    memory: str
    offset: int


@dataclass
class PTXKernel:
    """A kernel: its code, the meaning of its names, and the size of each memory."""

    name: str = ""
    parameters: dict[str, tuple[int, int]] = field(default_factory=dict)  #: offset and size
    registers: dict[str, str] = field(default_factory=dict)  #: types
    variables: dict[str, PTXVariable] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=lambda: {"shared": 0, "data": 0, "local": 0})
    data: bytearray = field(default_factory=bytearray)
    code: list[Instruction | Label] = field(default_factory=list)
    files: dict[int, str] = field(default_factory=dict)
    targets: dict[str, list[str]] = field(default_factory=dict)  #: the labels of each list for indexed branches

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all parameters of the kernel."""
        return max((offset + size for offset, size in self.parameters.values()), default=0)

    def place(self, memory: str, size: int, align: int) -> int:
        """Return the offset of new bytes in a memory."""
        offset = -(-self.sizes[memory] // align) * align
        self.sizes[memory] = offset + size
        return offset


@dataclass(frozen=True)
class _Function:
    header: str
    statements: list[str]


def parse(text: str) -> PTXKernel:
    """Return the program of the only kernel in a module of PTX.

    Raises:
        UntranslatedError: the module uses something that the emulator does not support.
    """
    program = PTXKernel()
    for number, path in re.findall(r'(?m)^\s*\.file\s+(\d+)\s+"([^"]*)"', text):
        program.files[int(number)] = path
    text = re.sub(r"//.*", "", text)
    text = re.sub(r"(?m)^\s*\.(file|version|target|address_size)\b.*$", "", text)
    text = re.sub(r"(?m)^\s*\.loc\s+(\d+)\s+(\d+).*$", r".loc \1 \2;", text)
    text = re.sub(r"\{([^{};]*)\}", r"<\1>", text)  # vectors and lists of numbers: the remaining braces are blocks
    functions: dict[str, _Function] = {}
    kernel = None
    for header, body in _top_level(text):
        if body is None:
            _declare(program, header, header.split(), {}, "")
        elif ".entry" in header or ".func" in header:
            name = _function_name(header)
            functions[name] = _Function(header, _statements(body))
            if ".entry" in header:
                kernel = name
    if kernel is None:
        raise UntranslatedError("PTX without a kernel")
    program.name = kernel
    offset = 0
    for type_, name in re.findall(r"\.param\s+\.(\w+)\s+([\w$]+)", functions[kernel].header):
        size = SIZES[type_]
        offset = -(-offset // size) * size
        program.parameters[name] = (offset, size)
        offset += size
    program.registers["%cc"] = "pred"  # the carry of extended arithmetic
    _Inliner(program, functions).expand(kernel, "", {}, "")
    return program


def _top_level(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the declarations of a module, with None, and the headers of its blocks, with their content."""
    start = 0
    while match := re.compile(r"[;{]").search(text, start):
        header = text[start : match.start()].strip()
        if match[0] == ";":
            yield header, None
            start = match.end()
            continue
        depth, position = 1, match.end()
        while depth:
            brace = re.compile(r"[{}]").search(text, position)
            assert brace is not None
            depth += 1 if brace[0] == "{" else -1
            position = brace.end()
        yield header, text[match.end() : position - 1]
        start = position


def _statements(body: str) -> list[str]:
    """Return the statements of a function; labels and braces are statements of their own."""
    body = re.sub(r"([{}])", r";\1;", body)
    body = re.sub(r"(?m)^\s*([\w$]+):(?!:)", r"\1:;", body)
    return [statement for part in body.split(";") if (statement := part.strip())]


def _function_name(header: str) -> str:
    """Return the name of a function, which follows its results and precedes its parameters."""
    after = re.sub(r"\.func\s*\([^)]*\)", ".func", header)
    match = re.search(r"\.(?:entry|func)\s+([\w$]+)", after)
    assert match is not None
    return match[1]


def _declare(program: PTXKernel, statement: str, words: Sequence[str], scope: dict[str, str], prefix: str) -> None:
    """Add the registers or the variable of a declaration to the program; ignore other directives."""
    if words[:1] == [".reg"]:
        names = statement.split(None, 2)[2]
        for name in names.split(","):
            stem, _, count = name.strip().partition("<")
            for register in [stem] if not count else [f"{stem}{number}" for number in range(int(count.rstrip(">")))]:
                scope[register] = prefix + register
                program.registers[prefix + register] = words[1].lstrip(".")
        return
    match = _VARIABLE.search(statement)
    if match is None or ".func" in words or ".entry" in words:
        return
    space, align, type_, name, extents, value = match.groups()
    memory = _MEMORIES[space]
    total = SIZES[type_]
    for extent in re.findall(r"\[(\d*)\]", extents):
        total *= int(extent or 0)
    offset = program.place(memory, total, int(align or SIZES[type_]))
    scope[name] = prefix + name
    program.variables[prefix + name] = PTXVariable(memory, offset)
    if memory == "data":
        program.data.extend(bytes(offset + total - len(program.data)))
        if value is not None:
            content = _content(value, type_)
            program.data[offset : offset + len(content)] = content


def _content(value: str, type_: str) -> bytes:
    """Return the bytes of an initial value."""
    numbers = value.strip().strip("<>").split(",")
    size = SIZES[type_]
    try:
        return b"".join(number_bits(number.strip(), size).to_bytes(size, "little") for number in numbers)
    except ValueError:
        raise UntranslatedError(f"the initial value {value[:60]}") from None


def number_bits(text: str, size: int) -> int:
    """Return the bits of a literal number as an unsigned integer of ``size`` bytes."""
    if text[:2].lower() in ("0f", "0d"):
        return int(text[2:], 16)
    return int(text.rstrip("U"), 0) & ((1 << 8 * size) - 1)


class _Inliner:
    """The expansion of functions into the code of a program."""

    def __init__(self, program: PTXKernel, functions: dict[str, _Function]):
        self.program = program
        self.functions = functions
        self.copies = 0
        self.location = (0, 0)

    def expand(self, name: str, prefix: str, aliases: dict[str, str], end: str) -> None:
        """Append the code of a function.

        Args:
            name: the function.
            prefix: the prefix of its own names, which distinguishes this copy.
            aliases: the variables to use for its parameters and results.
            end: the label that a return branches to; empty for the kernel itself.
        """
        statements = self.functions[name].statements
        scopes = [{**aliases, **{s[:-1]: prefix + s[:-1] for s in statements if s.endswith(":")}}]
        for statement in statements:
            words = statement.split()
            if statement == "{":
                scopes.append({})
                self.copies += 1
            elif statement == "}":
                scopes.pop()
            elif statement.endswith(":"):
                self.program.code.append(Label(prefix + statement[:-1]))
            elif words[0] == ".branchtargets":
                labels = self.program.code.pop()
                assert isinstance(labels, Label)
                self.program.targets[labels.name] = [prefix + name for name in split(statement[len(words[0]) :])]
            elif words[0] == ".loc":
                self.location = (int(words[1]), int(words[2]))
            elif statement.startswith("."):
                own_prefix = prefix if len(scopes) == 1 else f"{prefix}{self.copies}:"
                _declare(self.program, statement, words, scopes[-1], own_prefix)
            else:
                self._append(statement, scopes, end)

    def _append(self, statement: str, scopes: list[dict[str, str]], end: str) -> None:
        match = _INSTRUCTION.match(statement)
        if match is None:
            raise UntranslatedError(statement)

        def renamed(text: str) -> str:
            return _NAME.sub(lambda name: next((s[name[0]] for s in reversed(scopes) if name[0] in s), name[0]), text)

        guard, opcode, arguments = renamed(match[1] or ""), match[2], " ".join(match[3].split())
        if opcode.partition(".")[0] == "call":
            after = f"{self.copies}:after"
            if guard:
                opposite = guard[1:] if guard.startswith("!") else f"!{guard}"
                self.program.code.append(Instruction(("bra",), (after,), opposite, statement, self.location))
            self._call(statement, renamed(arguments))
            if guard:
                self.program.code.append(Label(after))
        elif opcode in ("ret", "ret.uni") and end:
            self.program.code.append(Instruction(("bra",), (end,), guard, statement, self.location))
        else:
            operands = tuple(split(renamed(arguments)))
            text = " ".join(statement.split())
            self.program.code.append(Instruction(tuple(opcode.split(".")), operands, guard, text, self.location))

    def _call(self, statement: str, text: str) -> None:
        """Expand ``call (result), function, (arguments)``."""
        parts = split(text)
        results = split(parts.pop(0)[1:-1]) if parts[0].startswith("(") else []
        name = parts[0]
        arguments = split(parts[1][1:-1]) if len(parts) > 1 else []
        if name not in self.functions:
            raise UntranslatedError(f"a call of {name}")
        if self.copies > 10_000:
            raise UntranslatedError(f"a recursive call of {name}")
        formal = re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.\w+\s+([\w$]+)", self.functions[name].header)
        self.copies += 1
        prefix = f"{self.copies}:"
        end = f"{prefix}end"
        self.expand(name, prefix, dict(zip(formal, results + arguments, strict=True)), end)
        self.program.code.append(Label(end))


def split(text: str) -> list[str]:
    """Return the operands in a text: the parts between those commas that are not within brackets."""
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "<[(") - (letter in ">])")
        if letter == "," and not depth:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, last] if (last := text[start:].strip()) else parts
