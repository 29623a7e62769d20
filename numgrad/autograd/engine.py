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

import threading
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from .anomaly_mode import check_gradients, explain_failure
from .grad_mode import ANOMALY, GRAD, state
from .node import AccumulateGrad, Edge, Node
from .operations import operations

__all__ = ["run_backward"]

#: Passes nested in one thread (a backward called inside a backward) before the next gets a thread of its own.
NESTING = 30

_by_sequence = attrgetter("sequence")


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
    return _in_thread(task.run)


def _in_thread(function: Callable[[], list[Any]]) -> list[Any]:
    outcome: list[Any] = []
    mode = state.mode

    def target() -> None:
        state.mode = mode
        try:
            outcome.append((function(), None))
        except BaseException as error:  # handed to the waiting thread
            outcome.append((None, error))

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    (result, error), = outcome
    if error is not None:
        raise error
    return result


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
        #: Gradients on their way: of a node with several outputs a list.
        self.buffers: dict[Node, Any] = {}
        #: Edges into each AccumulateGrad that have not delivered yet.
        self.pending: dict[AccumulateGrad, int] = {}

    def run(self) -> list[Any]:
        before = state.mode
        state.mode = before | GRAD if self.create_graph else before & ~GRAD
        state.depth += 1
        try:
            order = self._collect()
            if self.captures is not None:
                order = self._leading_to_captures(order)
            for edge, gradient in self.roots:
                if edge is not None:
                    self._deliver(edge, gradient)
            self._walk(order)
        finally:
            state.depth -= 1
            state.mode = before
            self.buffers.clear()
        return [self.captured.get(place) for place in self.captures or ()]

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
        return sorted(seen, key=_by_sequence, reverse=True)

    def _leading_to_captures(self, order: list[Node]) -> list[Node]:
        """The nodes that must run for a gradient to reach every captured place, and the captured nodes."""
        wanted = {node for node, _ in self.captures or ()}
        leading: set[Node] = set()
        for node in reversed(order):
            for edge in node.edges:
                if edge is not None and (edge[0] in leading or edge[0] in wanted):
                    leading.add(node)
                    break
        self.leading = leading
        self.wanted = wanted
        return [node for node in order if node in leading or node in wanted]

    def _walk(self, order: Iterable[Node]) -> None:
        buffers = self.buffers
        take = buffers.pop
        Row, row_of = operations.row_class, operations.row_of
        deliver = self._deliver
        plain = not state.mode & ANOMALY
        release = not self.retain_graph
        capturing = self.captures is not None
        rows_allowed = plain and not self.create_graph and not capturing
        for node in order:
            gradient = take(node, None)
            attached = node.attached
            run_row = node.run_row
            if run_row is not None and rows_allowed and attached is None and gradient is not None:
                row = gradient if gradient.__class__ is Row else row_of(gradient)
                results = None if row is None else run_row(node, row, release)
                if results is not None:
                    for edge, result in zip(node.edges, results):  # noqa: B905 - of one length; strict= costs time
                        if edge is not None:
                            target = edge[0]
                            if result is row:
                                result = gradient  # a tensor may be marked as shared
                            if target.more_outputs is None and target not in buffers:
                                buffers[target] = result
                            else:
                                self._deliver_row(edge, result, node)
                    continue
            if gradient.__class__ is Row:
                gradient = operations.tensor(gradient, node.shape, node.type)
            if attached is not None and gradient is not None:
                gradient = attached.tensor_hooks.run(node, gradient)
            if capturing:
                if node in self.wanted:
                    self._capture(node, gradient)
                if node not in self.leading:
                    continue
            if gradient is None and not node.wants_undefined:
                self._skip(node)
                continue
            gradients = node.apply(gradient) if plain and attached is None else self._apply(node, gradient)
            if release:
                node.release()
            shared = not node.makes_fresh_gradients
            for edge, result in zip(node.edges, gradients):  # noqa: B905 - of one length; strict= costs time
                if edge is None:
                    continue
                target = edge[0]
                # The common case of _deliver: one output, and nothing to convert or to finish.
                if (
                    result is not None
                    and not shared
                    and target.more_outputs is None
                    and (result._shape is target.shape or result._shape == target.shape)
                    and result._type is target.type
                    and target not in buffers
                ):
                    buffers[target] = result
                else:
                    if shared and result is not None:
                        result._shared = True
                    deliver(edge, result, node)

    def _deliver_row(self, edge: tuple[Node, int], result: Any, node: Node) -> None:
        """Deliver what a node made of a row to a place that wants more than a plain store."""
        if result.__class__ is operations.row_class:
            target = edge[0]
            if not target.more_outputs and self.buffers.get(target).__class__ is operations.row_class:
                operations.add_rows(self.buffers[target], result)
                result = None
            else:
                result = operations.tensor(result, node.shape, node.type)
        self._deliver(edge, result, node)

    def _skip(self, node: Node) -> None:
        """No gradient came to this node: what it leads to need not wait for it."""
        for edge in node.edges:
            if edge is not None and edge[0].__class__ is AccumulateGrad:
                self._deliver(edge, None)

    def _apply(self, node: Node, gradient: Any) -> Sequence[Any]:
        """Run one node with its hooks."""
        anomaly = state.mode & ANOMALY
        attached = node.attached
        if attached is not None and attached.pre_hooks:
            gradient = _run_pre_hooks(node, attached.pre_hooks, gradient)
        try:
            gradients: Sequence[Any] = node.apply(gradient)
        except Exception:
            if anomaly:
                explain_failure(node)
            raise
        if attached is not None and attached.post_hooks:
            gradients = _run_post_hooks(node, attached.post_hooks, gradients, gradient)
        if anomaly:
            check_gradients(node, gradients, operations.is_bad)
        return gradients

    def _deliver(self, edge: tuple[Node, int], gradient: Any, source: Node | None = None) -> None:
        """Add a gradient, from the node ``source``, to what has arrived at the end of an edge."""
        node, number = edge
        buffers = self.buffers
        if gradient is not None:
            shape, type = (node.shape, node.type) if number == 0 else node.output(number)
            if gradient._shape != shape or gradient._type is not type:
                gradient = _fit(gradient, shape, type, source, edge)
            if not node.more_outputs:
                present = buffers.get(node)
                if present.__class__ is operations.row_class:
                    present = operations.tensor(present, shape, type)
                buffers[node] = gradient if present is None else self._sum(present, gradient)
            else:
                slots = buffers.get(node)
                if slots is None:
                    slots = buffers[node] = [None] * (1 + len(node.more_outputs))
                present = slots[number]
                slots[number] = gradient if present is None else self._sum(present, gradient)
        if node.__class__ is AccumulateGrad:
            self.pending[node] -= 1
            if self.pending[node] == 0:
                self._finish_leaf(node)

    def _sum(self, present: Any, gradient: Any) -> Any:
        if self.create_graph or present._shared or present._view is not None:
            return operations.add(present, gradient)
        return operations.add_(present, gradient)

    def _finish_leaf(self, node: AccumulateGrad) -> None:
        gradient = self.buffers.pop(node, None)
        if gradient is None or (self.captures is not None and node not in self.wanted):
            return
        hooks = node.variable._hooks
        if hooks is not None:
            gradient = hooks.run(node, gradient)
        if self.accumulate:
            self._apply(node, gradient)
        else:
            self._capture(node, gradient)

    def _capture(self, node: Node, gradient: Any) -> None:
        for place in self.captures or ():
            if place[0] is node:
                value = gradient if not node.more_outputs or gradient is None else gradient[place[1]]
                _mark_shared([value])
                self.captured[place] = value


