"""Distances between vectors as modules."""

from __future__ import annotations

from ...tensors.tensor import Tensor
from .. import functional
from .module import CallsFunction, Configured

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(CallsFunction, function=functional.cosine_similarity):
    """The cosine of the angle between the vectors along ``dim``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.CosineSimilarity()(numgrad.tensor([[3.0, 4.0]]), numgrad.tensor([[3.0, 0.0]]))
        tensor([0.6000])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__(dim=dim, eps=eps)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:  # type: ignore[override]
        return self._function(x1, x2, **self._options())


class PairwiseDistance(Configured):
    """The p-norm of the difference of the vectors along the last dimension, with ``eps`` added to the difference.

    Example:
        >>> import numgrad
        >>> numgrad.nn.PairwiseDistance()(numgrad.tensor([[3.0, 4.0]]), numgrad.tensor([[3.0, 0.0]]))
        tensor([4.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__(norm=p, eps=eps, keepdim=keepdim)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
