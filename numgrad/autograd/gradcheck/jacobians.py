"""Jacobians of functions of tensors by finite differences, by backward and by forward mode.

Each is multiplied with directions: with all unit vectors in turn, which gives the Jacobian itself (slow mode), or with
one random vector (fast mode).  The derivative along a direction ``u`` of the gradient propagated back from a weight
``v`` is ``u^T J v`` for the Jacobian ``J``: one element of ``J`` for unit vectors, and one number that mixes all
elements for random vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.types import dtype, size_of
from ...random import MersenneTwister
from .. import forward_ad
from ..backward import grad

#: For each output, matrices keyed by the unit of the input's elements, 1 or 1j, with one row per direction of the
#: input and one column per element of the output.
Derivatives = list[dict[complex, np.ndarray]]

#: Pairs of dtypes that differ: a tensor's, and that of its gradient or tangent.
DtypePairs = set[tuple[dtype, dtype]]


class Directions(NamedTuple):
    """Directions in the space of arrays of ``shape``: along ``vector``, or along each element if it is None."""

    shape: tuple[int, ...]
    vector: np.ndarray | None = None

    def steps(self) -> Iterator[tuple[Any, Any]]:
        """Yield for each direction an index into an array and the elements there; the direction is 0 elsewhere."""
        if self.vector is None:
            return ((index, 1.0) for index in np.ndindex(self.shape))
        return iter([(..., self.vector.reshape(self.shape))])

    def tensors(self, like: Any, unit: complex) -> Iterator[Any]:
        """Yield the directions, multiplied with the unit 1 or 1j, as tensors like another."""
        for index, step in self.steps():
            values = np.zeros(like.shape, like.dtype.numpy)
            values[index] = step * unit
            yield tensor_of(values, like)

    @np.errstate(invalid="ignore")
    def project(self, rows: np.ndarray) -> np.ndarray:
        """Return the components of each matrix row along the directions: ``[n, numel]`` to ``[n, directions]``."""
        return rows if self.vector is None else rows @ self.vector[:, None]

    def sum(self) -> float:
        """Return the sum of a direction's elements, by which an error of 1 in all elements changes a component."""
        return 1.0 if self.vector is None else float(self.vector.sum())


class Probe(NamedTuple):
    """Directions along which the derivatives of a function are compared."""

    #: For each input, the directions of its real part and, under the key 1j, of its imaginary part.
    inputs: list[dict[complex, Directions]]
    #: For each output, the weights propagated back, for its real and its imaginary part alike.
    outputs: list[Directions]


def units_of(tensor: Any) -> tuple[complex, ...]:
    """Return the units of a tensor's elements: 1 and, for complex tensors, 1j."""
    return (1, 1j) if tensor.is_complex() else (1,)


def probe(inputs: list[Any], outputs: list[Any], fast: bool) -> Probe:
    """Return the unit vectors, for full Jacobians, or if ``fast``, random vectors that are the same in every call."""
    generator = MersenneTwister()

    def directions(tensor: Any) -> Directions:
        if not fast:
            return Directions(tensor.shape)
        vector = generator.uniform(tensor.numel(), np.dtype(np.float32)).astype(np.float64)  # all non-negative
        return Directions(tensor.shape, vector / np.linalg.norm(vector))

    return Probe([{unit: directions(x) for unit in units_of(x)} for x in inputs], [directions(y) for y in outputs])


# -- arrays and tensors --------------------------------------------------------------------------------------


def array_of(tensor: Any) -> np.ndarray:
    """Return the elements of a tensor, on the same memory; for a GPU tensor, a copy."""
    return tensor.detach().numpy(force=True)


def tensor_of(array: Any, like: Any) -> Any:
    """Return a tensor with a copy of an array's elements and its dtype, on the device of ``like``."""
    array = np.asarray(array)
    return like.detach().new_tensor(array, dtype=dtype.of_numpy[array.dtype])


def zeros_like(tensor: Any) -> Any:
    """Return zeros of a tensor's shape and dtype, without a graph."""
    return tensor_of(np.zeros(tensor.shape, tensor.dtype.numpy), tensor)


def random_like(tensor: Any, draw: Callable[[int, np.dtype], np.ndarray]) -> np.ndarray:
    """Return an array of a tensor's shape and dtype; ``draw`` takes the number and the dtype of its real components."""
    numpy_dtype = tensor.dtype.numpy
    real = numpy_dtype.type(0).real.dtype
    return draw(tensor.numel() * len(units_of(tensor)), real).view(numpy_dtype).reshape(tensor.shape)


# -- finite differences: (f(x + eps) - f(x - eps)) / (2 eps) -------------------------------------------------


