"""The kernels that a call of a function runs, forward and backward."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...autograd.backward import grad
from ...autograd.node import AccumulateGrad, edge_of
from ...autograd.order import nodes_behind
from ...core.tensor import Tensor
from ...devices.launches import Launch, listening
from ...ops.creation.filled import ones_like
from ...random import Generator, default_generators
from .inspection import Inspection
from .kernels import inspected

HANDED_ON = "Backward runs no kernel: the gradient is handed on as it is, or as a view of it."

#: Runs of what may be run again: in the first one memory and caches are cold.
RUNS = 3

#: Where numgrad has functions that do nothing but compute, unlike ``Tensor.backward`` or an optimizer's ``step``.
_COMPUTING = ("numgrad.ops.", "numgrad.nn.functional.", "numgrad.linalg.", "numgrad.special.")


def call(title: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inspection:
    """Call a function and tell of the kernels that ran, then and in backward."""
    given = list(_tensors((getattr(function, "__self__", None), args, kwargs)))  # a method's tensor, too
    named = [value for value in (*args, *kwargs.values()) if isinstance(value, Generator)]

    def state() -> list[Any]:
        generators = [*default_generators(), *named]
        return [*[tensor._counter[0] for tensor in given], *[generator.state_bytes() for generator in generators]]

    before = state()
    notes: list[str] = []

    def run() -> list[tuple[str, Launch]]:
        outs: list[Any] = []
        launches = told("forward", lambda: outs.append(function(*args, **kwargs)))
        backward = _backward(given, outs)
        if launches and not backward:
            notes[:] = [
                "Nothing that it was given or uses requires a gradient, so no backward kernel ran."
                if backward is None
                else HANDED_ON
            ]
        return launches + (backward or [])

    launches = run()
    # A function of one's own may do anything; numgrad's can be run again, unless they change or draw something.
    if own_function(function) and state() == before:
        launches = repeated(run, launches)
    if not launches:
        notes.append("No kernel ran: views need none, and NumPy fills and copies memory by itself.")
    return Inspection(title, inspected(launches), notes)


def told(stage: str, function: Callable[[], Any]) -> list[tuple[str, Launch]]:
    """The kernels that a function runs in this thread, with the stage in which it does."""
    found: list[Launch] = []
    with listening(found.append):
        function()
    return [(stage, launch) for launch in found if launch.thread == threading.get_ident()]


def repeated(run: Callable[[], list[Any]], first: list[Any]) -> list[Any]:
    """What the runs after the first tell, too."""
    return first + [launch for _ in range(RUNS - 1) for launch in run()]


def own_function(function: Any) -> bool:
    """Whether a function is one of numgrad's that only compute."""
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__name__", "_")
    return f"{module}.".startswith(_COMPUTING) and not name.endswith("_") and not isinstance(function, type)


def _backward(given: list[Tensor], outs: Any) -> list[tuple[str, Launch]] | None:
    """The kernels that the gradients run of what was given and of the leaves that the function knows; None without."""
    outputs = [out for out in _tensors(outs) if out.grad_fn is not None and out._layout.type.dtype.differentiable]
    inputs = [tensor for tensor in given if tensor.requires_grad]
    inputs += [leaf for leaf in _leaves(outputs, inputs) if not any(leaf is other for other in inputs)]
    if not outputs or not inputs:
        return None
    gradients = [ones_like(out) for out in outputs]
    with _without_hooks(inputs):
        # retain_graph: what was given may have been computed, and its graph is still the caller's
        return told("backward", lambda: grad(outputs, inputs, gradients, retain_graph=True, allow_unused=True))


@contextmanager
def _without_hooks(tensors: list[Tensor]) -> Iterator[None]:
    """Do not run the hooks of these tensors, nor retain their gradients: both are for the caller's own backward."""
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
    """The leaves that outputs depend on other than through the inputs."""
    ends = {tensor.grad_fn for tensor in inputs if tensor.grad_fn is not None}
    found = nodes_behind([out.grad_fn for out in outputs], ends)
    return [node.variable for node in found if isinstance(node, AccumulateGrad)]


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)
