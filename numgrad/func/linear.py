"""The linear approximation of a function at a point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import is_grad_enabled
from .arguments import check_outputs
from .recording import Recording
from .trees import flatten


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The output of a function at a point, and the function that multiplies its Jacobian there with a vector.

    ``func`` is called once.  Its graph is gone through backward with a vector of unknowns, u times J, which is linear
    in u; the derivative of that by u is J, and each product costs a pass over what was saved.  For few products
    :func:`jvp` is cheaper, and needs less memory.

    Args:
        func: returns a tensor or a nested structure of tensors.
        primals: its arguments: tensors of floating point or complex dtype, or nested structures of them.

    Returns:
        ``(output, jvp_fn)``; ``jvp_fn`` takes vectors in the structure of the primals, of their shapes and dtypes, and
        returns the product in the structure of the output.

    Raises:
        RuntimeError: ``func`` returns something else than tensors; in ``jvp_fn``, if structure, a shape or a dtype
            differ.
        ValueError: a primal is no tensor.

    Example:
        >>> import numgrad
        >>> value, jvp_fn = numgrad.func.linearize(lambda x: x**2, numgrad.tensor([1.0, 2.0]))
        >>> value, jvp_fn(numgrad.tensor([1.0, 10.0]))
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    tape = Recording()
    with tape:
        points, structure = flatten(primals)
        inputs = [tape.input(point) for point in points]
        outputs, output_structure = flatten(func(*structure.unflatten(inputs)))
        check_outputs(outputs, "linearize(f, *primals)")
        differentiable = [output for output in outputs if output.requires_grad]
        unknowns = [tape.input(output.detach().new_zeros(output.shape)) for output in differentiable]
        products = tape.gradients(differentiable, inputs, unknowns, retain_graph=True, create_graph=True)
    pairs = [(index, product) for index, product in enumerate(products) if product is not None]
    concerns_caller = tape.concerns_caller([product for _, product in pairs])
    value = output_structure.unflatten(tape.returned(outputs, tape.by_caller))

    def jvp_fn(*tangents: Any) -> Any:
        """The product of the Jacobian with the tangents, one for each of the primals."""
        vectors, given = flatten(tangents)
        if given != structure:
            raise RuntimeError(f"Expected the tangents {given} to have the same argspec as the primals {structure}")
        for index, (vector, point) in enumerate(zip(vectors, points, strict=True)):
            for what, of_vector, of_point in (
                ("shape", vector.shape, point.shape), ("device", vector.device, point.device),
                ("dtype", vector.dtype, point.dtype),
            ):
                if of_vector != of_point:
                    raise RuntimeError(
                        f"tangent:{index} with {what} {of_vector} in flattened pytree doesn't match the {what} "
                        f"{of_point} of the corresponding primal."
                    )
        recorded = is_grad_enabled()
        needed = concerns_caller or tape.concerns_caller(vectors)
        found = iter(tape.gradients(
            [product for _, product in pairs],
            unknowns,
            [vectors[index] for index, _ in pairs],
            retain_graph=True,
            create_graph=recorded and needed,
        ))
        results = [next(found) if output.requires_grad else None for output in outputs]
        filled = [
            output.detach().new_zeros(output.shape) if result is None else result
            for result, output in zip(results, outputs, strict=True)
        ]
        return output_structure.unflatten(tape.returned(filled, recorded))

    return value, jvp_fn
