"""Plans as functions: straight-line Python that is written once for all plans of one form.

The text of a launcher names no sizes and no kernels: plans that differ in these alone share it, each bound to its own
values, so that a new layout compiles no Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.store import Kernel

from .. import recording
from ..memory import LARGE, empty_row, out_of_memory, zero_row
from ..plan import (
    Array,
    Bare,
    Buffer,
    Found,
    Given,
    HandWritten,
    Input,
    New,
    Offset,
    Plan,
    Pointwise,
    Report,
    Scaled,
    SizeOf,
    State,
    Step,
    Storage,
    Value,
)
from ..recording import number_at
from .blas import one_thread
from .indexing import _report, check_report
from .launching import hand_written, kernel_for
from .pointwise import pointwise_kernel
from .threads import PARALLEL_FROM, worth_threads

__all__ = ["allocate", "array_of", "bind", "raise_reported", "report", "run_step", "value_of"]

_BOOL = np.dtype(np.bool_)


# -- functions for the interpreter -----------------------------------------------------------------------------------


def allocate(memory: New, size: int, device: None = None) -> np.ndarray:
    """New memory of so many elements.

    Raises:
        OutOfMemoryError: there is not enough.
    """
    try:
        return (zero_row if memory.zeroed else empty_row)(size, memory.dtype)
    except (MemoryError, RuntimeError):
        raise out_of_memory(memory.shape, memory.dtype) from None


def run_step(step: Step, operands: Sequence[Any], device: None = None) -> None:
    """Run the kernel of a step."""
    kernel, work = step.kernel, step.work
    if kernel.__class__ is Pointwise:
        rank, rows, inner = kernel.form
        entry = pointwise_kernel(kernel.program, rank, rows, worth_threads(work), inner).entry
    else:
        entry = hand_written(kernel.function, kernel.compute, operands, work, kernel.parts).entry
    if step.one_thread:
        with one_thread():
            entry(*operands)
    else:
        entry(*operands)


def report(device: None = None) -> np.ndarray:
    """Memory in which kernels that this thread runs note that an index is out of bounds."""
    return _report.one


def raise_reported(indices: np.ndarray, *bounds: Any) -> None:
    """Raise if a kernel has noted that one of the indices is out of bounds.

    Raises:
        OutOfBoundsError: it has.
    """
    check_report(_report.one, indices, *bounds)


def value_of(tensor: Any) -> Any:
    """The one element of a tensor, as a number."""
    if recording.recorder is None:
        return tensor._storage.item(tensor._offset)
    return number_at(tensor._storage, tensor._offset)


def array_of(tensor: Any) -> np.ndarray:
    """A tensor as an array of its shape and strides, on its memory."""
    return tensor._place()


def kernel_of(step: Step) -> Callable[[], Kernel]:
    """The function that returns the kernel of a step, for the number of threads at that time."""
    kernel, work = step.kernel, step.work
    if kernel.__class__ is Pointwise:
        rank, rows, inner = kernel.form
        return lambda: pointwise_kernel(kernel.program, rank, rows, worth_threads(work), inner)
    assert isinstance(kernel, HandWritten)
    return kernel_for(kernel.function, kernel.compute, tuple(map(_type_of, step.operands)), work, **dict(kernel.parts))


def _type_of(operand: Any) -> Any:
    """The type that a kernel is compiled for: the dtype of a buffer, or the class of a number."""
    kind = operand.__class__
    if kind is Buffer or kind is Storage or kind is State or kind is np.ndarray:
        return operand.dtype
    if kind is Offset or kind is Scaled:
        return int
    if kind is Given:
        return operand.kind
    return _BOOL if kind is Report else kind


# -- launchers --------------------------------------------------------------------------------------------------------


def bind(plan: Plan) -> Callable[..., Any]:
    """The function of a call's operands that runs a plan and returns the memory of its results."""
    writer = _Writer(plan)
    return _compiled(writer.text())(writer.values)


