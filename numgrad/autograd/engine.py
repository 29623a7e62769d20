"""The backward pass: traverse the graph from the outputs (see ``order``), summing gradients along the way.

The engine is independent of the operations.  The few that it needs come from ``operations`` and are recorded like any
other with ``create_graph``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import closing
from operator import attrgetter, itemgetter
from typing import Any

from .accumulation import Deferred, add_up, fit, note_contribution
from .anomaly_mode import check_gradients, explain_failure
from .errors import note_node
from .grad_mode import ANOMALY, STREAMS, TRACED, WATCHED, state, with_recording
from .hooks import hook_name, mark_shared, run_post_hooks, run_pre_hooks
from .locations import calling_location
from .nesting import NESTING, in_thread
from .node import AccumulateGrad, DeadEnd, Node
from .operations import operations
from .order import between_nodes, interleaved, leading_to, only_behind, reach
from .thread_state import switch_back, thread_state
from .watching import NODE, RULE, reported_walk, sees_gradients, span


def run_backward(
    roots: Sequence[tuple[Node, int]],
    gradients: Sequence[Any],
    retain_graph: bool = False,
    create_graph: bool = False,
    captures: Sequence[tuple[Node, int]] | None = None,
    accumulate: bool = False,
    within: bool = False,
) -> list[Any]:
    """Propagate gradients back through the graph, one from each of the edges ``roots``.

    With ``captures``, only nodes that lead to those edges run, and the gradients that arrive there are returned, or
    None if none arrives.  Nothing is then accumulated in leaves unless ``accumulate`` is set, and then only in leaves
    among those edges.  A pass ``within`` a node leaves the hooks of leaves to the pass that runs the node.

    Raises:
        RuntimeError: an earlier pass has freed the graph, or a saved tensor has since been modified.
    """
    task = _Pass(roots, retain_graph, create_graph, captures, accumulate, within)
    if task.depth < NESTING:
        return task.run(gradients)
    # A deeply nested backward inside a backward could exceed the thread's stack.
    task.depth = 0
    return in_thread(lambda: task.run(gradients))


_NOTHING: Set[Node] = frozenset()
_by_sequence = attrgetter("sequence")
_node_of = itemgetter(0)

#: Buffer of a node that does not run in this pass; nothing may be delivered to it.
_CLOSED: Any = object()


class _Pass:
    """One backward pass."""

    __slots__ = (
        "__weakref__",
        "_numbers",
        "accumulate",
        "annotated",
        "buffers",
        "callbacks",
        "captured",
        "captures",
        "create_graph",
        "depth",
        "location",
        "mode",
        "modes",
        "node",
        "order",
        "outer",
        "pending",
        "retain_graph",
        "roots",
        "skipped",
        "sources",
        "stops",
        "targets",
        "waiting",
        "within",
    )

    def __init__(
        self,
        roots: Sequence[tuple[Node, int]],
        retain_graph: bool,
        create_graph: bool,
        captures: Sequence[tuple[Node, int]] | None,
        accumulate: bool,
        within: bool,
    ):
        self.roots = roots
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.captures = captures
        self.accumulate = accumulate or captures is None
        self.within = within
        #: Gradients that have arrived at the captured edges, and the nodes of these edges.
        self.captured: dict[tuple[Node, int], Any] = {}
        self.targets: Set[Node] = _NOTHING
        #: Captured nodes that do not run because they lead to no other captured node.
        self.stops: Set[Node] = _NOTHING
        #: Nodes that no gradient reaches, treated as if no edge led there.
        self.skipped: Set[Node] = _NOTHING
        #: For each node that is to run, the gradient accumulated so far: None at first, a list for several outputs.
        self.buffers: dict[Node, Any] = {}
        #: Number of edges into each AccumulateGrad that have not delivered yet.
        self.pending: dict[AccumulateGrad, int] = {}
        #: Functions to call at the end of the pass.
        self.callbacks: list[Callable[[], Any]] = []
        self.location = calling_location(4)  # the call in the program that started this pass
        self.node: Node | None = None  # the running node, set if it has hooks or in anomaly mode
        #: In anomaly mode, the nodes that have sent gradients to each AccumulateGrad.
        self.sources: dict[AccumulateGrad, list[Node]] | None = None
        self.annotated = False
        #: Gradients received so far by hooks that wait for several.
        self.waiting: dict[Any, Any] = {}
        #: Modes of the thread during the pass; see ``_before_hooks``.
        self.modes: dict[str, Any] | None = None
        self._numbers: set[int] | None = None
        self.outer = state.current_pass
        #: Number of passes that enclose this one in its thread.
        self.depth = 0 if self.outer is None else self.outer.depth + 1

    def run(self, gradients: Sequence[Any]) -> list[Any]:
        before = state.mode
        local = state.__dict__  # this thread's dictionary; cheaper than attribute access on ``state``
        self.mode = local["mode"] = with_recording(before, self.create_graph)
        if before & ANOMALY:
            self.sources = {}
        local["current_pass"] = self
        try:
            self.order = self._find_order()
            order: Any = interleaved(self.order) if between_nodes else self.order
            for edge, gradient in zip(self.roots, gradients):  # noqa: B905 - equal lengths; strict= costs time
                self._deliver(edge, gradient)
            if operations.streams is not None:
                if self.create_graph:
                    self.mode = local["mode"] = local["mode"] | STREAMS
                with closing(operations.streams.turns(order)) as turns:
                    reported_walk(self._walk, turns) if self.mode & WATCHED else self._walk(turns)
            elif self.mode & WATCHED:
                reported_walk(self._walk, order)
            else:
                self._walk(order)
            self.node = None
            for callback in self.callbacks:  # a callback may queue others
                self._before_hooks()
                callback()
        finally:
            try:
                if self.modes is not None:
                    switch_back(self.modes)
            finally:  # in every case: Ctrl-C may interrupt any call
                local["current_pass"] = self.outer
                local["mode"] = before & ~WATCHED | local["mode"] & WATCHED  # a profile may have begun or ended
                self.modes = None  # breaks the reference cycle with this pass
                self.buffers.clear()
        return [] if self.captures is None else [*map(self.captured.get, self.captures)]

    # -- the nodes to run ------------------------------------------------------------------------------------

    def _find_order(self) -> list[Node]:
        """Return the nodes to run, in order."""
        buffers, pending = self.buffers, self.pending
        all_lead_on = reach(self.roots, buffers, pending)
        order = sorted(buffers, key=_by_sequence, reverse=True) if len(buffers) > 1 else [*buffers]
        if self.captures is not None:
            self.captured = dict.fromkeys(self.captures)
            targets = self.targets = {*map(_node_of, self.captures)}
            if not (all_lead_on and targets.issuperset(pending)):
                leading = leading_to(targets, order)
                if not self.accumulate:  # backward(inputs=) runs the captured nodes, grad does not
                    self.stops = targets - leading
                self.pending = {node: count for node, count in pending.items() if node in targets}
                order = [node for node in order if node in leading or node in targets]
                self.buffers = dict.fromkeys(order)
        return order

    @property
    def numbers(self) -> set[int]:
        """Sequence numbers of the nodes that run in this pass or whose gradient is captured."""
        if self._numbers is None:
            self._numbers = {node.sequence for node in (*self.order, *self.pending) if node not in self.skipped}
        return self._numbers

    def awaits(self, node: Node) -> bool:
        """Return True if this pass uses a gradient sent to a node that has not run yet."""
        return node in self.buffers or node in self.pending

    def skip(self, node: Node, results: Sequence[Any]) -> None:
        """Exclude nodes that are reachable only through those edges of ``node`` that carry no gradient.

        This applies to a node that stands for a graph in which some outputs have no path to these edges.
        """
        if node in self.order:  # otherwise the node was called directly
            left = ((waiting, self.buffers[waiting]) for waiting in self.order if waiting in self.buffers)
            self.skipped |= only_behind(node, results, self.roots, left, self.pending)
            self._numbers = None

    # -- the walk --------------------------------------------------------------------------------------------

    def _walk(self, order: Iterable[Node]) -> None:
        buffers, deliver, deliver_to_leaf, targets = self.buffers, self._deliver, self._deliver_to_leaf, self.targets
        take, present = buffers.pop, buffers.get
        plain = not self.mode & (ANOMALY | WATCHED)
        release = None if self.retain_graph else self.location
        node = gradient = None  # a watcher may raise before the first node
        try:
            for node in order:
                gradient = take(node)
                if plain and gradient is not None and node.attached is None and node not in targets:
                    results: Any = self._sparse(node, gradient) if node.is_sparse else node.apply(gradient)
                else:
                    results = self._turn(node, gradient)
                    if results is None:
                        continue
                if release is not None:
                    node.release(release)
                if not node.makes_fresh_gradients:
                    mark_shared(results)
                for edge, result in zip(node.edges, results):  # noqa: B905 - equal lengths; strict= costs time
                    if edge is None:
                        continue
                    target = edge[0]
                    # The common case of _deliver: the first gradient for the only output, with nothing to convert.
                    if (
                        target.more_outputs is None
                        and result is not None
                        and result._layout is target.layout
                        and present(target, _CLOSED) is None
                    ):
                        buffers[target] = result
                    elif target.__class__ is AccumulateGrad:
                        deliver_to_leaf(edge, result, node)
                    else:
                        deliver(edge, result, node)
                results = result = None  # the next node may release them before its turn ends
        except Exception as error:
            self._note(error, node, gradient)
            raise

    def _sparse(self, node: Node, gradient: Any) -> Sequence[Any]:
        """Return the gradients of a node whose single gradient is mostly zeros; the zeros are not computed if possible.

        The node adds the other elements to an existing gradient and returns none, or it defers its gradient.
        """
        edge = node.edges[0]
        if edge is None or self.mode & TRACED:
            return node.apply(gradient)
        target = edge[0]
        present = None if target.more_outputs else self.buffers.get(target)
        if present is None:
            return node.deferred(gradient, target) or node.apply(gradient)
        if (
            present._shared or present._view is not None or not present._layout.contiguous
            or present._layout.type is not gradient._layout.type or not node.add_to(present, gradient)
        ):
            return node.apply(gradient)
        if target.__class__ is AccumulateGrad:
            self._deliver_to_leaf(edge, None, node)
        return ()

    def _turn(self, node: Node, gradient: Any) -> Sequence[Any] | None:
        """Run a node that has hooks, is watched, is captured or has no gradient; return None if it does not run."""
        if gradient is None and node in self.skipped:
            self._skip(node)
            return None
        if gradient.__class__ is Deferred and not self._is_unseen(node):
            gradient = gradient.compute()
        attached = node.attached
        if attached is not None and attached.is_idle():
            attached = None
        if node in self.targets and node not in self.stops:
            self._capture(node, gradient)  # as in PyTorch, before the hooks of its tensors change it
        if attached is not None:
            self.node = node
            modes = self._before_hooks()
            gradient = attached.tensor_hooks.run(node, gradient)
        if node in self.stops:
            self._capture(node, gradient)
            return None
        if attached is not None:
            gradients = self._apply(node, gradient)
            if switch_back(modes):
                mark_shared(gradients)  # they may be inference tensors
            return gradients
        if gradient is None and not node.wants_undefined:
            self._skip(node)
            return None
        return self._apply(node, gradient) if self.mode & (ANOMALY | WATCHED) else node.apply(gradient)

    def _skip(self, node: Node) -> None:
        """Skip a node that no gradient has reached, so that the leaves behind it do not wait for it."""
        for edge in node.edges:
            if edge is not None and edge[0].__class__ is AccumulateGrad:
                self._deliver(edge, None)

    def _apply(self, node: Node, gradient: Any) -> Sequence[Any]:
        """Run one node with its hooks."""
        self.node = node
        attached = node.attached
        if attached is not None and attached.pre_hooks:
            gradient = run_pre_hooks(node, attached.pre_hooks, gradient)
        if gradient is None and not node.wants_undefined:
            gradients: Sequence[Any] = (None,) * len(node.edges)
        else:
            gradients = self._apply_watched(node, gradient) if state.mode & WATCHED else node.apply(gradient)
        if attached is not None and attached.post_hooks:
            gradients = run_post_hooks(node, attached.post_hooks, self._fit_all(node, gradients), gradient)
        if self.mode & ANOMALY:
            check_gradients(node, self._fit_all(node, gradients), gradient)
        return gradients

    def _apply_watched(self, node: Node, gradient: Any) -> Sequence[Any]:
        """Return a node's gradients and report them; sparse ones as in ``_walk``, as the last bits may depend on it."""
        is_sparse = node.is_sparse and gradient is not None and self._is_unseen(node)
        with span(RULE, node, gradient) as rule:
            rule.result = self._sparse(node, gradient) if is_sparse else node.apply(gradient)
        return rule.result

    def _is_unseen(self, node: Node) -> bool:
        """Return True if the gradients that a node receives and returns are used by other nodes alone."""
        return not (node.attached is not None or node in self.targets or self.mode & ANOMALY or sees_gradients())

    def _fit_all(self, node: Node, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """Convert a node's gradients to the shape and dtype of its inputs, with None where this pass needs none."""
        results: list[Any] = []
        for edge, gradient in zip(node.edges, gradients, strict=True):
            if edge is None or gradient is None or edge[0].__class__ is DeadEnd:
                results.append(None)
                continue
            target, number = edge
            results.append(fit(gradient, target.output(number), node, edge) if self.awaits(target) else None)
        return tuple(results)

    # -- gradients that arrive -------------------------------------------------------------------------------

    def _deliver(self, edge: tuple[Node, int], gradient: Any, source: Node | None = None) -> None:
        """Add a gradient sent by the node ``source`` to the buffer at the end of an edge."""
        node, number = edge
        if node.__class__ is AccumulateGrad:
            self._deliver_to_leaf(edge, gradient, source)
            return
        buffers = self.buffers
        present = buffers.get(node, _CLOSED)
        if gradient is None or present is _CLOSED:
            return
        layout = node.output(number) if number else node.layout
        if gradient._layout is not layout:
            gradient = fit(gradient, layout, source, edge)
        if not node.more_outputs:
            buffers[node] = gradient if present is None else add_up(self.mode, present, gradient)
            return
        if present is None:
            present = buffers[node] = [None] * (1 + len(node.more_outputs))
        present[number] = gradient if present[number] is None else add_up(self.mode, present[number], gradient)

    def _deliver_to_leaf(self, edge: tuple[Any, int], gradient: Any, source: Node | None) -> None:
        node = edge[0]
        left = self.pending.get(node)
        if left is None:  # not needed: this leaf is not captured
            return
        present = self.buffers.pop(node, None)
        if gradient is None:
            gradient = present
        else:
            if gradient._layout is not node.layout:
                gradient = fit(gradient, node.layout, source, edge)
            if self.sources is not None and source is not None:
                self.sources.setdefault(node, []).append(source)
            if present is not None:
                gradient = add_up(self.mode, present, gradient)
        self.pending[node] = left - 1
        if left > 1:
            self.buffers[node] = gradient
        else:
            self._finish_leaf(node, gradient)

    def _finish_leaf(self, node: AccumulateGrad, gradient: Any) -> None:
        """Finish a leaf after its last gradient has arrived."""
        try:
            hooked = node.variable._hooks is not None and not self.within
            if hooked or node.attached is not None or self.mode & (ANOMALY | WATCHED):
                self._finish_with_hooks(node, gradient)
            elif self.accumulate:
                node.apply(gradient)
            elif gradient is not None:
                gradient._shared = True
                self.captured[node, 0] = gradient
        except Exception as error:
            self._note(error, node, gradient)
            raise

    def _finish_with_hooks(self, node: AccumulateGrad, gradient: Any) -> None:
        if gradient is None and node in self.skipped:
            return
        hooks, hooked = None if self.within else node.variable._hooks, False
        user_code = hooks is not None or node.attached is not None
        if user_code:
            modes = self._before_hooks()
        if hooks is not None:
            self.node = node
            arrived, version = gradient, 0 if gradient is None else gradient._counter[0]
            gradient = hooks.run(node, gradient)
            hooked = gradient is not arrived or (gradient is not None and gradient._counter[0] != version)
        if not self.accumulate:
            self._capture(node, gradient)
        elif node.attached is None and not self.mode & (ANOMALY | WATCHED):
            node.apply(gradient)
        else:
            before = node.variable._grad
            with span(NODE, node):
                self._apply(node, gradient)
            if self.sources is not None and gradient is not None:
                leaf = node.variable
                changed_by = tuple(map(hook_name, (leaf._backward_hooks or {}).values())) if hooked else ()
                note_contribution(leaf, before, self.location, self.sources.get(node, ()), changed_by)
        if user_code:
            switch_back(modes)

    def _before_hooks(self) -> dict[str, Any]:
        """Return the thread's modes before any hook of this pass ran, to be restored after each node's hooks."""
        if self.modes is None:
            self.modes = thread_state()
        return self.modes

    def _capture(self, node: Node, gradient: Any) -> None:
        """Keep the captured ones among the gradients that have arrived at a node."""
        for number, value in enumerate(gradient if node.more_outputs and gradient is not None else [gradient]):
            if value is not None and (node, number) in self.captured:
                value._shared = True
                self.captured[node, number] = value

    def _note(self, error: Exception, node: Node | None, gradient: Any) -> None:
        if not self.annotated and node is not None:
            note_node(error, node, gradient)
            if self.mode & ANOMALY:
                explain_failure(node)
        self.annotated = True
