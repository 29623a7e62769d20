"""Automatic differentiation: walking back through what was recorded.

Nothing in this package knows an operation; see ``numgrad.ops`` for those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._missing import missing_from
from . import anomaly_mode, function, grad_mode, graph
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .engine import run_backward
from .function import Function
from .grad_mode import enable_grad, no_grad, set_grad_enabled
from .node import edge_of
from .operations import operations
from .variable import Variable, check_gradient, is_tensor, mismatch, ones_for

__all__ = [
    "Function", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "function", "grad",
    "grad_mode", "graph", "no_grad", "set_detect_anomaly", "set_grad_enabled",
]


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Compute the gradients of ``tensors`` and add them to the ``grad`` of the leaves of their graph.

    Args:
        tensors: one tensor or several.
        grad_tensors: for each its gradient, of its shape; None for a tensor of one element means 1.
        retain_graph: keep what was saved for backward, so that the graph can be gone through again; by default as
            ``create_graph``.
        create_graph: record the computation of the gradients, so that they can be differentiated.
        inputs: accumulate only into these tensors.

    Raises:
        RuntimeError: a tensor needs no gradient, a gradient is missing or has another shape, the graph was freed,
            or a saved tensor was modified.
    """
    outputs = _as_tuple(tensors)
    roots = _roots(outputs, _as_tuple(grad_tensors, len(outputs)))
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run_backward(roots, retain_graph=keep, create_graph=create_graph)
        return
    wanted = _as_tuple(inputs)
    if not wanted:
        raise RuntimeError("'inputs' argument to backward() cannot be empty.")
    places = _places(wanted)
    for tensor in wanted:
        tensor.retain_grad()  # does nothing to a leaf
    run_backward(roots, retain_graph=keep, create_graph=create_graph, captures=places, accumulate=True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of ``outputs`` (their sum, weighted with ``grad_outputs``) with respect to ``inputs``.

    Nothing is accumulated in any ``grad``.  An input that the outputs do not depend on is an error unless
    ``allow_unused``, and then has the gradient None, or zeros with ``materialize_grads``.  ``only_inputs`` is there for
    old programs and does nothing.

    Raises:
        RuntimeError: as :func:`backward`, or an input is unused.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got False.")
    results = _as_tuple(outputs)
    wanted = _as_tuple(inputs)
    if not wanted:
        raise RuntimeError("'inputs' argument to grad() cannot be empty.")
    roots = _roots(results, _as_tuple(grad_outputs, len(results)))
    keep = create_graph if retain_graph is None else retain_graph
    gradients = run_backward(roots, retain_graph=keep, create_graph=create_graph, captures=_places(wanted))
    for position, gradient in enumerate(gradients):
        if gradient is None:
            if materialize_grads:
                gradients[position] = operations.zeros(wanted[position]._shape, wanted[position]._type)
            elif not allow_unused:
                raise RuntimeError(
                    "One of the differentiated Tensors appears to not have been used in the graph. Set "
                    f"allow_unused=True if this is the desired behavior. (It is input {position}, of shape "
                    f"{list(wanted[position]._shape)}.)"
                )
    return tuple(gradients)


def _as_tuple(values: Any, count: int = 0) -> tuple[Any, ...]:
    if values is None:
        return (None,) * count
    return (values,) if is_tensor(values) else tuple(values)


def _roots(outputs: tuple[Any, ...], gradients: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """Where backward starts, and with which gradients."""
    if len(outputs) != len(gradients):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    roots = []
    for index, (output, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        if not is_tensor(output):
            raise TypeError(f"element {index} of tensors must be a Tensor, not {type(output).__name__}")
        edge = edge_of(output)
        if edge is None:
            raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
        if gradient is None:
            if output.numel() != 1:
                raise RuntimeError(
                    f"grad can be implicitly created only for scalar outputs, not for shape {list(output._shape)}"
                )
            gradient = ones_for(output)
        elif check_gradient(gradient)._shape != output._shape:
            raise mismatch(index, gradient._shape, output._shape)
        else:
            gradient._shared = True
        roots.append((edge, gradient))
    return roots


def _places(inputs: tuple[Any, ...]) -> list[tuple[Any, int]]:
    places = []
    for index, tensor in enumerate(inputs):
        if not is_tensor(tensor):
            raise TypeError(f"element {index} of inputs must be a Tensor, not {type(tensor).__name__}")
        edge = edge_of(tensor)
        if edge is None:
            raise RuntimeError(
                f"One of the differentiated Tensors does not require grad (input {index}, of shape "
                f"{list(tensor._shape)})"
            )
        places.append(edge)
    return places


if not TYPE_CHECKING:
    __getattr__ = missing_from(globals(), "autograd")
