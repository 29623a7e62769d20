"""``numgrad.compiler.explain``: the programs of a compiled function, and the reasons for calls it does not replay."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ...autograd.locations import Location
from ...core.display import counted
from ...programs.compiled import Compiled
from ...programs.recorded_steps import HostCall
from ...programs.signatures import Guarded, Signature
from ...tensors.tensor import type_name
from ..listing import Listing
from .description import compiled_of, parts_of

#: The number of conditions that are listed.
LISTED = 12


@dataclass(frozen=True)
class ExplainedProgram:
    """The program replayed for a signature in one state of the function's environment.

    Attributes:
        launches, backward_launches: the numbers of kernel runs; None before linking, or where backward has no program.
        host_functions: the names of the host functions called in between.
        conditions: the values that must be unchanged for it to be replayed.
        stale: True if it is no longer replayed.
    """

    launches: int | None
    backward_launches: int | None
    host_functions: list[str]
    conditions: list[str]
    stale: bool = False


@dataclass(frozen=True)
class ExplainedSignature:
    """Calls with equal layouts, modes and numbers.

    Attributes:
        call: a description of the arguments of the first call.
        programs: the programs, latest first.
        failed: for each new recording, the condition that no longer held.
        eager: the reason why it runs uncompiled; None if it does not.
        location: the line of the program that shows the reason.
    """

    call: str
    programs: list[ExplainedProgram]
    failed: list[list[str]]
    eager: str | None
    location: Location | None


class ProgramExplanation(Listing):
    """The explanation of a compiled function; it prints as text.

    Attributes:
        subject: the function's name.
        signatures: the signatures in the order of their first calls.
    """

    def __init__(self, compiled: Compiled):
        super().__init__(f"compiled {compiled.name}", map(_signature, compiled.signatures.values()))
        self.signatures: list[ExplainedSignature] = self.items
        self._name = compiled.name

    def _text(self, sections: Collection[str]) -> str:
        programs = sum(len(signature.programs) for signature in self.signatures)
        head = f"{self.subject}: {counted(len(self), 'signature')}, {counted(programs, 'program')}"
        lines = [head if self.signatures else f"{self.subject}: not called yet"]
        for each in self.signatures:
            lines.append(f"{self._name}{each.call}")
            lines += [f"  {line}" for line in _lines(each)]
        return "\n".join(lines)


def explain(subject: Any) -> ProgramExplanation:
    """Explain a compiled function or module.

    Raises:
        TypeError: the subject is neither.
    """
    compiled = compiled_of(subject)
    if compiled is None:
        raise TypeError(f"explain() takes a function or module that torch.compile returned, not {type_name(subject)}")
    return ProgramExplanation(compiled)


def _signature(signature: Signature) -> ExplainedSignature:
    reason, location = signature.eager or (None, None)
    return ExplainedSignature(signature.call, [*map(_program, signature.programs)], signature.failed, reason, location)


def _program(guarded: Guarded) -> ExplainedProgram:
    steps = {which: part.recorder.steps for which, part in parts_of(guarded)}
    hosts = [step.function.__name__ for part in steps.values() for step in part if isinstance(step, HostCall)]
    forward, backward = (
        None if part is None else sum(not isinstance(step, HostCall) for step in part)
        for part in (steps.get(""), steps.get("backward of "))
    )
    return ExplainedProgram(forward, backward, hosts, guarded.guard.conditions, guarded.program.stale)


def _lines(signature: ExplainedSignature) -> list[str]:
    lines = []
    for program in signature.programs:
        if program.launches is None:
            what = "recorded, to be linked by the first backward"
            if program.stale:
                what = "recorded but not used: no backward followed, or none that can be a program"
        else:
            what = counted(program.launches, "launch", "launches")
            if program.backward_launches is not None:
                what += f", backward {counted(program.backward_launches, 'launch', 'launches')}"
        if program.host_functions:
            what += f"; host functions in between: {', '.join(program.host_functions)}"
        lines.append(f"program: {what}")
        if program.conditions:
            lines.append(f"  replayed while these are unchanged: {_listed(program.conditions)}")
    for failed in signature.failed:
        lines.append(f"recorded again because of a change: {_listed(failed)}")
    if signature.eager is not None:
        lines.append(f"runs uncompiled: {signature.eager}")
        lines += str(signature.location).splitlines() if signature.location is not None else []
    return lines


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
