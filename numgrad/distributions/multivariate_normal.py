"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.layout import broadcast_shapes
from ..core.types import Size
from ..ops.creation.factories import eye
from ..ops.decompositions.cholesky import cholesky_inverse, linalg_cholesky
from ..ops.decompositions.triangular import solve_triangular
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .families import Centred
from .utils import lazy_property, standard_normal

__all__ = ["MultivariateNormal", "ScaleMatrix"]


def applied(matrices: Tensor, vectors: Tensor) -> Tensor:
    """Return products of matrices and vectors, whose batches broadcast."""
    return (matrices @ vectors.unsqueeze(-1)).squeeze(-1)


def log_diagonal(factors: Tensor) -> Tensor:
    """Return half the logarithms of the determinants of ``L @ L.mT``, for triangular matrices ``L``."""
    return factors.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def mahalanobis(factors: Tensor, vectors: Tensor) -> Tensor:
    """Return ``x @ inverse(L @ L.mT) @ x`` for triangular matrices ``L`` and vectors ``x``, whose batches broadcast.

    Leading dimensions that the matrices lack become columns, so that a single system is solved for each matrix.
    """
    rank = factors.dim() - 1
    outer = vectors.shape[: max(vectors.dim() - rank, 0)]
    columns = vectors.reshape((math.prod(outer), *vectors.shape[len(outer):])).movedim(0, -1)
    squares = solve_triangular(factors, columns, upper=False).square().sum(-2).movedim(-1, 0)
    return squares.reshape((*outer, *squares.shape[1:]))


def factor_of_inverse(precision: Tensor) -> Tensor:
    """Return the lower Cholesky factors of the inverses of matrices.

    They are ``inverse(U).mT``; the upper triangular ``U`` are the factors of the matrices with both axes reversed.
    """
    upper = linalg_cholesky(precision.flip((-2, -1))).flip((-2, -1))
    identity = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(upper.mT, identity, upper=False)


# PyTorch's names
_batch_mv, _batch_mahalanobis, _precision_to_scale_tril = applied, mahalanobis, factor_of_inverse


class ScaleMatrix(Distribution):
    """A distribution with a positive definite matrix, given as itself, by its inverse or by its Cholesky factor.

    ``_unbroadcasted_scale_tril`` is that factor, as it was given or computed, without the dimensions that broadcasting
    adds; subclasses in libraries define it.
    """

    _unbroadcasted_scale_tril: Tensor

    _NAMES = "covariance_matrix", "precision_matrix", "scale_tril"

    def _set_matrix(self, matrices: Sequence[Tensor | None], other_batch: Sequence[int]) -> Tensor:
        """Set the given matrix, expanded to the shape of the batch, as an attribute and return it unexpanded.

        Raises:
            ValueError: not exactly one of the matrices is given, or it has fewer than two dimensions.
        """
        given = [(name, x) for name, x in zip(self._NAMES, matrices, strict=True) if x is not None]
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        ((name, matrix),) = given
        if matrix.dim() < 2:
            shown = f"{name} matrix" if name == "scale_tril" else name
            raise ValueError(f"{shown} must be at least two-dimensional, with optional leading batch dimensions")
        batch = broadcast_shapes(matrix.shape[:-2], other_batch)
        setattr(self, name, matrix.expand((*batch, *matrix.shape[-2:])))
        return matrix

    def _set_factor(self, matrix: Tensor) -> None:
        """Set the Cholesky factor, after the check of the parameters."""
        if "scale_tril" in vars(self):
            self._unbroadcasted_scale_tril = matrix
        elif "covariance_matrix" in vars(self):
            self._unbroadcasted_scale_tril = linalg_cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = factor_of_inverse(matrix)

    def _in_batch(self, matrices: Tensor) -> Tensor:
        return matrices.expand((*self._batch_shape, *matrices.shape[-2:]))

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._in_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._in_batch(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._in_batch(cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(ScaleMatrix, Centred):
    """The normal distribution of vectors with the mean ``loc`` of shape (..., n).

    Args:
        loc: the mean.
        covariance_matrix, precision_matrix, scale_tril: the covariance, its inverse or its Cholesky factor, one of the
            three, of shape (..., n, n).  Computations use the factor.
        validate_args: True to check arguments.

    Raises:
        ValueError: not exactly one of the three is given, or ``loc`` or the matrix has too few dimensions.

    Example:
        >>> import numgrad
        >>> normal = numgrad.distributions.MultivariateNormal(numgrad.zeros(2), numgrad.eye(2))
        >>> normal.log_prob(numgrad.zeros(2)), normal.variance
        (tensor(-1.8379), tensor([1., 1.]))
    """

    arg_constraints = {  # noqa: RUF012 - as PyTorch has it
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrix = self._set_matrix((covariance_matrix, precision_matrix, scale_tril), loc.shape[:-1])
        batch = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, loc.shape[-1]))
        super().__init__(batch, loc.shape[-1:], validate_args)
        self._set_factor(matrix)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(MultivariateNormal, batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.square().sum(-1).expand(self.loc.shape)

    def _log_determinant(self) -> Tensor:
        """Return the logarithm of the determinant of the covariance."""
        return 2 * log_diagonal(self._unbroadcasted_scale_tril)

    def _squares(self, difference: Tensor) -> Tensor:
        """Return ``difference @ precision_matrix @ difference``."""
        return mahalanobis(self._unbroadcasted_scale_tril, difference)

    def _trace(self, columns: Tensor) -> Tensor:
        """Return the trace of ``precision_matrix @ columns @ columns.mT``."""
        return solve_triangular(self._unbroadcasted_scale_tril, columns, upper=False).square().sum((-2, -1))

    def _precisions(self) -> Tensor:
        """Return the diagonal of ``precision_matrix``."""
        return self.precision_matrix.diagonal(dim1=-2, dim2=-1)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        normal = standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + applied(self._unbroadcasted_scale_tril, normal)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._log_determinant() + self._squares(value - self.loc))

    def entropy(self) -> Tensor:
        constant = self._event_shape[0] * (1 + math.log(2 * math.pi))
        return (0.5 * (constant + self._log_determinant())).expand(self._batch_shape)
