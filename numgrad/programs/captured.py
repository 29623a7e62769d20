"""The record of one call of a function, from which a program is made, and the states of tensors and memory before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..autograd.hooks import note_rare_change
from ..devices.buffers import DeviceBuffer
from ..tensors.tensor import Tensor
from .environment import Environment
from .linked import Arena
from .recorded_steps import root_of, whole
from .recorder import Recorder
from .trees import tensors_in


def hooks_after_accumulation(tensor: Tensor) -> tuple[int, ...]:
    """Return the keys of the hooks that a tensor has for the time after accumulation into its gradient."""
    hooks = tensor._hooks
    return () if hooks is None or hooks.post_accumulate is None else tuple(hooks.post_accumulate)


@dataclass(slots=True)
class TensorState:
    """The state of a tensor at one moment."""

    tensor: Tensor
    grad: Tensor | None
    version: int
    storage: Any
    layout: Any
    offset: int
    edge: Any
    requires_grad: int
    hooks: tuple[int, ...]

    @classmethod
    def of(cls, tensor: Tensor) -> TensorState:
        """Return the current state of a tensor."""
        counter = tensor._counter
        version = counter[0] if counter.__class__ is list else 0
        return cls(
            tensor, tensor._grad, version, tensor._storage, tensor._layout, tensor._offset, tensor._edge,
            tensor._requires_grad, hooks_after_accumulation(tensor),
        )

    def has_moved(self) -> bool:
        """Return True if the tensor has got other memory or another layout since."""
        now = self.tensor
        return now._storage is not self.storage or now._layout is not self.layout or now._offset != self.offset

    def has_changed(self) -> bool:
        """Return True if the state of the tensor has changed since."""
        now = TensorState.of(self.tensor)
        is_same = now.grad is self.grad and now.edge is self.edge and not self.has_moved()
        return not is_same or (now.version, now.requires_grad) != (self.version, self.requires_grad)

    def restore(self) -> None:
        """Restore this state of the tensor."""
        tensor = self.tensor
        tensor._grad, tensor._edge, tensor._requires_grad = self.grad, self.edge, self.requires_grad
        tensor._storage, tensor._layout, tensor._offset = self.storage, self.layout, self.offset
        note_rare_change()
        if tensor._counter.__class__ is list:
            tensor._counter[0] = self.version


def states_with_gradients(tensors: Iterable[Tensor]) -> dict[int, TensorState]:
    """Return the states of tensors and of their gradients, by identity."""
    states = {id(tensor): TensorState.of(tensor) for tensor in tensors}
    grads = [state.grad for state in states.values() if state.grad is not None]
    return states | {id(grad): TensorState.of(grad) for grad in grads if id(grad) not in states}


class Snapshot:
    """The state of tensors and of memory at one moment.

    Args:
        states: the states of the tensors.
        memory: arrays and buffers; all memory of their owners counts.
        counters: version counters besides those of the tensors.
    """

    def __init__(self, states: Iterable[TensorState], memory: Iterable[Any] = (), counters: Iterable[list[int]] = ()):
        self.states = [*states]
        owners = {id(owner): owner for owner in map(root_of, memory)}
        self._contents = [(part, part.copy()) for part in map(whole, owners.values())]
        self._counters = [(counter, counter[0]) for counter in counters]

    def restore(self) -> None:
        """Give tensors and memory this state again."""
        for memory, content in self._contents:
            if memory.__class__ is DeviceBuffer:
                memory.put(content)
            elif memory.flags.writeable:
                memory[...] = content
        for state in self.states:
            state.restore()
        for counter, version in self._counters:
            counter[0] = version

    def facts(self) -> Any:
        """Return the elements and versions in a form that can be compared."""
        contents = [content.host() if content.__class__ is DeviceBuffer else content for _, content in self._contents]
        versions = [state.version for state in self.states] + [version for _, version in self._counters]
        return [each.tobytes() for each in contents], versions


@dataclass
class Capture:
    """The record of a call.

    Attributes:
        recorder: the recorder, with the steps and blocks.
        arguments: the arguments of the call: positional ones, and those by name.
        result: the result of the call.
        inputs: the tensors among its arguments, followed by gradients that are inputs of the program.
        states: by identity, the states of all tensors that existed before the call.
        outside: the memory that existed before the call, each with the offset of the first byte that the program uses;
            see ``Block.number``.
        environment: the environment of the function before the call.
        look: returns the environment as it is now.
        input_names: the names of the inputs in messages.
        grads: the tensors whose ``grad`` the call has replaced, with the new ``grad``.
        required: the arguments that have begun to require gradients in the call.
        versions: version counters of known tensors, with their increments.
        postponed: True if the call has created objects that later calls use, such as an optimizer's state; then the
            next call is recorded instead.
        changed: names of values in the environment that the call has changed.
        begin: the first sequence number of new nodes.
        arena: memory that the program may share with others.
        gradient_owners: the tensors whose gradients are the last of the inputs.
        before: the state of tensors and memory before a trial; ``undo`` restores it.
        numbers: the ``Numbers`` that the program reads, if the call has watched them.
        unlisted: names of tensors outside the listed state, which must not change, by the identity of their memory.
    """

    recorder: Recorder
    arguments: Any
    result: Any
    inputs: list[Tensor]
    states: dict[int, TensorState]
    outside: list[tuple[Any, int]]
    environment: Environment
    look: Callable[[], Environment]
    input_names: list[str]
    grads: list[tuple[Tensor, Tensor | None]] = field(default_factory=list)
    required: list[Tensor] = field(default_factory=list)
    versions: list[tuple[list[int], int]] = field(default_factory=list)
    postponed: bool = False
    changed: list[str] = field(default_factory=list)
    begin: int = 0
    arena: Arena | None = None
    gradient_owners: list[Tensor] = field(default_factory=list)
    before: Snapshot | None = None
    unlisted: dict[int, str] = field(default_factory=dict)
    numbers: Any = None

    def undo(self) -> None:
        """Undo the changes of a trial."""
        assert self.before is not None
        self.before.restore()
        self.environment.restore(self.look())

    def has_moved(self) -> bool:
        """Return True if a tensor has got other memory since the call, for which the program cannot be linked."""
        return any(before.has_moved() for before in self.states.values())

    def results(self) -> list[Tensor]:
        """Return the tensors among the results."""
        return tensors_in(self.result)

    def returned(self) -> list[Tensor]:
        """Return the tensors among the results, and the gradients that the call has created."""
        return [*self.results(), *[grad for _, grad in self.grads if grad is not None]]

    def live(self) -> list[Tensor]:
        """Return the results that are new and have a graph."""
        results = {id(tensor): tensor for tensor in self.results() if id(tensor) not in self.states}
        return [tensor for tensor in results.values() if tensor.requires_grad and not tensor.is_leaf]
