"""The programs of a compiled function as a picture: steps, and the buffers passed between them."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.display import counted
from ...programs.block_names import RESULT
from ...programs.compiled import Compiled
from ..graph.picture import Arrow, Box, ModuleGroup, Picture, Row
from .description import CONSTANT_KIND, TEMPORARY, InspectedProgram, ProgramBuffer, ProgramStep, programs_of


def program_picture(compiled: Compiled, most: int | None, direction: str, arrowheads: str) -> Picture:
    """Return a picture of all programs of a compiled function, each with at most ``most`` steps.

    Raises:
        ValueError: the function has no program.
    """
    programs = list(programs_of(compiled))
    if not programs:
        raise ValueError(
            f"draw(): compiled {compiled.name} has no program yet: numgrad.compiler.explain says why"
        )
    parts = [_ProgramPicture(f"p{number}", program, most) for number, program in enumerate(programs)]
    steps = sum(len(program.steps) for program in programs)
    return Picture(
        tuple([box for part in parts for box in reversed(part.boxes)]),
        tuple([arrow for part in parts for arrow in part.arrows]),
        tuple([ModuleGroup(part.key, part.program.title, part.program.title) for part in parts]),
        direction, arrowheads,
        f"compiled {compiled.name}: {counted(len(programs), 'program')} of {counted(steps, 'step')}",
    )


class _ProgramPicture:
    """The boxes and arrows of one program."""

    def __init__(self, key: str, program: InspectedProgram, most: int | None):
        self.key, self.program = key, program
        self.boxes: list[Box] = []
        self.arrows: list[Arrow] = []
        self._last: dict[ProgramBuffer, list[str]] = {}  # the boxes that produced a buffer's content
        self._written: set[ProgramBuffer] = set()
        for step in program.steps[:most]:
            self._add_step(step)
        left = len(program.steps) - len(self.program.steps[:most])
        if left:
            self._add("rest", "rest", f"{counted(left, 'more step')}")
        for buffer, sources in [*self._last.items()]:
            if buffer.kind not in (TEMPORARY, CONSTANT_KIND) and buffer in self._written:
                box = self._add(f"{self._key_of(buffer)}out", "output", buffer.name, [_shape(buffer), *_kind(buffer)])
                self.arrows += [Arrow(source, box) for source in sources]

    def _add(self, name: str, category: str, title: str, rows: Iterable[Row] = ()) -> str:
        key = f"{self.key}{name}"
        self.boxes.append(Box(key, category, ((title, True),), tuple(rows), self.key))
        return key

    def _key_of(self, buffer: ProgramBuffer) -> str:
        return f"b{self.program.buffers.index(buffer)}"

    def _sources(self, buffer: ProgramBuffer) -> list[str]:
        """Return the keys of the boxes that produced a buffer's content: steps, or the memory that existed before."""
        if buffer not in self._last:
            if buffer.kind in (TEMPORARY, RESULT, CONSTANT_KIND):  # constants are left out: most are sizes of loops
                return []
            key = self._key_of(buffer)
            self._last[buffer] = [self._add(key, "leaf", buffer.name, [_shape(buffer), *_kind(buffer)])]
        return self._last[buffer]

    def _add_step(self, step: ProgramStep) -> None:
        where = [Row("", step.location.brief, "quiet")] if step.location is not None else []
        asked = [Row("", step.operation)] if step.operation not in ("", step.name) else []
        sources = [(source, buffer) for buffer in step.reads for source in self._sources(buffer)]
        key = self._add(f"n{step.number}", "operation", step.name, asked + where)
        for source, buffer in sources:
            named = source == f"{self.key}{self._key_of(buffer)}"  # the box shows its name
            self.arrows.append(Arrow(source, key, "" if named else f"{buffer.name} {list(buffer.shape)}"))
        for buffer in step.writes:
            before = self._sources(buffer) if buffer in step.parts and buffer not in step.reads else []
            self._last[buffer] = [*before, key]
            self._written.add(buffer)


def _shape(buffer: ProgramBuffer) -> Row:
    return Row("", f"{list(buffer.shape)} {buffer.dtype}")


def _kind(buffer: ProgramBuffer) -> list[Row]:
    return [Row("", buffer.kind, "quiet")] if buffer.kind != buffer.name else []
