"""Orthogonal weights, as functions of weights without a condition."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.types import finfo
from ...ops.creation.factories import eye, zeros_like
from ...ops.creation.random_numbers import randn
from ...ops.decompositions.functions import linalg_matrix_exp
from ...ops.decompositions.orthogonal import geqrf, linalg_householder_product
from ...ops.decompositions.systems import linalg_solve
from ...ops.shapes.joining import cat
from ...tensors.tensor import Tensor
from ..modules.module import Module
from .parametrize import register_parametrization

MAPS = "matrix_exp", "cayley", "householder"


class _Orthogonal(Module):
    """An orthogonal matrix, made of the elements below the diagonal of another matrix.

    The maps "matrix_exp" and "cayley" take the skew-Hermitian matrix with these elements, and "householder" the
    reflections with these vectors.  The result is multiplied by the orthogonal matrix ``base``, if there is one.
    """

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        Q = self._mapped(X.mT if wide else X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _mapped(self, X: Tensor) -> Tensor:
        rows, columns = X.shape[-2:]
        if self.orthogonal_map == "householder":
            vectors = X.tril(-1)
            factors = 2 / (1 + (vectors * vectors).sum(-2))
            return linalg_householder_product(vectors, factors) * X.diagonal(0, -2, -1).sign().detach().unsqueeze(-2)
        lower = X.tril()
        if rows != columns:
            lower = cat([lower, X.new_zeros(*X.shape[:-1], rows - columns)], -1)
        skew = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            return linalg_matrix_exp(skew)[..., :columns]
        identity = eye(rows, dtype=X.dtype, device=X.device)
        return linalg_solve(identity - skew / 2, identity + skew / 2)[..., :columns]

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        wide = Q.size(-2) < Q.size(-1)
        tall = Q.mT if wide else Q
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            vectors, factors = geqrf(tall)
            signs = vectors.diagonal(0, -2, -1)
            signs.copy_(signs.sign() * (1 - 2 * (factors == 0).to(signs.dtype)))
            return vectors.mT if wide else vectors
        rows, columns = tall.shape[-2:]
        if rows != columns:
            tall = cat([tall, randn(*tall.shape[:-1], rows - columns, dtype=Q.dtype, device=Q.device)], -1)
        self.base = tall.clone() if rows == columns and _is_orthogonal(tall) else _nearby(tall)
        begin = zeros_like(Q)
        begin.diagonal(0, -2, -1).fill_(-1.0)  # all maps have the identity there
        return begin


def _is_orthogonal(Q: Tensor) -> bool:
    identity = eye(Q.size(-1), dtype=Q.dtype, device=Q.device)
    return (Q.mH @ Q).allclose(identity, atol=10 * Q.size(-2) * finfo(Q.dtype).eps)


def _nearby(A: Tensor) -> Tensor:
    """Return the orthogonal factor of the QR decomposition whose other factor has a positive diagonal."""
    vectors, factors = geqrf(A)
    return linalg_householder_product(vectors, factors) * vectors.diagonal(0, -2, -1).sgn().unsqueeze(-2)


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Parametrize a weight such that it stays orthogonal, or unitary if it is complex; return the module.

    The columns of each matrix (..., m, n) are orthonormal, or the rows if there are more columns than rows.  The first
    weight is the present one if it is orthogonal, and otherwise the orthogonal factor of its QR decomposition.

    Args:
        module: the module with the parameter.
        name: the parameter's name.
        orthogonal_map: the function that makes orthogonal matrices: "matrix_exp", "cayley" or "householder".  By
            default, it is "matrix_exp" for square and for complex matrices, and "householder" for others.
        use_trivialization: True to multiply by a fixed orthogonal matrix, the first weight, with which training
            converges better.

    Raises:
        ValueError: there is no such parameter, it has fewer than two dimensions, or the map is unknown.

    Source: Lezcano-Casado, Trivializations for Gradient-Based Optimization on Manifolds, 2019.

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.utils.parametrizations.orthogonal(numgrad.nn.Linear(2, 3))
        >>> (layer.weight.mT @ layer.weight).allclose(numgrad.eye(2), atol=1e-6)
        True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)
    return module
