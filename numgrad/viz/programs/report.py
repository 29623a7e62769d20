"""Inspections of compiled functions: tables of their programs' steps and buffers, as text and as HTML."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...core.display import counted, duration, number_of_bytes
from ...programs.compiled import Compiled
from ..html import Html, element, faint, framed, joined, table, unfolding
from ..listing import Listing
from .description import InspectedProgram, ProgramBuffer, ProgramStep, programs_of

#: The number of buffers listed for a step.
_LISTED = 4

_STEPS = ["", "time", "kernel", "operation", "where", "reads", "writes"]
_BUFFERS = ["buffer", "kind", "shape", "bytes", "steps", "in the arena"]


class ProgramInspection(Listing):
    """The programs of a compiled function.  It prints as text, and notebooks show it as tables.

    The sections of its ``text`` are "steps", "buffers" and "llvm", the IR that calls the kernels.

    Attributes:
        subject: the function's name.
        programs: each with ``steps``, ``buffers``, ``times``, ``arena``, ``separate`` and ``llvm``.
        notes: remarks, in sentences.
    """

    sections = ("steps", "buffers", "llvm")

    def __init__(self, compiled: Compiled):
        super().__init__(f"compiled {compiled.name}", programs_of(compiled))
        self.programs: list[InspectedProgram] = self.items
        if not self.programs:
            self.notes.append(
                "There is no program: the function was not called yet, or runs uncompiled. "
                "numgrad.compiler.explain says which."
            )

    def _text(self, sections: Collection[str]) -> str:
        parts = ["\n".join([self.subject, *self.notes])]
        for program in self.programs:
            parts.append("\n".join([program.title, f"  {_summary(program)}"]))
            parts += [_SECTIONS[section](program) for section in sections]
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        parts = [element("p", element("b", self.subject)), *[element("p", faint(note)) for note in self.notes]]
        for number, program in enumerate(self.programs):
            content = joined([
                element("p", _summary(program)),
                table(_step_rows(program), _STEPS, class_="left"),
                unfolding(counted(len(program.buffers), "buffer"), table(_buffer_rows(program), _BUFFERS)),
                unfolding("LLVM, the calls of the kernels", *[element("pre", text) for text in program.llvm]),
            ])
            parts.append(unfolding(element("b", program.title), content, is_open=number == 0))
        return framed(Html(), *parts, height="none")


def _summary(program: InspectedProgram) -> str:
    times = program.times
    took = f"{duration(sum(times))} in all" if times is not None else "no times, since a kernel reports an error"
    return (
        f"{counted(len(program.steps), 'step')}, {took}; an arena of {number_of_bytes(program.arena)} holds "
        f"{number_of_bytes(program.separate)} of temporaries"
    )


def _step_rows(program: InspectedProgram) -> list[list[str]]:
    times: Sequence[float | None] = program.times or [None] * len(program.steps)
    return [_step_row(step, time) for step, time in zip(program.steps, times, strict=True)]


def _step_row(step: ProgramStep, time: float | None) -> list[str]:
    where = "" if step.location is None else step.location.brief
    took = "" if time is None else duration(time)
    return [str(step.number), took, step.name, step.operation, where, _names(step.reads), _names(step.writes)]


def _names(buffers: list[ProgramBuffer]) -> str:
    more = f" and {len(buffers) - _LISTED} more" if len(buffers) > _LISTED else ""
    return ", ".join([buffer.name for buffer in buffers[:_LISTED]]) + more


def _buffer_rows(program: InspectedProgram) -> list[list[str]]:
    return [_buffer_row(buffer) for buffer in program.buffers]


def _buffer_row(buffer: ProgramBuffer) -> list[str]:
    steps = "" if buffer.first is None else f"{buffer.first} to {buffer.last}"
    position = "" if buffer.offset is None else f"from {buffer.offset:,}"
    shape = f"{list(buffer.shape)} {buffer.dtype}"
    return [buffer.name, buffer.kind, shape, number_of_bytes(buffer.bytes), steps, position]


def _columns(rows: list[list[str]], head: list[str]) -> str:
    """Return a table as text."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ["  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=True)]) for row in [head, *rows]]
    return "\n".join([f"  {line}".rstrip() for line in lines])


_SECTIONS = {
    "steps": lambda program: _columns(_step_rows(program), _STEPS),
    "buffers": lambda program: _columns(_buffer_rows(program), _BUFFERS),
    "llvm": lambda program: "\n".join(program.llvm),
}
