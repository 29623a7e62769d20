"""The von Mises distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.types import Size, float64
from ..ops.creation.factories import full
from ..ops.creation.random_numbers import rand
from ..ops.indexing.masking import where
from ..ops.pointwise.bessel import i0e, i1e
from ..tensors.tensor import Tensor
from . import constraints
from .families import Centred
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Centred):
    """A distribution of angles around ``loc``, with a density proportional to ``exp(concentration * cos(x - loc))``.

    Angles are in radians.  Mean and variance are the circular ones.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.VonMises(0.0, 1.0).log_prob(numgrad.tensor(0.0))
        tensor(-1.0738)
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "loc": constraints.real, "concentration": constraints.positive,
    }  # fmt: skip
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(VonMises, batch_shape, _instance)

    @lazy_property
    def variance(self) -> Tensor:
        """1 minus the mean of ``cos(x - loc)``."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        distance = ((value - self.loc) / 2).sin().square()  # (1 - cos(value - loc)) / 2
        return -2 * self.concentration * distance - math.log(2 * math.pi) - i0e(self.concentration).log()

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Return samples, computed in float64.

        Numbers with a wrapped Cauchy distribution are drawn until all are accepted (Best and Fisher 1979).
        """
        with no_grad():
            loc, concentration = self.loc.to(float64), self.concentration.to(float64)
            root = 1 + (1 + 4 * concentration.square()).sqrt()
            rho = (root - (2 * root).sqrt()) / (2 * concentration)
            near = (1 + rho.square()) / (2 * rho)
            r = where(concentration < 1e-5, 1 / concentration + concentration, near)
            shape = self._extended_shape(sample_shape)
            angles = full(shape, math.nan, dtype=float64, device=loc.device)
            done = (loc + concentration).isnan().expand(shape)
            while not done.all():
                first, second, third = rand((3, *shape), dtype=float64, device=loc.device).unbind()
                z = (math.pi * first).cos()
                cosine = (1 + r * z) / (r + z)
                c = concentration * (r - cosine)
                accepted = (c * (2 - c) > second) | ((c / second).log() + 1 - c >= 0)
                angles, done = where(accepted, (third - 0.5).sign() * cosine.acos(), angles), done | accepted
            return ((angles + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
