"""The kernels that a function call runs, forward and backward, and the kernels of a node of the graph."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...adjoints.decorator import Differentiable
from ...autograd.accumulation import fit
from ...autograd.backward import grad
from ...autograd.function_node import BackwardCFunction
from ...autograd.grad_mode import no_grad
from ...autograd.node import AccumulateGrad, DeadEnd, Node, edge_of
from ...autograd.order import nodes_behind
from ...core.layout import Layout
from ...devices.launches import Launch, listening
from ...ops.creation.factories import ones_like
from ...ops.memory.copying import filled_of
from ...ops.table.recording import OpNode
from ...random import Generator, default_generators
from ...tensors.tensor import Tensor
from .kernels import InspectedKernel, Inspection, inspected, planned_kernels

GRADIENT_PASSED_ON = "Backward runs no kernel: it passes the gradient on, unchanged or as a view."
_OWN_BACKWARD = "Backward runs code of its own, without numgrad's kernels."

#: The number of runs if repetition is safe; the first run is slower, since memory and caches are cold.
RUNS = 3

#: Modules of functions that only compute, unlike ``Tensor.backward`` or an optimizer's ``step``.
_COMPUTING = ("numgrad.ops.", "numgrad.nn.functional.", "numgrad.linalg.", "numgrad.special.")


def inspect_call(title: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inspection:
    """Call a function and return an inspection of the kernels that ran, forward and backward."""
    tensors = list(_tensors((getattr(function, "__self__", None), args, kwargs)))  # with the tensor of a bound method
    named = [value for value in (*args, *kwargs.values()) if isinstance(value, Generator)]

    def state() -> list[Any]:
        generators = [*default_generators(), *named]
        return [*[tensor._counter[0] for tensor in tensors], *[generator.state_bytes() for generator in generators]]

    before = state()
    notes: list[str] = []

    def run() -> list[tuple[str, Launch]]:
        outs: list[Any] = []
        launches = launches_of("forward", lambda: outs.append(function(*args, **kwargs)))
        backward = _backward(tensors, outs)
        if launches and not backward:
            notes[:] = [
                "Neither its arguments nor other tensors that it uses require a gradient, so no backward kernel ran."
                if backward is None
                else GRADIENT_PASSED_ON
            ]
        return launches + (backward or [])

    launches = run()
    # A user's function may have any effect; numgrad's can be repeated, unless they changed or drew something.
    if only_computes(function) and state() == before:
        launches = run_again(run, launches)
    if isinstance(function, Differentiable):
        title_of = function.py_func.__name__
        notes.append(f"Numba compiled {title_of} as a whole; {title_of}.adjoint_source(...) shows its derivative.")
    elif not launches:
        notes.append("No kernel ran: views need none, and NumPy fills and copies memory.")
    return Inspection(title, inspected(launches), notes)


def launches_of(stage: str, function: Callable[[], Any]) -> list[tuple[str, Launch]]:
    """Return the kernels that a function runs in this thread, each with the stage."""
    launches: list[Launch] = []
    with listening(launches.append):
        function()
    return [(stage, launch) for launch in launches if launch.thread == threading.get_ident()]


def run_again(run: Callable[[], list[Any]], first: list[Any]) -> list[Any]:
    """Return the launches of the first run and of the runs after it."""
    return first + [launch for _ in range(RUNS - 1) for launch in run()]


def only_computes(function: Any) -> bool:
    """Return True if a function is one of numgrad's that only compute."""
    module = getattr(function, "__globals__", {"__name__": ""})["__name__"]
    name = getattr(function, "__name__", "_")
    computes = hasattr(function, "op") or f"{module}.".startswith(_COMPUTING)
    return computes and not name.endswith("_") and not isinstance(function, type)


