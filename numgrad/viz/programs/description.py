"""Description of a recorded program: its steps in their order, and the memory they work on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...autograd.locations import Location
from ...devices.cpu.tiling import Tiles
from ...programs.compiled import Compiled
from ...programs.differentiation import Differentiated
from ...programs.memory_plan import MemoryPlan
from ...programs.program import Program
from ...programs.recorded_steps import CONSTANT, Block, DeviceCall, HostCall, KernelCall, Load, Placed, Span
from ...programs.recorder import Recorder
from ...programs.signatures import Guarded
from ...programs.tiled import TiledGroup
from .stepwise import StepwiseProgram

#: Kinds of memory private to a program; the others are in ``programs.block_names``.
TEMPORARY, CONSTANT_KIND, SAVED = "temporary", "constant", "saved"


@dataclass(eq=False)
class ProgramBuffer:
    """Memory that a program works on.

    Attributes:
        name: the user's name; a letter and a number for memory invisible to users.
        kind: "argument", "parameter" (any other memory that existed before), "constant", "temporary", "result", or
            "saved" for backward.
        shape, dtype: those of a tensor in it, or of the buffer passed to a kernel.
        bytes: its size.
        offset: its position in the arena; None if it is not in the arena.
        first, last: the numbers of the first and the last step that use it; None if none does.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    offset: int | None
    first: int | None = None
    last: int | None = None

    def __str__(self) -> str:
        return f"{self.name} {list(self.shape)} {self.dtype}"


@dataclass(eq=False)
class ProgramStep:
    """A step of a program.

    Attributes:
        number: its number, from 1.
        name: the name of the kernel or of the host function, or the names of kernels that run tile by tile; "copy" or
            "zeros" for the initialization of a constant.
        kernel: the kernel, as ``numgrad.inspect`` takes it; None for any other step.
        operation: the operation, or the node of backward, that launched it.
        location: its place in the user's program.
        reads, writes: the buffers that it reads and writes.
        parts: the written buffers that it does not overwrite completely.
        tiled: the kernels that run tile by tile.
    """

    number: int
    name: str
    kernel: Any
    operation: str
    location: Location | None
    reads: list[ProgramBuffer] = field(default_factory=list)
    writes: list[ProgramBuffer] = field(default_factory=list)
    parts: list[ProgramBuffer] = field(default_factory=list)
    tiled: list[Any] = field(default_factory=list)

    @property
    def buffers(self) -> list[ProgramBuffer]:
        """All buffers of the step, each once."""
        return list(dict.fromkeys([*self.reads, *self.writes]))


class InspectedProgram:
    """A program that a compiled function replays.

    Attributes:
        title: the function, the signature and the part that it belongs to.
        steps, buffers: in the order of their use.
        arena: the size in bytes of the memory that holds all private buffers.
        separate: the bytes that these buffers would take without sharing.
        llvm: the IR that calls the kernels, one text for each segment between host functions.
    """

    def __init__(self, title: str, program: Program, forward: InspectedProgram | None = None):
        self.title = title
        self._program, self._forward = program, forward
        described = _Description(program)
        self.steps, self.buffers = described.steps, described.buffers()
        self.arena = program.plan.arena
        self.separate = sum(buffer.bytes for buffer in self.buffers if buffer.offset is not None)
        self.llvm: list[str] = program.executable.texts

    @cached_property
    def stepwise(self) -> StepwiseProgram:
        """The program with separate memory, where it can run without side effects."""
        return StepwiseProgram(self._program, None if self._forward is None else self._forward.stepwise)

    @property
    def times(self) -> list[float] | None:
        """The time of each step in seconds: the minimum of several runs on copies of the program's memory.

        None if a kernel reports an error there, and for programs of a GPU.
        """
        return None if self._program.recorder.device >= 0 else self.stepwise.times


def compiled_of(subject: Any) -> Compiled | None:
    """Return the function itself if it is compiled, or the compiled function of a compiled module; otherwise None."""
    compiled = subject if isinstance(subject, Compiled) else getattr(subject, "__dict__", {}).get("compiled")
    return compiled if isinstance(compiled, Compiled) else None


def parts_of(guarded: Guarded) -> Iterator[tuple[str, Program]]:
    """Yield a program, or those of forward and backward, each with a prefix for its title."""
    program = guarded.program
    if isinstance(program, Program):
        yield "", program
        return
    if program.forward is not None:
        yield "", program.forward
    if getattr(program, "backward", None) is not None:
        yield "backward of ", program.backward


def programs_of(compiled: Compiled) -> Iterator[InspectedProgram]:
    """Yield all programs of a compiled function, each backward program after the one that saves values for it."""
    for signature in compiled.signatures.values():
        for number, guarded in enumerate(signature.programs):
            forward = None
            parts: Any = [*parts_of(guarded)]
            if not parts and isinstance(guarded.program, Differentiated) and (preview := guarded.program.preview()):
                parts = [("", preview)]
            for which, program in parts:
                title = f"{which}{compiled.name}{signature.call}{', an earlier program' * bool(number)}"
                forward = InspectedProgram(title, program, forward)
                yield forward


