"""Jacobians and Hessians of functions, computed as a batch of rows or columns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.functional.jacobian import Parts, split_columns, split_rows, standard_basis
from ..core.nesting import Structure, flatten
from ..tensors.tensor import Tensor
from .arguments import Argnums, at_argnums
from .derivatives import jvp, vjp
from .vmap import check_randomness, vmap


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of ``func`` row by row, in reverse mode.

    Reverse mode suits functions with more inputs than outputs; for others, :func:`jacfwd` is faster.

    Args:
        func: returns real tensors, one or a nested structure of them.
        argnums: the position of the argument to differentiate with respect to, or a tuple of positions; the arguments
            there are real tensors or nested structures of them.
        has_aux: ``func`` returns a pair whose second part is not differentiated; the new function then returns
            (jacobian, aux).
        chunk_size: the number of rows computed at once, by default all.

    Returns:
        A function of the same arguments.  Its result has the structure of the output of ``func``.  For each output, it
        contains the derivatives with respect to the argument, in the argument's structure, or in a tuple for a tuple of
        positions.  Each has the shape of the output followed by that of the input.

    Raises:
        ValueError: ``chunk_size`` is not positive, or an input is not a tensor.
        RuntimeError: in the new function, if inputs or outputs are complex or not differentiable.

    Example:
        >>> import numgrad
        >>> numgrad.func.jacrev(lambda x: x**2)(numgrad.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        function, primal = at_argnums(func, argnums, args, {})
        inputs, structure = flatten(primal)
        results = vjp(function, primal, has_aux=has_aux)
        outputs, output_structure = flatten(results[0])
        _check_real("jacrev", inputs, outputs)
        basis = output_structure.unflatten(standard_basis(outputs))
        rows, _ = flatten(vmap(results[1], chunk_size=chunk_size)(basis))
        jacobian = _nested(split_rows(rows, outputs, inputs), output_structure, structure)
        return (jacobian, results[2]) if has_aux else jacobian

    return wrapper


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of ``func`` column by column, in forward mode.

    Forward mode suits functions with no more inputs than outputs; for others, :func:`jacrev` is faster.  Arguments,
    results and errors are those of :func:`jacrev`, except for ``randomness``, which is that of :func:`vmap`.

    Example:
        >>> import numgrad
        >>> numgrad.func.jacfwd(lambda x: x**2)(numgrad.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    check_randomness(randomness)

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        function, primal = at_argnums(func, argnums, args, {})
        inputs, structure = flatten(primal)
        for tensor in inputs:
            if not isinstance(tensor, Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(tensor)}")

        def column(*tangents: Any) -> Any:
            return jvp(function, (primal,), (structure.unflatten(tangents),), has_aux=has_aux)[1:]

        results = vmap(column, randomness=randomness)(*standard_basis(inputs))
        columns, output_structure = flatten(results[0])
        _check_real("jacfwd", inputs, columns)
        jacobian = _nested(split_columns(columns, inputs), output_structure, structure)
        if not has_aux:
            return jacobian
        leaves, aux_structure = flatten(results[1])
        return jacobian, aux_structure.unflatten([leaf[0] for leaf in leaves])  # the same for every column

    return wrapper


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of ``func``: the forward-mode Jacobian of its reverse-mode Jacobian.

    For an argument of shape (n) and an output without dimensions, it is a tensor of shape (n, n).  For nested arguments
    or outputs, it is the nested structure of :func:`jacrev`, with such a structure for each leaf.

    Example:
        >>> import numgrad
        >>> numgrad.func.hessian(lambda x: (x**3).sum())(numgrad.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _check_real(name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
    for which, tensors in (("inputs", inputs), ("outputs", outputs)):
        for index, tensor in enumerate(tensors):
            if tensor.is_complex():
                raise RuntimeError(
                    f"{name}: Expected all {which} to be real but received complex tensor at flattened input idx: "
                    f"{index}"
                )


def _nested(parts: Parts, output_structure: Structure, structure: Structure) -> Any:
    """Return the parts in the structure of the inputs, nested in the structure of the outputs."""
    return output_structure.unflatten([structure.unflatten(row) for row in parts])
