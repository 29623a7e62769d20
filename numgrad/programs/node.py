"""The node of what a compiled program computed: going back through it is a program of its own.

Note [Backward of a program]
The graph that a function records when it is recorded itself stays within one node.  When backward first comes to that
node, the graph is walked, and that is recorded, too: a second program, which finds what the first one saved for it.
From then on both are replayed, and nothing within the node is recorded any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from ..autograd.engine import run_backward
from ..autograd.errors import freed_error
from ..autograd.grad_mode import GRAD, TRACED, state
from ..autograd.hooks import lend, replace_edge
from ..autograd.locations import Location
from ..autograd.node import NO_LAYOUT, AccumulateGrad, DeadEnd, Edge, Node, edge_of
from ..autograd.saved import PackedTensor
from ..core.tensor import show_elements_of


class CompiledBackward(Node):
    """The node of a program's results.

    Attributes:
        backward: ``backward(node, gradients)`` returns the gradients of the leaves.
        again: ``again(node)`` computes the results once more, with the graph within: the results, and the edges where
            that graph ends.
        kept: what ``backward`` needs, until it is released.
        freed: the call that had it released, then without the others.
    """

    __slots__ = ("__weakref__", "again", "backward", "freed", "kept")

    def __init__(
        self, results: Sequence[Any], edges: tuple[Any, ...], backward: Callable[..., Any] | None = None,
        again: Callable[[Any], Any] | None = None, kept: Any = None, freed: Location | None = None,
    ):
        Node.__init__(self, edges, results[0]._layout)  # super() takes longer
        if len(results) > 1:
            self.more_outputs = tuple([one._layout for one in results[1:]])
        self.backward: Any = backward
        self.again: Any = again
        self.kept, self.freed = kept, freed
        for number, one in enumerate(results):
            one._edge, one._requires_grad = (self, number), True

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        if self.freed is not None:
            raise freed_error(self, self.freed)
        gradients = gradient if self.more_outputs else [gradient]
        if state.mode & TRACED:  # the derivative of this one is wanted, too, or many at a time: by operations
            results, leaves = self.again(self)
            return spared(self, through(results, leaves, gradients, bool(state.mode & GRAD)))
        return self.backward(self, gradients)

    def release(self, freed_by: Location) -> None:
        self.freed = freed_by
        self.backward = self.again = self.kept = None

    @property
    def freed_by(self) -> Location | None:
        return self.freed


def spared(node: CompiledBackward, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results of a node; backward does not go on where there is none, as it would not have within."""
    task = state.current_pass
    if task is not None and any(one is None for one in results):
        task.spare(node, results)
    return results


class Entrance(Node):
    """Where the graph within a program ends that leads to an argument with a graph of its own.

    Attributes:
        argument: the argument itself.
        outer: where the gradient goes from here.
        passed: whether one has come by while the program was recorded.
        hooked: whether the argument has been given hooks, or is to keep its gradient.
    """

    __slots__ = ("argument", "hooked", "outer", "passed")

    makes_fresh_gradients = False

    def __init__(self, argument: Any):
        self.argument = argument
        self.outer = edge_of(argument)
        super().__init__((self.outer,), argument._layout)
        self.passed = self.hooked = False

    def attachments(self) -> Any:
        """Those of the argument's own node: hooks are to see all of its gradient."""
        self.hooked = True
        return _Attachments(self.argument, self.outer)

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        self.passed = True
        return (gradient,) if self.edges else ()


class _Attachments:
    """The hooks of an argument and of the node that made it, to be added to from where the argument is an alias."""

    def __init__(self, argument: Any, outer: Any):
        node, self._number = outer
        own = node.attachments()
        self.pre_hooks, self.post_hooks, self.metadata = own.pre_hooks, own.post_hooks, own.metadata
        self.tensor_hooks = self.retained = self
        self._argument, self._hooks = argument, own.tensor_hooks

    def of_output(self, _: int) -> Any:
        return self._hooks.of_output(self._number)

    def __setitem__(self, _: int, alias: Any) -> None:
        """Have the argument keep its gradient, and not its alias."""
        self._hooks.retained[self._number] = ref(self._argument)