def _fit(gradient: Any, shape: tuple[int, ...], type: Any, source: Node | None, edge: Edge) -> Any:
    """Undo broadcasting, once for all operations, and give the gradient the dtype of what it belongs to."""
    extra = len(gradient._shape) - len(shape)
    if extra < 0 or any(
        wanted not in (1, extent) for wanted, extent in zip(shape, gradient._shape[extra:], strict=True)
    ):
        name, index = ("backward", 0) if source is None else (source.name(), source.edges.index(edge))
        raise RuntimeError(
            f"Function {name} returned an invalid gradient at index {index} - got {list(gradient._shape)} "
            f"but expected shape compatible with {list(shape)}"
        )
    return operations.fit(gradient, shape, type)


def _run_pre_hooks(node: Node, hooks: dict[int, Any], gradient: Any) -> Any:
    several = bool(node.more_outputs)
    gradients = tuple(gradient) if several else (gradient,)
    _mark_shared(gradients)
    for hook in list(hooks.values()):
        replaced = hook(gradients)
        if replaced is not None:
            gradients = _replaced(hook, replaced, len(gradients))
    return list(gradients) if several else gradients[0]


def _replaced(hook: Callable[..., Any], gradients: Any, count: int) -> tuple[Any, ...]:
    """What a hook of a node returned, as a tuple of ``count`` gradients."""
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    if len(gradients) != count:
        name = getattr(hook, "__name__", repr(hook))
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(gradients)}, but expected {count})"
        )
    return gradients


def _mark_shared(gradients: Iterable[Any]) -> None:
    """A hook may keep what it is given."""
    for gradient in gradients:
        if gradient is not None:
            gradient._shared = True


def _run_post_hooks(
    node: Node, hooks: dict[int, Any], gradients: Sequence[Any], gradient: Any
) -> Sequence[Any]:
    arrived = tuple(gradient) if bool(node.more_outputs) else (gradient,)
    results: Sequence[Any] = tuple(gradients)
    _mark_shared(results)
    for hook in list(hooks.values()):
        replaced = hook(results, arrived)
        if replaced is not None:
            results = _replaced(hook, replaced, len(results))
    return results
