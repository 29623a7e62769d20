"""Views and in-place changes: which tensors share memory, and what becomes of the graph when one is written to.

Note [In place on a view]
A view knows its base (never itself a view) and the steps that lead from one to the other.  Writing to a view
changes the base, so the base gets a new node, CopySlices, which sends the gradient of the written part through the
writing operation and that of the rest straight on.  Every other view of that base is then stale: its node would
send gradients to the old base.  When the edge of a stale view is asked for, it gets a node of the base's new graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._layout import overlaps_itself
from .grad_mode import GRAD, _Mode, state
from .node import MAYBE, Edge, Node, edge_of
from .operations import operations
from .saved import freed_error
from .tensor_hooks import move_retained

__all__ = ["MAYBE", "CopySlices", "FunctionView", "View", "check_writable", "record_inplace"]

#: One step from a tensor to a view of it: the operation and its further arguments.
Step = tuple[Callable[..., Any], tuple[Any, ...]]


#: The steps from a base to a view: those to the tensor that it was made of, and the last one.
Steps = tuple[Any, Step]


class View:
    """What a view tensor knows of its base."""

    __slots__ = ("base", "origin", "recorded", "refused", "steps")

    def __init__(self, parent: Any, step: Step):
        above = parent._view
        self.base = parent if above is None else above.base
        self.steps: Steps = (None if above is None else above.steps, step)
        self.recorded = bool(state.mode & GRAD) and (above is None or above.recorded)
        self.refused: str | None = None if above is None else above.refused  # why it may not be written to
        self.origin = self.base._edge  # the base's graph that the view's edge belongs to

    def edge(self, tensor: Any) -> Edge:
        """The edge of the view ``tensor``, brought up to date with its base."""
        base = self.base
        if base._edge is not self.origin and self.recorded:
            self.origin = base._edge
            if base._edge is not None:
                edge = self._fresh_edge(tensor)
                move_retained(tensor, tensor._edge, edge)
                tensor._edge = edge
                tensor._requires_grad = True
        return tensor._edge

    def _fresh_edge(self, tensor: Any) -> Edge:
        if not overlaps_itself(tensor._shape, tensor._element_strides()):
            return AsStridedBackward0(tensor, self), 0
        with _Mode(GRAD, True):  # elements that are several of the view's sum their gradients
            return _replay(self.steps, self.base)._edge


class FunctionView(View):
    """What an output of a user's Function knows of the input whose memory it shares.

    How the one leads to the other is the Function's business, so neither can follow when the other is changed.
    """

    __slots__ = ()

    def __init__(self, parent: Any, refused: str):
        super().__init__(parent, (_no_step, ()))
        self.recorded = False
        self.refused = refused


def _no_step(tensor: Any) -> Any:
    raise NotImplementedError("what a Function does to its input cannot be replayed")


def _replay(steps: Steps | None, tensor: Any) -> Any:
    """The view of ``tensor`` to which the steps lead."""
    path = []
    while steps is not None:
        steps, step = steps
        path.append(step)
    for operation, arguments in reversed(path):
        tensor = operation(tensor, *arguments)
    return tensor


class AsStridedBackward0(Node):
    """The node of a view since its base was changed: the base's part that it shows gets its gradient."""

    __slots__ = ("steps", "strides")

    def __init__(self, tensor: Any, view: View):
        super().__init__((edge_of(view.base),), tensor._shape, tensor._type)
        self.steps = view.steps
        self.strides = view.base._strides

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        assert self.edges[0] is not None
        node, number = self.edges[0]
        result = operations.zeros(*node.output(number), self.strides)
        operations.overwrite(_replay(self.steps, result), gradient)
        return (result,)


class CopySlices(Node):
    """The node of a base whose view was written to by ``operation``, the view being its input number ``place``."""

    __slots__ = ("operation", "place", "steps", "strides")

    def __init__(self, base: Any, view: View, operation: Node, place: int):
        others = operation.edges[:place] + operation.edges[place + 1 :]
        super().__init__((edge_of(base), *others), base._shape, base._type)
        self.steps = view.steps  # not the view, which holds the base, which holds this node
        self.strides = base._strides
        self.operation: Node | None = operation
        self.place = place

    def name(self) -> str:
        """PyTorch's name of this node."""
        return "torch::autograd::CopySlices"

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        if self.operation is None:
            raise freed_error()
        result = self._laid_out(gradient)
        written = _replay(self.steps, result)
        others = list(self.operation.apply(operations.clone(written)))
        operations.overwrite(written, others.pop(self.place))
        if not self.operation.makes_fresh_gradients:
            for other in others:
                if other is not None:
                    other._shared = True
        return result, *others

    def _laid_out(self, gradient: Any) -> Any:
        """A copy that lies in memory as the base does, so that the steps to the view can be taken from it."""
        if self.strides is None:
            return operations.copy(gradient)
        result = operations.zeros(self.shape, self.type, self.strides)
        operations.overwrite(result, gradient)
        return result

    def release(self) -> None:
        self.operation = None


def check_writable(tensor: Any, *others: Any) -> None:
    """Raise if writing to ``tensor`` in place, from the tensors ``others``, cannot be recorded.

    Raises:
        RuntimeError: it is a leaf that requires a gradient, a view of one, a view made under ``no_grad`` while a
            gradient is required, or an output of a Function on the memory of its input.
    """
    if not state.mode & GRAD:
        return
    view = tensor._view
    if view is None:
        if tensor._requires_grad and tensor._edge is None:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        return
    if view.refused is not None:
        raise RuntimeError(view.refused)
    base = view.base
    if not view.recorded and (base._requires_grad or any(other.requires_grad for other in others)):
        raise RuntimeError(
            "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that "
            "this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
            "the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "
            "tracked) or both outside (if you want the inplace to be tracked)."
        )
    if base._edge is None and (base._requires_grad or tensor.requires_grad):
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")


def record_inplace(tensor: Any, node: Node, number: int = 0, place: int = 0) -> None:
    """Make output ``number`` of ``node``, whose input ``place`` is the old ``tensor``, the origin of its new value."""
    view = tensor._view
    if view is None:
        changed, edge = tensor, (node, number)
    else:
        changed = view.base
        edge = (CopySlices(changed, view, node, place), 0)
    move_retained(changed, changed._edge, edge)
    changed._edge = edge
    changed._requires_grad = True
