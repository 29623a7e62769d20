"""Views and in-place changes: which tensors share memory, and how the graph changes when one is written to.

Note [In place on a view]
A view knows its base (never itself a view) and the steps that lead from one to the other.  Writing to a view
changes the base, so the base gets a new node, CopySlices, which sends the gradient of the written part through the
writing operation and that of the rest straight on.  Every other view of that base is then stale: its node would
send gradients to the old base.  When the edge of a stale view is asked for, it gets a node of the base's new graph.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from ..core.layout import Layout, overlaps_itself
from .accumulation import overwrite
from .checks import check_updatable
from .errors import freed_error, operation_name
from .grad_mode import ANOMALY, GRAD, INFERENCE, LEVELS, SAVED_HOOKS, TRACED, WATCHED, recording, state
from .hooks import replace_edge
from .locations import Location, note_change
from .node import Edge, Node, edge_of
from .operations import operations

#: One step from a tensor to a view of it: the operation and its further arguments.
Step = tuple[Callable[..., Any], tuple[Any, ...]]


#: The steps from a base to a view: those to the tensor that it was made of, and the last one.
Steps = tuple[Any, Step | None]


#: How a view was made, where that forbids that it is written to, or used once its memory was.
NO_GRAD = "no_grad mode"
INFERENCE_MODE = "inference mode"
SEVERAL = "an operation with several outputs"
FUNCTION = "a Function"


class View:
    """How a view is made of its base.  Those that one operation makes of tensors of one layout may share it.

    The tensor itself has the base, ``_root``, which is never itself a view, and in ``_seen`` the version of the memory
    for which its edge holds.

    Attributes:
        steps: how to make the view of the base.
        layout: the base's own when the view was made, of which the steps are taken.
        made: how the view was made, where that forbids writing to it, else None.
    """

    __slots__ = ("layout", "made", "steps")

    def __init__(self, parent: Any, step: Step | None, mode: int, made: str | None = None):
        above = parent._view
        if above is None:
            self.steps: Steps = (None, step)
            self.layout = parent._layout
        else:
            self.steps = (above.steps, step)
            self.layout = above.layout
            made = made or above.made
        self.made = made if mode & GRAD else INFERENCE_MODE if mode & INFERENCE else NO_GRAD

    def connect(self, tensor: Any, parent: Any) -> None:
        """Let ``tensor`` be the view that is so made of ``parent``."""
        tensor._view = self
        tensor._root = root = parent if parent._view is None else parent._root
        tensor._seen = version_of(root)

    def connect_like(self, tensor: Any, parent: Any) -> None:
        """Let ``tensor`` be the same view of ``parent`` that another tensor is of a base of the same layout."""
        view, above = self, parent._view
        if above is not None:
            view = copy(self)
            view.steps, view.layout, view.made = above.steps, above.layout, above.made or self.made
            for step in reversed(self._path()):
                view.steps = (view.steps, step)
        view.connect(tensor, parent)

    def edge(self, tensor: Any) -> Edge:
        """The edge of the view ``tensor``, brought up to date with its base.

        Raises:
            RuntimeError: the base was changed since, and the view was made in a way that cannot follow.
        """
        base = tensor._root
        counter = base._counter
        if (
            (base._requires_grad or tensor._edge is not None)
            and counter.__class__ is list
            and counter[0] != tensor._seen
        ):
            if self.made is not None:
                raise self.refusal(tensor, "its base or another view of its base has been")
            version = counter[0]
            replace_edge(tensor, self._fresh_edge(tensor))
            tensor._seen = version  # last: to another thread it says that the edge is the new one
        return tensor._edge

    def _fresh_edge(self, tensor: Any) -> Edge:
        base = tensor._root
        if not base._requires_grad or not overlaps_itself(tensor._layout.shape, tensor._layout.strides):
            return AsStridedBackward0(tensor, self), 0
        with recording():  # elements that are several of the view's sum their gradients
            return self.view_of(base, base._layout)._edge

    def view_of(self, tensor: Any, base: Layout) -> Any:
        """The same view of another tensor, which lies in memory as the base, of that layout now, does."""
        layout = self.layout
        if (layout.shape, layout.strides) != (base.shape, base.strides):
            tensor = tensor.as_strided(layout.shape, layout.strides)
        for step in reversed(self._path()):
            assert step is not None  # of a Function's view, which is never taken again
            operation, arguments = step
            tensor = operation(tensor, *arguments)
        return tensor

    def hides_tangent(self) -> bool:
        """Whether the base's tangent is not its own.

        It is the primal part of a dual tensor or is to be made one, or a Function has made it or what it is a view of.
        """
        return any(step is None or getattr(step[0], "hides_tangents", False) for step in self._path())

    def _path(self) -> list[Step | None]:
        """The steps from the base to the view, the last one first."""
        path: list[Step | None] = []
        steps: Steps | None = self.steps
        while steps is not None:
            steps, step = steps
            path.append(step)
        return path

    def refusal(self, tensor: Any, happened: str = "is being") -> RuntimeError:
        """The error for writing to the view ``tensor``, or for using it when ``happened`` says what was changed."""
        edge = tensor._edge
        which = "A view" if edge is None else f"Output {edge[1]} of {operation_name(edge[0])} is a view"
        if edge is None or self.made in (NO_GRAD, INFERENCE_MODE):
            inference = self.made == INFERENCE_MODE
            mode, now = (INFERENCE_MODE, "in normal mode") if inference else (NO_GRAD, "with grad mode enabled")
            made = "was created in" if edge is None else "of a view which was created in"
            message = f"{which} {made} {mode} and {happened} modified inplace {now}."
        else:
            message = f"{which} and {happened} modified inplace."
        return RuntimeError(f"{message} {_EXPLANATIONS[self.made]}")


def views(parent: Any, step: Any, mode: int) -> Any:
    """How the view is made that an operation makes of a tensor by a step, or the views that it makes at once."""
    if not step or step[0].__class__ is tuple:
        return tuple([View(parent, each, mode, SEVERAL) for each in step])
    return View(parent, step, mode)


_SEPARATE = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the {} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)
_EXPLANATIONS: dict[str | None, str] = {
    NO_GRAD: _SEPARATE.format("no_grad"),
    INFERENCE_MODE: _SEPARATE.format("inference_mode"),
    SEVERAL: (
        "This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should replace the inplace operation by an out-of-place one."
    ),
    FUNCTION: (
        "This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the custom backward associated with the custom Function, leading "
        "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function."
    ),
}


class FunctionView(View):
    """The view of a user's Function: an output that shares memory with an input.

    How the one leads to the other is the Function's business, so neither can follow when the other is changed.
    """

    __slots__ = ()

    def __init__(self, parent: Any):
        super().__init__(parent, None, GRAD)
        self.made = FUNCTION  # in any mode


def version_of(tensor: Any) -> int:
    """How often the memory was changed; 0 for an inference tensor, which does not count."""
    counter = tensor._counter
    return counter[0] if counter.__class__ is list else 0


class AsStridedBackward0(Node):
    """The node of a view since its base was changed: the base's part that it shows gets its gradient."""

    __slots__ = ("base", "view")

    op_name, overload = "AsStrided", "0"

    def __init__(self, tensor: Any, view: View):
        super().__init__((edge_of(tensor._root),), tensor._layout)
        self.view = view
        self.base: Layout = tensor._root._layout

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        if self.edges[0] is None:  # the base was detached
            return (None,)
        node, number = self.edges[0]
        layout = node.output(number)
        result = operations.zeros(layout.shape, layout.type, self.base.strides, gradient)
        overwrite(self.view.view_of(result, self.base), gradient)
        return (result,)


