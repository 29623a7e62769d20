"""Assembly taken apart: its functions, their loops, and how wide the vectors are that a loop works on.

The loop in which a kernel spends its time is taken to be, of the loops that have none within them, one that works on
vectors which lie in one piece; of these one that lies deepest in others, and of these the one with the widest vectors
that computes most with them.  It is a guess: a loop whose length the compiler knew may be written out without a jump,
and then only the loop for what is left over is found; whoever shows it can ask for the ``widest`` vectors of the whole
function.  What is known of x86 and of ARM is how they write their vector registers, their jumps and their calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

#: The vector registers: how many bits they have.
_REGISTERS = [
    (re.compile(r"%zmm\d"), 512),
    (re.compile(r"%ymm\d"), 256),
    (re.compile(r"%xmm\d"), 128),
    (re.compile(r"\bv\d+\.(?:16b|8h|4s|2d)\b|\bq\d+\b"), 128),
    (re.compile(r"\bv\d+\.(?:8b|4h|2s)\b"), 64),
]

#: Instructions on x86's vector registers that are about one number, or none.
_SINGLE = re.compile(r"(?!v?p)\w+s[sd]|v?mov[dq]|v?cvtt?s[sdi]2s\w*|v?p(?:extr|insr)\w|vzero\w+")

_LABEL = re.compile(r"^([.\w$]+):")
_JUMP = re.compile(r"^\s+(?:j\w+|b|b\.\w+|cbn?z|tbn?z)\s+(?:.*[\s,])?([.\w$]+)$")
_CALL = re.compile(r"^\s+(?:callq?|blr?)\s")

#: Lines that are no machine code.
_DIRECTIVE = re.compile(r"^\s*(?:\.(?!L)|#|//|;|$)|^\.Lfunc_end|^\s+\.|^\.Ltmp")


@dataclass(frozen=True)
class Loop:
    """A loop of machine code.

    Attributes:
        lines: its instructions, and the labels that they jump to.
        depth: how many loops it lies in.
    """

    lines: tuple[str, ...]
    depth: int = 0

    @cached_property
    def registers(self) -> Counter[int]:
        """By the width of vectors in bits how many instructions are on such; by 0 how many are on none."""
        return Counter([_vector_bits(line) for line in self.lines if not _LABEL.match(line)])

    @property
    def vectors(self) -> int:
        """How many of its instructions are on vectors."""
        return self.registers.total() - self.registers[0]

    @property
    def bits(self) -> int:
        """The width of the widest vectors that it works on, 0 if few of its instructions are about vectors."""
        return max(self.registers) if self.vectors * 4 >= self.registers.total() else 0

    @property
    def calls(self) -> int:
        """How many of its instructions call functions, whose instructions are not among them."""
        return sum(bool(_CALL.match(line)) for line in self.lines)

    @property
    def scattered(self) -> bool:
        """Whether the elements of its vectors are read or written one by one, from anywhere."""
        return any("gather" in line or "scatter" in line for line in self.lines)


def _vector_bits(line: str) -> int:
    """The bits of the vectors that an instruction works on, 0 if it is about single numbers."""
    mnemonic = line.split(maxsplit=1)[0]
    if _SINGLE.fullmatch(mnemonic):
        return 0
    return max([bits for pattern, bits in _REGISTERS if pattern.search(line)], default=0)


def functions(assembly: str) -> dict[str, list[str]]:
    """The lines of each function: instructions and labels."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in assembly.splitlines():
        label = _LABEL.match(line)
        if label and not label[1].startswith((".L", "L")):
            lines = found[label[1]] = []
        elif label or not _DIRECTIVE.match(line):
            lines.append(label[0] if label else _aligned(re.split(r"\s+(?:#|//|;)", line)[0]))
    return {name: _trimmed(lines) for name, lines in found.items() if any(line[:1].isspace() for line in lines)}


def _aligned(line: str) -> str:
    """An instruction with its operands where those of the others begin."""
    mnemonic, *operands = line.split(maxsplit=1)
    return f"    {mnemonic:<12} {''.join(operands)}".rstrip()


def _trimmed(lines: list[str]) -> list[str]:
    """Without the labels that nothing jumps to."""
    text = "\n".join(line for line in lines if line[:1].isspace())
    return [line for line in lines if line[:1].isspace() or _LABEL.match(line)[1] in text]  # type: ignore[index]


def loops(lines: list[str]) -> Iterator[Loop]:
    """The loops of a function that have no other within them."""
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
    """The function that has the loop in which the time is spent, and that loop, None if there is no loop at all.

    Raises:
        ValueError: there is no function.
    """
    found = functions(assembly)
    if not found:
        raise ValueError("the assembly has no function")
    candidates = [(name, loop) for name, lines in found.items() if not _is_wrapper(name) for loop in loops(lines)]
    if not candidates:
        return next(iter(found)), None
    return max(candidates, key=lambda pair: _likelihood(pair[1]))


def _likelihood(loop: Loop) -> tuple[float, ...]:
    """The larger, the more likely that the time is spent in a loop."""
    moves = sum(bool(_vector_bits(line)) and "mov" in line.split()[0] for line in loop.lines)
    return loop.bits > 0, not loop.scattered, loop.depth, loop.bits, loop.vectors - moves, len(loop.lines)


def _is_wrapper(name: str) -> bool:
    """Whether a function only prepares arguments, or counts references."""
    return name.startswith(("_ZN7cpython", "NRT_"))


def widest(assembly: str, name: str) -> int:
    """The width in bits of the widest vectors that a function computes with, in a loop or not; 0 without any."""
    lines = [line for line in functions(assembly)[name] if not _LABEL.match(line) and "mov" not in line.split()[0]]
    return max(map(_vector_bits, lines), default=0)


def function_of(assembly: str, name: str) -> str:
    """The instructions of one function."""
    return "\n".join([f"{name}:", *functions(assembly)[name]])


#: Numba's names of a kernel's functions: the module and the types are a part of them.
_MANGLED = re.compile(r"_ZN(7cpython)?15numgrad_kernels8compiled\d+\w+?_[0-9a-f]{24}(?:_again)?\d(kernel|loop)[\w.]*")
_PARALLEL = re.compile(r"(?:__gufunc__\.)?_ZN13_3cdynamic_3e\d+__numba_parfor_gufunc_0x[\w.]*")


def readable(code: str) -> str:
    """Machine code, or LLVM's, with short names in place of Numba's."""
    code = _MANGLED.sub(lambda found: ("wrapper_of_" if found[1] else "") + found[2], code)
    return _PARALLEL.sub("piece", code)
