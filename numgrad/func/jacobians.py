"""Jacobians and Hessians of functions, by rows or by columns, all at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.functional.jacobian import Parts, split_columns, split_rows, standard_basis
from ..core.tensor import Tensor
from .arguments import Argnums, Structure, at_argnums, flatten
from .derivatives import jvp, vjp
from .vmap import check_randomness, vmap


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The function that computes the Jacobian of ``func``, row by row, going backward.

    It suits functions of more inputs than outputs; others are better served by :func:`jacfwd`.

    Args:
        func: returns real tensors, one or a nested structure of them.
        argnums: the position of the argument to differentiate by, or a tuple of positions; the arguments there are
            real tensors or nested structures of them.
        has_aux: ``func`` returns a pair, of which the second is not differentiated; so does the new function:
            (jacobian, aux).
        chunk_size: how many rows are computed at once, all unless it is given.

    Returns:
        A function of the same arguments.  It gives, in the structure of the output of ``func``, for each output
        the derivatives by the argument, in the structure of that (a tuple, for a tuple of positions); each has the
        shape of the output followed by that of the input.

    Raises:
        ValueError: ``chunk_size`` is not positive; an input is no tensor.
        RuntimeError: when the function made is called: inputs or outputs are complex, or have no derivatives.

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
        found = vjp(function, primal, has_aux=has_aux)
        outputs, output_structure = flatten(found[0])
        _check_real("jacrev", inputs, outputs)
        basis = output_structure.unflatten(standard_basis(outputs))
        rows, _ = flatten(vmap(found[1], chunk_size=chunk_size)(basis))
        jacobian = _nested(split_rows(rows, outputs, inputs), output_structure, structure)
        return (jacobian, found[2]) if has_aux else jacobian

    return wrapper


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The function that computes the Jacobian of ``func``, column by column, in forward mode.

    It suits functions of no more inputs than outputs; others are better served by :func:`jacrev`.  Arguments, results
    and errors are those of that, but for ``randomness``, which is that of :func:`vmap`.

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

        found = vmap(column, randomness=randomness)(*standard_basis(inputs))
        columns, output_structure = flatten(found[0])
        _check_real("jacfwd", inputs, columns)
        jacobian = _nested(split_columns(columns, inputs), output_structure, structure)
        if not has_aux:
            return jacobian
        leaves, aux_structure = flatten(found[1])
        return jacobian, aux_structure.unflatten([leaf[0] for leaf in leaves])  # for every column the same

    return wrapper


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the Hessian of ``func``: the Jacobian, forward, of its Jacobian, backward.

    For an argument of shape (n) and an output without dimensions that is a tensor of shape (n, n).  Of nested
    arguments or outputs it is the nested structure that :func:`jacrev` gives, with such a structure for each leaf.

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
    """The parts in the structure of the inputs, within the structure of the outputs."""
    return output_structure.unflatten([structure.unflatten(row) for row in parts])
