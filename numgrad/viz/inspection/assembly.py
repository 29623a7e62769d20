"""Analysis of assembly: its functions, their loops, and the width of the vectors in a loop.

The main loop, in which a kernel spends its time, is chosen heuristically among the innermost loops.  Loops on
contiguous vectors are preferred, then the most deeply nested, then those with the widest vectors and the most vector
arithmetic.  The choice can be wrong: the compiler may unroll a loop of known length completely, in which case only the
loop for the remainder is found.  ``widest`` therefore gives the widest vectors of a whole function.  For x86 and ARM,
only the notation of vector registers, jumps and calls is known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

#: The vector registers and their widths in bits.
_REGISTERS = [
    (re.compile(r"%zmm\d"), 512),
    (re.compile(r"%ymm\d"), 256),
    (re.compile(r"%xmm\d"), 128),
    (re.compile(r"\bv\d+\.(?:16b|8h|4s|2d)\b|\bq\d+\b"), 128),
    (re.compile(r"\bv\d+\.(?:8b|4h|2s)\b"), 64),
]

#: x86 instructions on vector registers that process a single number, or none.
_SINGLE = re.compile(r"(?!v?p)\w+s[sd]|v?mov[dq]|v?cvtt?s[sdi]2s\w*|v?p(?:extr|insr)\w|vzero\w+")

_LABEL = re.compile(r"^([.\w$]+):")
_JUMP = re.compile(r"^\s+(?:j\w+|b|b\.\w+|cbn?z|tbn?z)\s+(?:.*[\s,])?([.\w$]+)$")
_CALL = re.compile(r"^\s+(?:callq?|blr?)\s")

#: Lines that are not machine code.
_DIRECTIVE = re.compile(r"^\s*(?:\.(?!L)|#|//|;|$)|^\.Lfunc_end|^\s+\.|^\.Ltmp")


@dataclass(frozen=True)
class Loop:
    """A loop of machine code.

    Attributes:
        lines: its instructions, and the labels they jump to.
        depth: the number of enclosing loops.
    """

    lines: tuple[str, ...]
    depth: int = 0

    @cached_property
    def registers(self) -> Counter[int]:
        """The number of instructions by vector width in bits; those without vectors are counted under 0."""
        return Counter([_vector_bits(line) for line in self.lines if not _LABEL.match(line)])

    @property
    def vectors(self) -> int:
        """The number of instructions on vectors."""
        return self.registers.total() - self.registers[0]

    @property
    def bits(self) -> int:
        """The width in bits of the widest vectors, 0 if few of the instructions are on vectors."""
        return max(self.registers) if self.vectors * 4 >= self.registers.total() else 0

    @property
    def calls(self) -> int:
        """The number of instructions that call functions, whose own instructions are not included."""
        return sum(bool(_CALL.match(line)) for line in self.lines)

    @property
    def scattered(self) -> bool:
        """True if the elements of vectors are read or written one by one, at arbitrary addresses."""
        return any("gather" in line or "scatter" in line for line in self.lines)


def _vector_bits(line: str) -> int:
    """Return the width in bits of the vectors that an instruction processes, 0 for single numbers."""
    mnemonic = line.split(maxsplit=1)[0]
    if _SINGLE.fullmatch(mnemonic):
        return 0
    return max([bits for pattern, bits in _REGISTERS if pattern.search(line)], default=0)


def functions(assembly: str) -> dict[str, list[str]]:
    """Return the lines of each function: instructions and labels."""
    lines_of: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in assembly.splitlines():
        label = _LABEL.match(line)
        if label and not label[1].startswith((".L", "L")):
            lines = lines_of[label[1]] = []
        elif label or not _DIRECTIVE.match(line):
            lines.append(label[0] if label else _aligned(re.split(r"\s+(?:#|//|;)", line)[0]))
    return {name: _trimmed(lines) for name, lines in lines_of.items() if any(line[:1].isspace() for line in lines)}


def _aligned(line: str) -> str:
    """Return an instruction with its operands aligned to those of the others."""
    mnemonic, *operands = line.split(maxsplit=1)
    return f"    {mnemonic:<12} {''.join(operands)}".rstrip()


def _trimmed(lines: list[str]) -> list[str]:
    """Return the lines without unused labels."""
    text = "\n".join(line for line in lines if line[:1].isspace())
    return [line for line in lines if line[:1].isspace() or _LABEL.match(line)[1] in text]  # type: ignore[index]


def loops(lines: list[str]) -> Iterator[Loop]:
    """Yield the innermost loops of a function."""
    label_lines = {label[1]: number for number, line in enumerate(lines) if (label := _LABEL.match(line))}
    ends: dict[int, int] = {}
    for number, line in enumerate(lines):
        jump = _JUMP.match(line)
        if jump and (begin := label_lines.get(jump[1], number)) < number:
            ends[begin] = max(number, ends.get(begin, 0))
    for begin, end in ends.items():
        leaves = any(line.split()[0] in ("ret", "retq") for line in lines[begin:end])  # a jump to the function's end
        if not leaves and not any(begin < other and ends[other] <= end for other in ends):
            depth = sum(other < begin and end <= ends[other] for other in ends)
            yield Loop(tuple(lines[begin : end + 1]), depth)


def main_loop(assembly: str) -> tuple[str, Loop | None]:
    """Return the function with the main loop, and that loop, None if there is no loop at all.

    Raises:
        ValueError: there is no function.
    """
    lines_of = functions(assembly)
    if not lines_of:
        raise ValueError("the assembly has no function")
    candidates = [(name, loop) for name, lines in lines_of.items() if not _is_wrapper(name) for loop in loops(lines)]
    if not candidates:
        return next(iter(lines_of)), None
    return max(candidates, key=lambda pair: _likelihood(pair[1]))


def _likelihood(loop: Loop) -> tuple[float, ...]:
    """Return a sort key that is larger the more likely the time is spent in the loop."""
    moves = sum(bool(_vector_bits(line)) and "mov" in line.split()[0] for line in loop.lines)
    return loop.bits > 0, not loop.scattered, loop.depth, loop.bits, loop.vectors - moves, len(loop.lines)


def _is_wrapper(name: str) -> bool:
    """Return True if a function only prepares arguments or counts references."""
    return name.startswith(("_ZN7cpython", "NRT_"))


def widest(assembly: str, name: str) -> int:
    """Return the width in bits of the widest vectors that a function computes with, in a loop or not; 0 without any."""
    lines = [line for line in functions(assembly)[name] if not _LABEL.match(line) and "mov" not in line.split()[0]]
    return max(map(_vector_bits, lines), default=0)


def function_of(assembly: str, name: str) -> str:
    """Return the instructions of one function."""
    return "\n".join([f"{name}:", *functions(assembly)[name]])


#: Numba's names of a kernel's functions, which include the module and the types.
_MANGLED = re.compile(r"_ZN(7cpython)?15numgrad_kernels8compiled\d+\w+?_[0-9a-f]{24}(?:_again)?\d(kernel|loop)[\w.]*")
_PARALLEL = re.compile(r"(?:__gufunc__\.)?_ZN13_3cdynamic_3e\d+__numba_parfor_gufunc_0x[\w.]*")


def readable(code: str) -> str:
    """Return machine code or LLVM's code with Numba's names shortened."""
    code = _MANGLED.sub(lambda match: ("wrapper_of_" if match[1] else "") + match[2], code)
    return _PARALLEL.sub("piece", code)
