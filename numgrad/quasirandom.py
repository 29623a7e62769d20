"""Sobol sequences: points that fill the unit cube more evenly than random ones."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np

from .core.types import dtype, get_default_dtype
from .ops.creation.from_data import from_numpy
from .ops.creation.random_numbers import randint
from .random import Generator
from .tensors.tensor import Tensor

__all__ = ["SobolEngine"]


class SobolEngine:
    """A source of the points of a Sobol sequence in ``[0, 1)``, in ``dimension`` dimensions.

    SciPy's ``qmc.Sobol`` computes the sequence (Joe and Kuo, "Constructing Sobol sequences with better two-dimensional
    projections", 2008).  Scrambling multiplies the bits of each coordinate by a random triangular matrix and flips some
    of them (Matousek, "On the L2-discrepancy for anchored boxes", 1998).  The points are PyTorch's, with scrambling for
    the same seed.

    Args:
        dimension: the number of coordinates, from 1 to 21201.
        scramble: if True, the sequence is scrambled.
        seed: the seed of the scrambling; by default, the default generator draws it.

    Attributes:
        num_generated: the number of points drawn so far.

    Raises:
        ValueError: the dimension is out of range.
        ImportError: SciPy is not installed.

    Example:
        >>> import numgrad
        >>> numgrad.quasirandom.SobolEngine(2).draw(3)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}], not {dimension}"
            )
        self.dimension, self.scramble, self.seed, self.num_generated = dimension, scramble, seed, 0
        sobol: Any = importlib.import_module("scipy.stats").qmc.Sobol
        self._sequence = sobol(dimension, scramble=False, bits=self.MAXBIT)
        if scramble:
            generator = None if seed is None else Generator().manual_seed(seed)
            self._flips = randint(2, (dimension, self.MAXBIT), generator=generator).numpy()[:, ::-1]
            drawn = randint(2, (dimension, self.MAXBIT, self.MAXBIT), generator=generator).numpy()
            self._matrices = np.tril(drawn, -1) + np.eye(self.MAXBIT, dtype=np.int64)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: dtype | None = None) -> Tensor:
        """Return the next ``n`` points, [n, dimension], in the default dtype unless another is given."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a number of points that is not a power of 2: draw_base2() checks it
            points = self._sequence.random(n)
        self.num_generated += n
        result = from_numpy(self._scrambled(points) if self.scramble else points).to(dtype or get_default_dtype())
        if out is None:
            return result
        return out.resize_(result.shape).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: dtype | None = None) -> Tensor:
        """Return the next ``2**m`` points, [2**m, dimension].

        Raises:
            ValueError: the number of points drawn so far, with these, is not a power of two.
        """
        n, total = 2**m, self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip ``n`` points; return the engine."""
        self._sequence.fast_forward(n)
        self.num_generated += n
        return self

    def reset(self) -> SobolEngine:
        """Start the sequence again, with the same scrambling; return the engine."""
        self._sequence.reset()
        self.num_generated = 0
        return self

    def _scrambled(self, points: np.ndarray) -> np.ndarray:
        """Return points whose coordinates' bits, the highest first, are multiplied by the matrices and flipped."""
        exponents = np.arange(self.MAXBIT - 1, -1, -1)
        bits = (points * 2.0**self.MAXBIT).astype(np.int64)[..., None] >> exponents & 1
        bits = (np.einsum("dij,ndj->ndi", self._matrices, bits) + self._flips) % 2
        return (bits << exponents).sum(-1) * 2.0**-self.MAXBIT

    def __repr__(self) -> str:
        details = [f"dimension={self.dimension}"]
        details += ["scramble=True"] if self.scramble else []
        details += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join(details)})"
