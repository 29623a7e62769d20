"""The graph node of a compiled program's results, whose backward is another program.

Note [Backward of a program] The graph of the recorded call is hidden in one node.  When backward first reaches that
node, the pass through the graph is recorded as a second program, which reads the values that the first program saved.
From then on both programs are replayed, and no graph is built within the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from ..autograd.engine import run_backward
from ..autograd.errors import freed_error
from ..autograd.grad_mode import GRAD, TRACED, state
from ..autograd.hooks import mark_shared, replace_edge
from ..autograd.locations import Location
from ..autograd.node import NO_LAYOUT, AccumulateGrad, DeadEnd, Edge, Node, edge_of
from ..autograd.saved import PackedTensor
from ..tensors.tensor import show_elements_of


class CompiledBackward(Node):
    """The node of a program's results.

    Attributes:
        backward: ``backward(node, gradients)`` returns the gradients of the leaves.
        again: ``again(node)`` calls the function again, and returns its results, with a graph, and the edges at which
            that graph ends.
        kept: the data that ``backward`` needs, until they are released.
        freed: the location of the call that released them.
    """

    __slots__ = ("__weakref__", "again", "backward", "freed", "kept")

    def __init__(
        self, results: Sequence[Any], edges: tuple[Any, ...], backward: Callable[..., Any] | None = None,
        again: Callable[[Any], Any] | None = None, kept: Any = None, freed: Location | None = None,
    ):
        Node.__init__(self, edges, results[0]._layout)  # faster than super()
        if len(results) > 1:
            self.more_outputs = tuple([result._layout for result in results[1:]])
        self.backward: Any = backward
        self.again: Any = again
        self.kept, self.freed = kept, freed
        for number, result in enumerate(results):
            result._edge, result._requires_grad = (self, number), True

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        if self.freed is not None:
            raise freed_error(self, self.freed)
        gradients = gradient if self.more_outputs else [gradient]
        if state.mode & TRACED:  # with create_graph or in a transform, operations compute the gradients
            results, leaves = self.again(self)
            return without_missing(self, backward_through(results, leaves, gradients, bool(state.mode & GRAD)))
        return self.backward(self, gradients)

    def release(self, freed_by: Location) -> None:
        self.freed = freed_by
        self.backward = self.again = self.kept = None

    @property
    def freed_by(self) -> Location | None:
        return self.freed


def without_missing(node: CompiledBackward, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the gradients of a node; inputs without a gradient end the pass, as in the inner graph."""
    task = state.current_pass
    if task is not None and any(gradient is None for gradient in gradients):
        task.skip(node, gradients)
    return gradients


class GraphInput(Node):
    """The end of a program's graph at an argument that itself has a graph.

    Attributes:
        argument: the argument.
        outer: the argument's edge, along which backward continues.
        passed: True if a gradient has reached this node during recording.
        hooked: True if the argument got hooks during recording, or has to retain its gradient.
    """

    __slots__ = ("argument", "hooked", "outer", "passed")

    makes_fresh_gradients = False

    def __init__(self, argument: Any):
        self.argument = argument
        self.outer = edge_of(argument)
        super().__init__((self.outer,), argument._layout)
        self.passed = self.hooked = False

    def attachments(self) -> Any:
        """Return the attachments of the argument's own node, because hooks must get the whole gradient."""
        self.hooked = True
        return _Attachments(self.argument, self.outer)

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        self.passed = True
        return (gradient,) if self.edges else ()


class _Attachments:
    """The hooks of an argument and its node, added through its alias."""

    def __init__(self, argument: Any, outer: Any):
        node, self._number = outer
        attachments = node.attachments()
        self.pre_hooks, self.post_hooks = attachments.pre_hooks, attachments.post_hooks
        self.metadata = attachments.metadata
        self.tensor_hooks = self.retained = self
        self._argument, self._hooks = argument, attachments.tensor_hooks

    def of_output(self, _: int) -> Any:
        return self._hooks.of_output(self._number)

    def __setitem__(self, _: int, alias: Any) -> None:
        """Make the argument, instead of its alias, retain its gradient."""
        self._hooks.retained[self._number] = ref(self._argument)


