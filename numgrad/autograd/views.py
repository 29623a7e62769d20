"""Views and in-place changes: which tensors share memory, and what becomes of the graph when one is written to.

Note [In place on a view]
A view knows its base (never itself a view) and the steps that lead from one to the other.  Writing to a view
changes the base, so the base gets a new node, CopySlices, which sends the gradient of the written part through the
writing operation and that of the rest straight on.  Every other view of that base is then stale: its node would
send gradients to the old base.  When the edge of a stale view is asked for, its steps are replayed on the base,
which gives it a node of the new graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .grad_mode import GRAD, _Mode, state
from .graph import MAYBE, Edge, Node, edge_of
from .operations import operations
from .saved import freed_error

__all__ = ["MAYBE", "CopySlices", "View", "check_writable", "record_inplace"]

#: One step from a tensor to a view of it: the operation and its further arguments.
Step = tuple[Callable[..., Any], tuple[Any, ...]]


class View:
    """What a view tensor knows of its base."""

    __slots__ = ("base", "origin", "recorded", "steps")

    def __init__(self, parent: Any, step: Step):
        above = parent._view
        self.base = parent if above is None else above.base
        self.steps: tuple[Step, ...] = (step,) if above is None else (*above.steps, step)
        self.recorded = bool(state.mode & GRAD) and (above is None or above.recorded)
        self.origin = self.base._edge  # the base's graph that the view's edge belongs to

    def replay(self, tensor: Any) -> Any:
        """The same view of another tensor with the base's layout."""
        for operation, arguments in self.steps:
            tensor = operation(tensor, *arguments)
        return tensor

    def edge(self, tensor: Any) -> Edge:
        """The edge of the view ``tensor``, brought up to date with its base."""
        base = self.base
        if base._edge is not self.origin and self.recorded:
            self.origin = base._edge
            if base._edge is not None:
                with _Mode(GRAD, True):
                    fresh = self.replay(base)
                tensor._edge = fresh._edge
                tensor._requires_grad = True
        return tensor._edge


class CopySlices(Node):
    """The node of a base whose view was written to by ``operation``."""

    __slots__ = ("operation", "view")

    def __init__(self, base: Any, view: View, operation: Node):
        super().__init__((edge_of(base), *operation.edges[1:]), base._shape, base._type)
        self.view = view
        self.operation: Node | None = operation

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        if self.operation is None:
            raise freed_error()
        result = operations.clone(gradient)
        written = self.view.replay(result)
        before, *others = self.operation.apply(operations.clone(written))
        operations.overwrite(written, before)
        return result, *others

    def release(self) -> None:
        self.operation = None


def check_writable(tensor: Any) -> None:
    """Raise if writing to ``tensor`` in place cannot be recorded.

    Raises:
        RuntimeError: it is a leaf that requires a gradient, a view of one, or a view made under ``no_grad`` of a
            tensor that has a graph.
    """
    if not state.mode & GRAD:
        return
    view = tensor._view
    if view is None:
        if tensor._requires_grad and tensor._edge is None:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        return
    base = view.base
    if base._requires_grad and base._edge is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if not view.recorded and base._requires_grad:
        raise RuntimeError(
            "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that "
            "this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
            "the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "
            "tracked) or both outside (if you want the inplace to be tracked)."
        )


def record_inplace(tensor: Any, node: Node) -> None:
    """Make ``node``, whose first edge is that of the old ``tensor``, the origin of its new value."""
    view = tensor._view
    if view is None:
        tensor._edge = (node, 0)
        tensor._requires_grad = True
        return
    base = view.base
    base._edge = (CopySlices(base, view, node), 0)
    base._requires_grad = True
