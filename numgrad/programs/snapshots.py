"""Snapshots of tensors and memory before a call, for finding and undoing the changes that the call makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..autograd.hooks import note_rare_change
from ..tensors.tensor import Tensor
from .environment import Environment
from .recorded_steps import root_of
from .sources import ABSENT


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


class Undo:
    """Undo of a call's changes to memory and tensors that existed before, and to values in its environment.

    Args:
        environment: the environment before the function runs.
        look: returns the environment as it is now.
        known: the states of all tensors that exist before.
        outside: the memory that exists before, each with the offset of the first byte that the program uses.
    """

    def __init__(
        self, environment: Environment, look: Callable[[], Environment], known: Iterable[TensorState],
        outside: Iterable[tuple[Any, int]],
    ):
        self._environment, self._look = environment, look
        self._known = [*known]
        roots = [root_of(memory) for memory, _ in outside]
        self._memory = [(root, root.copy()) for root in roots if isinstance(root, np.ndarray)]

    def __call__(self) -> None:
        for array, content in self._memory:
            if array.flags.writeable:
                array[...] = content
        for before in self._known:
            before.restore()
        for source, value in self._environment.changed(self._look()):
            if source.holder.__class__ is dict and source.key in source.holder and value is not ABSENT:
                source.holder[source.key] = value
