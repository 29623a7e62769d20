"""Launchers of plans: straight-line Python functions, generated once for all plans of one form.

The source text of a launcher contains neither sizes nor kernels.  Plans that differ only in these share the text; each
launcher is bound to its own values.  So a new layout compiles no Python.  Each device has a subclass of ``Writer`` with
the lines that allocate memory and run kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

from . import recording
from .memory import LARGE
from .plan import Buffer, GeneratorState, Given, HostStep, Input, New, Offset, Plan, Scaled, SizeOf, Step, Storage


class Writer:
    """Writer of the source text of a launcher, and of the values to which it is bound: ``c0``, ``c1`` ... in the text.

    Attributes:
        names: the objects to which the text of a device's launchers refers, by name.
        expressions: for each class of operands, the expression of a kernel's argument, with # instead of the number of
            the call's operand.
        opening: first line of a launcher that runs kernels, if there is one.
    """

    names: ClassVar[dict[str, Any]]
    opening: ClassVar[str] = ""
    expressions: ClassVar[dict[Any, str]] = {Given: "x#", Storage: "x#._storage", Offset: "x#._offset"}

    def __init__(self, plan: Plan):
        self.plan = plan
        self.values: list[Any] = []
        self.lines: list[str] = []
        self.kernels: list[str] = []
        self.buffers: dict[Any, str] = {}
        self.sized = False

    # -- differences between devices -------------------------------------------------------------------------------

    def allocation(self, memory: New, size: str) -> str:
        """Return the expression of new memory of ``size`` elements."""
        raise NotImplementedError

    def run(self, step: Step, operands: str) -> list[str]:
        """Return the lines that run the kernel of a step."""
        raise NotImplementedError

    # -- the text --------------------------------------------------------------------------------------------------

    def launcher(self) -> Callable[..., Any]:
        """Return the function of a call's operands that runs the plan and returns the memory of its results."""
        writer: Any = type(self)
        return _compiled(writer, self.text())(self.values)

    def text(self) -> str:
        """Return the source text of a function that takes the values and returns the launcher."""
        last = self._last_uses()
        for number, step in enumerate(self.plan.steps):
            self.add(step)
            for memory in last.get(number, ()):
                gone = [name for (held, *_), name in self.buffers.items() if held is memory]
                self.lines.append(f"{' = '.join(gone)} = None")
        if self.plan.layouts is not None:
            self.lines.append("return " + ", ".join([self.whole(result) for result in self.plan.results]))
        body = "\n        ".join(self.lines)
        operands = ", ".join([f"x{n}" for n in range(self.plan.count)])
        plan = self.constant(self.plan)
        values = ", ".join([f"c{n}" for n in range(len(self.values))])
        kernels = ", ".join(self.kernels)
        return "\n".join([
            "def bind(values):",
            f"    [{values}] = values",
            *([f"    {' = '.join(self.kernels)} = None"] if kernels else []),
            f"    def launch({operands}):",
            *([f"        nonlocal {kernels}"] if kernels else []),
            "        if recording.observed:",
            f"            return {plan}.interpret({operands})",
            *([f"        {self.opening}"] if kernels and self.opening else []),
            f"        {body}",
            "    return launch",
        ])

    def _last_uses(self) -> dict[int, list[New]]:
        """Return the large temporary memories by the number of the step that uses them last."""
        last: dict[New, int] = {}
        for number, step in enumerate(self.plan.steps):
            for operand in step.operands:
                if operand.__class__ is Buffer and operand.memory.__class__ is New and is_large(operand.memory):
                    last[operand.memory] = number
        kept = {result.memory for result in self.plan.results}
        by_step: dict[int, list[New]] = {}
        for memory, number in last.items():
            if memory not in kept and number + 1 < len(self.plan.steps):
                by_step.setdefault(number, []).append(memory)
        return by_step

    def constant(self, value: Any) -> str:
        """Return the name of a value to which the launcher is bound."""
        self.values.append(value)
        return f"c{len(self.values) - 1}"

    def kernel(self) -> str:
        """Return the name of a kernel that the first launch looks up."""
        self.kernels.append(f"k{len(self.kernels)}")
        return self.kernels[-1]

    def add(self, step: Step | HostStep) -> None:
        """Add the lines of a step."""
        if isinstance(step, Step):
            self.lines += self.run(step, ", ".join(map(self.operand, step.operands)))
            return
        arguments = [
            self.whole(operand) if operand.__class__ is Buffer else self.operand(operand) for operand in step.operands
        ]
        call = f"{self.constant(step.function)}({', '.join(arguments)})"
        if step.outputs:
            names = "".join([f"{self.name((output.memory, 0, output.size))}, " for output in step.outputs])
            call = f"{names}= {call}"
        self.lines.append(f"return {call}" if step.is_last else call)

    def operand(self, operand: Any) -> str:
        """Return the expression of a kernel's argument."""
        kind = operand.__class__
        if kind is Buffer:
            return self.buffer(operand)
        if kind is Scaled:
            return f"x{operand.number} * {self.constant(operand.step)}"
        if kind is GeneratorState:
            return f"x{operand.number}.{operand.name}"
        write = self.expressions.get(kind)
        if write is None:
            return self.constant(operand)
        if kind is Offset and operand.start:
            return f"x{operand.number}._offset + {self.constant(operand.start)}"
        return write.replace("#", str(operand.number) if operand else "")

    def name(self, buffer: tuple[Any, Any, Any]) -> str:
        """Return the variable of a buffer."""
        return self.buffers.setdefault(buffer, f"r{len(self.buffers)}")

    def whole(self, buffer: Buffer) -> str:
        """Return the expression of a buffer in its own dtype; kernels may take another dtype of that item size."""
        name = self.buffer(buffer)
        if buffer.memory.__class__ is New and buffer.memory.dtype is buffer.dtype:
            return name
        return self.in_dtype(name, buffer.dtype)

    def in_dtype(self, name: str, requested: Any) -> str:
        """Return the expression of memory as elements of a dtype."""
        dtype = self.constant(requested)
        return f"({name} if {name}.dtype is {dtype} else {name}.view({dtype}))"

    def buffer(self, buffer: Buffer) -> str:
        """Return the variable of a buffer; its first use adds the line that sets it."""
        memory, size, dtype, start = buffer
        is_whole = memory.__class__ is New and size == memory.size
        if is_whole and dtype.itemsize != memory.dtype.itemsize:
            return self.viewed(buffer)
        key = (memory, 0 if is_whole else start, size)
        if key in self.buffers:
            return self.buffers[key]
        if memory.__class__ is Input:
            return self.of_operand(key, f"x{memory.number}._storage", f"x{memory.number}._offset", size, start)
        if not is_whole:
            whole = self.buffer(Buffer(memory, memory.size, memory.dtype))
            name = self.name(key)
            if start.__class__ is Scaled:
                self.lines.append(f"first = {self.operand(start)}")
                first, stop = "first", f"first + {self.constant(size)}"
            else:
                first, stop = self.constant(start), self.constant(start + size)
            self.lines.append(f"{name} = {whole}[{first}:{stop}]")
            return name
        name = self.name(key)
        length = self.size_of(size) if size.__class__ is SizeOf else self.constant(size)
        self.lines.append(f"{name} = {self.allocation(memory, length)}")
        return name

    def viewed(self, buffer: Buffer) -> str:
        """Return the variable for new memory as elements of another item size, such as the parts of complex numbers."""
        memory, size, dtype, _ = buffer
        key = (memory, dtype, size)
        if key not in self.buffers:
            whole = self.buffer(Buffer(memory, size, memory.dtype))
            self.lines.append(f"{self.name(key)} = {whole}.view({self.constant(dtype)})")
        return self.buffers[key]

    def of_operand(self, key: Any, storage: str, offset: str, size: Any, start: int) -> str:
        """Return the variable of a buffer in an operand's memory, given expressions of that memory and its offset."""
        name, first = self.name(key), f"{offset} + {self.constant(start)}" if start else offset
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
        """Return the variable of the number of elements, in a plan for tensors of any size."""
        if not self.sized:
            self.sized = True
            self.lines.append(f"size = x{size.number}._layout.size")
        return "size"


def is_large(memory: New) -> bool:
    return memory.size.__class__ is int and memory.size * memory.dtype.itemsize >= LARGE


@functools.cache
def _compiled(writer: Any, text: str) -> Callable[..., Callable[..., Any]]:
    namespace: dict[str, Any] = {"recording": recording, **writer.names}
    exec(compile(text, f"{__file__}: launcher", "exec"), namespace)  # locations leave out this package's files
    return namespace["bind"]
