"""The multivariate normal distribution whose covariance is a product of low rank and a diagonal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.types import Size
from ..ops.creation.factories import eye
from ..ops.decompositions.cholesky import linalg_cholesky
from ..ops.decompositions.triangular import solve_triangular
from ..ops.shapes.broadcasting import broadcast_tensors
from ..ops.shapes.diagonals import diag_embed
from ..tensors.tensor import Tensor
from . import constraints
from .families import Centred
from .multivariate_normal import applied, log_diagonal, mahalanobis
from .utils import lazy_property, standard_normal

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Centred):
    """The normal distribution of vectors with the covariance ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    Only matrices of the size ``rank`` are factored, by the identity of Woodbury and the lemma on determinants.

    Args:
        loc: the mean, of shape (..., n).
        cov_factor: of shape (..., n, rank).
        cov_diag: positive numbers, of shape (..., n).
        validate_args: True to check arguments.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> import numgrad
        >>> zeros, ones = numgrad.zeros(2), numgrad.ones(2)
        >>> numgrad.distributions.LowRankMultivariateNormal(zeros, numgrad.tensor([[1.0], [0.0]]), ones).variance
        tensor([2., 1.])
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m, not of {cov_factor.shape}"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}, not of {cov_diag.shape}")
        try:
            columns = broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_factor, self.cov_diag = columns[0][..., 0], columns[1], columns[2][..., 0]
        self._factor, self._diagonal = cov_factor, cov_diag
        self._capacitance = _capacitance(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(LowRankMultivariateNormal, batch_shape, _instance)
        new._factor, new._diagonal, new._capacitance = self._factor, self._diagonal, self._capacitance
        return new

    @lazy_property
    def variance(self) -> Tensor:
        return (self._factor.square().sum(-1) + self._diagonal).expand(self.loc.shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance, of shape (..., n, n)."""
        return self._in_batch(self._factor @ self._factor.mT + diag_embed(self._diagonal))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        widths = self._diagonal.sqrt().unsqueeze(-1)
        scaled = self._factor / widths
        return self._in_batch(widths * linalg_cholesky(scaled @ scaled.mT + _identity(scaled, -2)))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        part = self._explained()
        return self._in_batch(diag_embed(self._diagonal.reciprocal()) - part.mT @ part)

    def _in_batch(self, matrices: Tensor) -> Tensor:
        return matrices.expand((*self._batch_shape, *matrices.shape[-2:]))

    def _explained(self) -> Tensor:
        """Return the matrix ``A`` for which the precision is ``diag(1 / cov_diag) - A.mT @ A``."""
        return solve_triangular(self._capacitance, _weighted(self._factor, self._diagonal), upper=False)

    def _log_determinant(self) -> Tensor:
        """Return the logarithm of the determinant of the covariance."""
        return 2 * log_diagonal(self._capacitance) + self._diagonal.log().sum(-1)

    def _squares(self, difference: Tensor) -> Tensor:
        """Return ``difference @ precision_matrix @ difference``."""
        explained = mahalanobis(self._capacitance, applied(_weighted(self._factor, self._diagonal), difference))
        return (difference.square() / self._diagonal).sum(-1) - explained

    def _trace(self, columns: Tensor) -> Tensor:
        """Return the trace of ``precision_matrix @ columns @ columns.mT``."""
        weighted = columns.square() / self._diagonal.unsqueeze(-1)
        return weighted.sum((-2, -1)) - (self._explained() @ columns).square().sum((-2, -1))

    def _precisions(self) -> Tensor:
        """Return the diagonal of ``precision_matrix``."""
        return self._diagonal.reciprocal() - self._explained().square().sum(-2)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        common = standard_normal((*shape[:-1], self._factor.shape[-1]), self.loc.dtype, self.loc.device)
        own = standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + applied(self._factor, common) + self._diagonal.sqrt() * own

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        squares = self._squares(value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_determinant() + squares)

    def entropy(self) -> Tensor:
        constant = self._event_shape[0] * (1 + math.log(2 * math.pi))
        return (0.5 * (constant + self._log_determinant())).expand(self._batch_shape)


def _identity(like: Tensor, dim: int) -> Tensor:
    return eye(like.shape[dim], dtype=like.dtype, device=like.device)


def _weighted(factor: Tensor, diagonal: Tensor) -> Tensor:
    return factor.mT / diagonal.unsqueeze(-2)


def _capacitance(factor: Tensor, diagonal: Tensor) -> Tensor:
    """Return the Cholesky factor of the capacitance matrix, ``I + W.mT @ diag(1 / D) @ W``."""
    return linalg_cholesky(_weighted(factor, diagonal) @ factor + _identity(factor, -1))
