"""Recording of the engine's work at each node while backward runs.

A NODE span is the engine's visit of a node, and the RULE span in it the node's rule.  Hooks of tensors and the node's
prehooks run before the rule, and the node's other hooks run after it.  An AccumulateGrad is visited as soon as its
gradient is complete, so its visit is nested in the visit of the node that sent the last part.  A rule or a hook may run
a backward of its own, which is another pass.
"""

from __future__ import annotations

import operator
from functools import partial, reduce
from typing import Any
from weakref import WeakKeyDictionary

from ...autograd.accumulation import fit
from ...autograd.grad_mode import LEVELS, state
from ...autograd.hooks import RemovableHandle, add_hook, hook_name
from ...autograd.node import AccumulateGrad, Node
from ...autograd.watching import NODE, RULE, Watcher
from ...tensors.tensor import Tensor
from ..graph.boxes import hooks_at
from ..values import snapshot
from .rules import remark, rules_of, saved_by
from .step import Accumulated, BackwardRun, BackwardStep, Result


class _Visit:
    """The engine's visit of a node, in progress."""

    def __init__(self, step: BackwardStep, current: Any, arrived: list[Any]):
        self.step = step
        self.current = current  # the pass
        #: The gradients that arrived, before hooks: each with its version.
        self.arrived = [(gradient, _version(gradient)) for gradient in arrived]
        self.handles: list[RemovableHandle] = []
        #: The gradients passed to the node's hooks, once these run: one per edge, each with its version.
        self.unhooked: list[tuple[Any, int]] = []