def left(inner: Any, argument: Any, others: Sequence[Any]) -> None:
    """Let an argument that was given behind an entrance be what the function has made of it.

    Raises:
        RuntimeError: it is a view, and its base cannot be told, or another argument with a graph is a view of it.
    """
    if inner._edge is not None and inner._edge[0].__class__ is Entrance and inner._layout is argument._layout:
        return
    if argument._view is not None or any(one._view is not None and one._root is argument for one in others):
        raise RuntimeError(
            "a function that is compiled has changed in place an argument that has a graph, and is a view or given "
            "beside one of its views: its gradient is lost. Call the function itself, or give it a clone()."
        )
    show_elements_of(argument, inner)
    if inner._edge is None:
        argument._edge, argument._requires_grad = None, inner._requires_grad
    else:
        replace_edge(argument, inner._edge)


def entered(argument: Any) -> Any:
    """The argument as a function is given it while it is recorded: one that has a graph, behind an entrance."""
    edge = edge_of(argument)
    if edge is None or edge[0].__class__ is AccumulateGrad:
        return argument
    inner = argument._alias()
    inner._edge, inner._requires_grad = (Entrance(argument), 0), True
    return inner


#: Stands for the edge of a leaf that requires no gradient any more.
_NOWHERE = DeadEnd((), NO_LAYOUT), 0


def through(
    results: Sequence[Any], leaves: Sequence[Edge], gradients: Sequence[Any], recorded: bool = False
) -> tuple[Any, ...]:
    """The gradients that arrive at the leaves of a graph, given those of its results (None for one that has none).

    Hooks of the leaves are left to the graph around this one, which leads to the same leaves.
    """
    given = [(edge_of(one), own) for one, own in zip(results, gradients, strict=True) if own is not None]
    lend([own for _, own in given])
    entrances = [edge[0] for edge in leaves if edge is not None and edge[0].__class__ is Entrance]
    for one in entrances:
        one.edges = ()  # another argument may be where the gradient would come to from here
    try:
        wanted = [_NOWHERE if edge is None else edge for edge in leaves]
        edges, own = zip(*given, strict=True) if given else ((), ())
        return tuple(run_backward(edges, own, True, recorded, wanted, within=True))
    finally:
        for one in entrances:
            one.edges = (one.outer,)


def nodes_of(results: Sequence[Any]) -> list[Any]:
    """All nodes of the graph of these tensors, up to what the function was given."""
    left = [tensor.grad_fn for tensor in results if tensor.grad_fn is not None]
    seen = {id(node): node for node in left}
    while left:
        node = left.pop()
        for edge in () if node.__class__ is Entrance else node.edges:
            if edge is not None and id(edge[0]) not in seen:
                seen[id(edge[0])] = edge[0]
                left.append(edge[0])
    return list(seen.values())


def freed_by(results: Sequence[Any]) -> Location | None:
    """The call of backward that has used up the graph of these tensors; None if it is whole."""
    for node in nodes_of(results):
        if node.freed_by is not None:
            return node.freed_by
    return None


def saved_tensors(results: Sequence[Any]) -> list[Any]:
    """What the graph of these tensors keeps: tensors that nodes have saved, and leaves."""
    found: list[Any] = []
    for node in nodes_of(results):
        if node.__class__ is AccumulateGrad:
            found.append(node.variable)
        saved = getattr(node, "saved", ())
        if isinstance(saved, tuple):
            found += saved
            for one in saved:
                if one.__class__ is PackedTensor:  # the hook may be that of a checkpoint
                    keeper = getattr(one.unpack_hook, "__self__", None)
                    found += [one.packed, *getattr(keeper, "kept_tensors", ())]
    return found
