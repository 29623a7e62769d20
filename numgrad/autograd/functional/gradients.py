"""The gradients that ``functional`` computes with: None where there are none, and what is made of that."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from ..backward import grad
from ..grad_mode import state
from ..levels import Tangents
from .arguments import INDEPENDENT, Tensors


class Strictness(enum.Enum):
    """What strict mode says of gradients of the first or second order, computed directly or by going backward twice.

    Two messages: for a gradient that is not there, and for one that is not in a graph although one was asked for.
    """

    FIRST = (
        INDEPENDENT,
        "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode "
        "when create_graph=True.",
    )
    FIRST_BY_TWO = (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
        "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
        FIRST[1],
    )
    SECOND = (
        "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode.",
        "The hessian of the user-provided function is independent of input {}. This is not allowed in strict mode "
        "when create_graph=True.",
    )
    SECOND_BY_TWO = (
        "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not "
        "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
        SECOND[1],
    )


def gradients(
    outputs: Tensors,
    inputs: Tensors,
    vectors: Tensors | None = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> Tensors:
    """As :func:`numgrad.autograd.grad`, of those outputs that are in a graph; None for each input without a gradient.

    Outputs may be None.

    Raises:
        RuntimeError: the outputs are of a level of ``vmap`` and an input is not: its gradient could not be found.
    """
    _check_levels([output for output in outputs if output is not None], inputs)
    given = (None,) * len(outputs) if vectors is None else vectors
    pairs = [
        (output, vector)
        for output, vector in zip(outputs, given, strict=True)
        if output is not None and output.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    found, weights = zip(*pairs, strict=True)
    return grad(found, inputs, weights, retain_graph, create_graph, allow_unused=True)


def _check_levels(outputs: Sequence[Any], inputs: Tensors) -> None:
    level = state.level
    while level is not None:
        own = not isinstance(level, Tangents) and any(map(level.concerns, outputs))
        if own and not all(map(level.concerns, inputs)):
            raise RuntimeError(
                "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* "
                "APIs) inside of a function being transformed by a functorch transform. This is unsupported for what "
                "all examples of vmap have in common, please attempt to use the functorch transforms (e.g. grad, vjp, "
                "jacrev, jacfwd, hessian)."
            )
        level = level.outer


def filled(found: Tensors, like: Tensors, strictness: Strictness | None, create_graph: bool) -> Tensors:
    """The gradients with zeros for those that are None, of the shape and dtype of the tensors ``like``.

    Raises:
        RuntimeError: in strict mode one is None or, with ``create_graph``, is not in a graph.
    """
    if strictness is not None:
        missing, constant = strictness.value
        for index, gradient in enumerate(found):
            if gradient is None:
                raise RuntimeError(missing.format(index))
            if create_graph and not gradient.requires_grad:
                raise RuntimeError(constant.format(index))
    return tuple([
        tensor.new_zeros(tensor.shape) if gradient is None else gradient
        for gradient, tensor in zip(found, like, strict=True)
    ])
