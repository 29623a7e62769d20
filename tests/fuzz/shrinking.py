"""A program that fails made shorter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from fuzz.programs import Program

import numgrad

__all__ = ["shorter_programs", "shortest"]

T = TypeVar("T")


def shortest(failing: T, fails: Callable[[T], bool], shorter: Callable[[T], Iterator[T]]) -> T:
    """Shorten a failing program step by step while it fails; ``shorter`` yields programs simpler in one respect.
    """
    found: T | None = failing
    while found is not None:
        failing = found
        found = next(filter(fails, shorter(failing)), None)
    return failing


def shorter_programs(program: Program) -> Iterator[Program]:
    """Programs that are simpler in one respect, the shortest first."""
    leaves, steps, outputs = program.leaves, program.steps, program.outputs
    if len(outputs) > 1:
        yield from (replace(program, outputs=(number,)) for number in outputs)
    for index in reversed(range(len(steps))):
        number = len(leaves) + index
        names = {n: n - 1 for n in range(number + 1, len(leaves) + len(steps))}
        for substitute in (sorted(steps[index].operands) if steps[index].makes else [number]):
            rest = [step.renamed({**names, number: substitute}) for step in steps[index + 1 :]]
            kept = tuple({**names, number: substitute}.get(n, n) for n in outputs)
            if all(n < len(leaves) + len(steps) - 1 for n in kept):
                yield replace(program, steps=(*steps[:index], *rest), outputs=kept)
    used = {n for step in steps for n in step.operands} | set(outputs)
    for number in reversed(range(len(leaves))):
        if number not in used and len(leaves) > 1:
            names = {n: n - 1 for n in range(number + 1, len(leaves) + len(steps))}
            yield replace(
                program, leaves=(*leaves[:number], *leaves[number + 1 :]), steps=tuple(s.renamed(names) for s in steps),
                outputs=tuple(names.get(n, n) for n in outputs),
            )
    for number, leaf in enumerate(leaves):
        simpler = []
        if leaf.requires_grad and sum(other.requires_grad for other in leaves) > 1:
            simpler.append(replace(leaf, requires_grad=False))
        if leaf.view:
            simpler.append(replace(leaf, view="", values=leaf.tensor(numgrad).detach().numpy().copy()))
        for dim in range(leaf.values.ndim if not leaf.view else 0):
            simpler.append(replace(leaf, values=leaf.values.take(0, dim))) if leaf.values.shape[dim] else None
        for other in simpler:
            yield replace(program, leaves=(*leaves[:number], other, *leaves[number + 1 :]))
