"""Interpreter of plans: runs the steps of a plan one by one.

It defines the meaning of a plan, and is the fastest way to run a plan once.  The function that a device's ``bind``
returns has the same results.  While a program is recorded, all plans are interpreted, and the recorder notes each step.

A process that only compiles kernels (``compile_only``) runs no step of plans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import recording
from .plan import (
    Array,
    Buffer,
    GeneratorState,
    Given,
    HostStep,
    InputNumber,
    New,
    Offset,
    Plan,
    Report,
    Scaled,
    SizeOf,
    Step,
    Storage,
    TensorRef,
)
from .recording import DeviceRecorder, Element, plain

__all__ = ["compile_only", "interpret"]

_only_compiles = False


def compile_only() -> None:
    """From now on compile the kernels of plans instead of running them; results are zeros.

    A plan whose results have sizes that depend on values runs as usual.
    """
    global _only_compiles
    _only_compiles = True
    recording.observe_launches(True)


def interpret(plan: Plan, operands: Sequence[Any]) -> Any:
    """Run a plan on the operands of a call; return the memory of its result, a tuple of several, or None.

    Raises:
        IndexError: an index is out of bounds.
        RuntimeError: there is not enough memory, or a check fails.
    """
    if _only_compiles and plan.layouts is not None:
        return _compiled(plan, operands)
    backend = plan.backend
    memories: dict[New, Any] = {}
    recorder = recording.recorder if plan.device is None else None  # GPUs' launches notify it themselves
    for step in plan.steps:
        args = [
            value if (read := _READ.get(value.__class__)) is None else read(value, plan, operands, memories)
            for value in step.operands
        ]
        if isinstance(step, HostStep):
            result = step.function(*args) if recorder is None else _call_recorded(recorder, step, args, operands)
            if step.is_last:
                return result
            if result is not None:
                memories.update(zip([output.memory for output in step.outputs], result, strict=True))
            continue
        if recorder is None:
            backend.run_step(step, args, plan.device)
        else:
            backend.run_step(step, list(map(plain, args)), None, _noted(step, args, operands))
        if step.reports is not None:
            indices, *bounds = step.reports
            backend.raise_reported(_memory(indices, plan, operands, memories), *bounds)
    return _results(plan, operands, memories)


def _compiled(plan: Plan, operands: Sequence[Any]) -> Any:
    """Compile the kernels of a plan, and return zeros instead of its results."""
    backend, memories = plan.backend, dict[New, Any]()
    for step in plan.steps:
        if isinstance(step, Step):
            backend.kernel_of(step, plan.device)()
    for memory, size, _, _ in plan.results:
        if memory.__class__ is New:
            whole = operands[size.number]._layout.size if size.__class__ is SizeOf else memory.size
            memories[memory] = backend.allocate(New(whole, memory.dtype, memory.shape, True), whole, plan.device)
    return _results(plan, operands, memories)


def _results(plan: Plan, operands: Sequence[Any], memories: dict[New, Any]) -> Any:
    """Return the memory of a plan's result, a tuple of several, or None."""
    if len(plan.results) == 1:
        return _memory(plan.results[0], plan, operands, memories)
    return tuple([_memory(result, plan, operands, memories) for result in plan.results]) or None


def _noted(step: Step | HostStep, args: list[Any], operands: Sequence[Any]) -> list[Any]:
    """Return a step's arguments for the recorder: the element instead of each number that was read from memory."""
    return [
        _element_of(operands[operand.number]) if operand.__class__ is InputNumber else argument
        for operand, argument in zip(step.operands, args, strict=True)
    ]


def _call_recorded(recorder: DeviceRecorder, step: HostStep, args: list[Any], operands: Sequence[Any]) -> Any:
    """Call a host function on the CPU, notify the recorder, and return the function's result."""
    if step.is_last or step.is_check or any(map(_notifies, step.outputs)):
        return step.function(*map(plain, args))
    written = [n for n, operand in enumerate(step.operands) if operand in step.written] if step.written else []
    return recorder.host(step.function, _noted(step, args, operands), list(map(plain, args)), written)


def _notifies(output: Any) -> bool:
    """Return True if the function that makes an operand notifies the recorder itself.

    Such a function reads values, on which the size depends, or puts work on a GPU's stream.
    """
    return output.memory.size is None or (output.__class__ is TensorRef and output.type.device.index is not None)


def _element_of(tensor: Any) -> Element:
    first = tensor._offset
    return Element(tensor._storage[first : first + 1])


def _memory(buffer: Buffer, plan: Plan, operands: Sequence[Any], memories: dict[New, Any]) -> Any:
    """Return the memory of a buffer; new memory is allocated at its first use."""
    memory, size, dtype, start = buffer
    if memory.__class__ is New:
        held = memories.get(memory)
        if held is None:
            whole = memory.size
            if whole.__class__ is SizeOf:
                whole = operands[whole.number]._layout.size
            held = memories[memory] = plan.backend.allocate(memory, whole, plan.device)
            if size is memory.size and dtype is memory.dtype:
                return held
    else:
        tensor = operands[memory.number]
        held, start = tensor._storage, tensor._offset + start
    if size.__class__ is SizeOf:
        size = operands[size.number]._layout.size
    if size is None:
        held = held[start:] if start else held
    elif held.size != size:
        if start.__class__ is Scaled:
            start = operands[start.number] * start.step
        held = held[start : start + size]
    return held if held.dtype is dtype else held.view(dtype)


def _storage(operand: Storage, plan: Plan, operands: Sequence[Any], memories: dict[New, Any]) -> Any:
    held = operands[operand.number]._storage
    return held if held.dtype is operand.dtype else held.view(operand.dtype)


def _value(operand: InputNumber, plan: Plan, operands: Sequence[Any], memories: dict[New, Any]) -> Any:
    tensor = operands[operand.number]
    return tensor._layout.type.backend.value_of(tensor)


def _array(operand: Array, plan: Plan, operands: Sequence[Any], memories: dict[New, Any]) -> Any:
    tensor = operands[operand.number]
    return tensor._layout.type.backend.array_of(tensor)


#: For each class of operands, the function that returns the kernel's argument.
_READ: dict[Any, Callable[[Any, Plan, Sequence[Any], dict[New, Any]], Any]] = {
    Buffer: _memory,
    Given: lambda operand, plan, operands, memories: operands[operand.number],
    Storage: _storage,
    Offset: lambda operand, plan, operands, memories: operands[operand.number]._offset + operand.start,
    Scaled: lambda operand, plan, operands, memories: operands[operand.number] * operand.step,
    GeneratorState: lambda operand, plan, operands, memories: getattr(operands[operand.number], operand.name),
    InputNumber: _value,
    Array: _array,
    Report: lambda operand, plan, operands, memories: plan.backend.report(plan.device),
}
