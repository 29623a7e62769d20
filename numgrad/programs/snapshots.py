"""Snapshots of tensors and memory: they show the changes that a call has made, and undo them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..autograd.hooks import note_rare_change
from ..devices.buffers import DeviceBuffer
from ..tensors.tensor import Tensor
from .recorded_steps import root_of, whole


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

    @classmethod
    def of(cls, tensor: Tensor) -> TensorState:
        """Return the current state of a tensor."""
        counter = tensor._counter
        version = counter[0] if counter.__class__ is list else 0
        return cls(
            tensor, tensor._grad, version, tensor._storage, tensor._layout, tensor._offset, tensor._edge,
            tensor._requires_grad,
        )

    def has_changed(self) -> bool:
        """Return True if the state of the tensor has changed since."""
        now = TensorState.of(self.tensor)
        is_same = all(getattr(now, name) is getattr(self, name) for name in ("grad", "storage", "layout", "edge"))
        return not is_same or (now.version, now.offset, now.requires_grad) != (
            self.version, self.offset, self.requires_grad
        )

    def restore(self) -> None:
        """Restore this state of the tensor."""
        tensor = self.tensor
        tensor._grad, tensor._edge, tensor._requires_grad = self.grad, self.edge, self.requires_grad
        tensor._storage, tensor._layout, tensor._offset = self.storage, self.layout, self.offset
        note_rare_change()
        if tensor._counter.__class__ is list:
            tensor._counter[0] = self.version


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

    def has_changed(self) -> bool:
        """Return True if a tensor is in another state by now."""
        return any(state.has_changed() for state in self.states)

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
