"""Execution of plans on a GPU: memory from the caching allocator, kernels on the current stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..binding import Writer, is_large
from ..buffers import DeviceBuffer
from ..interpreter import compile_only, interpret
from ..operands import kernel_type
from ..plan import Array, Buffer, HostStep, InputNumber, New, Plan, PointwiseKernel, Report, Step, Storage
from .launching import INT64, THREADS, CudaKernel, blocks_for, hand_written, run_kernel
from .memory import allocator, empty_buffer, stream, zero_buffer
from .pointwise import alignment, is_aligned, pointwise_kernel, value_of
from .reports import report_buffer

__all__ = [
    "allocate", "array_of", "bind", "compile_only", "interpret", "kernel_of", "raise_reported", "report", "run_step",
]


# -- functions for the interpreter -----------------------------------------------------------------------------------


def allocate(memory: New, size: int, device: int) -> DeviceBuffer:
    """Return new memory for ``size`` elements.

    Raises:
        OutOfMemoryError: the GPU has too little free memory.
    """
    return (zero_buffer if memory.zeroed else empty_buffer)(size, memory.dtype, device)


def run_step(step: Step, operands: Sequence[Any], device: int) -> None:
    """Launch the kernel of a step on the current stream."""
    chosen, work = step.kernel, step.work
    if step.aligned is not None and all(map(is_aligned, operands)):
        chosen, work = step.aligned
    kernel, blocks, threads = _prepared(step, chosen, work, device)
    if blocks:
        run_kernel(kernel, blocks, threads, stream(device), *operands)


def _prepared(step: Step, chosen: Any, work: int, device: int) -> tuple[CudaKernel, int, int]:
    """Return a compiled kernel, its blocks, and the threads of each; ``chosen`` is the plain or the aligned kernel."""
    if chosen.__class__ is PointwiseKernel:
        kernel = pointwise_kernel(chosen.program, chosen.form)
        return kernel, *(step.grid or kernel.grid(work, device))
    blocks, threads = _grid(step)
    signature = tuple([kernel_type(operand, INT64) for operand in step.operands])
    return hand_written(chosen.function, chosen.compute, threads, signature, dict(chosen.parts)), blocks, threads


def _grid(step: Step) -> tuple[int, int]:
    """Return the blocks of a hand-written kernel, and the threads of each; by default they cover the step's work."""
    return step.grid or (blocks_for(step.work), THREADS)


def kernel_of(step: Step, device: int) -> Callable[[], CudaKernel]:
    """Return a function that returns the kernel of a step for aligned operands."""
    chosen, work = step.aligned or (step.kernel, step.work)
    return lambda: _prepared(step, chosen, work, device)[0]


def array_of(tensor: Any) -> np.ndarray:
    """Return a copy of a tensor on the host, as an array of its shape and strides."""
    return tensor._host_array()


#: Memory in which kernels on a GPU note an index that is out of bounds.
report = report_buffer


def raise_reported(indices: DeviceBuffer, *bounds: Any) -> None:
    """Do nothing: the error is raised when the host next waits for the GPU; see ``reports``."""


# -- launchers -------------------------------------------------------------------------------------------------------


class _CudaWriter(Writer):
    """Writer of the launchers of plans for a GPU."""

    names: ClassVar[dict[str, Any]] = {
        "allocator": allocator, "array_of": array_of, "empty": empty_buffer, "prepared": _prepared, "report": report,
        "stream": stream, "value_of": value_of, "zeros": zero_buffer,
    }
    expressions: ClassVar[dict[Any, str]] = {
        **Writer.expressions, InputNumber: "value_of(x#)", Array: "array_of(x#)", Report: "report(here.device)",
    }
    opening: ClassVar[str] = "here = stream(c0)"

    def __init__(self, plan: Plan):
        super().__init__(plan)
        self.constant(plan.device)
        self._made = {out.memory for step in plan.steps if isinstance(step, HostStep) for out in step.outputs}
        if any(isinstance(step, Step) and _grid(step)[0] for step in plan.steps):
            self._allocate_together()

    def _allocate_together(self) -> None:
        """Add the line that allocates the memory of fixed size, but for large memory that only later steps use."""
        first = True
        wanted: dict[str, tuple[int, int, Any]] = {}
        for step in self.plan.steps:
            for operand in step.operands:
                memory = operand.memory if operand.__class__ is Buffer else None
                if memory.__class__ is not New or memory in self._made or memory.zeroed:
                    continue
                if memory.size.__class__ is int and memory.size and (first or not is_large(memory)):
                    size = memory.size * memory.dtype.itemsize
                    wanted[self.name((memory, 0, memory.size))] = size, memory.size, memory.dtype
            first = False
        if wanted:
            sizes = self.constant(tuple(wanted.values()))
            self.lines.append(f"{', '.join(wanted)}, = allocator(c0).allocate({sizes}, here)")

    def allocation(self, memory: New, size: str) -> str:
        return f"{'zeros' if memory.zeroed else 'empty'}({size}, {self.constant(memory.dtype)}, c0)"

    def operand(self, operand: Any) -> str:
        kind = operand.__class__
        if kind is Buffer:
            return self.whole(operand)
        if kind is Storage:
            return self.in_dtype(f"x{operand.number}._storage", operand.dtype)
        return super().operand(operand)

    def run(self, step: Step, operands: str) -> list[str]:
        if not _grid(step)[0]:
            return []
        plain = self._launch(step, step.kernel, step.work, operands)
        if step.aligned is None:
            return plain
        packed = self._launch(step, step.aligned[0], step.aligned[1], operands)
        conditions = self._alignment(step)
        if not conditions:
            return packed
        return [
            f"if {conditions}:", *["    " + line for line in packed], "else:", *["    " + line for line in plain],
        ]

    def _alignment(self, step: Step) -> str:
        """Return the condition that all buffers of a step are aligned; an empty string if it is always true.

        New memory is aligned, unless a host function makes it.
        """
        addresses: dict[int, list[str]] = {}
        for operand in step.operands:
            if operand.__class__ is Storage:
                name = f"x{operand.number}._storage"
            elif operand.__class__ is Buffer and (
                operand.memory.__class__ is not New or operand.memory in self._made or operand.start != 0
            ):
                name = self.buffer(operand)
            else:
                continue
            addresses.setdefault(alignment(operand.dtype), []).append(f"{name}.address")
        return " and ".join([f"({' | '.join(dict.fromkeys(them))}) % {n} == 0" for n, them in addresses.items()])

    def _launch(self, step: Step, chosen: Any, work: int, operands: str) -> list[str]:
        kernel = self.kernel()
        arguments = ", ".join(map(self.constant, (step, chosen, work)))
        return [
            f"if {kernel} is None:", f"    {kernel} = prepared({arguments}, c0)",
            f"{kernel}[0].run({kernel}[1], {kernel}[2], here, {operands})",
        ]


def bind(plan: Plan) -> Callable[..., Any]:
    """Return the function that runs a plan on the operands of a call, and returns the memory of its results."""
    return _CudaWriter(plan).launcher()