class _Description:
    """The search for the buffers that each step reads and writes."""

    def __init__(self, program: Program):
        self.program, self.plan = program, program.plan
        self._buffers: dict[Block, ProgramBuffer] = {}
        self._counts: Counter[str] = Counter()
        self.steps = list(self._all_steps(self.plan, program.recorder))
        for step in self.steps:
            for buffer in step.buffers:
                buffer.first = step.number if buffer.first is None else buffer.first
                buffer.last = step.number

    def buffers(self) -> list[ProgramBuffer]:
        """Return the buffers of the steps, and results that no step uses."""
        for block in self.plan.results:
            self.buffer(block, np.dtype(np.uint8))
        return list(self._buffers.values())

    def buffer(self, block: Block, dtype: np.dtype) -> ProgramBuffer:
        if block not in self._buffers:
            named, layout = self.program.names.get(block), block.layout
            kind = SAVED if block in self.plan.offsets else CONSTANT_KIND if block.origin == CONSTANT else TEMPORARY
            if named is not None and kind != SAVED:
                kind, name, layout = named.kind, named.name, named.layout or layout
            elif kind == SAVED:  # both programs share these names
                name = f"s{list(self.plan.offsets).index(block) + 1}"
            else:
                self._counts[kind] += 1
                name = f"{kind[0]}{self._counts[kind]}"
            shape: tuple[int, ...] = (block.size // dtype.itemsize,)
            if layout is not None and layout.type.numpy == dtype:
                shape = layout.shape
            offset = self.plan.arena_offset(block)
            self._buffers[block] = ProgramBuffer(name, kind, shape, dtype.name, block.size, offset)
        return self._buffers[block]

    def _all_steps(self, plan: MemoryPlan, recorder: Recorder) -> Iterator[ProgramStep]:
        begun = iter(plan.begun(recorder))
        recorded: Iterator[Any] = iter([step for step in plan.recorded if isinstance(step, KernelCall | TiledGroup)])
        number = 0
        for segment in plan.steps:
            for step in [segment] if isinstance(segment, HostCall) else segment:
                number += 1
                if isinstance(step, HostCall | DeviceCall):
                    yield self._described(number, step)
                elif isinstance(step, Tiles):
                    yield self._described_tiles(number, step, next(recorded))
                elif hasattr(step, "kernel"):
                    yield self._described(number, next(recorded))
                else:
                    block = next(begun)
                    buffer = self.buffer(block, block.initial.dtype)
                    yield ProgramStep(number, "zeros" if step.source is None else "copy", None, "", None, [], [buffer])

    def _described_tiles(self, number: int, tiles: Tiles, tiled: TiledGroup) -> ProgramStep:
        kernels = [run.kernel for run in tiles.runs]
        launches = tiled.launches
        operations = ", ".join(dict.fromkeys([launch.operation for launch in launches if launch.operation]))
        name = f"{tiles.count} tiles: {', '.join([kernel.name for kernel in kernels])}"
        step = ProgramStep(number, name, None, operations, launches[0].location, tiled=kernels)
        for member in tiled.group.members:
            for accesses, buffers in ((member.reads, step.reads), (member.writes, step.writes)):
                for access in accesses.values():
                    if access.block not in tiled.temporary:
                        buffer = self.buffer(access.block, access.dtype)
                        buffers += [buffer] if buffer not in buffers else []
        return step

    def _described(self, number: int, step: Any) -> ProgramStep:
        kernel = step.kernel if isinstance(step, KernelCall) else step.function if getattr(step, "grid", ()) else None
        name = step.function.__name__ if isinstance(step, HostCall) else (kernel or step).name
        result = ProgramStep(number, name, kernel, step.operation, step.location)
        for span, is_read, is_written in _accesses(step, kernel):
            buffer = self.buffer(span.block, span.dtype)
            is_part = is_written and not is_read and span.count * span.dtype.itemsize < span.block.size
            for buffers, belongs in ((result.reads, is_read), (result.writes, is_written), (result.parts, is_part)):
                if belongs and buffer not in buffers:
                    buffers.append(buffer)
        return result


def _accesses(step: Any, kernel: Any) -> Iterator[tuple[Span, bool, bool]]:
    """Yield the memory of a step's operands and results, each with True if it is read, and if it is written."""
    if kernel is None:
        yield from [(span, True, False) for span in _spans(step.operands)]
    else:
        facts = kernel.facts
        for name, operand in zip(facts.parameters, step.operands, strict=True):
            if isinstance(step, KernelCall) and name == "addresses" and facts.hides:
                yield from [(replace(span, dtype=facts.compute), True, True) for _, _, span in step.addresses]
            else:
                is_read = name in facts.read or isinstance(operand, Load)
                is_written = name in facts.written and isinstance(step, KernelCall)
                yield from [(span, is_read, is_written) for span in _spans([operand])]
    if not isinstance(step, KernelCall):
        yield from [(span, False, True) for span in (step.results if isinstance(step, HostCall) else step.written)]


def _spans(values: Any) -> Iterator[Span]:
    for value in values:
        if isinstance(value, Span | Load | Placed):
            yield value if isinstance(value, Span) else value.span
        elif isinstance(value, tuple | list):
            yield from _spans(value)
