"""The directions in which gradcheck tries a function: each element by itself, or one random direction.

The derivative along a direction ``u`` of the gradient sent back from a weight ``v`` is ``u^T J v`` for the Jacobian
``J``: all elements of ``J`` in turn where ``u`` and ``v`` are the unit vectors (slow mode), one number in which all
of them are mixed where they are random (fast mode).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...core.generators import MersenneTwister
from ...core.types import dtype


class Directions(NamedTuple):
    """Directions in the space of arrays of ``shape``: along ``vector``, or if that is None along each element."""

    shape: tuple[int, ...]
    vector: np.ndarray | None = None

    def steps(self) -> Iterator[tuple[Any, Any]]:
        """For each direction an index into an array and what is there; everywhere else the direction is 0."""
        if self.vector is None:
            return ((index, 1.0) for index in np.ndindex(self.shape))
        return iter([(..., self.vector.reshape(self.shape))])

    @np.errstate(invalid="ignore")
    def project(self, rows: np.ndarray) -> np.ndarray:
        """The components along the directions of each row of a matrix: ``[n, numel]`` to ``[n, directions]``."""
        return rows if self.vector is None else rows @ self.vector[:, None]

    def reach(self) -> float:
        """How far an error of 1 in every element shows in a component: the largest sum of a direction's elements."""
        return 1.0 if self.vector is None else float(self.vector.sum())


class Probe(NamedTuple):
    """What a function's derivatives are tried with."""

    #: For each input the directions of its real part and, by the key 1j, of its imaginary part.
    inputs: list[dict[complex, Directions]]
    #: For each output the weights that are sent back, for its real and its imaginary part alike.
    outputs: list[Directions]


def units_of(tensor: Any) -> tuple[complex, ...]:
    """The units of a tensor's elements: 1 and, if they are complex, 1j."""
    return (1, 1j) if tensor.is_complex() else (1,)


def probe(inputs: list[Any], outputs: list[Any], fast: bool) -> Probe:
    """The unit vectors, which give whole Jacobians, or if ``fast`` random ones, the same at every call."""
    generator = MersenneTwister()

    def directions(tensor: Any) -> Directions:
        if not fast:
            return Directions(tensor.shape)
        vector = generator.uniform(tensor.numel(), np.dtype(np.float32)).astype(np.float64)  # none is negative
        return Directions(tensor.shape, vector / np.linalg.norm(vector))

    return Probe(
        [{unit: directions(x) for unit in units_of(x)} for x in inputs], [directions(y) for y in outputs]
    )


def array_of(tensor: Any) -> np.ndarray:
    """The elements of a tensor: on the same memory, or of one on a GPU a copy."""
    return tensor.detach().numpy(force=True)


def write_back(array: np.ndarray, tensor: Any) -> None:
    """Give a tensor the elements of what ``array_of`` gave for it, unnoticed by autograd."""
    if tensor.is_cuda:
        tensor.data.copy_(tensor_of(array, tensor))


def tensor_of(array: Any, like: Any) -> Any:
    """A tensor with a copy of an array's elements and their dtype, where ``like`` is."""
    array = np.asarray(array)
    return like.detach().new_tensor(array, dtype=dtype.of_numpy[array.dtype])


def random_like(tensor: Any, draw: Callable[[int, np.dtype], np.ndarray]) -> np.ndarray:
    """An array of a tensor's shape and dtype, with what ``draw`` gives for a number of reals and their dtype."""
    kind = tensor.dtype.numpy
    return draw(tensor.numel() * len(units_of(tensor)), kind.type(0).real.dtype).view(kind).reshape(tensor.shape)
