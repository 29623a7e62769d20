"""Pointwise kernels, and the steps of plans that run them.

A step runs one kernel: over rows of elements, where all operands and outputs have the same shape and are contiguous,
or over a nest of loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.pointwise import (
    Program,
    argument_types,
    kernel_text,
    nest_facts,
    nest_types,
    row_facts,
)
from numgrad_kernels.store import Kernel

from ...core.layout import Layout, loop_nest
from ..launches import compile_kernel
from ..memory import LARGE
from ..plan import Plan, Pointwise, SizeOf, Step, TensorRef
from .threads import PARALLEL_FROM

__all__ = ["is_small", "nest_step", "pointwise_kernels", "row_step"]

#: What each pointwise kernel was made from: the program, the rank of its arrays and whether these are rows.
pointwise_kernels: dict[Kernel, tuple[Program, int, bool]] = {}


def pointwise_kernel(program: Program, rank: int, contiguous: bool, parallel: bool, inner: str = "") -> Kernel:
    """The program's kernel over rows (``rank`` 1 and ``contiguous``) or over a nest of ``rank`` loops."""
    key = (rank, contiguous, parallel, inner)
    kernel = program.kernels.get(key)
    if kernel is None:
        kernel = program.kernels[key] = compile_kernel(
            program.name,
            lambda: kernel_text(program, rank, parallel, inner, nest=not contiguous),
            argument_types(program) if contiguous else nest_types(program),
            row_facts(program) if contiguous else nest_facts(program),
            parallel=parallel,
        )
        pointwise_kernels[kernel] = program, rank, contiguous
    return kernel


def row_step(p: Plan, program: Program, operands: Sequence[Any], size: int | SizeOf) -> None:
    """Add one pass of a program over buffers of one size, numbers and values."""
    work = 0 if isinstance(size, SizeOf) else size * program.weight
    p.steps.append(Step(Pointwise(program, (1, True, "")), tuple(operands), work))


def nest_step(p: Plan, program: Program, operands: Sequence[Any], layouts: Sequence[Layout]) -> None:
    """Add one pass of a program over tensors of these layouts, numbers and values, in a nest of loops.

    The outputs are last.
    """
    rank, inner, nest = _nest(layouts[-1].shape, layouts)
    given: list[Any] = []
    for one in operands:
        given += p.strided(one) if one.__class__ is TensorRef else (one,)
    p.steps.append(Step(Pointwise(program, (rank, False, inner)), (*given, nest), layouts[-1].size * program.weight))


def is_small(program: Program, layouts: Sequence[Layout]) -> bool:
    """Return whether one plan serves contiguous tensors of one shape like these, of any size: they are small."""
    size = layouts[-1].size
    return 0 < size * program.weight < PARALLEL_FROM and (
        size * max([own.type.numpy.itemsize for own in layouts]) < LARGE
    )


def _nest(shape: tuple[int, ...], layouts: Sequence[Layout]) -> tuple[int, str, np.ndarray]:
    """The nest of loops over operands of these layouts: its depth, how each lies in the innermost, and its numbers."""
    sizes, steps = loop_nest(shape, tuple([(own.shape, own.strides) for own in layouts]))
    inner = "".join(["c" if own[-1] == 1 else "r" if own[-1] == 0 else "a" for own in steps])
    if "a" in inner:
        inner = "a" * len(inner)  # one kernel for all that is not simple
    return len(sizes), inner, np.array([*sizes, *[step for own in steps for step in own]], np.int64)
