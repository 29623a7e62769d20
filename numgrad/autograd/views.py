"""Views and in-place changes: tensors that share memory, and the changes to the graph when one is written.

Note [In place on a view]
A view refers to its base, which is never itself a view, and to the steps that lead from one to the other.  Writing to
a view changes the base.  The base therefore gets a new node, CopySlices, which sends the gradient of the written part
through the writing operation and passes the rest straight on.  Every other view of that base is then stale: its node
would send gradients to the old base.  Accessing the edge of a stale view gives it a node in the base's new graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

from ..core.layout import Layout, overlaps_itself
from ..core.types import contiguous_format
from .accumulation import overwrite
from .checks import check_updatable
from .errors import freed_error, operation_name
from .grad_mode import ANOMALY, GRAD, INFERENCE, LEVELS, SAVED_HOOKS, TRACED, WATCHED, recording, state
from .hooks import replace_edge
from .locations import Location, note_change
from .node import Edge, Node, edge_of
from .operations import operations

#: One step from a tensor to a view of it: the operation and its remaining arguments.
Step = tuple[Callable[..., Any], tuple[Any, ...]]


#: Steps from a base to a view: the steps to the parent of the view, and the last step.
Steps = tuple[Any, Step | None]


#: Origins of a view that forbid writing to it, or using it after its memory was written.
NO_GRAD = "no_grad mode"
INFERENCE_MODE = "inference mode"
SEVERAL = "an operation with several outputs"
FUNCTION = "a Function"


class View:
    """Derivation of a view from its base.

    Views that one operation makes of tensors of one layout may share this object.  The tensor itself has the base,
    ``_root``, which is never itself a view, and ``_seen``, the version of the memory for which its edge is valid.

    Attributes:
        steps: the steps that derive the view from the base.
        layout: the base's layout when the view was made, to which the steps apply.
        creation: the origin of the view if that forbids writing to it, else None.
    """

    __slots__ = ("creation", "layout", "steps")

    def __init__(self, parent: Any, step: Step | None, mode: int, creation: str | None = None):
        above = parent._view
        if above is None:
            self.steps: Steps = (None, step)
            self.layout = parent._layout
        else:
            self.steps = (above.steps, step)
            self.layout = above.layout
            creation = creation or above.creation
        self.creation = creation if mode & GRAD else INFERENCE_MODE if mode & INFERENCE else NO_GRAD

    def connect(self, tensor: Any, parent: Any) -> None:
        """Make ``tensor`` a view of ``parent`` derived in this way."""
        tensor._view = self
        tensor._root = root = parent if parent._view is None else parent._root
        tensor._seen = version_of(root)

    def connect_like(self, tensor: Any, parent: Any) -> None:
        """Make ``tensor`` a view of ``parent`` as another tensor is a view of a base of the same layout."""
        view, above = self, parent._view
        if above is not None:
            view = copy(self)
            view.steps, view.layout, view.creation = above.steps, above.layout, above.creation or self.creation
            for step in reversed(self._path()):
                view.steps = (view.steps, step)
        view.connect(tensor, parent)

    def edge(self, tensor: Any) -> Edge:
        """Return the edge of the view ``tensor``, updated after changes of its base.

        Raises:
            RuntimeError: the base has since been modified, and the view cannot be updated.
        """
        base = tensor._root
        counter = base._counter
        if (
            (base._requires_grad or tensor._edge is not None)
            and counter.__class__ is list
            and counter[0] != tensor._seen
        ):
            if self.creation is not None:
                raise self.refusal(tensor, "its base or another view of its base has been")
            version = counter[0]
            replace_edge(tensor, self._fresh_edge(tensor))
            tensor._seen = version  # last, because it makes the new edge valid for other threads
        return tensor._edge

    def _fresh_edge(self, tensor: Any) -> Edge:
        base = tensor._root
        layout = tensor._layout
        if not base._requires_grad or layout.row_major or not overlaps_itself(layout.shape, layout.strides):
            return AsStridedBackward0(tensor, self), 0
        with recording():  # elements that occur several times in the view sum their gradients
            return self.view_of(base, base._layout)._edge

    def view_of(self, tensor: Any, base: Layout) -> Any:
        """Return the same view of another tensor that has the strides of the base, whose current layout is ``base``."""
        layout = self.layout
        if (layout.shape, layout.strides) != (base.shape, base.strides):
            tensor = tensor.as_strided(layout.shape, layout.strides)
        for step in reversed(self._path()):
            assert step is not None  # None in a Function's view, which is never derived again
            operation, arguments = step
            tensor = operation(tensor, *arguments)
        return tensor

    def hides_tangent(self) -> bool:
        """Return True if the view does not share the base's tangent.

        This holds for the primal part of a dual tensor, for a view that is to become a dual tensor, and for views
        derived from an output of a Function.
        """
        return any(step is None or getattr(step[0], "hides_tangents", False) for step in self._path())

    def _path(self) -> list[Step | None]:
        """Return the steps from the base to the view, last one first."""
        path: list[Step | None] = []
        steps: Steps | None = self.steps
        while steps is not None:
            steps, step = steps
            path.append(step)
        return path

    def refusal(self, tensor: Any, happened: str = "is being") -> RuntimeError:
        """Return the error for writing to the view ``tensor``, or using it after the change named by ``happened``."""
        edge = tensor._edge
        which = "A view" if edge is None else f"Output {edge[1]} of {operation_name(edge[0])} is a view"
        if edge is None or self.creation in (NO_GRAD, INFERENCE_MODE):
            inference = self.creation == INFERENCE_MODE
            mode, now = (INFERENCE_MODE, "in normal mode") if inference else (NO_GRAD, "with grad mode enabled")
            origin = "was created in" if edge is None else "of a view which was created in"
            message = f"{which} {origin} {mode} and {happened} modified inplace {now}."
        else:
            message = f"{which} and {happened} modified inplace."
        return RuntimeError(f"{message} {_EXPLANATIONS[self.creation]}")


def views(parent: Any, step: Any, mode: int) -> Any:
    """Return the derivation of the view that an operation makes by a step, or of the several views that it makes."""
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
    """View made by a user's Function: an output that shares memory with an input.

    The relation between the two is unknown, so neither can be updated when the other is modified.
    """

    __slots__ = ()

    def __init__(self, parent: Any):
        super().__init__(parent, None, GRAD)
        self.creation = FUNCTION  # in any mode


def version_of(tensor: Any) -> int:
    """Return the number of changes to the memory; 0 for an inference tensor, which has no counter."""
    counter = tensor._counter
    return counter[0] if counter.__class__ is list else 0


class AsStridedBackward0(Node):
    """Node of a view after a change of its base: sends the gradient to the part of the base that it views."""

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
    """Node of a base after ``operation`` wrote to a view of it, which was the operation's input ``index``."""

    __slots__ = ("index", "operation", "view")

    def __init__(self, base: Any, view: View, operation: Node, index: int):
        others = operation.edges[:index] + operation.edges[index + 1 :]
        super().__init__((edge_of(base), *others), base._layout)
        self.view = view
        self.operation: Node | Location = operation
        self.index = index

    def name(self) -> str:
        """Return PyTorch's name of this node."""
        return "torch::autograd::CopySlices"

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        operation = self.operation  # another thread may release it
        if not isinstance(operation, Node):
            raise freed_error(self, operation)
        if self._owns(gradient):
            result = gradient
        elif gradient is not None and self.layout.contiguous:
            result = gradient.clone(memory_format=contiguous_format)
        else:  # a copy with the base's strides, to which the steps to the view apply
            result = operations.zeros(self.layout.shape, self.layout.type, self.layout.strides, gradient)
            overwrite(result, gradient)
        written = self.view.view_of(result, self.layout)
        for_view: Any = None
        if operation.clears:
            others = [*operation.of_others(written.clone() if any(self.edges[1:]) else written)]
        else:
            others = [*operation.apply(written.clone())]
            for_view = others.pop(self.index)
        if state.mode & LEVELS and for_view is not None:
            result = operations.writable_with(result, for_view)
            written = self.view.view_of(result, self.layout)
        overwrite(written, for_view)
        if not operation.makes_fresh_gradients:
            for other in others:
                if other is not None:
                    other._shared = True
        return result, *others

    def _owns(self, gradient: Any) -> bool:
        """Return True if the base may take over the gradient: nothing else uses it, and it has the base's layout."""
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
            view made without recording, by an operation with several outputs, or by a Function.
    """
    mode = state.mode
    if tensor._counter.__class__ is not list:
        check_updatable(tensor)
    if mode & (SAVED_HOOKS | ANOMALY):  # note the change, and copy saved tensors if requested
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
    if view.creation is not None and (
        base._requires_grad or tensor._edge is not None
        or any(getattr(other, "requires_grad", False) for other in others)
    ):
        raise view.refusal(tensor)
    if base._edge is None and (base._requires_grad or tensor.requires_grad):
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")


def record_inplace(tensor: Any, node: Node, number: int = 0, index: int = 0) -> None:
    """Make output ``number`` of ``node`` the origin of the new ``tensor``; input ``index`` is its old value."""
    view = tensor._view
    changed, edge = tensor, (node, number)
    if view is not None:
        changed = tensor._root
        edge = CopySlices(changed, view, node, index), 0
    replace_edge(changed, edge)


def record_part(base: Any, steps: Sequence[Step], node: Node) -> None:
    """Make ``node`` the origin of a part of a tensor that was overwritten; the steps lead to the part.

    The part is the node's first input, which had no edge.
    """
    view = View(base, steps[0], state.mode)
    for step in steps[1:]:
        view.steps = (view.steps, step)
    replace_edge(base, (CopySlices(base, view, node, 0), 0))


def reshaped_in_place(tensor: Any, node: Node | None, step: Step) -> None:
    """Record that ``tensor`` has taken the shape given by ``step``, with its elements left in place.

    ``node`` is the operation's node, or None if nothing is recorded.
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
