"""Layer normalization, with PyTorch's arguments."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.tensor import Tensor
from ...ops.network import normalization as ops
from ...ops.network.normalization import rms_norm as rms_norm
from ...ops.table.arguments import tensors_checked

__all__ = ["layer_norm", "rms_norm"]


@tensors_checked
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """``(input - mean) / sqrt(variance + eps) * weight + bias``, over the last dimensions.

    The variance is the mean of the squared distances from the mean.

    Args:
        input: floating-point numbers, of shape (..., *normalized_shape).
        normalized_shape: the sizes of the last dimensions, over which mean and variance are taken.
        weight, bias: of ``normalized_shape`` and the input's dtype; none stands for 1 and 0.
        eps: keeps the divisor from 0.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the input is not of floating-point numbers.
    """
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)
