"""Gradients of scalar functions, and products of vectors with Jacobians, as function transforms."""

from __future__ import annotations

import functools
from bisect import bisect
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.checks import is_tensor
from ..autograd.forward_ad import RecordedTangents, dual_tensor, primal_and_tangent
from ..autograd.function import refusing
from ..autograd.functional.gradients import materialized
from ..autograd.grad_mode import is_grad_enabled
from ..autograd.levels import Tangents
from ..autograd.node import edge_of
from ..autograd.order import nodes_behind
from ..autograd.thread_state import guarded
from ..core.nesting import flatten, map_leaves
from .arguments import Argnums, at_argnums, check_outputs, split_aux
from .recording import Tape

_VJP = "vjp(f, *primals)"
_GRAD = "grad_and_value(f)(*args)"


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of ``func``, which returns a scalar.

    The new function takes the arguments of ``func``.  It returns the gradient with respect to the argument at
    ``argnums``, or a tuple for a tuple of positions.  The gradient has the form of the argument: a tensor of its shape
    and dtype, or a tuple, list or dictionary of such tensors.  No ``grad`` is changed.  The new function can itself be
    differentiated: by this or other transforms, and by ``Tensor.backward`` with respect to outer tensors that require
    gradients.  Under ``no_grad`` it computes the same values without a graph; a ``no_grad`` inside ``func`` is
    respected.

    Args:
        func: returns a tensor without dimensions; its arguments at ``argnums`` are tensors of floating-point or
            complex dtype, or nested structures of them.
        argnums: the position of the argument to differentiate with respect to, or a tuple of positions.
        has_aux: ``func`` returns a pair whose second part consists of tensors that are not differentiated; the new
            function then returns (gradient, aux).

    Raises:
        RuntimeError: in the new function, if ``func`` returns an invalid result, ``argnums`` is not among the
            positional arguments, or an argument has a dtype that is not differentiable.
        ValueError: in the new function, if an argument is not a tensor.

    Example:
        >>> import numgrad
        >>> slope = numgrad.func.grad(lambda x: x**3)
        >>> x = numgrad.tensor(2.0)
        >>> slope(x), numgrad.func.grad(slope)(x)
        (tensor(12.), tensor(12.))
    """

    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Transform as :func:`grad`, but return (gradient, value), or with ``has_aux``, (gradient, (value, aux)).

    Example:
        >>> import numgrad
        >>> slope, value = numgrad.func.grad_and_value(lambda x: x**2)(numgrad.tensor(3.0))
        >>> slope, value
        (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with Tape() as tape:
            function, argument = at_argnums(func, argnums, args, kwargs)
            leaves, structure = flatten(argument)
            inputs = [tape.input(leaf) for leaf in leaves]
            output, aux = split_aux(function(structure.unflatten(inputs)), has_aux, _GRAD)
            if not is_tensor(output):
                raise RuntimeError(f"{_GRAD}: Expected f(*args) to return a Tensor, got {type(output)}")
            if output.dim() != 0:
                raise RuntimeError(
                    f"{_GRAD}: Expected f(*args) to return a scalar Tensor, got tensor with {output.dim()} dims. Maybe "
                    "you wanted to use the vjp or jacrev APIs instead?"
                )
            recorded = tape.by_caller and tape.concerns_caller([output])
            grads = tape.gradients([output], inputs, [None], retain_graph=recorded or has_aux, create_graph=recorded)
        gradient = structure.unflatten(tape.returned(materialized(grads, inputs), tape.by_caller))
        (value,) = tape.returned([output], tape.by_caller)
        return gradient, (value, _returned(tape, aux)) if has_aux else value

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the output of a function, and a function that multiplies a vector with its Jacobian.

    Args:
        func: returns tensors of floating-point or complex dtype, one or a nested structure of them.
        primals: the arguments for ``func``: tensors or nested structures of them.
        has_aux: ``func`` returns a pair whose second part consists of tensors that are not differentiated.

    Returns:
        ``(output, vjp_fn)``, or with ``has_aux``, ``(output, vjp_fn, aux)``.  ``vjp_fn`` takes vectors in the structure
        and shapes of the output.  It returns a tuple with one product for each of the primals, with its shape, dtype
        and structure.  It may be called repeatedly, and its results can be differentiated.

    Raises:
        RuntimeError: ``func`` returns an invalid result, or a primal has a dtype that is not differentiable; in
            ``vjp_fn``, if the vectors have another structure or other shapes.
        ValueError: a primal is not a tensor.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0, 2.0])
        >>> value, vjp_fn = numgrad.func.vjp(lambda x: x**2, x)
        >>> value, vjp_fn(numgrad.tensor([1.0, 10.0]))
        (tensor([1., 4.]), (tensor([ 2., 40.]),))
    """
    with Tape() as tape:
        leaves, primals_structure = flatten(primals)
        inputs = [tape.input(leaf) for leaf in leaves]
        output, aux = split_aux(func(*primals_structure.unflatten(inputs)), has_aux, _VJP)
        outputs, structure = flatten(output)
        check_outputs(outputs, _VJP)
        for tensor in outputs:
            if not (tensor.is_floating_point() or tensor.is_complex()):
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                    f"{tensor.dtype}"
                )
    concerns_caller = tape.concerns_caller(outputs)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """Return the products of the cotangents with the Jacobian, one for each of the primals."""
        vectors, actual = flatten(cotangents)
        if actual != structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {actual}, primal output: {structure}"
            )
        if create_graph is None:
            create_graph = is_grad_enabled()
        needed = concerns_caller or tape.concerns_caller([vector for vector in vectors if is_tensor(vector)])
        products = tape.gradients(outputs, inputs, vectors, retain_graph, create_graph and needed)
        return primals_structure.unflatten(tape.returned(materialized(products, inputs), create_graph))

    value = structure.unflatten(tape.returned(outputs, tape.by_caller))
    return (value, vjp_fn, _returned(tape, aux)) if has_aux else (value, vjp_fn)


