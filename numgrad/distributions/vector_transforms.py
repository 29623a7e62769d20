"""Transforms of vectors to probabilities and to Cholesky factors, and of matrices to positive definite ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.types import Size, finfo
from ..ops.creation.factories import eye
from ..ops.creation.spaced import arange
from ..ops.decompositions.cholesky import linalg_cholesky
from ..ops.pointwise.smooth_activation import softplus
from ..ops.shapes.diagonals import diag_embed
from ..ops.shapes.padding import pad
from ..tensors.tensor import Tensor
from . import constraints
from .transform import ConstantTransform
from .utils import clipped, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "SoftmaxTransform",
    "StickBreakingTransform",
]  # fmt: skip


def _check_rank(shape: Sequence[int], rank: int) -> None:
    if len(shape) < rank:
        raise ValueError(f"Too few dimensions on input, of shape {shape}")


class SoftmaxTransform(ConstantTransform):
    """Softmax over the last dimension; the inverse returns logarithms.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.SoftmaxTransform()(numgrad.zeros(4))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Any:
        _check_rank(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(ConstantTransform):
    """The shares of a stick, of which each number but the last breaks off a part of what remains.

    Argument ``x[i]``, of n, breaks off the fraction ``sigmoid(x[i] - log(n - i))``, so that zeros give equal shares.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.StickBreakingTransform()(numgrad.zeros(3))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _offsets(like: Tensor, count: int) -> Tensor:
        return arange(count, 0, -1, dtype=like.dtype, device=like.device).log()

    def _call(self, x: Tensor) -> Tensor:
        fractions = clipped((x - self._offsets(x, x.shape[-1])).sigmoid())
        remaining = (1 - fractions).cumprod(-1)
        return pad(fractions, (0, 1), value=1.0) * pad(remaining, (1, 0), value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = y[..., :-1]
        remaining = (1 - parts.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)  # rounding may give less
        return parts.log() - remaining.log() + self._offsets(y, parts.shape[-1])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the sum of ``log(y[i] * (1 - fraction[i]))``."""
        return (y[..., :-1].log() - softplus(x - self._offsets(x, x.shape[-1]))).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        _check_rank(shape, 1)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        _check_rank(shape, 1)
        return Size((*shape[:-1], shape[-1] - 1))


class CorrCholeskyTransform(ConstantTransform):
    """Cholesky factors of correlation matrices of size D, from vectors of ``D * (D - 1) / 2`` numbers.

    The hyperbolic tangents of the numbers are the canonical partial correlations, row after row: each says which part
    of the remaining length of its row, which is 1 in all, an element takes (Lewandowski, Kurowicka and Joe 2009).

    Example:
        >>> import numgrad
        >>> numgrad.distributions.CorrCholeskyTransform()(numgrad.tensor([1.0]))
        tensor([[1.0000, 0.0000],
                [0.7616, 0.6481]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        limit = 1 - finfo(x.dtype).eps
        shares = vec_to_tril_matrix(x.tanh().clamp(-limit, limit), diag=-1)
        remaining = (1 - shares.square()).sqrt().cumprod(-1)
        diagonal = eye(shares.shape[-1], dtype=x.dtype, device=x.device)
        return (shares + diagonal) * pad(remaining[..., :-1], (1, 0), value=1.0)

    @staticmethod
    def _remaining(y: Tensor) -> Tensor:
        """Return the squares of the lengths that remain after each element."""
        return 1 - y.square().cumsum(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        before = pad(self._remaining(y)[..., :-1], (1, 0), value=1.0)
        return (tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(before, -1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the determinant for the elements below the diagonal."""
        size = y.shape[-1]
        lengths = tril_matrix_to_vec(self._remaining(y), -2) if size > 2 else x[..., :0]
        slopes = 2 * (math.log(2) - x - softplus(-2 * x))  # log(1 - tanh(x)**2)
        return 0.5 * lengths.log().sum(-1) + slopes.sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        _check_rank(shape, 1)
        size = (1 + math.isqrt(1 + 8 * shape[-1])) // 2
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError(f"Input is not a flattened lower-diagonal number: {shape[-1]}")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        _check_rank(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"Input is not square, but of shape {shape}")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class LowerCholeskyTransform(ConstantTransform):
    """Lower triangular matrices with a positive diagonal: the lower part of a matrix, with ``exp`` of its diagonal.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.LowerCholeskyTransform()(numgrad.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + diag_embed(x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + diag_embed(y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(ConstantTransform):
    """Positive definite matrices, ``L @ L.mT`` for the triangular ``L`` of :class:`LowerCholeskyTransform`.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.PositiveDefiniteTransform()(numgrad.tensor([[0.0, 0.0], [2.0, 0.0]]))
        tensor([[1., 2.],
                [2., 5.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factors = LowerCholeskyTransform()(x)
        return factors @ factors.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(linalg_cholesky(y))
