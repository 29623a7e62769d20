"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from ..core.layout import broadcast_shapes
from ..core.types import Size, finfo
from ..ops.creation.from_data import tensor
from ..ops.creation.random_numbers import randn
from ..ops.creation.spaced import arange
from ..ops.decompositions.cholesky import cholesky_solve
from ..ops.decompositions.determinants import linalg_slogdet
from ..ops.indexing.masking import where
from ..ops.pointwise.gamma import digamma, mvlgamma
from ..ops.shapes.diagonals import diag_embed
from ..tensors.tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import ScaleMatrix, log_diagonal
from .utils import vec_to_tril_matrix

__all__ = ["Wishart"]


class Wishart(ScaleMatrix, ExponentialFamily):
    """The distribution of ``X.mT @ X`` for ``df`` independent normal vectors, the rows of X; ``df`` may be fractional.

    Args:
        df: the degrees of freedom, above p - 1.
        covariance_matrix, precision_matrix, scale_tril: the covariance of the vectors, its inverse or its Cholesky
            factor, one of the three, of shape (..., p, p).
        validate_args: True to check arguments.

    Raises:
        AssertionError: not exactly one of the three is given.
        ValueError: the matrix has fewer than two dimensions, or ``df`` is too small.

    Example:
        >>> import numgrad
        >>> wishart = numgrad.distributions.Wishart(3.0, numgrad.eye(2))
        >>> wishart.mean, wishart.log_prob(numgrad.eye(2))
        (tensor([[3., 0.],
                [0., 3.]]), tensor(-3.5310))
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, df: Any, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ):
        given = covariance_matrix, precision_matrix, scale_tril
        if sum(matrix is not None for matrix in given) != 1:
            raise AssertionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        matrix = self._set_matrix(given, df.shape if isinstance(df, Tensor) else ())
        if not isinstance(df, Tensor):
            df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch = broadcast_shapes(matrix.shape[:-2], df.shape)
        self.df = df.expand(batch)
        size = matrix.shape[-1]
        if (self.df <= size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        if (self.df < size).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch, matrix.shape[-2:], validate_args)
        self._set_factor(matrix)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(Wishart, _instance)
        new.df, new._unbroadcasted_scale_tril = self.df.expand(batch_shape), self._unbroadcasted_scale_tril
        for name in self._NAMES:
            if name in vars(self):
                setattr(new, name, vars(self)[name].expand((*batch_shape, *self._event_shape)))
        return self._finished(new, batch_shape, self._event_shape)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    @property
    def mean(self) -> Tensor:
        return self.df.unsqueeze(-1).unsqueeze(-1) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """NaN for ``df`` of at most p + 1."""
        factor = self.df - self._event_shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, math.nan)
        return factor.unsqueeze(-1).unsqueeze(-1) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        variances = covariance.diagonal(dim1=-2, dim2=-1)
        products = variances.unsqueeze(-1) * variances.unsqueeze(-2)
        return self.df.unsqueeze(-1).unsqueeze(-1) * (covariance.square() + products)

    def _bartlett(self, sample_shape: Sequence[int]) -> Tensor:
        """Return ``L @ A @ A.mT @ L.mT`` for a lower triangular ``A`` of independent numbers (Bartlett 1933)."""
        size, like = self._event_shape[-1], self._unbroadcasted_scale_tril
        degrees = self.df.unsqueeze(-1) - arange(size, dtype=like.dtype, device=like.device)
        degrees = degrees.expand((*self._batch_shape, size))
        diagonal = Chi2(degrees, validate_args=False).rsample(sample_shape).sqrt().clamp(min=finfo(like.dtype).eps)
        count = size * (size - 1) // 2
        below = randn((*sample_shape, *self._batch_shape, count), dtype=like.dtype, device=like.device)
        factor = diag_embed(diagonal)
        factor = like @ (factor + vec_to_tril_matrix(below, -1) if count else factor)
        return factor @ factor.mT

    def rsample(self, sample_shape: Sequence[int] = Size(), max_try_correction: int | None = None) -> Tensor:
        """Return random samples that are differentiable functions of the parameters.

        Samples without a Cholesky factor, because of rounding, are drawn again, at most ``max_try_correction`` times
        (10), with a warning.
        """
        sample = self._bartlett(sample_shape)
        for attempt in range(10 if max_try_correction is None else max_try_correction):
            good = self.support.check(sample.detach())
            if good.all():
                break
            if not attempt:
                warnings.warn("Singular sample detected.", stacklevel=2)
            sample = where(good.unsqueeze(-1).unsqueeze(-1), sample, self._bartlett(sample_shape))
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        size = self._event_shape[-1]
        traces = cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        power = (self.df - size - 1) / 2 * linalg_slogdet(value)[1]
        return power - traces / 2 - self.df * self._log_scale() - mvlgamma(self.df / 2, size)

    def _log_scale(self) -> Tensor:
        """Return half the logarithm of the determinant of twice the covariance."""
        return self._event_shape[-1] * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        size, half = self._event_shape[-1], self.df / 2
        like = self._unbroadcasted_scale_tril
        steps = arange(size, dtype=like.dtype, device=like.device) / 2
        mean_logarithm = digamma(half.unsqueeze(-1) - steps).sum(-1)
        power = (self.df - size - 1) / 2 * mean_logarithm
        return (size + 1) * self._log_scale() + mvlgamma(half, size) - power + half * size

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        size = self._event_shape[-1]
        half = y + (size + 1) / 2
        return half * (size * math.log(2) - linalg_slogdet(-2 * x)[1]) + mvlgamma(half, size)
