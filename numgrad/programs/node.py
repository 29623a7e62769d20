"""The graph node of a compiled program's results, whose backward is another program.

Note [Backward of a program] The graph of the recorded call is hidden in one node.  When backward first reaches that
node, the pass through the graph is recorded as a second program, which reads the values that the first program saved.
From then on both programs are replayed, and no graph is built within the node.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..autograd.engine import run_backward
from ..autograd.errors import freed_error
from ..autograd.grad_mode import GRAD, TRACED, state
from ..autograd.hooks import mark_shared, replace_edge
from ..autograd.locations import Location
from ..autograd.node import NO_LAYOUT, AccumulateGrad, DeadEnd, Edge, Node, edge_of
from ..autograd.saved import PackedTensor


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

    It has the outputs of the node that made the argument, and passes gradients on to that node.

    Attributes:
        argument: the argument.
        outer: the argument's edge, along which backward continues.
        passed: True if a gradient has reached this node during recording.
        hooked: True if the argument got hooks during recording, or has to retain its gradient.
    """

    __slots__ = ("_layout", "_requires_grad", "_view", "argument", "hooked", "outer", "passed")

    makes_fresh_gradients = False

    def __init__(self, argument: Any):
        edge = edge_of(argument)
        assert edge is not None
        self.argument, self.outer = argument, edge
        self._view, self._layout, self._requires_grad = argument._view, argument._layout, argument._requires_grad
        super().__init__((self.outer,), self.outer[0].layout)
        self.more_outputs = self.outer[0].more_outputs
        self.passed = self.hooked = False

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The argument's edge, which a pass within a program does not follow: it could lead to another argument."""
        return () if state.current_pass is not None and state.current_pass.within else (self.outer,)

    @edges.setter
    def edges(self, edges: tuple[Edge, ...]) -> None:
        """Do nothing: the edge is ``outer``."""

    def connect(self) -> None:
        """Make the argument's graph end here; until ``disconnect``, the argument is not a view of another tensor."""
        self.argument._view, self.argument._edge, self.argument._requires_grad = None, (self, self.outer[1]), True

    def disconnect(self) -> bool:
        """Restore the argument's graph, extended by in-place operations; return True if there were any."""
        argument, edge = self.argument, self.argument._edge
        is_changed = edge is None or edge[0] is not self or argument._layout is not self._layout
        argument._view, argument._edge = self._view, self.outer
        if not is_changed or self._view is not None:
            argument._requires_grad, argument._layout = self._requires_grad, self._layout
        elif edge is None:
            argument._edge = None
        elif edge[0] is not self:
            replace_edge(argument, edge)
        return is_changed

    def attachments(self) -> Any:
        """Return the attachments of the argument's own node, because hooks must get the whole gradient."""
        self.hooked = True
        return self.outer[0].attachments()

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        self.passed = True
        return (gradient[self.outer[1]] if self.more_outputs else gradient,) if self.edges else ()


def with_graphs(arguments: Sequence[Any]) -> list[Any]:
    """Return the arguments that have a graph."""
    edges = [(argument, edge_of(argument)) for argument in {id(each): each for each in arguments}.values()]
    return [argument for argument, edge in edges if edge is not None and edge[0].__class__ is not AccumulateGrad]


@contextlib.contextmanager
def graph_inputs(arguments: Sequence[Any]) -> Iterator[None]:
    """Make the graphs of arguments end at graph inputs within the context.

    Raises:
        RuntimeError: an argument that is a view, or has a view among the arguments, was changed in place.
    """
    nodes = [*map(GraphInput, with_graphs(arguments))]
    try:
        for node in nodes:
            node.connect()
        yield
    finally:
        changed = [node.argument for node in nodes if node.disconnect()]
    roots = {id(argument._root) for argument in arguments if argument._view is not None}
    if any(argument._view is not None or id(argument) in roots for argument in changed):
        raise RuntimeError(
            "a compiled function has changed an argument in place that has a graph and is a view, or that was passed "
            "together with one of its views: its gradient is lost. Call the function itself, or pass a clone()."
        )


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
    captures = [_NOWHERE if edge is None else edge for edge in leaves]
    edges, present = zip(*pairs, strict=True) if pairs else ((), ())
    return tuple(run_backward(edges, present, True, create_graph, captures, within=True))


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
