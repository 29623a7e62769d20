"""Standalone programs: the steps of a call without its function, for runs without Python or in another process.

They build no graph, and each of their results has its own memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import ORDINARY, state
from ..autograd.locations import Location
from ..core.types import contiguous_format
from ..devices import recording
from ..ops.memory.copying import clone
from ..tensors.tensor import Tensor
from .capture import capture
from .captured import Capture
from .guards import Guard
from .linked import LinkedProgram
from .memory_plan import MemoryPlan
from .recorded_steps import FRESH, OUTSIDE, Block, HostCall, root_of
from .recorder import CaptureError
from .recording_lock import recording_lock
from .signatures import key_of
from .trees import classes_in, mapped, with_placeholders

#: The number of calls that may change state for later calls, such as gradients and an optimizer's state.
CALLS = 4


class Standalone:
    """A standalone program.

    Args:
        captured: the record of a call of a function made by ``with_own_results``.
        guard: the guard of its environment.

    Attributes:
        argument_layouts, requires_grad: the layouts of its arguments, and which require gradients.
        result, result_layouts: the result of the call with placeholders, and the layouts of the tensors in it.
        plan, linked: the plan of its memory, and the linked program.
        lines: by line of the table, the index of the array at that address, among the arguments followed by results.
        changed: the arguments that it writes.
        is_random: True if it draws random numbers.
        steps: the recorded steps.
        effects, conditions: the actions of Python before a run, and the conditions on which it depends; see
            ``Recorder``.
        gradients: the tensors whose ``grad`` it sets, each with that gradient, whose memory is fixed.
        versions: the version counters of tensors that are not arguments, with their increments.

    Raises:
        CaptureError: it cannot run without Python.
    """

    def __init__(self, captured: Capture, guard: Guard):
        recorder, results = captured.recorder, captured.results()
        self._check(captured)
        self.argument_layouts = [tensor._layout for tensor in captured.inputs]
        self.requires_grad = [tensor.requires_grad for tensor in captured.inputs]
        self.result_layouts = [tensor._layout for tensor in results]
        self.result = with_placeholders(captured.result, results)
        self.guard, self.effects, self.gradients = guard, recorder.effects, captured.grads
        self.conditions = recorder.conditions
        self.one_thread, self.steps = recorder.one_thread, recorder.steps
        counters = {id(tensor._counter) for tensor in captured.inputs}
        self.versions = [(counter, by) for counter, by in captured.versions if id(counter) not in counters]
        new = [grad for _, grad in captured.grads if grad is not None]
        self.versions += [(grad._counter, 1) for grad in new]
        blocks = [recorder.block_of(tensor._storage) for tensor in results]
        of_grads = [recorder.block_of(grad._storage) for grad in new]
        fixed = [block for block in of_grads if block is not None and block.origin == FRESH]
        self.plan = MemoryPlan(recorder, [block for block in (*blocks, *fixed) if block is not None and block.size])
        self.linked = LinkedProgram(self.plan, recorder.one_thread)
        self.lines: dict[int, int] = {}
        self.changed: set[int] = set()
        self.is_random = False
        outside = {id(root_of(before.storage)) for before in captured.states.values()}
        for line, block in enumerate(self.plan.lines, 2):
            if not isinstance(block, Block) or not block.size:
                continue
            if block in blocks:
                self.lines[line] = len(captured.inputs) + blocks.index(block)
            elif block in fixed:
                self.linked.addresses[line] = block.address
            elif block.origin == OUTSIDE:
                owner = captured.outside[block.number][0]
                self.is_random |= id(root_of(owner)) not in outside
                for number, tensor in enumerate(captured.inputs):
                    if tensor._storage is owner:
                        self.lines[line] = number
                        self.changed |= {number} if block.written else set()

    def _check(self, captured: Capture) -> None:
        if captured.recorder.device >= 0:
            raise CaptureError("it works on a GPU")
        if any(hasattr(cls, "__dataclass_fields__") for cls in classes_in(captured.result)):
            raise CaptureError("it returns an object of a dataclass: return its tensors")
        for step in captured.recorder.steps:
            if isinstance(step, HostCall):
                name = getattr(step.function, "__name__", type(step.function).__name__)
                operation = step.operation.removesuffix("_op") or "a part of it"
                text = f"{operation} is computed by {name}, which is called from Python"
                raise CaptureError(located(text, step.location))
        roots = [id(root_of(array)) for array, _ in captured.outside]
        storages = {id(tensor._storage) for tensor in captured.inputs}
        if len(storages) < len(captured.inputs) or len(set(roots)) < len(roots):
            raise CaptureError("arguments share memory with each other, or with other tensors that the program uses")
        arguments = {id(tensor) for tensor in captured.inputs}
        returned = {id(tensor._storage) for tensor in captured.results()}
        for owner, grad in captured.grads:
            if id(owner) in arguments:
                raise CaptureError(
                    f"the program sets the gradient of an argument, of shape {list(owner.shape)}: return it instead"
                )
            if grad is None:
                continue
            if id(grad._storage) in returned:
                raise CaptureError("the program returns a gradient that it sets: return its clone()")
            block = captured.recorder.block_of(grad._storage)
            is_fresh = block is not None and block.origin == FRESH
            if not is_fresh and id(grad) not in captured.states.keys() - arguments:
                raise CaptureError("the program takes an argument, or a constant, for a gradient: take its clone()")


def standalone(function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> Standalone:
    """Return the program of a call. The call is repeated as long as it changes state for the next call.

    Raises:
        CaptureError: the call cannot be recorded, or its program needs Python.
    """
    if state.mode > ORDINARY or recording.recorder is not None:
        raise CaptureError("njit() and save() cannot be called inside transforms, profilers or other programs")
    _, inputs = key_of(state.mode, args, keywords)
    while True:
        with recording_lock as is_ours:
            if is_ours:
                return _recorded_alone(function, args, keywords, inputs)
        time.sleep(0.001)  # another thread records


def _recorded_alone(
    function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any], inputs: list[Tensor]
) -> Standalone:
    for tensor in inputs:
        if not tensor.is_leaf:
            raise CaptureError(f"an argument of shape {list(tensor.shape)} has a graph: detach() it")
    failed: list[str] = []
    for _ in range(CALLS):
        captured = capture(with_own_results(function), args, keywords, inputs, True)
        if captured.recorder.broken is not None:
            raise CaptureError(located(*captured.recorder.broken))
        guard = Guard(captured)
        if not captured.postponed and guard.environment_holds():
            return Standalone(captured, guard)
        failed = [*captured.changed, *guard.failed()]
    raise CaptureError(f"each call changes state that the next one reads ({', '.join(failed) or 'tensors'})")


def located(text: str, location: Location | None) -> str:
    """Return a message with the location in the user's program, if it is known."""
    return text if location is None else f"{text}\n{location}"


def with_own_results(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose results are contiguous, in no graph, and each in new memory of its own."""

    def call(*args: Any, **keywords: Any) -> Any:
        seen: set[int] = set()

        def separate(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor):
                return leaf
            leaf = leaf.detach()
            recorder: Any = recording.recorder
            storage = leaf._storage
            block = recorder.block_of(storage)
            is_whole = block is not None and block.origin == FRESH and storage.nbytes == block.size
            is_whole &= leaf._layout.contiguous and storage.size == leaf.numel()
            if not is_whole or id(storage) in seen:
                leaf = clone(leaf, memory_format=contiguous_format)
            seen.add(id(leaf._storage))
            return leaf

        return mapped(function(*args, **keywords), separate)

    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call
