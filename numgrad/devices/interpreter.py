"""The interpreter of plans: it runs the steps of a plan one by one.

This defines what a plan means, and is the fastest way to run a plan once; what a device's ``bind`` makes of a plan
gives the same results.  While a program is recorded, all plans are interpreted, and the recorder notes each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import recording
from .plan import (
    Array,
    Buffer,
    Found,
    Given,
    New,
    Offset,
    Plan,
    Report,
    Reported,
    Scaled,
    SizeOf,
    State,
    Step,
    Storage,
    TensorRef,
    Value,
)
from .recording import Element, Recorder, plain

__all__ = ["interpret"]


def interpret(plan: Plan, operands: Sequence[Any]) -> Any:
    """Run a plan on the operands of a call, and return the memory of its results: of several a tuple, of none None.

    Raises:
        IndexError: an index is out of bounds.
        RuntimeError: there is not enough memory, or a check fails.
    """
    backend, memories = plan.backend, dict[New, Any]()
    recorder = recording.recorder if plan.device is None else None  # GPUs' launches notify it themselves
    for step in plan.steps:
        given = []
        for one in step.operands:
            kind = one.__class__
            if kind is Buffer:
                one = _memory(one, plan, operands, memories)
            elif kind is Report:
                one = backend.report(plan.device)
            elif kind in _READ:
                one = _READ[kind](one, operands[one.number])
            given.append(one)
        if recorder is not None:
            made = _run_recorded(recorder, backend, step, given, operands)
        elif step.is_kernel:
            made = backend.run_step(step, given, plan.device)
        else:
            made = step.kernel(*given)
        if step.outputs is Found:
            return made
        if made is not None:
            memories.update(zip([one.memory for one in step.outputs], made, strict=True))
        if step.reports is not None:
            indices, *bounds = step.reports
            backend.raise_reported(_memory(indices, plan, operands, memories), *bounds)
    if len(plan.results) == 1:
        return _memory(plan.results[0], plan, operands, memories)
    return tuple([_memory(one, plan, operands, memories) for one in plan.results]) or None


def _run_recorded(recorder: Recorder, backend: Any, step: Step, given: list[Any], operands: Sequence[Any]) -> Any:
    """Run a step on the CPU that the recorder notes, and return what a host function returns.

    Instead of a number that was read from memory, the recorder is given the element.
    """
    noted = [
        _element_of(operands[one.number]) if one.__class__ is Value else own
        for one, own in zip(step.operands, given, strict=True)
    ]
    arguments = list(map(plain, given))
    if step.is_kernel:
        return backend.run_step(step, arguments, None, noted)
    if step.outputs is Found or step.outputs is Reported or any(map(_notifies, step.outputs or ())):
        return step.kernel(*arguments)
    written = [n for n, one in enumerate(step.operands) if one in step.written] if step.written else []
    return recorder.host(step.kernel, noted, arguments, written)


def _notifies(made: Any) -> bool:
    """Return True if the function that makes an operand notifies the recorder itself.

    It looks at values if the size depends on them, and uses a GPU's stream if the memory is there.
    """
    return made.memory.size is None or (made.__class__ is TensorRef and made.type.device.index is not None)


def _element_of(tensor: Any) -> Element:
    first = tensor._offset
    return Element(tensor._storage[first : first + 1])


def _memory(buffer: Buffer, plan: Plan, operands: Sequence[Any], memories: dict[New, Any]) -> Any:
    """The memory of a buffer; of a new one it is allocated at the first use."""
    memory, size, dtype, start = buffer
    if size.__class__ is SizeOf:
        size = operands[size.number]._layout.size
    if memory.__class__ is New:
        held = memories.get(memory)
        if held is None:
            whole = size if memory.size.__class__ is SizeOf else memory.size
            held = memories[memory] = plan.backend.allocate(memory, whole, plan.device)
    else:
        tensor = operands[memory.number]
        held, start = tensor._storage, tensor._offset + start
    if size is None:
        held = held[start:] if start else held
    elif held.size != size:
        if start.__class__ is Scaled:
            start = _scaled(start, operands[start.number])
        held = held[start : start + size]
    return held if held.dtype is dtype else held.view(dtype)


def _storage(operand: Storage, tensor: Any) -> Any:
    held = tensor._storage
    return held if held.dtype is operand.dtype else held.view(operand.dtype)


def _scaled(operand: Scaled, number: int) -> int:
    return number * operand.step


#: For each class of operands what a kernel takes, given the operand of the call.
_READ: dict[Any, Callable[[Any, Any], Any]] = {
    Given: lambda operand, given: given,
    Storage: _storage,
    Scaled: _scaled,
    Offset: lambda operand, tensor: tensor._offset + operand.start,
    State: lambda operand, generator: getattr(generator, operand.name),
    Value: lambda operand, tensor: tensor._layout.type.backend.value_of(tensor),
    Array: lambda operand, tensor: tensor._layout.type.backend.array_of(tensor),
}
