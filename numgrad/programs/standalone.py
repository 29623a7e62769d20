"""A program by itself: what a call comes to without its function, for who runs it without Python, or elsewhere.

Such a program makes no graph, and each of its results has memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import ORDINARY, state
from ..autograd.locations import Location
from ..core.tensor import Tensor
from ..core.types import contiguous_format
from ..devices import recording
from ..ops.memory.copying import clone
from .capture import Capture, capture
from .guards import Guard
from .linked import LinkedProgram
from .plan import Plan
from .recorder import CaptureError
from .steps import FRESH, OUTSIDE, Block, HostCall, root_of
from .trees import mapped, records_in

#: Calls that may change what the next ones find, such as gradients and an optimizer's state, before one is recorded.
CALLS = 4


class Standalone:
    """What was recorded of a call.

    Args:
        made: the record, of a function made by ``with_own_results``.
        guard: whether what the program finds around it is still what it was.

    Attributes:
        given, requires_grad: of the tensors that it takes the layouts, and which require gradients.
        result, returned: what the call returned, and the layouts of the tensors in it.
        program: what is run.
        given_lines, returned_lines: which of these begins at the address in a line of the table.
        changed: which of the arguments it writes.
        is_random: whether it draws random numbers.
        steps: what was recorded.
        effects: what Python does before a run; see ``Recorder``.
        gradients: the tensors whose ``grad`` it sets, and these, which stay where they are.
        versions: the version counters of other tensors than arguments, and by how much they go up.

    Raises:
        CaptureError: it cannot be run without Python.
    """

    def __init__(self, made: Capture, guard: Guard):
        recorder, results = made.recorder, made.results()
        self._check(made)
        self.given = [one._layout for one in made.inputs]
        self.requires_grad = [one.requires_grad for one in made.inputs]
        self.result, self.returned = made.result, [one._layout for one in results]
        self.guard, self.effects, self.gradients = guard, recorder.effects, made.grads
        self.one_thread, self.steps = recorder.one_thread, recorder.steps
        counters = [one._counter for one in made.inputs]
        self.versions = [(one, by) for one, by in made.versions if not any(one is own for own in counters)]
        self.versions += [(grad._counter, 1) for _, grad in made.grads if grad is not None]
        blocks = [recorder.block_of(one._storage) for one in results]
        new = [recorder.block_of(one._storage) for _, one in made.grads if one is not None]
        fixed = [block for block in new if block is not None and block.origin == FRESH]
        self.plan = Plan(recorder, [block for block in (*blocks, *fixed) if block is not None and block.size])
        self.linked = LinkedProgram(self.plan, recorder.one_thread)
        self.given_lines: dict[int, int] = {}
        self.returned_lines: dict[int, int] = {}
        self.changed: set[int] = set()
        self.is_random = False
        storages = {id(root_of(one.storage)) for one in made.known.values()}
        for line, block in enumerate(self.plan.lines, 2):
            if not isinstance(block, Block) or not block.size:
                continue
            if block in blocks:
                self.returned_lines[line] = blocks.index(block)
            elif block in fixed:
                self.linked.addresses[line] = block.address
            elif block.origin == OUTSIDE:
                owner = made.outside[block.number][0]
                self.is_random |= id(root_of(owner)) not in storages
                for number, one in enumerate(made.inputs):
                    if one._storage is owner:
                        self.given_lines[line] = number
                        self.changed |= {number} if block.written else set()

    def _check(self, made: Capture) -> None:
        if made.recorder.device >= 0:
            raise CaptureError("it works on a GPU")
        if records_in(made.result):
            raise CaptureError("it returns an object of a dataclass: return its tensors")
        for step in made.recorder.steps:
            if isinstance(step, HostCall):
                name = getattr(step.function, "__name__", type(step.function).__name__)
                operation = step.operation.removesuffix("_op") or "a part of it"
                text = f"{operation} is computed by {name}, which is called from Python"
                raise CaptureError(located(text, step.location))
        roots = [id(root_of(array)) for array, _ in made.outside]
        if len({id(one._storage) for one in made.inputs}) < len(made.inputs) or len(set(roots)) < len(roots):
            raise CaptureError("arguments share memory with each other, or with what the program finds around it")
        known = made.known.keys() - {id(one) for one in made.inputs}
        storages = [one._storage for one in made.results()]
        for owner, grad in made.grads:
            if any(owner is one for one in made.inputs):
                raise CaptureError(
                    f"the program sets the gradient of an argument, of shape {list(owner.shape)}: return it instead"
                )
            if grad is not None and any(grad._storage is one for one in storages):
                raise CaptureError("the program returns a gradient that it sets: return its clone()")
            block = None if grad is None else made.recorder.block_of(grad._storage)
            is_fresh = block is not None and block.origin == FRESH
            if grad is not None and not is_fresh and id(grad) not in known:
                raise CaptureError("the program takes an argument, or a constant, for a gradient: take its clone()")


def standalone(
    function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any], inputs: list[Tensor]
) -> Standalone:
    """The program of a call, which is made once, or more often if it changes what the next one finds.

    Raises:
        CaptureError: it cannot be recorded, or run without Python.
    """
    if state.mode > ORDINARY or recording.recorder is not None:
        raise CaptureError("programs are made outside of transforms, profilers and other programs")
    for tensor in inputs:
        if not tensor.is_leaf:
            raise CaptureError(f"an argument of shape {list(tensor.shape)} has a graph: detach() it")
    failed: list[str] = []
    for _ in range(CALLS):
        made = capture(with_own_results(function), args, keywords, inputs, True)
        if made.recorder.broken is not None:
            raise CaptureError(located(*made.recorder.broken))
        guard = Guard(made)
        if not made.postponed and guard.stands():
            return Standalone(made, guard)
        failed = [*made.changed, *guard.failed()]
    raise CaptureError(f"each call changes what the next one finds ({', '.join(failed) or 'tensors'})")


def located(text: str, location: Location | None) -> str:
    """A message with the place in the user's program, if it is known."""
    return text if location is None else f"{text}\n{location}"


def with_own_results(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with results in no graph, contiguous, each with memory of its own that a kernel writes as a whole.
    """

    def call(*args: Any, **keywords: Any) -> Any:
        taken: set[int] = set()

        def own(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            value = value.detach()
            recorder: Any = recording.recorder
            storage = value._storage
            block = recorder.block_of(storage)
            whole = block is not None and block.origin == FRESH and storage.nbytes == block.size
            if not (whole and value._layout.contiguous and storage.size == value.numel() and id(storage) not in taken):
                value = clone(value, memory_format=contiguous_format)
            taken.add(id(value._storage))
            return value

        return mapped(function(*args, **keywords), own)

    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call
