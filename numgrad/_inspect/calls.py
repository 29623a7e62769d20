"""The kernels that a call of a function runs, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._tensor import Tensor
from ..autograd.backward import grad
from ..autograd.node import AccumulateGrad, Node
from ..devices.launches import Launch, listening
from ..ops.creation.filled import ones_like
from ..random import default_generator
from .inspection import Inspection
from .kernels import inspected

__all__ = ["call", "own_function", "repeated", "told"]

#: Runs of what may be run again: in the first one memory and caches are cold.
RUNS = 3


def call(title: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inspection:
    """Call a function and tell of the kernels that ran, then and in backward."""
    given = list(_tensors((getattr(function, "__self__", None), args, kwargs)))  # a method's tensor, too
    versions = [tensor._counter[0] for tensor in given]
    random = default_generator.state_bytes()

    def run() -> list[tuple[str, Launch]]:
        outs: list[Any] = []
        launches = told("forward", lambda: outs.append(function(*args, **kwargs)))
        return launches + _backward(given, outs)

    launches = run()
    notes = []
    # A function of one's own may do anything; numgrad's can be run again, unless they change or draw something.
    unchanged = versions == [tensor._counter[0] for tensor in given]
    if own_function(function) and unchanged and random == default_generator.state_bytes():
        launches = repeated(run, launches)
    if not launches:
        notes.append("No kernel ran.")
    elif all(stage == "forward" for stage, _ in launches):
        notes.append("Nothing that it was given or uses requires a gradient, so no backward kernel ran.")
    return Inspection(title, inspected(launches), notes)


def told(stage: str, function: Callable[[], Any]) -> list[tuple[str, Launch]]:
    """The kernels that a function runs, with the stage in which it does."""
    found: list[Launch] = []
    with listening(found.append):
        function()
    return [(stage, launch) for launch in found]


def repeated(run: Callable[[], list[Any]], first: list[Any]) -> list[Any]:
    """What the runs after the first tell, too."""
    return first + [launch for _ in range(RUNS - 1) for launch in run()]


def own_function(function: Any) -> bool:
    """Whether a function is one of numgrad's."""
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__name__", "_")
    return module.partition(".")[0] == "numgrad" and not name.endswith("_") and not isinstance(function, type)


def _backward(given: list[Tensor], outs: Any) -> list[tuple[str, Launch]]:
    """The kernels that the gradients run of what was given and of the leaves that the function knows."""
    outputs = [out for out in _tensors(outs) if out.grad_fn is not None and out._type.dtype.differentiable]
    inputs = [tensor for tensor in given if tensor.requires_grad]
    inputs += [leaf for leaf in _leaves(outputs, inputs) if not any(leaf is other for other in inputs)]
    if not outputs or not inputs:
        return []
    gradients = [ones_like(out) for out in outputs]
    # retain_graph: what was given may have been computed, and its graph is still the caller's
    return told("backward", lambda: grad(outputs, inputs, gradients, retain_graph=True, allow_unused=True))


def _leaves(outputs: list[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    """The leaves that outputs depend on other than through the inputs."""
    ends = {tensor.grad_fn for tensor in inputs if tensor.grad_fn is not None}
    stack: list[Node] = [out.grad_fn for out in outputs if out.grad_fn not in ends]
    seen, leaves = set(stack), []
    while stack:
        node = stack.pop()
        if isinstance(node, AccumulateGrad):
            leaves.append(node.variable)
        for edge in node.edges:
            if edge is not None and edge[0] not in seen and edge[0] not in ends:
                seen.add(edge[0])
                stack.append(edge[0])
    return leaves


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)
