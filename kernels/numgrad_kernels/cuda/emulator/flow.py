"""The flow of control in a program: its basic blocks, and where the lanes of a warp meet again after a branch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .ptx import Instruction, Label, PTXKernel

_ENDS = "bra", "brx", "ret", "exit"


def basic_blocks(program: PTXKernel) -> list[int]:
    """Return the parts of a program that begin basic blocks: the first one, labels, and what follows a branch."""
    code = program.code
    return [w for w, part in enumerate(code) if not w or isinstance(part, Label) or _ends_block(code[w - 1])]


def lockstep_order(program: PTXKernel) -> np.ndarray:
    """Return the order in which a warp with lanes at several instructions executes these: a number for each.

    Lanes wait at the end of a branch or a loop for those within.  The end post-dominates what is within, which
    therefore has more post-dominators, and comes first.
    """
    code, begins = program.code, basic_blocks(program)
    ends = [*begins[1:], len(code)]
    labels = {part.name: where for where, part in enumerate(code) if isinstance(part, Label)}
    numbers = {begin: number for number, begin in enumerate(begins)}
    successors = [
        [numbers[start] for start in _successors(program, end - 1, labels) if start < len(code)] for end in ends
    ]
    everything = (1 << len(begins)) - 1
    dominators = [everything] * len(begins)  # sets of blocks, as bits
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(begins))):
            common = everything if successors[number] else 0
            for successor in successors[number]:
                common &= dominators[successor]
            common |= 1 << number
            changed |= common != dominators[number]
            dominators[number] = common
    depths = np.repeat([bits.bit_count() for bits in dominators], np.diff([*begins, len(code)]))
    order = np.empty(len(code), np.int64)
    order[np.lexsort((np.arange(len(code)), -depths))] = np.arange(len(code))
    return order


def _ends_block(part: Instruction | Label) -> bool:
    return isinstance(part, Instruction) and part.opcode[0] in _ENDS


def _successors(program: PTXKernel, last: int, labels: dict[str, int]) -> Iterator[int]:
    """Yield what may follow the last part of a basic block."""
    part = program.code[last]
    if not isinstance(part, Instruction) or not _ends_block(part):
        yield last + 1
        return
    if part.opcode[0] == "bra":
        yield labels[part.operands[0]]
    elif part.opcode[0] == "brx":
        yield from (labels[name] for name in program.targets[part.operands[1]])
    if part.guard:
        yield last + 1
