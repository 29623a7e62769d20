"""Hooks on a tensor's gradient, kept where the gradient passes: at its node, or at the leaf itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from .operations import operations

__all__ = ["TensorHooks", "move_retained"]


class TensorHooks:
    """The hooks of one node's outputs, by output number, and the tensors whose gradient is to be kept."""

    __slots__ = ("hooks", "retained")

    def __init__(self) -> None:
        self.hooks: dict[int, dict[int, Callable[[Any], Any]]] = {}
        self.retained: dict[int, ref[Any]] = {}

    def of_output(self, number: int) -> dict[int, Callable[[Any], Any]]:
        """The hooks of one output, to add to."""
        return self.hooks.setdefault(number, {})

    def run(self, node: Any, gradient: Any) -> Any:
        """Pass the gradient (a list, for a node with several outputs) through the hooks, in their order."""
        if not node.more_outputs:
            return self._run_output(0, gradient)
        return [None if g is None else self._run_output(number, g) for number, g in enumerate(gradient)]

    def _run_output(self, number: int, gradient: Any) -> Any:
        gradient._shared = True  # a hook may keep it
        for hook in list(self.hooks.get(number, {}).values()):
            replaced = hook(gradient)
            if replaced is not None:
                _check_replacement(gradient, replaced, hook)
                gradient = replaced
                gradient._shared = True
        weak = self.retained.get(number)
        tensor = weak() if weak is not None else None
        if tensor is not None:
            _accumulate_retained(tensor, gradient)
        return gradient


def _check_replacement(gradient: Any, replaced: Any, hook: Callable[[Any], Any]) -> None:
    name = getattr(hook, "__name__", repr(hook))
    if not hasattr(replaced, "_shape"):
        raise TypeError(f"expected Variable, but hook '{name}' returned {type(replaced).__name__}")
    if replaced._shape != gradient._shape:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value: {list(gradient._shape)} to {list(replaced._shape)}"
        )
    if replaced._type is not gradient._type:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {gradient._type.name} got {replaced._type.name})"
        )


def _accumulate_retained(tensor: Any, gradient: Any) -> None:
    present = tensor._grad
    tensor._grad = operations.clone(gradient) if present is None else operations.add(present, gradient)


def move_retained(tensor: Any, old: Any, new: Any) -> None:
    """Have a tensor that keeps its gradient keep that of its new value, once it has been changed in place."""
    if old is None or old[0].attached is None:
        return
    retained = old[0].attached.tensor_hooks.retained
    weak = retained.get(old[1])
    if weak is not None and weak() is tensor:
        del retained[old[1]]
        new[0].attachments().tensor_hooks.retained[new[1]] = weak