def _backward(tensors: list[Tensor], outs: Any) -> list[tuple[str, Launch]] | None:
    """Return the kernels of backward for the given tensors and the function's own leaves; None without gradients."""
    outputs = [out for out in _tensors(outs) if out.grad_fn is not None and out._layout.type.dtype.differentiable]
    inputs = [tensor for tensor in tensors if tensor.requires_grad]
    inputs += [leaf for leaf in _leaves(outputs, inputs) if not any(leaf is other for other in inputs)]
    if not outputs or not inputs:
        return None
    gradients = [ones_like(out) for out in outputs]
    with _without_hooks(inputs):
        # retain_graph: an argument may be a computed tensor, whose graph still belongs to the caller
        return launches_of("backward", lambda: grad(outputs, inputs, gradients, retain_graph=True, allow_unused=True))


@contextmanager
def _without_hooks(tensors: list[Tensor]) -> Iterator[None]:
    """Suspend the hooks and the retained gradients of these tensors: both belong to the caller's own backward."""
    nodes = {edge[0] for tensor in tensors if (edge := edge_of(tensor)) is not None}
    leaves = {node.variable for node in nodes if isinstance(node, AccumulateGrad)}
    kept = [(node, "attached", node.attached) for node in nodes] + [(leaf, "_hooks", leaf._hooks) for leaf in leaves]
    for holder, name, _ in kept:
        setattr(holder, name, None)
    try:
        yield
    finally:
        for holder, name, hooks in kept:
            setattr(holder, name, hooks)


def _leaves(outputs: list[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    """Return the leaves that outputs depend on other than through the inputs."""
    ends = {tensor.grad_fn for tensor in inputs if tensor.grad_fn is not None}
    nodes = nodes_behind([out.grad_fn for out in outputs], ends.__contains__)
    return [node.variable for node in nodes if isinstance(node, AccumulateGrad)]


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)


def node_inspection(node: Node) -> Inspection:
    """Run a node's rule on gradients of ones; the kernels of its operation, which do not run, are those of its plan.

    Raises:
        RuntimeError: the values saved by the node were freed by backward, or changed in place since.
        TypeError: the node is the end of a path, which would add to the gradient of a leaf.
    """
    if isinstance(node, AccumulateGrad):
        raise TypeError(
            "numgrad.inspect: this is the end of a path, which adds to the gradient of a leaf; inspect the "
            "grad_fn of a computed tensor"
        )
    if node.freed_by is not None:
        raise RuntimeError(
            f"numgrad.inspect: backward freed the values that {node.name()} saved; inspect it before backward, or call "
            "backward with retain_graph=True"
        )
    forward, notes = _forward(node)
    ones = [_ones(layout) for layout in node.outputs]

    def run() -> list[tuple[str, Launch]]:
        return launches_of("backward", lambda: _run_rule(node, ones))

    rule = run()
    if not isinstance(node, BackwardCFunction):  # a user's backward may have any effect
        rule = run_again(run, rule)
    if not rule:
        notes.append(_OWN_BACKWARD if isinstance(node, BackwardCFunction) else GRADIENT_PASSED_ON)
    output = f"{list(node.layout.shape)} {node.layout.type.dtype.name}"
    return Inspection(f"{node.name()}, output {output}", forward + inspected(rule), notes)


def _run_rule(node: Node, gradients: list[Tensor]) -> None:
    """Compute the gradients of a node's inputs, and sum those of broadcast inputs, as the engine does."""
    with no_grad():
        results = node.apply(gradients if node.more_outputs else gradients[0])
        for edge, gradient in zip(node.edges, results, strict=True):
            if edge is not None and gradient is not None and not isinstance(edge[0], DeadEnd):
                fit(gradient, edge[0].output(edge[1]), node, edge)


def _forward(node: Node) -> tuple[list[InspectedKernel], list[str]]:
    """Return the kernels of the operation that a node records, from its plan, or the reason why there are none."""
    if not isinstance(node, OpNode):
        return [], [f"{node.name()} does not record an operation of the table: inspect the function that was called."]
    if node.backward_plan.plan is None:
        return [], ["The forward runs no kernel: it makes a view."]
    kernels = planned_kernels(node.backward_plan.plan, "forward", node.layout.size)
    return kernels, [] if kernels else ["The forward runs no kernel."]


def _ones(layout: Layout) -> Tensor:
    return filled_of(layout.shape, 1, layout.type)