def behind_graph_input(argument: Any) -> Any:
    """Return the argument for a recorded function: an alias behind a graph input if it has a graph."""
    edge = edge_of(argument)
    if edge is None or edge[0].__class__ is AccumulateGrad:
        return argument
    inner = argument._alias()
    inner._edge, inner._requires_grad = (GraphInput(argument), 0), True
    return inner


def update_argument(argument: Any, inner: Any, others: Sequence[Any]) -> None:
    """Apply the changes that the function made to the alias of an argument to the argument itself.

    Raises:
        RuntimeError: the argument is a view whose base is unknown, or another argument with a graph is a view of it.
    """
    if inner._edge is not None and inner._edge[0].__class__ is GraphInput and inner._layout is argument._layout:
        return
    if argument._view is not None or any(each._view is not None and each._root is argument for each in others):
        raise RuntimeError(
            "a compiled function has changed an argument in place that has a graph and is a view, or that was passed "
            "together with one of its views: its gradient is lost. Call the function itself, or pass a clone()."
        )
    show_elements_of(argument, inner)
    if inner._edge is None:
        argument._edge, argument._requires_grad = None, inner._requires_grad
    else:
        replace_edge(argument, inner._edge)


#: Placeholder for the edge of a leaf that no longer requires a gradient.
_NOWHERE = DeadEnd((), NO_LAYOUT), 0


def backward_through(
    results: Sequence[Any], leaves: Sequence[Edge], gradients: Sequence[Any], create_graph: bool = False
) -> tuple[Any, ...]:
    """Return the gradients of the leaves of a graph, computed from those of its results; None for leaves without one.

    Hooks of the leaves are not called, since the outer graph, which leads to the same leaves, calls them.
    """
    pairs = [
        (edge_of(result), gradient) for result, gradient in zip(results, gradients, strict=True) if gradient is not None
    ]
    mark_shared([gradient for _, gradient in pairs])
    graph_inputs = [edge[0] for edge in leaves if edge is not None and edge[0].__class__ is GraphInput]
    for node in graph_inputs:
        node.edges = ()  # otherwise the pass could continue to another argument
    try:
        captures = [_NOWHERE if edge is None else edge for edge in leaves]
        edges, present = zip(*pairs, strict=True) if pairs else ((), ())
        return tuple(run_backward(edges, present, True, create_graph, captures, within=True))
    finally:
        for node in graph_inputs:
            node.edges = (node.outer,)


def nodes_of(results: Sequence[Any]) -> list[Any]:
    """Return all nodes of the graph of these tensors, up to the arguments of the function."""
    left = [tensor.grad_fn for tensor in results if tensor.grad_fn is not None]
    seen = {id(node): node for node in left}
    while left:
        node = left.pop()
        for edge in () if node.__class__ is GraphInput else node.edges:
            if edge is not None and id(edge[0]) not in seen:
                seen[id(edge[0])] = edge[0]
                left.append(edge[0])
    return list(seen.values())


def freed_by(results: Sequence[Any]) -> Location | None:
    """Return the call of backward that has freed the graph of these tensors; None if it is not freed."""
    return next((node.freed_by for node in nodes_of(results) if node.freed_by is not None), None)


def saved_tensors(results: Sequence[Any]) -> list[Any]:
    """Return the tensors that the graph of these tensors keeps: those that nodes have saved, and leaves."""
    result: list[Any] = []
    for node in nodes_of(results):
        if node.__class__ is AccumulateGrad:
            result.append(node.variable)
        saved = getattr(node, "saved", ())
        if isinstance(saved, tuple):
            result += saved
            for value in saved:
                if value.__class__ is PackedTensor:  # the hook may belong to a checkpoint
                    keeper = getattr(value.unpack_hook, "__self__", None)
                    result += [value.packed, *getattr(keeper, "kept_tensors", ())]
    return result
