"""Pointwise kernels, and the steps of plans that run them.

A step runs one kernel: over buffers, if all operands and outputs have the same shape and are contiguous, or else in a
nest of loops.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.merged import Merger as Merger
from numgrad_kernels.pointwise import (
    PointwiseProgram,
    argument_types,
    flat_facts,
    kernel_text,
    nest_facts,
    nest_types,
)
from numgrad_kernels.store import Kernel

from ...core.layout import Layout, loop_nest
from ..launches import compile_kernel
from ..memory import LARGE
from ..plan import Plan, PointwiseKernel, SizeOf, Step, TensorRef
from .threads import PARALLEL_FROM

__all__ = ["is_small", "nest_step", "pointwise_kernels", "row_step"]

#: The source of each pointwise kernel: the program, the rank of its arrays, and True if these are contiguous.
pointwise_kernels: dict[Kernel, tuple[PointwiseProgram, int, bool]] = {}


def pointwise_kernel(program: PointwiseProgram, rank: int, contiguous: bool, parallel: bool, inner: str = "") -> Kernel:
    """Return the kernel of a program over buffers (``rank`` 1 and ``contiguous``), or in a nest of ``rank`` loops."""
    key = (rank, contiguous, parallel, inner)
    kernel = program.kernels.get(key)
    if kernel is None:
        kernel = program.kernels[key] = compile_kernel(
            program.name,
            lambda: kernel_text(program, rank, parallel, inner, nest=not contiguous),
            argument_types(program) if contiguous else nest_types(program),
            flat_facts(program) if contiguous else nest_facts(program),
            parallel=parallel,
        )
        pointwise_kernels[kernel] = program, rank, contiguous
    return kernel


def row_step(p: Plan, program: PointwiseProgram, operands: Sequence[Any], size: int | SizeOf) -> None:
    """Add the step that runs a program once, on buffers of one size, numbers and values."""
    work = 0 if isinstance(size, SizeOf) else size * program.weight
    p.steps.append(Step(PointwiseKernel(program, (1, True, "")), tuple(operands), work))


def nest_step(p: Plan, program: PointwiseProgram, operands: Sequence[Any], layouts: Sequence[Layout]) -> None:
    """Add the step that runs a program once, in a nest of loops, on tensors of these layouts, numbers and values.

    The outputs are last.
    """
    rank, inner, nest = _nest(layouts[-1].shape, layouts)
    strided: list[Any] = []
    for operand in operands:
        strided += p.strided(operand) if operand.__class__ is TensorRef else (operand,)
    kernel = PointwiseKernel(program, (rank, False, inner))
    p.steps.append(Step(kernel, (*strided, nest), layouts[-1].size * program.weight))


def is_small(program: PointwiseProgram, layouts: Sequence[Layout]) -> bool:
    """Return True if the same plan serves contiguous tensors of one shape, like these, of any small size."""
    size = layouts[-1].size
    largest = size * max([layout.type.numpy.itemsize for layout in layouts])
    return 0 < size * program.weight < PARALLEL_FROM and largest < LARGE


def _nest(shape: tuple[int, ...], layouts: Sequence[Layout]) -> tuple[int, str, np.ndarray]:
    """Return the nest of loops over operands of these layouts: its depth, a letter for each operand, and its numbers.

    In the innermost loop an operand is contiguous ("c") or repeated ("r"), or any of them has another stride ("a").
    """
    sizes, strides = loop_nest(shape, tuple([(layout.shape, layout.strides) for layout in layouts]))
    inner = "".join(["c" if steps[-1] == 1 else "r" if steps[-1] == 0 else "a" for steps in strides])
    if "a" in inner:
        inner = "a" * len(inner)  # one kernel for all other combinations
    return len(sizes), inner, np.array([*sizes, *itertools.chain(*strides)], np.int64)