def _returned(tape: Tape, tree: Any) -> Any:
    leaves, structure = flatten(tree)
    return structure.unflatten(tape.returned(leaves, tape.by_caller))


# -- forward mode --------------------------------------------------------------------------------------------


_JVP = "jvp(f, primals, tangents)"


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """Return the output of a function, and the product of its Jacobian with a vector, computed in forward mode.

    Args:
        func: returns a tensor or a nested structure of tensors.
        primals: the tuple of its arguments: tensors of floating-point or complex dtype, or nested structures of them.
        tangents: the vector, in the structure and shapes of the primals.
        strict: raise an error instead of returning zeros for an output that does not depend on the primals.
        has_aux: ``func`` returns a pair whose second part consists of tensors that are not differentiated.

    Returns:
        ``(output, product)``, or with ``has_aux``, ``(output, product, aux)``; the product has the structure, shapes
        and dtypes of the output.  Both can be differentiated further.

    Raises:
        RuntimeError: ``primals`` is not a tuple, ``tangents`` has another structure or other shapes, or one of them or
            the output contains values that are not tensors; an independent output in strict mode.
        ValueError: a primal or a tangent has a dtype that is not differentiable.

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
    directions, actual = flatten(tangents)
    if actual != structure:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {structure} and tangents with "
            f"structure {actual}"
        )
    for which, leaves in (("primals", points), ("tangents", directions)):
        if not leaves:
            raise RuntimeError(f"{_JVP}: Expected {which} to contain at least one Tensor.")
        for leaf in leaves:
            if not is_tensor(leaf):
                raise RuntimeError(f"{_JVP}: Expected {which} to only contain Tensors, got {type(leaf)}")

    def pushed() -> Any:
        with Tangents() as level:
            duals = [dual_tensor(point, direction, level) for point, direction in zip(points, directions, strict=True)]
            output, aux = split_aux(func(*structure.unflatten(duals)), has_aux, _JVP)
            outputs, output_structure = flatten(output)
            check_outputs(outputs, _JVP)
            pairs = [primal_and_tangent(tensor, level) for tensor in outputs]
            return pairs, output_structure, map_leaves(lambda leaf: _primal(leaf, level), aux) if has_aux else None

    pairs, output_structure, aux = guarded(pushed)
    primals, derivatives = zip(*pairs, strict=True)
    if strict and any(tangent is None for tangent in derivatives):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
            "allowed with strict=True."
        )
    value = output_structure.unflatten(primals)
    product = output_structure.unflatten(materialized(derivatives, primals))
    return (value, product, aux) if has_aux else (value, product)


def _primal(leaf: Any, level: Tangents) -> Any:
    if not is_tensor(leaf):
        raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return primal_and_tangent(leaf, level)[0]


# -- linear approximation ------------------------------------------------------------------------------------


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the output of a function at a point, and a function that multiplies its Jacobian there with a vector.

    ``func`` is called once, in forward mode with a vector of unknowns u.  That records J times u, which is linear in u,
    in every grad mode: as for :func:`jvp`, results that ``func`` computes under ``no_grad`` have tangents.  A backward
    pass with a vector of unknowns w records w times J, whose derivative with respect to w is J.  Each product thus
    costs one pass over the saved values.  For few products, :func:`jvp` is cheaper and needs less memory.

    Args:
        func: returns a tensor or a nested structure of tensors.
        primals: its arguments: tensors of floating-point or complex dtype, or nested structures of them.

    Returns:
        ``(output, jvp_fn)``; ``jvp_fn`` takes vectors in the structure, shapes and dtypes of the primals, and returns
        the product in the structure of the output.

    Raises:
        RuntimeError: ``func`` returns a value that is not a tensor; in ``jvp_fn``, if structure, a shape or a dtype
            differ; in backward from a product, if it depends on tangents of results that ``func`` computes under
            ``no_grad`` or in inference mode, and on tensors that require gradients: differentiate :func:`jvp` instead.
        ValueError: a primal is not a tensor, or has a dtype that is not differentiable.

    Example:
        >>> import numgrad
        >>> value, jvp_fn = numgrad.func.linearize(lambda x: x**2, numgrad.tensor([1.0, 2.0]))
        >>> value, jvp_fn(numgrad.tensor([1.0, 10.0]))
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with Tape(inference=True) as tape:
        points, structure = flatten(primals)
        inputs = [tape.input(_zeros(point)) for point in points]
        unknowns = [input.clone() for input in inputs]

        def pushed() -> Any:
            with RecordedTangents() as level:
                duals = [dual_tensor(point, unknown, level) for point, unknown in zip(points, unknowns, strict=True)]
                outputs, output_structure = flatten(func(*structure.unflatten(duals)))
                check_outputs(outputs, "linearize(f, *primals)")
                return [primal_and_tangent(output, level) for output in outputs], output_structure, level.hidden

        pairs, output_structure, hidden = guarded(tape.callers, pushed)
        outputs, tangents = zip(*pairs, strict=True)
        dependent = [(index, tangent) for index, tangent in enumerate(tangents) if tangent is not None]
        cotangents = [tape.input(_zeros(tangent)) for _, tangent in dependent]
        products = tape.gradients(
            [tangent for _, tangent in dependent], inputs, cotangents, retain_graph=True, create_graph=True
        )
    used = [(index, product) for index, product in enumerate(products) if product is not None]
    concerns_caller = tape.concerns_caller([product for _, product in used])
    is_hidden = concerns_caller and _reaches(tangents, hidden)
    value = output_structure.unflatten(outputs)

    def jvp_fn(*tangents: Any) -> Any:
        """Return the product of the Jacobian with the tangents, one for each of the primals."""
        vectors, actual = flatten(tangents)
        if actual != structure:
            raise RuntimeError(f"Expected the tangents {actual} to have the same argspec as the primals {structure}")
        for index, (vector, point) in enumerate(zip(vectors, points, strict=True)):
            for attribute in ("shape", "device", "dtype"):
                of_vector, of_point = getattr(vector, attribute), getattr(point, attribute)
                if of_vector != of_point:
                    raise RuntimeError(
                        f"tangent:{index} with {attribute} {of_vector} in flattened pytree doesn't match the "
                        f"{attribute} {of_point} of the corresponding primal."
                    )
        recorded = is_grad_enabled()
        needed = concerns_caller or tape.concerns_caller(vectors)
        results: list[Any] = [None] * len(outputs)
        gradients = tape.gradients(
            [product for _, product in used],
            cotangents,
            [vectors[index] for index, _ in used],
            retain_graph=True,
            create_graph=recorded and needed,
        )
        for (index, _), gradient in zip(dependent, gradients, strict=True):
            results[index] = gradient
        filled = tape.returned(materialized(results, [output.detach() for output in outputs]), recorded)
        if is_hidden and recorded:
            filled = [refusing(tensor, _HIDDEN) for tensor in filled]
        return output_structure.unflatten(filled)

    return value, jvp_fn


_HIDDEN = (
    "linearize: the function computes results under no_grad or in inference mode, so that only forward mode "
    "differentiates them. Differentiate jvp(f, primals, tangents) instead of the product of its Jacobian"
)


def _zeros(tensor: Any) -> Any:
    if not is_tensor(tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(tensor)}")
    return tensor.detach().new_zeros(tensor.shape)


def _reaches(tensors: Sequence[Any], hidden: Sequence[int]) -> bool:
    """Return True if a node of the tensors' graphs has a number in one of the ranges that these numbers bound."""
    roots = [edge[0] for tensor in tensors if tensor is not None and (edge := edge_of(tensor)) is not None]
    return any(bisect(hidden, node.sequence) % 2 for node in nodes_behind(roots))