class _Writer:
    """Writer of the text of a launcher, and of the values that it is bound to: ``c0``, ``c1`` ... in the text."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.values: list[Any] = []
        self.lines: list[str] = []
        self.kernels: list[str] = []
        self.buffers: dict[Any, str] = {}
        self.sized = False

    def text(self) -> str:
        for step in self.plan.steps:
            self.add(step)
        if self.plan.layouts is not None:
            self.lines.append("return " + ", ".join([self.buffer(one) for one in self.plan.results]))
        body = "\n        ".join(self.lines)
        operands = ", ".join([f"x{n}" for n in range(self.plan.count)])
        values = ", ".join([f"c{n}" for n in range(len(self.values))])
        kernels = ", ".join(self.kernels)
        return "\n".join([
            "def bind(values):",
            f"    [{values}] = values",
            *([f"    {' = '.join(self.kernels)} = None"] if kernels else []),
            f"    def launch({operands}):",
            *([f"        nonlocal {kernels}"] if kernels else []),
            f"        {body}",
            "    return launch",
        ])

    def constant(self, value: Any) -> str:
        self.values.append(value)
        return f"c{len(self.values) - 1}"

    def add(self, step: Step) -> None:
        """Add the lines of a step."""
        operands = ", ".join([self.operand(one) for one in step.operands])
        if step.outputs is None:
            self.lines.append(f"{self.constant(step.kernel)}({operands})")
            return
        if step.outputs is Found:
            self.lines.append(f"return {self.constant(step.kernel)}({operands})")
            return
        if step.outputs:
            names = "".join([f"{self.name((one.memory, 0, one.size))}, " for one in step.outputs])
            self.lines.append(f"{names}= {self.constant(step.kernel)}({operands})")
            return
        kernel = self.constant(kernel_of(step))
        if step.work >= PARALLEL_FROM:
            lines = [f"{kernel}().entry({operands})"]
        else:
            self.kernels.append(own := f"k{len(self.kernels)}")
            lines = [f"if {own} is None:", f"    {own} = {kernel}()", f"{own}.entry({operands})"]
        if step.one_thread:
            lines = ["with one_thread():", *["    " + line for line in lines]]
        if step.reports is not None:
            indices, *bounds = step.reports
            given = ", ".join([self.buffer(indices), *map(self.constant, bounds)])
            lines = ["wrong = report.one", *lines, "if wrong.item():", f"    check_report(wrong, {given})"]
        self.lines += lines

    def operand(self, operand: Any) -> str:
        """The expression of what a kernel takes for an operand."""
        kind = operand.__class__
        if kind is Buffer:
            return self.buffer(operand)
        if kind is Scaled:
            return f"x{operand.number} * {self.constant(operand.step)}"
        write = _EXPRESSIONS.get(kind)
        if write is None:
            return self.constant(operand)
        if kind is Offset and operand.start:
            return f"x{operand.number}._offset + {self.constant(operand.start)}"
        if kind is State:
            return f"x{operand.number}.{operand.name}"
        return write.replace("#", str(operand.number) if operand else "")

    def name(self, buffer: tuple[Any, Any, Any]) -> str:
        return self.buffers.setdefault(buffer, f"r{len(self.buffers)}")

    def buffer(self, buffer: Buffer) -> str:
        """The variable of a buffer, which gets a value at its first use."""
        memory, size, dtype, start = buffer
        is_whole = memory.__class__ is New and size == memory.size
        if is_whole and dtype.itemsize != memory.dtype.itemsize:
            return self.viewed(buffer)
        known = (memory, 0 if is_whole else start, size)
        if known in self.buffers:
            return self.buffers[known]
        if memory.__class__ is Bare:
            return self.of_operand(known, f"x{memory.number}", "0", size, start)
        if memory.__class__ is Input:
            return self.of_operand(known, f"x{memory.number}._storage", f"x{memory.number}._offset", size, start)
        if not is_whole:
            whole = self.buffer(Buffer(memory, memory.size, memory.dtype))
            name = self.name(known)
            if start.__class__ is Scaled:
                self.lines.append(f"first = {self.operand(start)}")
                first, stop = "first", f"first + {self.constant(size)}"
            else:
                first, stop = self.constant(start), self.constant(start + size)
            self.lines.append(f"{name} = {whole}[{first}:{stop}]")
            return name
        name, own, zeros = self.name(known), self.constant(memory.dtype), "zeros" if memory.zeroed else "empty"
        if size.__class__ is SizeOf:
            self.lines.append(f"{name} = {zeros}({self.size_of(size)}, {own})")
        elif size * memory.dtype.itemsize < LARGE:
            self.lines.append(f"{name} = {zeros}({self.constant(size)}, {own})")
        else:
            self.lines.append(f"{name} = allocate({self.constant(memory)}, {self.constant(size)})")
        return name

    def viewed(self, buffer: Buffer) -> str:
        """The variable of new memory as elements of another length: of complex numbers' parts."""
        memory, size, dtype, _ = buffer
        known = (memory, dtype, size)
        if known not in self.buffers:
            whole = self.buffer(Buffer(memory, size, memory.dtype))
            self.lines.append(f"{self.name(known)} = {whole}.view({self.constant(dtype)})")
        return self.buffers[known]

    def of_operand(self, known: Any, storage: str, offset: str, size: Any, start: int) -> str:
        """The variable of a buffer in the memory of an operand, given the expressions of this and of its beginning."""
        name, first = self.name(known), f"{offset} + {self.constant(start)}" if start else offset
        if size is None:
            self.lines += [f"{name} = {storage}", f"if {first}:", f"    {name} = {name}[{first}:]"]
            return name
        size = self.size_of(size) if size.__class__ is SizeOf else self.constant(size)
        self.lines += [
            f"{name} = {storage}", f"if {name}.size != {size}:", f"    first = {first}",
            f"    {name} = {name}[first : first + {size}]",
        ]
        return name

    def size_of(self, size: SizeOf) -> str:
        if not self.sized:
            self.sized = True
            self.lines.append(f"size = x{size.number}._layout.size")
        return "size"


#: For each class of operands the expression of what a kernel takes, with # for the number of the call's operand.
_EXPRESSIONS: dict[Any, str] = {
    Given: "x#",
    Storage: "x#._storage",
    Offset: "x#._offset",
    Value: "(x#._storage.item(x#._offset) if recording.recorder is None else number_at(x#._storage, x#._offset))",
    Array: "x#._place()",
    Report: "wrong",
    State: "",
}

_NAMES = {
    "allocate": allocate, "check_report": check_report, "empty": np.empty, "number_at": number_at,
    "one_thread": one_thread, "recording": recording, "report": _report, "zeros": np.zeros,
}


@functools.cache
def _compiled(text: str) -> Callable[..., Callable[..., Any]]:
    namespace: dict[str, Any] = dict(_NAMES)
    exec(text, namespace)
    return namespace["bind"]
