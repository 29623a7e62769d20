"""Inspections of compiled functions: tables of their programs' steps and buffers, as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.display import counted, duration, for_terminal, number_of_bytes
from ...programs.compiled import Compiled
from ..html import Html, element, faint, framed, joined, table, unfolding
from .description import Buffer, InspectedProgram, ProgramStep, programs_of

#: The number of buffers listed for a step.
_LISTED = 4

_STEPS = ["", "time", "kernel", "operation", "where", "reads", "writes"]
_BUFFERS = ["buffer", "kind", "shape", "bytes", "steps", "in the arena"]


class ProgramInspection(Sequence[InspectedProgram]):
    """The programs of a compiled function.  It prints as text, and notebooks show it as tables.

    Attributes:
        subject: the function's name.
        programs: each with ``steps``, ``buffers``, ``times``, ``arena``, ``separate`` and ``llvm``.
        notes: remarks, in sentences.
    """

    def __init__(self, compiled: Compiled):
        self.subject = f"compiled {compiled.name}"
        self.programs = list(programs_of(compiled))
        self.notes: list[str] = []
        if not self.programs:
            self.notes.append(
                "There is no program: it was not called yet, runs as it is, or has not come to backward for the first "
                "time. numgrad.compiler.explain tells which."
            )

    def text(self, *sections: str) -> str:
        """Return the inspection as text.

        Args:
            sections: any of "steps", "buffers" and "llvm", the IR that calls the kernels; by default the first two.

        Raises:
            ValueError: there is no such section.
        """
        for section in sections:
            if section not in _SECTIONS:
                raise ValueError(f"no section '{section}': there are {', '.join(_SECTIONS)}")
        parts = ["\n".join([self.subject, *self.notes])]
        for program in self.programs:
            parts.append("\n".join([program.title, f"  {_summary(program)}"]))
            parts += [_SECTIONS[section](program) for section in sections or ("steps", "buffers")]
        return "\n\n".join(parts)

    def __len__(self) -> int:
        return len(self.programs)

    def __getitem__(self, index: Any) -> Any:
        return self.programs[index]

    def __str__(self) -> str:
        return for_terminal(self.text())

    __repr__ = __str__

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


def _names(buffers: list[Buffer]) -> str:
    more = f" and {len(buffers) - _LISTED} more" if len(buffers) > _LISTED else ""
    return ", ".join([buffer.name for buffer in buffers[:_LISTED]]) + more


def _buffer_rows(program: InspectedProgram) -> list[list[str]]:
    return [_buffer_row(buffer) for buffer in program.buffers]


def _buffer_row(buffer: Buffer) -> list[str]:
    steps = "" if buffer.first is None else f"{buffer.first} to {buffer.last}"
    place = "" if buffer.offset is None else f"from {buffer.offset:,}"
    shape = f"{list(buffer.shape)} {buffer.dtype}"
    return [buffer.name, buffer.kind, shape, number_of_bytes(buffer.bytes), steps, place]


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
