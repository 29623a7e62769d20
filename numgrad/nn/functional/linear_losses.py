"""The cross-entropy of the output of a linear layer."""

from __future__ import annotations

from typing import Any

from ...ops.matrices.matmul import linear
from ...ops.table.arguments import tensors_checked
from ...ops.table.checks import check, check_implemented
from ...tensors.tensor import Tensor
from .classification import cross_entropy

__all__ = ["linear_cross_entropy"]


@tensors_checked
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """Return :func:`cross_entropy` of ``linear(input, linear_weight, linear_bias)``.

    Args:
        input: of shape (batch, features) or (features).
        linear_weight: of shape (classes, features), or (classes, ..., features) if each example has several targets.
        target: indices or probabilities of classes, as for :func:`cross_entropy`, of shape (batch, ...) or (batch,
            classes, ...).
        linear_bias: of the weight's shape without the last dimension.
        weight: the weight of each class; None stands for 1.
        reduction: "mean", "sum" or "none".
        ignore_index: a target that is ignored, -100 by default; None if targets are probabilities.
        label_smoothing: the part of each target that is spread over all classes.
        options: must be None: PyTorch's piecewise computations are not supported.

    Raises:
        RuntimeError, ValueError: the shapes or dtypes do not fit.
        NotImplementedError: ``options`` is not None.
    """
    check_implemented(options is None, "linear_cross_entropy: numgrad computes it as a whole, with options=None")
    shape, of_weight = input._layout.shape, linear_weight._layout.shape
    outer = of_weight[:-1]
    check(len(shape) in (1, 2), "expected input with dimensionality 1 or 2, got {}", len(shape))
    check(outer, "expected linear_weight with dimensionality at least 2, got {}", len(of_weight))
    check(
        shape[-1] == of_weight[-1],
        "expected equal input and linear_weight last dimensions (in_features), got {} and {}, respectively",
        shape[-1], of_weight[-1],
    )
    check(
        len(outer) <= 1 or len(shape) != 1,
        "K-dimensional loss defined by linear_weight shape {!s} requires batched input, (N, {}), got unbatched input "
        "with shape {!s}", of_weight, shape[-1], shape,
    )
    if linear_bias is not None and linear_bias._layout.shape != outer:
        raise RuntimeError(f"expected linear_bias shape {outer}, got {linear_bias._layout.shape}")
    if ignore_index is None:
        ignore_index = -100
    elif target.is_floating_point():
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    bias = linear_bias if linear_bias is None else linear_bias.flatten()
    scores = linear(input, linear_weight.flatten(0, -2), bias)
    return cross_entropy(
        scores.reshape((*shape[:-1], *outer)) if len(outer) > 1 else scores, target, weight,
        ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing,
    )
