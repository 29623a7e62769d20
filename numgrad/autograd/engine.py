"""The backward pass: walk the graph from the outputs, highest sequence number first, summing gradients on the way.

Note [Order]
A node takes its number after its edges are known, so every consumer of a node's output has a higher number than
the node.  Going through the reachable nodes from the highest number down therefore meets a node when everything
that sends it a gradient has run.  The ends of paths (AccumulateGrad) are older than anything that uses their
leaf and would all run last, holding every parameter's gradient until then; so they are not sorted but counted,
and run as soon as the last gradient has arrived.

The engine knows no operation.  The few it needs are handed to it (``operations``), and are recorded like any
other when ``create_graph`` asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import cached_property
from operator import attrgetter
from typing import Any

from .anomaly_mode import explain_failure
from .bad_values import check_gradients
from .contributions import note_contribution
from .errors import note_node
from .fitting import as_tensor, fit
from .grad_mode import ANOMALY, LEVELS, STREAMS, TRACED, WATCHED, state, switch_back, thread_state, with_recording
from .nesting import NESTING, in_thread
from .node import AccumulateGrad, DeadEnd, Edge, Node
from .node_hooks import lend, run_post_hooks, run_pre_hooks
from .operations import operations
from .places import calling_place
from .watching import apply_told, turn_told, walk_told

__all__ = ["run_backward"]


def run_backward(
    roots: Sequence[tuple[Edge, Any]],
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
    captures: Sequence[tuple[Node, int]] | None = None,
    accumulate: bool = False,
) -> list[Any]:
    """Send the gradients in ``roots`` back through the graph.

    With ``captures`` only what leads to those (node, output) places runs, and the gradients arriving there are
    returned, None where none does.  Nothing is accumulated in leaves then, unless ``accumulate``, and in those
    among the places only.

    Raises:
        RuntimeError: the graph was freed by an earlier pass, or a saved tensor has been modified since.
    """
    task = _Pass(roots, retain_graph, create_graph, captures, accumulate)
    if state.depth < NESTING:
        return task.run()
    # A backward inside a backward inside a backward ... may go deeper than a thread's stack.
    return in_thread(task.run)


class _Pass:
    """One backward pass."""

    def __init__(
        self,
        roots: Sequence[tuple[Edge, Any]],
        retain_graph: bool,
        create_graph: bool,
        captures: Sequence[tuple[Node, int]] | None,
        accumulate: bool,
    ):
        self.roots = roots
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.captures = captures
        self.accumulate = accumulate or captures is None
        self.captured: dict[tuple[Node, int], Any] = {}
        #: Gradients on their way: tensors or bare rows, in a tuple if shared; of a node with several outputs a list.
        self.buffers: dict[Node, Any] = {}
        #: Edges into each AccumulateGrad that have not delivered yet.
        self.pending: dict[AccumulateGrad, int] = {}
        #: What to call at the end.
        self.callbacks: list[Callable[[], Any]] = []
        self.place = calling_place(3)  # where the program asked for this pass
        self.node: Node | None = None  # whose turn it is, if it has hooks or in anomaly mode
        #: In anomaly mode the nodes that have sent gradients to each AccumulateGrad.
        self.sources: dict[AccumulateGrad, list[Node]] | None = None
        self.annotated = False
        #: What hooks that wait for several gradients have seen so far.
        self.waiting: dict[Any, Any] = {}
        #: What the thread is switched to during the pass: see ``_before_hooks``.
        self.modes: dict[str, Any] | None = None

    def run(self) -> list[Any]:
        before = state.mode
        self.mode = state.mode = with_recording(before, self.create_graph)
        if before & ANOMALY:
            self.sources = {}
        state.depth += 1
        outer, state.current_pass = state.current_pass, self
        try:
            order = self._collect()
            if self.captures is not None:
                order = self._leading_to_captures(order)
            self.order = order
            for edge, gradient in self.roots:
                if edge is not None:
                    self._deliver(edge, gradient)
            if operations.streams is not None:
                if self.create_graph:
                    self.mode = state.mode = state.mode | STREAMS
                with closing(operations.streams.turns(order)) as turns:
                    self._walk_or_tell(turns)
            else:
                self._walk_or_tell(order)
            self.node = None
            for callback in self.callbacks:  # which may queue others
                self._before_hooks()
                callback()
        finally:
            try:
                if self.modes is not None:
                    switch_back(self.modes)
            finally:  # whatever else happens: Ctrl-C may come with any call
                state.depth -= 1
                state.current_pass = outer
                state.mode = before & ~WATCHED | state.mode & WATCHED  # a profile may have begun or ended
                self.modes = None  # which has this pass
                self.buffers.clear()
        return [self.captured.get(place) for place in self.captures or ()]

    def _walk_or_tell(self, order: Iterable[Node]) -> None:
        if self.mode & WATCHED:
            walk_told(self._walk, order)
        else:
            self._walk(order)

    def _collect(self) -> list[Node]:
        """The reachable nodes in the order to run them in; counts the edges into AccumulateGrad nodes."""
        pending = self.pending
        seen: set[Node] = set()
        stack: list[Node] = []
        for edge, _ in self.roots:
            if edge is None:
                continue
            node = edge[0]
            if node.__class__ is AccumulateGrad:
                pending[node] = pending.get(node, 0) + 1
            elif node not in seen:
                seen.add(node)
                stack.append(node)
        while stack:
            for edge in stack.pop().edges:
                if edge is None:
                    continue
                node = edge[0]
                if node.__class__ is AccumulateGrad:
                    pending[node] = pending.get(node, 0) + 1
                elif node not in seen:
                    seen.add(node)
                    stack.append(node)
        return sorted(seen, key=attrgetter("sequence"), reverse=True)

    def _leading_to_captures(self, order: list[Node]) -> list[Node]:
        """The nodes that must run for a gradient to reach every captured place, and the captured nodes."""
        wanted: dict[Node, list[int]] = {}
        for node, number in self.captures or ():
            wanted.setdefault(node, []).append(number)
        leading: set[Node] = set()
        for node in reversed(order):
            for edge in node.edges:
                if edge is not None and (edge[0] in leading or edge[0] in wanted):
                    leading.add(node)
                    break
        if self.accumulate:
            leading.update(wanted)  # backward(inputs=) runs what it is asked for, unlike grad
        self.leading = leading
        self.wanted = wanted
        return [node for node in order if node in leading or node in wanted]

    @cached_property
    def numbers(self) -> set[int]:
        """The sequence numbers of the nodes that run in this pass, or at which a gradient is asked for."""
        leaves = self.pending if self.captures is None else self.pending.keys() & self.wanted.keys()
        return {node.sequence for node in (*self.order, *leaves)}

    def _walk(self, order: Iterable[Node]) -> None:
        buffers = self.buffers
        take = buffers.pop
        rows, row_of = operations.row_classes, operations.row_of
        bare = {*rows, tuple}
        deliver = self._deliver
        plain = not state.mode & (ANOMALY | WATCHED)
        release = None if self.retain_graph else self.place
        capturing = self.captures is not None
        useful = {*self.leading, *self.wanted} if capturing else set()
        rows_allowed = plain and not self.create_graph and not state.mode & LEVELS
        node = gradient = None  # an error may come from a watcher, before the first
        try:
            for node in order:
                gradient = take(node, None)
                attached = node.attached
                if attached is not None and attached.is_idle():
                    attached = None
                run_row = node.run_row
                if (
                    run_row is not None
                    and rows_allowed
                    and attached is None
                    and gradient is not None
                    and not (capturing and node in self.wanted)
                ):
                    row = gradient
                    if gradient.__class__ is tuple:
                        row = gradient[0]
                    elif gradient.__class__ not in rows:
                        row = row_of(gradient)
                        if gradient._flat is None and row is not None:
                            gradient = row  # a new one, which is nobody else's
                    results = None if row is None else run_row(node, row, release)
                    if results is not None:
                        for edge, result in zip(node.edges, results):  # noqa: B905 - of one length; strict= costs time
                            if edge is not None:
                                target = edge[0]
                                if capturing and target not in useful:
                                    continue
                                if result is row:
                                    result = gradient  # which may be shared
                                if target.more_outputs is None and target not in buffers:
                                    buffers[target] = result
                                else:
                                    self._deliver_row(edge, result, node)
                        continue
                if gradient.__class__ in bare:
                    gradient = as_tensor(gradient, node)
                if capturing and node in self.wanted and node in self.leading:
                    self._capture(node, gradient)  # as in PyTorch, without what the hooks of its tensors make of it
                if attached is not None:
                    self.node = node
                    modes = self._before_hooks()
                    gradient = attached.tensor_hooks.run(node, gradient)
                if capturing and node not in self.leading:
                    self._capture(node, gradient)
                    continue
                if gradient is None and attached is None and not node.wants_undefined:
                    self._skip(node)
                    continue
                gradients = node.apply(gradient) if plain and attached is None else self._apply(node, gradient)
                if attached is not None and switch_back(modes):
                    lend(gradients)  # they may be inference tensors
                if release is not None:
                    node.release(release)
                shared = not node.makes_fresh_gradients
                if shared:
                    lend(gradients)
                for edge, result in zip(node.edges, gradients):  # noqa: B905 - of one length; strict= costs time
                    if edge is None or (capturing and edge[0] not in useful):
                        continue
                    target = edge[0]
                    # The common case of _deliver: one output, and nothing to convert or to finish.
                    if (
                        result is not None
                        and not shared
                        and target.more_outputs is None
                        and result._layout is target.layout
                        and target not in buffers
                    ):
                        buffers[target] = result
                    else:
                        deliver(edge, result, node)
        except Exception as error:
            self._note(error, node, gradient)
            raise

    def _deliver_row(self, edge: tuple[Node, int], result: Any, node: Node) -> None:
        """Deliver what a node made of a row to a place that wants more than a plain store."""
        target = edge[0]
        rows = operations.row_classes
        if result.__class__ not in rows and result.__class__ is not tuple:
            self._deliver(edge, result, node)
            return
        if target.more_outputs or target.layout is not node.layout:
            self._deliver(edge, as_tensor(result, node), node)
            return
        buffers = self.buffers
        present = buffers.get(target)
        if present is None:
            buffers[target] = result
        elif present.__class__ in rows:
            operations.add_rows(present, result[0] if result.__class__ is tuple else result)
        elif present.__class__ is tuple and result.__class__ in rows:
            operations.add_rows(result, present[0])
            buffers[target] = result
        else:
            self._deliver(edge, as_tensor(result, node), node)
            return
        if target.__class__ is AccumulateGrad:
            left = self.pending[target] - 1
            self.pending[target] = left
            if left == 0:
                self._finish_leaf(target)

    def _skip(self, node: Node) -> None:
        """No gradient came to this node: what it leads to need not wait for it."""
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
            gradients = apply_told(node, gradient) if state.mode & WATCHED else node.apply(gradient)
        if attached is not None and attached.post_hooks:
            gradients = run_post_hooks(node, attached.post_hooks, self._fit_all(node, gradients), gradient)
        if self.mode & ANOMALY:
            check_gradients(node, self._fit_all(node, gradients), gradient)
        return gradients

    def _fit_all(self, node: Node, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """The gradients that a node has made, in shape and dtype of its inputs; None where this pass needs none."""
        results: list[Any] = []
        for edge, gradient in zip(node.edges, gradients, strict=True):
            if edge is None or gradient is None or edge[0].__class__ is DeadEnd:
                results.append(None)
                continue
            target, number = edge
            used = self.captures is None or target in self.leading or target in self.wanted
            results.append(fit(gradient, target.output(number), node, edge) if used else None)
        return tuple(results)

    def _deliver(self, edge: tuple[Node, int], gradient: Any, source: Node | None = None) -> None:
        """Add a gradient, from the node ``source``, to what has arrived at the end of an edge."""
        node, number = edge
        buffers = self.buffers
        if gradient is not None:
            layout = node.layout if number == 0 else node.output(number)
            if gradient._layout is not layout and (
                gradient._layout.shape != layout.shape or gradient._layout.type is not layout.type
            ):
                gradient = fit(gradient, layout, source, edge)
            if not node.more_outputs:
                present = buffers.get(node)
                if present.__class__ is tuple or present.__class__ in operations.row_classes:
                    present = as_tensor(present, node)
                buffers[node] = gradient if present is None else self._sum(present, gradient)
            else:
                slots = buffers.get(node)
                if slots is None:
                    slots = buffers[node] = [None] * (1 + len(node.more_outputs))
                present = slots[number]
                slots[number] = gradient if present is None else self._sum(present, gradient)
        if node.__class__ is AccumulateGrad:
            if self.sources is not None and gradient is not None and source is not None:
                self.sources.setdefault(node, []).append(source)
            left = self.pending[node] - 1
            self.pending[node] = left
            if left == 0:
                self._finish_leaf(node)

    def _sum(self, present: Any, gradient: Any) -> Any:
        if (
            self.mode & TRACED
            or present._shared
            or present._view is not None
            or present._layout.type is not gradient._layout.type
        ):
            return operations.add(present, gradient)
        return operations.add_(present, gradient)

    def _finish_leaf(self, node: AccumulateGrad) -> None:
        gradient = self.buffers.pop(node, None)
        if self.captures is not None and node not in self.wanted:
            return
        if gradient.__class__ is tuple or gradient.__class__ in operations.row_classes:
            gradient = as_tensor(gradient, node)
        hooks = node.variable._hooks
        user_code = hooks is not None or node.attached is not None
        hooked = False
        try:
            if user_code:
                modes = self._before_hooks()
            if hooks is not None:
                self.node = node
                arrived, version = gradient, 0 if gradient is None else gradient._counter[0]
                gradient = hooks.run(node, gradient)
                hooked = gradient is not arrived or (gradient is not None and gradient._counter[0] != version)
            if self.accumulate:
                if node.attached is None and not self.mode & (ANOMALY | WATCHED):
                    node.apply(gradient)
                else:
                    self._accumulate_with_hooks(node, gradient, hooked)
            else:
                self._capture(node, gradient)
        except Exception as error:
            self._note(error, node, gradient)
            raise
        if user_code:
            switch_back(modes)

    def _before_hooks(self) -> dict[str, Any]:
        """What the thread is switched to before any hook of this pass has run, to switch back to after each node's."""
        if self.modes is None:
            self.modes = thread_state()
        return self.modes

    def _accumulate_with_hooks(self, node: AccumulateGrad, gradient: Any, hooked: bool) -> None:
        before = node.variable._grad
        with turn_told(node):
            self._apply(node, gradient)
        if self.sources is not None and gradient is not None:
            note_contribution(node.variable, before, self.place, self.sources.get(node, ()), hooked)

    def _capture(self, node: Node, gradient: Any) -> None:
        for number in self.wanted[node]:
            value = gradient if not node.more_outputs or gradient is None else gradient[number]
            if value is not None:
                value._shared = True
            self.captured[node, number] = value

    def _note(self, error: Exception, node: Node | None, gradient: Any) -> None:
        if not self.annotated and node is not None:
            note_node(error, node, gradient)
            if self.mode & ANOMALY:
                explain_failure(node)
        self.annotated = True
