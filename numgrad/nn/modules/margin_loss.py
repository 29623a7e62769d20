"""Margin losses as modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensors.tensor import Tensor
from .. import functional
from .loss import _Loss, _WeightedLoss

__all__ = [
    "CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "SoftMarginLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class SoftMarginLoss(_Loss, function=functional.soft_margin_loss):
    """``log(1 + exp(-target * input))`` for targets 1 and -1.

    Example:
        >>> import numgrad
        >>> numgrad.nn.SoftMarginLoss()(numgrad.tensor([0.5, 2.0]), numgrad.tensor([1.0, 1.0]))
        tensor(0.3005)
    """


class MultiLabelMarginLoss(_Loss, function=functional.multilabel_margin_loss):
    """``sum(max(0, 1 - input[t] + input[j])) / classes``, over the targets t and all classes j that are not targets.

    The targets of an example are the class indices before the first -1.
    """


class MultiLabelSoftMarginLoss(_WeightedLoss, function=functional.multilabel_soft_margin_loss):
    """The mean over the classes of the binary cross entropy of ``sigmoid(input)``."""


class MultiMarginLoss(_WeightedLoss, function=functional.multi_margin_loss):
    """``sum(max(0, margin - input[target] + input[j]) ** p) / classes``, over all classes j except the target.

    Raises:
        ValueError: ``p`` is neither 1 nor 2, or the weight is not one-dimensional.
    """

    def __init__(
        self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: Any = None,
        reduce: Any = None, reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self._keep(p=p, margin=margin)


class _MarginLoss(_Loss):
    """A loss with a margin, 0 by default."""

    def __init__(
        self, margin: float = 0.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self._keep(margin=margin)


class HingeEmbeddingLoss(_MarginLoss, function=functional.hinge_embedding_loss):
    """The input for targets 1, ``max(0, margin - input)`` for targets -1.

    Example:
        >>> import numgrad
        >>> numgrad.nn.HingeEmbeddingLoss()(numgrad.tensor([0.5, 2.0]), numgrad.tensor([1.0, 1.0]))
        tensor(1.2500)
    """

    def __init__(
        self, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)


class MarginRankingLoss(_MarginLoss, function=functional.margin_ranking_loss):
    """``max(0, margin - target * (input1 - input2))``; the first should be larger for target 1, the second for -1.

    Example:
        >>> import numgrad
        >>> x, y = numgrad.tensor([1.0]), numgrad.tensor([2.0])
        >>> numgrad.nn.MarginRankingLoss(margin=0.5)(x, y, numgrad.tensor([1.0]))
        tensor(1.5000)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._function(input1, input2, target, **self._options())


class CosineEmbeddingLoss(_MarginLoss, function=functional.cosine_embedding_loss):
    """``1 - cos(input1, input2)`` for targets 1, ``max(0, cos(input1, input2) - margin)`` for targets -1.

    Example:
        >>> import numgrad
        >>> x, y = numgrad.tensor([[1.0, 0.0]]), numgrad.tensor([[0.0, 1.0]])
        >>> numgrad.nn.CosineEmbeddingLoss()(x, y, numgrad.tensor([1.0]))
        tensor(1.)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._function(input1, input2, target, **self._options())


class TripletMarginLoss(_Loss, function=functional.triplet_margin_loss):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with the p-norm as distance.

    With ``swap``, the distance from positive to negative is used if it is less than that from anchor to negative.

    Example:
        >>> import numgrad
        >>> anchor, positive, negative = numgrad.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]).split(1)
        >>> numgrad.nn.TripletMarginLoss(margin=6.0)(anchor, positive, negative)
        tensor(1.0000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(self, margin)
        self._keep(margin=margin, p=p, eps=eps, swap=swap)

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        return self._function(anchor, positive, negative, **self._options())


class TripletMarginWithDistanceLoss(_Loss, function=functional.triplet_margin_with_distance_loss):
    """TripletMarginLoss with a custom distance; the default is PairwiseDistance."""

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _check_margin(self, margin)
        distance_function = functional.pairwise_distance if distance_function is None else distance_function
        self._keep(distance_function=distance_function, margin=margin, swap=swap)

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        return self._function(anchor, positive, negative, **self._options())


def _check_margin(loss: _Loss, margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"{type(loss).__name__}: expected margin to be greater than 0, got {margin} instead")