class CopySlices(Node):
    """The node of a base whose view was written to by ``operation``, the view being its input number ``index``."""

    __slots__ = ("index", "operation", "view")

    def __init__(self, base: Any, view: View, operation: Node, index: int):
        others = operation.edges[:index] + operation.edges[index + 1 :]
        super().__init__((edge_of(base), *others), base._layout)
        self.view = view
        self.operation: Node | Location = operation
        self.index = index

    def name(self) -> str:
        """PyTorch's name of this node."""
        return "torch::autograd::CopySlices"

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        operation = self.operation  # another thread may release it
        if not isinstance(operation, Node):
            raise freed_error(self, operation)
        if self._owns(gradient):
            result = gradient
        else:  # a copy that lies in memory as the base does, so that the steps to the view can be taken from it
            result = operations.zeros(self.layout.shape, self.layout.type, self.layout.strides, gradient)
            overwrite(result, gradient)
        written = self.view.view_of(result, self.layout)
        others = list(operation.apply(written.clone()))
        own = others.pop(self.index)
        if state.mode & LEVELS and own is not None:
            result = operations.writable_with(result, own)
            written = self.view.view_of(result, self.layout)
        overwrite(written, own)
        if not operation.makes_fresh_gradients:
            for other in others:
                if other is not None:
                    other._shared = True
        return result, *others

    def _owns(self, gradient: Any) -> bool:
        """Whether the gradient can become that of the base as it was: nobody else has it, and it lies as the base."""
        return (
            gradient is not None and gradient._layout is self.layout and self.layout.contiguous
            and gradient._view is None and not gradient._shared and self.attached is None
            and not state.mode & (TRACED | ANOMALY | WATCHED) and gradient._counter.__class__ is list
        )

    def release(self, freed_by: Location) -> None:
        self.operation = freed_by

    @property
    def freed_by(self) -> Location | None:
        operation = self.operation
        return operation if isinstance(operation, Location) else None


