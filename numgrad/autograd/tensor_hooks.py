"""Hooks on a tensor's gradient, kept where the gradient passes: at its node, or at the leaf itself."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any
from weakref import ref

from .accumulation import accumulating
from .hooks import Hooks, check_replacement
from .node_hooks import lend
from .operations import operations


class TensorHooks:
    """The hooks of one node's outputs, by output number, and the tensors whose gradient is to be kept.

    A leaf has hooks of its output 0, and those to run when its ``grad`` has been added to.
    """

    __slots__ = ("hooks", "post_accumulate", "retained")

    def __init__(self) -> None:
        self.hooks: dict[int, Hooks] = {}
        self.post_accumulate: Hooks | None = None
        self.retained: dict[int, ref[Any]] = {}

    def of_output(self, number: int) -> Hooks:
        """The hooks of one output, to add to."""
        return self.hooks.setdefault(number, OrderedDict())

    def after_accumulation(self) -> Hooks:
        """The hooks that run when the leaf's ``grad`` has been added to, to add to."""
        if self.post_accumulate is None:
            self.post_accumulate = OrderedDict()
        return self.post_accumulate

    def is_idle(self) -> bool:
        """Whether there is nothing to call, and no gradient to keep."""
        return not (self.retained or any(self.hooks.values()))

    def run(self, node: Any, gradient: Any) -> Any:
        """Pass the gradient (a list, for a node with several outputs) through the hooks, in their order.

        As in PyTorch, hooks are called with None where the pass comes by but no gradient arrived.
        """
        if not node.more_outputs:
            if 0 in self.hooks:
                gradient = _run_hooks(self.hooks[0], gradient)
            if self.retained:
                self._retain(0, gradient)
            return gradient
        gradients = [None] * (1 + len(node.more_outputs)) if gradient is None else list(gradient)
        for number, hooks in list(self.hooks.items()):
            gradients[number] = _run_hooks(hooks, gradients[number])
        for number in list(self.retained):
            self._retain(number, gradients[number])
        return None if gradient is None else gradients

    def _retain(self, number: int, gradient: Any) -> None:
        """Add to the ``grad`` of the tensor that is this output, if it is to keep it."""
        weak = self.retained.get(number)
        tensor = weak() if weak is not None else None
        if tensor is None or gradient is None:
            return
        with accumulating:
            present = tensor._grad
            tensor._grad = operations.copy(gradient) if present is None else operations.add(present, gradient)


def _run_hooks(hooks: Hooks, gradient: Any) -> Any:
    """Pass one gradient, or None, through the hooks."""
    for hook in list(hooks.values()):
        if gradient is not None:
            lend([gradient])  # a hook may keep it
        replaced = hook(gradient)
        if replaced is not None:
            check_replacement(gradient, replaced, hook)
            gradient = replaced
            lend([gradient])
    return gradient


def run_post_accumulate_hooks(variable: Any) -> None:
    """Call the hooks ``hook(leaf)`` of a leaf whose ``grad`` has been added to.

    Raises:
        TypeError: one returned something else than None or a tensor.
        RuntimeError: one returned a tensor other than the leaf, which changes in place return.
    """
    hooks = variable._hooks
    if hooks is None or hooks.post_accumulate is None:
        return
    for hook in list(hooks.post_accumulate.values()):
        returned = hook(variable)
        check_replacement(variable, returned, hook)
        if returned is not None and returned is not variable:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def move_retained(tensor: Any, old: Any, new: Any) -> None:
    """Have a tensor that keeps its gradient keep that of its new value, once it has been changed in place."""
    if old is None or old[0].attached is None:
        return
    retained = old[0].attached.tensor_hooks.retained
    weak = retained.get(old[1])
    if weak is not None and weak() is tensor:
        del retained[old[1]]
        new[0].attachments().tensor_hooks.retained[new[1]] = weak
