"""Forward mode as a transform of functions: products of Jacobians with vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.checks import is_tensor
from ..autograd.forward_ad import dual_tensor, primal_and_tangent
from ..autograd.levels import Tangents
from .arguments import check_outputs, split_aux
from .trees import flatten, map_leaves

_JVP = "jvp(f, primals, tangents)"


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """The output of a function, and the product of its Jacobian with a vector, computed going forward.

    Args:
        func: returns a tensor or a nested structure of tensors.
        primals: the tuple of its arguments: tensors of floating point or complex dtype, or nested structures of them.
        tangents: the vector, in the structure of the primals, of their shapes.
        strict: raise an error, rather than give zeros, for an output that does not depend on the primals.
        has_aux: ``func`` returns a pair, of which the second is tensors that are not differentiated.

    Returns:
        ``(output, product)``, with ``has_aux`` ``(output, product, aux)``; the product has the structure, shapes and
        dtypes of the output.  Both may be differentiated in turn.

    Raises:
        RuntimeError: ``primals`` is no tuple, or ``tangents`` has another structure or other shapes; one of them or
            the output has something else than tensors; in strict mode, as said.
        ValueError: a primal or a tangent has a dtype without derivatives.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0, 2.0])
        >>> numgrad.func.jvp(lambda x: x**2, (x,), (numgrad.tensor([1.0, 10.0]),))
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    points, structure = flatten(primals)
    directions, given = flatten(tangents)
    if given != structure:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {structure} and tangents with "
            f"structure {given}"
        )
    _check_tensors(points, "primals", "primal")
    _check_tensors(directions, "tangents", "tangent")
    with Tangents() as level:
        duals = [dual_tensor(point, direction, level) for point, direction in zip(points, directions, strict=True)]
        output, aux = split_aux(func(*structure.unflatten(duals)), has_aux, _JVP)
        outputs, output_structure = flatten(output)
        check_outputs(outputs, _JVP)
        pairs = [primal_and_tangent(one, level) for one in outputs]
        aux = map_leaves(lambda leaf: _primal(leaf, level), aux) if has_aux else None
    if strict and any(tangent is None for _, tangent in pairs):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
            "allowed with strict=True."
        )
    value = output_structure.unflatten([primal for primal, _ in pairs])
    product = output_structure.unflatten([
        primal.new_zeros(primal.shape) if tangent is None else tangent for primal, tangent in pairs
    ])
    return (value, product, aux) if has_aux else (value, product)


def _check_tensors(leaves: list[Any], which: str, one: str) -> None:
    if not leaves:
        raise RuntimeError(f"{_JVP}: Expected {which} to contain at least one Tensor.")
    for leaf in leaves:
        if not is_tensor(leaf):
            raise RuntimeError(f"{_JVP}: Expected {which} to only contain Tensors, got {type(leaf)}")
        if not (leaf.is_floating_point() or leaf.is_complex()):
            raise ValueError(f"Expected {one} to be floating point or complex, but got: {leaf.dtype}")


def _primal(leaf: Any, level: Tangents) -> Any:
    if not is_tensor(leaf):
        raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return primal_and_tangent(leaf, level)[0]