def check_writable(tensor: Any, *others: Any) -> None:
    """Raise if writing to ``tensor`` in place, from the tensors ``others``, cannot be recorded.

    Raises:
        RuntimeError: it is a leaf that requires a gradient or a view of one; or a gradient is required, and it is a
            view that was made without recording, with others at once, or by a Function.
    """
    mode = state.mode
    if tensor._counter.__class__ is not list:
        check_updatable(tensor)
    if mode & (SAVED_HOOKS | ANOMALY):  # note the change, and copy saved tensors if that is asked for
        if mode & ANOMALY:
            note_change(tensor)
        if state.before_write is not None:
            state.before_write(tensor)
    if not mode & GRAD:
        return
    view = tensor._view
    if view is None:
        if tensor._requires_grad and tensor._edge is None:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        return
    base = tensor._root
    if view.made is not None and (
        base._requires_grad or tensor._edge is not None
        or any(getattr(other, "requires_grad", False) for other in others)
    ):
        raise view.refusal(tensor)
    if base._edge is None and (base._requires_grad or tensor.requires_grad):
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")


def record_inplace(tensor: Any, node: Node, number: int = 0, index: int = 0) -> None:
    """Make output ``number`` of ``node``, whose input ``index`` is the old ``tensor``, the origin of its new value."""
    view = tensor._view
    changed, edge = tensor, (node, number)
    if view is not None:
        changed = tensor._root
        edge = CopySlices(changed, view, node, index), 0
    replace_edge(changed, edge)


def reshaped_in_place(tensor: Any, node: Node | None, step: Step) -> None:
    """Record that ``tensor`` has taken on the shape that ``step`` gives, its elements staying where they are.

    ``node`` is the operation's; None where nothing is recorded.
    """
    view = tensor._view
    if view is not None:
        tensor._view = view = copy(view)
        view.steps = (view.steps, step)
    if node is not None:
        if view is not None:
            tensor._seen = version_of(tensor)
        replace_edge(tensor, (node, 0))
    elif tensor._edge is None:
        tensor._accumulator = None  # the old one expects gradients of the old shape