def derivatives_along(
    evaluate: Callable[[], Sequence[Any]], x: Any, directions: dict[complex, Directions], eps: float
) -> Derivatives:
    """Return the derivatives of the tensors returned by ``evaluate`` as ``x`` moves along directions.

    The elements of ``x`` are modified in place, without notice to autograd, and restored.

    Raises:
        AssertionError: the outputs on the two sides of ``x`` differ in shape or dtype.
    """
    matrices: list[dict[complex, list[np.ndarray]]] = []
    array = array_of(x)
    before = array.copy()
    for unit, line in directions.items():
        for index, step in line.steps():
            ends = []
            try:
                for signed in (-eps, eps):
                    array[...] = before
                    array[index] += np.asarray(signed * step * unit).astype(array.dtype)
                    _write_back(array, x)
                    ends.append([np.array(array_of(y)) for y in evaluate()])
            finally:
                array[...] = before
                _write_back(array, x)
            below, above = ends
            where = "" if index is ... else f" on index {index}"
            _check_alike(below, above, f"inputs are perturbed{where} by {eps}")
            matrices = matrices or [{unit: [] for unit in directions} for _ in above]
            with np.errstate(invalid="ignore"):  # differences of infinities
                for rows, low, high in zip(matrices, below, above, strict=True):
                    rows[unit].append(((high - low) / (2 * eps)).reshape(-1))
    if not matrices:  # x has no elements, so each Jacobian has no rows
        matrices = [{unit: [np.zeros((0, y.numel()))] for unit in directions} for y in evaluate()]
    return [{unit: np.vstack(rows[unit]) for unit in rows} for rows in matrices]


def _write_back(array: np.ndarray, tensor: Any) -> None:
    """Write the array obtained from ``array_of`` back to its tensor, without notice to autograd."""
    if tensor.is_cuda:
        tensor.data.copy_(tensor_of(array, tensor))


def _check_alike(low: list[np.ndarray], high: list[np.ndarray], when: str) -> None:
    for a, b in zip(low, high, strict=True):
        for name, first, second in (
            ("shape", size_of(a.shape), size_of(b.shape)),
            ("dtype", dtype.of_numpy[a.dtype], dtype.of_numpy[b.dtype]),
        ):
            if first != second:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {name} when {when}, but got: {name}s {first} "
                    f"and {second}."
                )


@np.errstate(invalid="ignore")
def combined(by_unit: dict[complex, np.ndarray]) -> np.ndarray:
    """Return ``df/dx + i df/dy`` for ``z = x + iy``, or the derivatives unchanged for a real input.

    This is PyTorch's gradient for complex inputs, twice the derivative with respect to the conjugate of ``z``.
    """
    return by_unit[1] + 1j * by_unit[1j] if 1j in by_unit else by_unit[1]


# -- automatic differentiation -------------------------------------------------------------------------------


def vector_jacobian_products(
    output: Any, inputs: Sequence[Any], weights: Directions, unit: complex, differing: DtypePairs
) -> list[np.ndarray]:
    """Return for each input a matrix with one row per weight: the input's gradient, or zeros if there is none.

    The gradient for the weight 1 at an output element is that of its real part, and for 1j that of its imaginary part.
    Pairs of input and gradient dtypes that differ are added to ``differing``.
    """
    rows = [
        _rows(grad([output], inputs, [weight], retain_graph=True, allow_unused=True), inputs, differing)
        for weight in weights.tensors(output, unit)
    ]
    return _matrices(rows, inputs)


def jacobian_vector_products(
    evaluate: Callable[[dict[int, Any]], Sequence[Any]], inputs: Sequence[Any], key: int, directions: Directions,
    unit: complex, differing: DtypePairs,
) -> list[np.ndarray]:  # fmt: skip
    """Return for each output a matrix with one row per direction of an input: the output's tangent, or zeros.

    ``evaluate`` computes the outputs with inputs replaced, keyed by number.  All inputs are replaced by dual tensors:
    input number ``key`` has the directions as its tangents, the others have zeros.  Pairs of output and tangent dtypes
    that differ are added to ``differing``.
    """
    rows: list[list[np.ndarray]] = []
    primals: Sequence[Any] = []
    still = {number: zeros_like(other) for number, other in enumerate(inputs) if number != key}
    for tangent in directions.tensors(inputs[key], unit):
        primals, tangents = zip(*tangents_of(evaluate, inputs, {**still, key: tangent}), strict=True)
        rows.append(_rows(tangents, primals, differing))
    return _matrices(rows, primals or evaluate({}))  # no rows if the input has no elements


def tangents_of(
    evaluate: Callable[[dict[int, Any]], Sequence[Any]], inputs: Sequence[Any], tangents: dict[int, Any]
) -> list[forward_ad.UnpackedDualTensor]:
    """Return the outputs and their tangents, given tangents of some of the inputs, keyed by number."""
    with forward_ad.dual_level():
        duals = {number: forward_ad.make_dual(inputs[number], tangent) for number, tangent in tangents.items()}
        return [forward_ad.unpack_dual(y) for y in evaluate(duals)]


def _rows(derivatives: Sequence[Any], like: Sequence[Any], differing: DtypePairs) -> list[np.ndarray]:
    """Return one row per tensor, with the elements of its derivative; None counts as zeros."""
    rows = []
    for value, tensor in zip(derivatives, like, strict=True):
        if value is not None and value.dtype is not tensor.dtype:
            differing.add((tensor.dtype, value.dtype))
        rows.append(np.array(array_of(zeros_like(tensor) if value is None else value)).reshape(-1))
    return rows


def _matrices(rows: list[list[np.ndarray]], like: Sequence[Any]) -> list[np.ndarray]:
    """Return one matrix per tensor, stacked from its rows."""
    return [
        np.vstack([row[number] for row in rows]) if rows else np.zeros((0, tensor.numel()), tensor.dtype.numpy)
        for number, tensor in enumerate(like)
    ]


def largest_difference(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest absolute difference between elements; NaN if only one of a pair is NaN."""
    other = (a != b) & ~(np.isnan(a) & np.isnan(b))
    return float(np.abs(a[other] - b[other]).max(initial=0.0))
