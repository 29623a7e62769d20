"""What the functions of ``functional`` are given and give: tensors, alone or in tuples, and the checks of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..checks import is_tensor

Tensors = tuple[Any, ...]

#: What errors call that which the differentiated function returns.
OUTPUT = "outputs of the user-provided function"

INDEPENDENT = (
    "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
)
OUTPUT_IS_CONSTANT = (
    "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode."
)
GRADIENT_IS_CONSTANT = (
    "The gradient with respect to input {} is independent of the inputs of the user-provided function. This is not "
    "allowed in strict mode."
)
JACOBIAN_IS_CONSTANT = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example)."
)
HESSIAN_IS_CONSTANT = (
    "The hessian of the user-provided function with respect to input {} is independent of the input. This is not "
    "allowed in strict mode. You should ensure that your function is thrice differentiable and that the hessian "
    "depends on the inputs."
)


def as_tensors(value: Any, what: str, caller: str) -> tuple[Tensors, bool]:
    """The tensors that ``value`` is or holds, and whether it is a tuple.

    Raises:
        TypeError: it is neither a tensor nor a tuple of tensors; the error calls it ``what``, given to ``caller``.
    """
    if is_tensor(value):
        return (value,), False
    wrong = None
    if not isinstance(value, tuple):
        wrong = f"given {what} has type {type(value)}"
    else:
        for index, element in enumerate(value):
            if not is_tensor(element):
                wrong = f"value at index {index} has type {type(element)}"
                break
    if wrong is not None:
        raise TypeError(f"The {what} given to {caller} must be either a Tensor or a tuple of Tensors but the {wrong}.")
    return value, True


def alone(values: Tensors, several: bool) -> Any:
    """The tuple where there are several, else what is in it."""
    return values if several else values[0]


def prepared(tensors: Tensors, create_graph: bool, need_graph: bool = True) -> Tensors:
    """Other tensors on the same memory to compute with.

    With ``create_graph`` they are in the graph of those that require gradients; the others are leaves, which require
    gradients with ``need_graph``.
    """
    return tuple([
        tensor.view_as(tensor) if create_graph and tensor.requires_grad else tensor.detach().requires_grad_(need_graph)
        for tensor in tensors
    ])


def cut(tensors: Tensors, create_graph: bool) -> Tensors:
    """The tensors as they are returned: without their graph, unless it was asked for."""
    return tensors if create_graph else tuple([tensor.detach() for tensor in tensors])


def check_vectors(vectors: Tensors, like: Tensors, several: bool) -> None:
    """Raise unless there is one vector for each tensor of ``like``, of its shape.

    Raises:
        RuntimeError: there is not; ``several`` says whether the user gave these tensors as a tuple.
    """
    if len(vectors) != len(like):
        if several:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for index, (vector, tensor) in enumerate(zip(vectors, like, strict=True)):
        if vector.shape != tensor.shape:
            which = f"Entry {index} in " if several else ""
            raise RuntimeError(f"{which}v has invalid size: should be {tensor.shape} but got {vector.shape}.")


def check_one_element(tensors: Tensors, which: str) -> None:
    """Raise unless it is one tensor of one element, so that no vector need be given; ``which`` says what it is.

    Raises:
        RuntimeError: it is not.
    """
    if len(tensors) != 1 or tensors[0].numel() != 1:
        raise RuntimeError(
            f"The vector v can only be None if the {which} a single Tensor with a single element."
        )


def check_scalar(outputs: Tensors, several: bool, caller: str) -> None:
    """Raise unless the function returned one tensor, not in a tuple, of one element.

    Raises:
        RuntimeError: it did not.
    """
    if several:
        raise RuntimeError(f"The function given to {caller} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {caller} should contain a single element")


def check_recorded(tensors: Sequence[Any], message: str) -> None:
    """Raise if a gradient is None, or if one of the tensors is not in a graph: the check of strict mode.

    Raises:
        RuntimeError: with ``message`` for the latter.
    """
    for index, tensor in enumerate(tensors):
        if tensor is None:
            raise RuntimeError(INDEPENDENT.format(index))
        if not tensor.requires_grad:
            raise RuntimeError(message.format(index))
