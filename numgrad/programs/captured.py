"""The record of one call of a function, from which a program is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..tensors.tensor import Tensor
from .environment import Environment
from .linked import Arena
from .recorder import Recorder
from .snapshots import Snapshot, TensorState
from .sources import ABSENT, Source
from .trees import tensors_in


@dataclass
class Capture:
    """The record of a call.

    Attributes:
        recorder: the recorder, with the steps and blocks.
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
        unlisted: names of tensors outside the listed state, which must not change, by the identity of their memory.
        kept: the sources where the call has stored an input, if the function got aliases of the user's arguments.
    """

    recorder: Recorder
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
    kept: Sequence[Source] = ()

    def keep(self, originals: Mapping[int, Tensor]) -> None:
        """Store the user's arguments wherever the call has stored their aliases, by whose identity they are passed."""
        for source in self.kept:
            if isinstance(source.holder, dict | list) and id(source.value) in originals:
                source.holder[source.key] = originals[id(source.value)]

    def undo(self) -> None:
        """Undo the changes of a trial."""
        assert self.before is not None
        self.before.restore()
        for source, value in self.environment.changed(self.look()):
            if source.holder.__class__ is dict and source.key in source.holder and value is not ABSENT:
                source.holder[source.key] = value

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
