"""Products of vectors with Jacobians and Hessians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..grad_mode import recording
from . import gradients
from .gradients import StrictErrors, Tensors


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the outputs of a function and the product of a vector with its Jacobian: ``v`` times J.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        v: for each output, a tensor of its shape; optional for a single output of one element, where it defaults to 1.
        create_graph: record the computation, so that both results can be differentiated.
        strict: raise an error instead of returning zeros if an output or a gradient does not depend on an input; with
            ``create_graph``, also if the gradient itself does not.

    Returns:
        The outputs, and for each input a tensor of its shape and dtype.

    Raises:
        TypeError: inputs, outputs or ``v`` are neither tensors nor tuples of tensors.
        RuntimeError: ``v`` is missing or its shapes are not those of the outputs; an independent output or gradient in
            strict mode.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0, 2.0])
        >>> numgrad.autograd.functional.vjp(lambda x: x**2, x, numgrad.tensor([1.0, 10.0]))
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with recording():
        inputs, several_in = gradients.as_tensors(inputs, "inputs", "vjp")
        inputs = gradients.prepared(inputs, create_graph)
        outputs, several_out = gradients.outputs_of(func, inputs, strict, "vjp")
        subject = "user-provided function returns"
        vectors = gradients.given_vectors(v, outputs, several_out, create_graph, "vjp", subject)
    product = gradients.products(outputs, inputs, vectors, inputs, gradients.JACOBIAN if strict else None, create_graph)
    return gradients.alone(gradients.cut(outputs, create_graph), several_out), gradients.alone(product, several_in)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the outputs of a function and the product of its Jacobian with a vector: J times ``v``.

    The product is computed by two backward passes: the product of a vector u with J is linear in u, and its derivative
    with respect to u gives J times ``v``.  :func:`numgrad.func.jvp` uses forward mode, at a lower cost.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        v: for each input, a tensor of its shape; optional for a single input of one element, where it defaults to 1.
        create_graph: record the computation, so that both results can be differentiated.
        strict: raise an error instead of returning zeros if an output or a gradient does not depend on an input; with
            ``create_graph``, also if the product itself does not.

    Returns:
        The outputs, and for each of them a tensor of its shape and dtype.

    Raises:
        TypeError: inputs, outputs or ``v`` are neither tensors nor tuples of tensors.
        RuntimeError: ``v`` is missing or its shapes are not those of the inputs; an output dtype is not differentiable;
            an independent output or gradient in strict mode.

    Example:
        >>> import numgrad
        >>> numgrad.autograd.functional.jvp(lambda x: x * x, numgrad.tensor([1.0, 2.0]), numgrad.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with recording():
        inputs, _, vectors = _inputs_and_vectors(inputs, v, create_graph, "jvp")
        outputs, several_out = gradients.outputs_of(func, inputs, strict, "jvp")
        weights, first = _for_unknowns(outputs, inputs, outputs, gradients.CONSTANT_GRADIENT if strict else None)
    errors = gradients.JACOBIAN_FORWARD if strict else None
    products = gradients.products(first, weights, vectors, outputs, errors, create_graph)
    return gradients.alone(gradients.cut(outputs, create_graph), several_out), gradients.alone(products, several_out)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the output of a scalar function and the product of a vector with its Hessian: ``v`` times H.

    For a symmetric Hessian, the product is that of :func:`hvp`, at a lower cost.

    Args:
        func: takes the inputs, returns a tensor of one element.
        inputs: a tensor or a tuple of tensors.
        v: for each input, a tensor of its shape; optional for a single input of one element, where it defaults to 1.
        create_graph: record the computation, so that both results can be differentiated.
        strict: raise an error instead of returning zeros if the output or its gradient does not depend on an input;
            with ``create_graph``, also if the product does not.

    Returns:
        The output, and for each input a tensor of its shape and dtype.

    Raises:
        TypeError: inputs, output or ``v`` are neither tensors nor tuples of tensors.
        RuntimeError: ``v`` is missing or its shapes are not those of the inputs; ``func`` does not return a single
            tensor of one element; an independent output or gradient in strict mode.

    Example:
        >>> import numgrad
        >>> numgrad.autograd.functional.vhp(lambda x: (x**3).sum(), numgrad.tensor([1.0, 2.0]), numgrad.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    with recording():
        inputs, several_in, vectors = _inputs_and_vectors(inputs, v, create_graph, "vhp")
        outputs, first = _value_and_gradient(func, inputs, strict, "vhp")
    products = gradients.products(first, inputs, vectors, inputs, gradients.HESSIAN if strict else None, create_graph)
    return gradients.alone(gradients.cut(outputs, create_graph), False), gradients.alone(products, several_in)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the output of a scalar function and the product of its Hessian with a vector: H times ``v``.

    The product is computed as :func:`jvp` of the gradient, by two more backward passes.  For functions with a symmetric
    Hessian, :func:`vhp` gives it at a lower cost.  Arguments, results and errors are those of :func:`vhp`.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0, 2.0])
        >>> numgrad.autograd.functional.hvp(lambda x: (x**3).sum(), x, numgrad.tensor([1.0, 10.0]))
        (tensor(9.), tensor([  6., 120.]))
    """
    with recording():
        inputs, several_in, vectors = _inputs_and_vectors(inputs, v, create_graph, "hvp")
        outputs, first = _value_and_gradient(func, inputs, strict, "hvp")
        weights, second = _for_unknowns(first, inputs, inputs, gradients.CONSTANT_HESSIAN if strict else None)
    errors = gradients.HESSIAN_FORWARD if strict else None
    products = gradients.products(second, weights, vectors, inputs, errors, create_graph)
    return gradients.alone(gradients.cut(outputs, create_graph), False), gradients.alone(products, several_in)


def _inputs_and_vectors(
    inputs: Any, v: Any, create_graph: bool, caller: str
) -> tuple[Tensors, bool, Tensors | None]:
    """Return the inputs for the computation, True if they are a tuple, and the vectors of their shapes."""
    tensors, several = gradients.as_tensors(inputs, "inputs", caller)
    tensors = gradients.prepared(tensors, create_graph)
    subject = "input to the user-provided function is"
    return tensors, several, gradients.given_vectors(v, tensors, several, create_graph, caller, subject)


def _value_and_gradient(
    func: Callable[..., Any], inputs: Tensors, strict: bool, caller: str
) -> tuple[Tensors, Tensors]:
    """Return the one output of a scalar function and its gradients, recorded."""
    outputs, several = gradients.outputs_of(func, inputs, strict, caller)
    gradients.check_scalar(outputs, several, caller)
    first = gradients.gradients(outputs, inputs, create_graph=True)
    gradients.check_recorded(first, gradients.CONSTANT_JACOBIAN if strict else None)
    return outputs, first


def _for_unknowns(
    outputs: Tensors, inputs: Tensors, like: Tensors, strict: StrictErrors | None
) -> tuple[Tensors, Tensors]:
    """Return unknown vectors and their recorded products with the Jacobian.

    The products are linear in the vectors, so any values serve, here 0.  The outputs, some of which may be None, have
    the shapes and dtypes of the tensors ``like``.
    """
    unknowns = tuple([tensor.new_zeros(tensor.shape).requires_grad_() for tensor in like])
    products = gradients.gradients(outputs, inputs, unknowns, create_graph=True)
    gradients.check_recorded(products, strict)
    return unknowns, products
