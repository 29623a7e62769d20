"""Arguments, results, gradients and checks for ``functional``: single tensors and tuples of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..backward import grad
from ..checks import is_tensor
from ..grad_mode import is_grad_enabled, set_grad_enabled, state
from ..levels import Tangents, outwards

Tensors = tuple[Any, ...]

#: Errors of strict mode: for a missing gradient, and with ``create_graph`` for a gradient that is not in a graph.
#: Products with a Jacobian or Hessian in forward mode take two backward passes and have errors of their own.
StrictErrors = tuple[str, str]

#: Error for an output or a derivative, named at its start, that does not depend on an input.
INDEPENDENT = "{} of the user-provided function is independent of input {{}}. This is not allowed in strict mode{}."

_OUTPUT = INDEPENDENT.format("The output", "")

JACOBIAN: StrictErrors = (_OUTPUT, INDEPENDENT.format("The jacobian", " when create_graph=True"))
JACOBIAN_FORWARD: StrictErrors = (
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    JACOBIAN[1],
)
HESSIAN: StrictErrors = (
    INDEPENDENT.format("The jacobian", ""),
    INDEPENDENT.format("The hessian", " when create_graph=True"),
)
HESSIAN_FORWARD: StrictErrors = (
    "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not "
    "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
    HESSIAN[1],
)

#: Errors for values that are differentiated further: outputs, and first and second derivatives.
CONSTANT_OUTPUT: StrictErrors = _OUTPUT, (
    "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode."
)
CONSTANT_GRADIENT: StrictErrors = _OUTPUT, (
    "The gradient with respect to input {} is independent of the inputs of the user-provided function. This is not "
    "allowed in strict mode."
)
CONSTANT_JACOBIAN: StrictErrors = _OUTPUT, (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example)."
)
CONSTANT_HESSIAN: StrictErrors = _OUTPUT, (
    "The hessian of the user-provided function with respect to input {} is independent of the input. This is not "
    "allowed in strict mode. You should ensure that your function is thrice differentiable and that the hessian "
    "depends on the inputs."
)


def as_tensors(value: Any, name: str, caller: str) -> tuple[Tensors, bool]:
    """Return the tensors that ``value`` is or contains, and True if it is a tuple.

    Raises:
        TypeError: it is neither a tensor nor a tuple of tensors; the message calls it ``name``, given to ``caller``.
    """
    if is_tensor(value):
        return (value,), False
    if isinstance(value, tuple):
        wrong = [f"value at index {n} has type {type(item)}" for n, item in enumerate(value) if not is_tensor(item)]
    else:
        wrong = [f"given {name} has type {type(value)}"]
    if wrong:
        raise TypeError(
            f"The {name} given to {caller} must be either a Tensor or a tuple of Tensors but the {wrong[0]}."
        )
    return value, True


def outputs_of(func: Callable[..., Any], inputs: Tensors, strict: bool, caller: str) -> tuple[Tensors, bool]:
    """Return the tensors that a function returns, and True if it returns a tuple.

    Raises:
        TypeError: it returns neither a tensor nor a tuple of tensors.
        RuntimeError: in strict mode, one of them is not in a graph.
    """
    outputs, several = as_tensors(func(*inputs), "outputs of the user-provided function", caller)
    check_recorded(outputs, CONSTANT_OUTPUT if strict else None)
    return outputs, several


def alone(values: Tensors, several: bool) -> Any:
    """Return the tuple if ``several``, otherwise its only element."""
    return values if several else values[0]


def prepared(tensors: Tensors, create_graph: bool, need_graph: bool = True) -> Tensors:
    """Return other tensors on the same memory, for the computation.

    With ``create_graph``, those of tensors that require gradients are in their graph.  The others are leaves, which
    require gradients with ``need_graph``.
    """
    return tuple([
        tensor.view_as(tensor) if create_graph and tensor.requires_grad else tensor.detach().requires_grad_(need_graph)
        for tensor in tensors
    ])


def cut(tensors: Tensors, create_graph: bool) -> Tensors:
    """Return the tensors for the caller, detached unless ``create_graph`` is set."""
    return tensors if create_graph else tuple([tensor.detach() for tensor in tensors])


def given_vectors(
    v: Any, like: Tensors, several: bool, create_graph: bool, caller: str, subject: str
) -> Tensors | None:
    """Return the vectors ``v`` to multiply with, one of the same shape per tensor of ``like``; None stands for 1.

    Raises:
        TypeError: ``v`` is neither a tensor nor a tuple of tensors.
        RuntimeError: the vectors do not match the tensors, which the user passed as a tuple if ``several``; or ``v`` is
            None and ``like``, named ``subject`` in the message, is not a single tensor of one element.
    """
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the {subject} a single Tensor with a single element."
            )
        return None
    vectors = prepared(as_tensors(v, "v", caller)[0], create_graph, need_graph=False)
    if len(vectors) != len(like):
        if several:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for index, (vector, tensor) in enumerate(zip(vectors, like, strict=True)):
        if vector.shape != tensor.shape:
            which = f"Entry {index} in " if several else ""
            raise RuntimeError(f"{which}v has invalid size: should be {tensor.shape} but got {vector.shape}.")
    return vectors


def check_scalar(outputs: Tensors, several: bool, caller: str) -> None:
    """Raise unless the function returned a single tensor of one element, not in a tuple.

    Raises:
        RuntimeError: it returned a tuple or several elements.
    """
    if several:
        raise RuntimeError(f"The function given to {caller} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {caller} should contain a single element")


def check_recorded(tensors: Sequence[Any], errors: StrictErrors | None, in_graph: bool = True) -> None:
    """Check gradients in strict mode, in which ``errors`` is set: none may be None or, with ``in_graph``, lack a graph.

    Raises:
        RuntimeError: with one of the ``errors``.
    """
    if errors is None:
        return
    missing, constant = errors
    for index, tensor in enumerate(tensors):
        if tensor is None:
            raise RuntimeError(missing.format(index))
        if in_graph and not tensor.requires_grad:
            raise RuntimeError(constant.format(index))


# -- gradients -----------------------------------------------------------------------------------------------


def gradients(
    outputs: Tensors,
    inputs: Tensors,
    vectors: Tensors | None = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> Tensors:
    """Return gradients as :func:`gradients_of_recorded`; without vectors, outputs must have one element.

    Raises:
        RuntimeError: the outputs belong to a level of ``vmap`` and an input does not, so its gradient would be lost.
    """
    _check_levels([output for output in outputs if output is not None], inputs)
    weights = (None,) * len(outputs) if vectors is None else vectors
    return gradients_of_recorded(outputs, inputs, weights, retain_graph, create_graph)


def gradients_of_recorded(
    outputs: Sequence[Any], inputs: Sequence[Any], vectors: Sequence[Any], retain_graph: bool | None, create_graph: bool
) -> Tensors:
    """Return the gradients of outputs in a graph as :func:`numgrad.autograd.grad` does; None for an unused input.

    Outputs may be None.
    """
    pairs = [
        (output, vector)
        for output, vector in zip(outputs, vectors, strict=True)
        if output is not None and output.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    recorded, weights = zip(*pairs, strict=True)
    return grad(recorded, inputs, weights, retain_graph, create_graph, allow_unused=True)


def _check_levels(outputs: Sequence[Any], inputs: Tensors) -> None:
    for level in outwards(state.level):
        by_call = not isinstance(level, Tangents) and any(map(level.concerns, outputs))
        if by_call and not all(map(level.concerns, inputs)):
            raise RuntimeError(
                "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* "
                "APIs) inside of a function being transformed by a functorch transform. This is unsupported for what "
                "all examples of vmap have in common, please attempt to use the functorch transforms (e.g. grad, vjp, "
                "jacrev, jacfwd, hessian)."
            )


def filled(values: Tensors, like: Tensors, strict: StrictErrors | None, create_graph: bool) -> Tensors:
    """Return the gradients with None replaced by zeros of the shape and dtype of the tensors ``like``.

    Raises:
        RuntimeError: with one of the errors ``strict``, if one is None or, with ``create_graph``, is not in a graph.
    """
    check_recorded(values, strict, create_graph)
    return materialized(values, like)


def materialized(values: Iterable[Any], like: Iterable[Any]) -> Tensors:
    """Return gradients or tangents with None replaced by zeros of the shape and dtype of the tensors ``like``."""
    return tuple([
        tensor.new_zeros(tensor.shape) if value is None else value for value, tensor in zip(values, like, strict=True)
    ])


def products(
    outputs: Tensors, inputs: Tensors, vectors: Tensors | None, like: Tensors, strict: StrictErrors | None,
    create_graph: bool,
) -> Tensors:  # fmt: skip
    """Return the gradients of the outputs, weighted with the vectors, with the shapes and dtypes of ``like``.

    Raises:
        RuntimeError: as :func:`gradients` and :func:`filled`.
    """
    with set_grad_enabled(create_graph or is_grad_enabled()):
        values = gradients(outputs, inputs, vectors, create_graph)
        return cut(filled(values, like, strict, create_graph), create_graph)