class StepRecording(Watcher):
    """A watcher that records the steps of backward.

    Attributes:
        run: the state shared by the steps.
        steps: all steps, in order.
    """

    def __init__(self, run: BackwardRun):
        self.run = run
        self.steps: list[BackwardStep] = []
        self.visits: list[_Visit] = []
        #: For each pass and each output of a node, the results on their way there; None for an initial gradient.
        self.sent: WeakKeyDictionary[Any, dict[tuple[Node, int], list[Result | None]]] = WeakKeyDictionary()

    def begin(self, kind: str, subject: Any, value: Any) -> Any:
        if kind not in (NODE, RULE):
            return None
        with _unrecorded():
            if kind == NODE:
                return partial(self._end_visit, self._begin_visit(subject))
            visit = self.visits[-1]
            self._begin_rule(visit, value)
            return partial(self._end_rule, visit)

    def end(self, token: Any, result: Any) -> None:
        if token is not None:
            with _unrecorded():
                token(result)

    # -- the visit of a node ------------------------------------------------------------------------------------

    def _begin_visit(self, node: Node) -> _Visit:
        current = state.current_pass
        sent = self.sent.get(current)
        if sent is None:
            sent = self.sent[current] = {}
            for edge in current.roots:
                sent.setdefault(edge, []).append(None)
        outer = next((visit.step for visit in reversed(self.visits) if visit.current is not current), None)
        self.run.count += 1
        step = BackwardStep(self.run, self.run.count, node, outer)
        self.steps.append(step)
        origins = [sent.pop((node, number), []) for number in range(len(node.outputs))]
        step.sources = tuple([tuple([None if r is None else r.source for r in results]) for results in origins])
        for results in origins:
            for result in results:
                if result is not None:
                    result.step = step.number
        step.rules, step.remark = rules_of(node), remark(node)
        step.hooks = tuple([f"{hook_name(hook)} ({method})" for hook, method in hooks_at(node)])
        if node.__class__ is AccumulateGrad:
            arrived = [_sum(origins[0])] if step.hooks else [None]
        else:
            arrived = _listed(current.buffers.get(node), len(origins))
        visit = _Visit(step, current, arrived)
        if step.hooks:
            step.arrived = tuple([self._kept(gradient) for gradient in arrived])
        step.accumulated = self._targets(node)
        self.visits.append(visit)
        return visit

    def _end_visit(self, visit: _Visit, result: Any) -> None:
        for handle in visit.handles:
            handle.remove()
        while self.visits and self.visits.pop() is not visit:  # an error may have kept others from ending
            pass
        for entry in visit.step.accumulated:
            entry.after = self._kept(entry.tensor._grad)

    def _targets(self, node: Node) -> tuple[Accumulated, ...]:
        """Return the tensors that keep their gradient at this node, with its value before the step."""
        tensors: dict[int, Any] = {}  # by the number of the output
        if isinstance(node, AccumulateGrad):
            tensors[0] = node.variable
        elif node.attached is not None:
            tensors = {number: weak() for number, weak in node.attached.tensor_hooks.retained.items()}
        return tuple([
            Accumulated(tensor, (node.sequence, number), self._kept(tensor._grad))
            for number, tensor in tensors.items() if tensor is not None
        ])

    # -- the rule of a node -------------------------------------------------------------------------------------

    def _begin_rule(self, visit: _Visit, incoming: Any) -> None:
        step = visit.step
        gradients = _listed(incoming, len(visit.arrived))
        step.gradients = tuple([self._kept(gradient) for gradient in gradients])
        if not step.hooks:
            step.arrived = step.gradients
        if step.hooks and not isinstance(step.node, AccumulateGrad):
            step.changed = any(
                gradient is not before or _version(gradient) != version
                for gradient, (before, version) in zip(gradients, visit.arrived, strict=True)
            )
        elif step.hooks and step.arrived[0] is not None:
            step.changed = not _same(step.arrived[0], step.gradients[0])
        saved, step.packed = saved_by(step.node)
        step.saved = {name: self._kept(value) for name, value in saved.items()}
        attached = step.node.attached
        if attached is not None and attached.post_hooks:
            hooks = attached.post_hooks
            visit.handles.append(add_hook(hooks, lambda results, _: self._before_hooks(visit, results), prepend=True))
            visit.handles.append(add_hook(hooks, lambda results, _: self._after_hooks(visit, results)))

    def _end_rule(self, visit: _Visit, gradients: Any) -> None:
        if gradients is None or visit.handles:  # it has raised an error, or its hooks are still to run
            return
        visit.step.results = tuple(self._results(visit.step, gradients))

    def _before_hooks(self, visit: _Visit, shown: tuple[Any, ...]) -> None:
        if state.current_pass is not visit.current:  # another pass, perhaps in another thread, visits the node, too
            return
        with _unrecorded():
            gradients = visit.step.node.for_edges(shown)
            visit.step.results = tuple(self._results(visit.step, gradients))
            visit.unhooked = [(gradient, _version(gradient)) for gradient in gradients]

    def _after_hooks(self, visit: _Visit, shown: tuple[Any, ...]) -> None:
        if state.current_pass is not visit.current:
            return
        with _unrecorded():
            gradients = visit.step.node.for_edges(shown)
            for result in visit.step.results:
                gradient, (before, version) = gradients[result.index], visit.unhooked[result.index]
                if gradient is not before or _version(gradient) != version:
                    result.before_hooks, result.gradient = result.gradient, self._kept(gradient)
                if gradient is None:
                    self.sent[state.current_pass][result.node, result.output].remove(result)

    def _results(self, step: BackwardStep, gradients: Any) -> list[Result]:
        """Return the gradients that are sent on, each with its destination."""
        current = state.current_pass
        results = []
        for index, (edge, gradient, rule) in enumerate(zip(step.node.edges, gradients, step.rules, strict=True)):
            if edge is None or gradient is None:
                continue
            node, number = edge
            if not current.awaits(node):
                continue
            result = Result(step.number, index, rule, node, number)
            try:
                fitted = fit(gradient, node.output(number), step.node, edge)
            except RuntimeError:  # the engine is about to raise it
                fitted = gradient
            if gradient._layout.shape != fitted._layout.shape:
                result.summed = tuple(gradient._layout.shape)
            result.gradient = self._kept(fitted)
            self.sent[current].setdefault(edge, []).append(result)
            results.append(result)
        return results

    def _kept(self, value: Any) -> Any:
        return snapshot(value, self.run.limit)


class _unrecorded:  # noqa: N801 - a context manager
    """A context that records no operations and notifies no watchers."""

    def __enter__(self) -> None:
        self.before = state.mode
        state.mode &= LEVELS

    def __exit__(self, *exception: Any) -> None:
        state.mode = self.before


def _listed(value: Any, count: int) -> list[Any]:
    """Return the gradient of each output."""
    return list(value) if isinstance(value, list | tuple) else [value, *[None] * (count - 1)]


def _version(gradient: Any) -> int:
    return 0 if gradient is None else gradient._counter[0]


def _sum(results: list[Result | None]) -> Any:
    """Return the sum of the results; None if one of them is unknown."""
    parts = [None if result is None else result.gradient for result in results]
    return reduce(operator.add, parts) if parts and all(isinstance(part, Tensor) for part in parts) else None


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return first._host_array().tobytes() == second._host_array().tobytes()
    return first is second
