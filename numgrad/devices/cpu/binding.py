"""Execution of plans on the CPU: functions for the interpreter, and launchers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from numgrad_kernels.store import Kernel

from .. import recording
from ..binding import Writer
from ..launches import run_kernel
from ..memory import LARGE, empty_buffer, out_of_memory, zero_buffer
from ..operands import kernel_type
from ..plan import (
    Array,
    HandWritten,
    InputNumber,
    New,
    Plan,
    PointwiseKernel,
    Report,
    Step,
)
from .blas import one_thread
from .indexing import _report, check_report
from .launching import hand_written, signature_of
from .pointwise import pointwise_kernel
from .threads import PARALLEL_FROM, worth_threads

__all__ = ["allocate", "array_of", "bind", "kernel_of", "raise_reported", "report", "run_step", "value_of"]

_BOOL = np.dtype(np.bool_)


# -- functions for the interpreter -----------------------------------------------------------------------------------


def allocate(memory: New, size: int, device: None = None) -> np.ndarray:
    """Return new memory for ``size`` elements.

    Raises:
        OutOfMemoryError: there is too little memory.
    """
    try:
        buffer = (zero_buffer if memory.zeroed else empty_buffer)(size, memory.dtype)
    except (MemoryError, RuntimeError):
        raise out_of_memory(memory.shape, memory.dtype) from None
    if recording.recorder is not None and not memory.zeroed:
        recording.recorder.allocated(buffer)
    return buffer


def run_step(step: Step, operands: Sequence[Any], device: None = None, noted: Sequence[Any] | None = None) -> None:
    """Run the kernel of a step; ``noted`` are the operands for a recorder, if these differ."""
    chosen, work = step.kernel, step.work
    if isinstance(chosen, PointwiseKernel):
        rank, contiguous, inner = chosen.form
        kernel = pointwise_kernel(chosen.program, rank, contiguous, worth_threads(work), inner)
    else:
        function, compute, parts = chosen
        kernel = hand_written(function, compute, signature_of(operands), work, parts)
    if step.one_thread:
        with one_thread():
            run_kernel(kernel, operands, noted)
    else:
        run_kernel(kernel, operands, noted)


def report(device: None = None) -> np.ndarray:
    """Return the memory in which the kernels of this thread note that an index is out of bounds."""
    _report.flag[0] = False  # an error between a kernel and the check of its report may have left it set
    return _report.flag


def raise_reported(indices: np.ndarray, *bounds: Any) -> None:
    """Raise an error if a kernel has noted that one of the indices is out of bounds.

    Raises:
        OutOfBoundsError: it has.
    """
    check_report(_report.flag, indices, *bounds)


def value_of(tensor: Any) -> Any:
    """Return the one element of a tensor, as a number."""
    return tensor._storage.item(tensor._offset)


def array_of(tensor: Any) -> np.ndarray:
    """Return a tensor as an array of its shape and strides, on its memory."""
    return tensor._as_array()


def kernel_of(step: Step, device: None = None) -> Callable[[], Kernel]:
    """Return the function that returns the kernel of a step for the current number of threads."""
    kernel, work = step.kernel, step.work
    if kernel.__class__ is PointwiseKernel:
        rank, contiguous, inner = kernel.form
        return lambda: pointwise_kernel(kernel.program, rank, contiguous, worth_threads(work), inner)
    assert isinstance(kernel, HandWritten)
    signature = tuple([kernel_type(operand, _BOOL) for operand in step.operands])
    return functools.partial(hand_written, kernel.function, kernel.compute, signature, work, kernel.parts)


# -- launchers --------------------------------------------------------------------------------------------------------


class _CpuWriter(Writer):
    """Writer of the launchers of plans for the CPU."""

    names: ClassVar[dict[str, Any]] = {
        "allocate": allocate, "check_report": check_report, "empty": np.empty,
        "one_thread": one_thread, "report": _report, "zeros": np.zeros,
    }
    expressions: ClassVar[dict[Any, str]] = {
        **Writer.expressions, InputNumber: "x#._storage.item(x#._offset)", Array: "x#._as_array()", Report: "wrong",
    }

    def allocation(self, memory: New, size: str) -> str:
        if memory.size.__class__ is int and memory.size * memory.dtype.itemsize >= LARGE:
            return f"allocate({self.constant(memory)}, {size})"
        return f"{'zeros' if memory.zeroed else 'empty'}({size}, {self.constant(memory.dtype)})"

    def run(self, step: Step, operands: str) -> list[str]:
        kernel = self.constant(kernel_of(step))
        if step.work >= PARALLEL_FROM:
            lines = [f"{kernel}().entry({operands})"]
        else:
            entry = self.kernel()
            lines = [f"if {entry} is None:", f"    {entry} = {kernel}().entry", f"{entry}({operands})"]
        if step.one_thread:
            lines = ["with one_thread():", *["    " + line for line in lines]]
        if step.reports is not None:
            indices, *bounds = step.reports
            arguments = ", ".join([self.buffer(indices), *map(self.constant, bounds)])
            check = ["if wrong.item():", f"    check_report(wrong, {arguments})"]
            lines = ["wrong = report.flag", "wrong[0] = False", *lines, *check]
        return lines


def bind(plan: Plan) -> Callable[..., Any]:
    """Return the function that runs a plan on the operands of a call, and returns the memory of its results."""
    return _CpuWriter(plan).launcher()
