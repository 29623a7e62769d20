"""Execution of plans' steps on a GPU: memory from the caching allocator, kernels on the current stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..interpreter import interpret
from ..plan import New, Plan, Pointwise, Step
from ..rows import DeviceRow
from .launching import launch
from .memory import empty_row, stream, zero_row
from .pointwise import is_aligned, pointwise_kernel
from .reports import report_row

__all__ = ["allocate", "array_of", "bind", "interpret", "raise_reported", "report", "run_step"]


def bind(plan: Plan) -> Callable[..., Any]:
    """The function that runs a plan on the operands of a call."""
    return plan


def allocate(memory: New, size: int, device: int) -> DeviceRow:
    """New memory of so many elements.

    Raises:
        OutOfMemoryError: the GPU has not enough free memory.
    """
    return (zero_row if memory.zeroed else empty_row)(size, memory.dtype, device)


def run_step(step: Step, operands: Sequence[Any], device: int) -> None:
    """Launch the kernel of a step on the current stream."""
    chosen, work = step.kernel, step.work
    if step.aligned is not None and all(map(is_aligned, operands)):
        chosen, work = step.aligned
    if chosen.__class__ is Pointwise:
        kernel = pointwise_kernel(chosen.program, chosen.form)
        kernel.run(*kernel.grid(work, device), stream(device), *operands)
        return
    assert step.grid is not None
    blocks, threads = step.grid
    launch(chosen.function, chosen.compute, *operands, blocks=blocks, threads=threads, **dict(chosen.parts))


def array_of(tensor: Any) -> np.ndarray:
    """A tensor as an array of its shape and strides, a copy on the host."""
    return tensor._host_array()


#: Memory in which kernels on a GPU note that an index is out of bounds.
report = report_row


def raise_reported(indices: DeviceRow, *bounds: Any) -> None:
    """Do nothing: an index that is out of bounds is raised when the host next waits for the GPU; see ``reports``."""
