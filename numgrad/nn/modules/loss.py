"""Losses as modules."""

from __future__ import annotations

import math
from typing import Any

from ...core.missing import found_later
from ...tensors.tensor import Tensor
from .. import functional
from ..functional.reduction import newer_reduction
from .linear import Linear
from .module import CallsFunction

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CrossEntropyLoss", "GaussianNLLLoss", "HuberLoss", "KLDivLoss",
    "L1Loss", "LinearCrossEntropyLoss", "MSELoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss",
]


class _Loss(CallsFunction):
    """A loss; ``reduction`` ("mean", "sum" or "none") is applied to the losses of the elements.

    ``size_average`` and ``reduce`` are its deprecated form.
    """

    reduction: str

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction=newer_reduction(reduction, size_average, reduce))

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._function(input, target, **self._options())


class _WeightedLoss(_Loss):
    """A loss with weights for classes or elements."""

    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self._keep_buffer("weight", weight)


# -- of numbers -------------------------------------------------------------------------------------------------


class L1Loss(_Loss, function=functional.l1_loss):
    """The absolute difference of input and target.

    Example:
        >>> import numgrad
        >>> numgrad.nn.L1Loss()(numgrad.tensor([1.0, 2.0]), numgrad.tensor([1.0, 4.0]))
        tensor(1.)
    """


class MSELoss(_Loss, function=functional.mse_loss):
    """The square of the difference of input and target.

    Example:
        >>> import numgrad
        >>> numgrad.nn.MSELoss()(numgrad.tensor([1.0, 2.0]), numgrad.tensor([1.0, 4.0]))
        tensor(2.)
    """


class SmoothL1Loss(_Loss, function=functional.smooth_l1_loss):
    """``d**2 / (2 * beta)`` of the difference ``d`` where it is less than ``beta``, otherwise ``|d| - beta / 2``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.SmoothL1Loss()(numgrad.tensor([0.5, 2.0]), numgrad.tensor([1.0, 1.0]))
        tensor(0.3125)
    """

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self._keep(beta=beta)


class HuberLoss(_Loss, function=functional.huber_loss):
    """``d**2 / 2`` of the difference ``d`` where it is less than ``delta``, otherwise ``delta * (|d| - delta / 2)``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.HuberLoss()(numgrad.tensor([0.5, 2.0]), numgrad.tensor([1.0, 1.0]))
        tensor(0.3125)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self._keep(delta=delta)


class GaussianNLLLoss(_Loss, function=functional.gaussian_nll_loss):
    """``(log(var) + (input - target)**2 / var) / 2``; ``var``, the third argument, is clamped to at least ``eps``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.GaussianNLLLoss()(numgrad.zeros(2), numgrad.ones(2), var=numgrad.ones(2))
        tensor(0.5000)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self._keep(full=full, eps=eps)

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:  # type: ignore[override]
        return self._function(input, target, var, **self._options())


class PoissonNLLLoss(_Loss, function=functional.poisson_nll_loss):
    """``exp(input) - target * input`` or, unless ``log_input``, ``input - target * log(input + eps)``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.PoissonNLLLoss()(numgrad.tensor([0.5, 2.0]), numgrad.tensor([1.0, 1.0]))
        tensor(3.2689)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: Any = None,
        eps: float = 1e-8,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self._keep(log_input=log_input, full=full, eps=eps)

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._function(log_input, target, **self._options())


# -- of probabilities -------------------------------------------------------------------------------------------


class NLLLoss(_WeightedLoss, function=functional.nll_loss):
    """The negative log-probability of the target class; the input holds log-probabilities.

    Example:
        >>> import numgrad
        >>> log_probabilities = numgrad.tensor([[0.5, 0.5], [0.25, 0.75]]).log()
        >>> numgrad.nn.NLLLoss()(log_probabilities, numgrad.tensor([0, 1]))
        tensor(0.4904)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self._keep(ignore_index=ignore_index)


class CrossEntropyLoss(_WeightedLoss, function=functional.cross_entropy):
    """The negative logarithm of the softmax of the input at the target class, or averaged over target probabilities.

    Example:
        >>> import numgrad
        >>> loss = numgrad.nn.CrossEntropyLoss()
        >>> loss(numgrad.tensor([[2.0, 0.0], [0.0, 3.0]]), numgrad.tensor([0, 1]))
        tensor(0.0878)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self._keep(ignore_index=ignore_index, label_smoothing=label_smoothing)


class LinearCrossEntropyLoss(_Loss):
    """The cross-entropy of a linear layer's output for an input of shape (batch, in_features); the loss owns the layer.

    Args:
        in_features: the number of features of the input.
        num_classes: the number of classes.
        out_features: the sizes of further dimensions of the targets, of shape (batch, *out_features).
        bias: True if the layer has a bias.
        weight, reduction, ignore_index, label_smoothing, options: see :func:`nn.functional.linear_cross_entropy`.
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        super().__init__(reduction=reduction)
        self.register_buffer("weight", weight)
        self.linear = Linear(in_features, num_classes * math.prod(out_features), bias, device, dtype)
        self._keep(
            num_classes=num_classes, out_features=out_features, ignore_index=ignore_index,
            label_smoothing=label_smoothing, options=options,
        )

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return functional.linear_cross_entropy(
            input, self.linear.weight.reshape((*shape, self.linear.in_features)), target,
            linear_bias=bias if bias is None else bias.reshape(shape), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class KLDivLoss(_Loss, function=functional.kl_div):
    """``target * (log(target) - input)``: the input holds logarithms, as does the target with ``log_target``.

    Example:
        >>> import numgrad
        >>> uniform = numgrad.full((1, 2), 0.5)
        >>> numgrad.nn.KLDivLoss(reduction="batchmean")(uniform.log(), numgrad.tensor([[0.25, 0.75]]))
        tensor(0.1308)
    """

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self._keep(log_target=log_target)


class BCELoss(_WeightedLoss, function=functional.binary_cross_entropy):
    """``-(target * log(input) + (1 - target) * log(1 - input))`` of probabilities.

    Example:
        >>> import numgrad
        >>> numgrad.nn.BCELoss()(numgrad.tensor([0.5]), numgrad.tensor([1.0]))
        tensor(0.6931)
    """


class BCEWithLogitsLoss(_WeightedLoss, function=functional.binary_cross_entropy_with_logits):
    """The binary cross entropy of ``sigmoid(input)``; ``pos_weight`` weights the positive targets.

    Example:
        >>> import numgrad
        >>> numgrad.nn.BCEWithLogitsLoss()(numgrad.tensor([0.5, 2.0]), numgrad.tensor([1.0, 1.0]))
        tensor(0.3005)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self._keep_buffer("pos_weight", pos_weight)


# -- of sequences -----------------------------------------------------------------------------------------------


class CTCLoss(_Loss, function=functional.ctc_loss):
    """Minus the log-probability of label sequences, in which labels may be repeated, with blanks in between.

    It is called as ``loss(log_probs, targets, input_lengths, target_lengths)``; see :func:`nn.functional.ctc_loss`.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self._keep(blank=blank, zero_infinity=zero_infinity)

    def forward(  # type: ignore[override]
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        return self._function(log_probs, targets, input_lengths, target_lengths, **self._options())


#: Classes that PyTorch has in this module.
_ELSEWHERE = [
    "CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "SoftMarginLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]
__getattr__, _ = found_later(globals(), "nn.modules.loss", dict.fromkeys(_ELSEWHERE, ".margin_loss"))
