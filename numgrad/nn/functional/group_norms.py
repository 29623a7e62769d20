"""Normalization of groups of channels, and of each channel of each example."""

from __future__ import annotations

from ...autograd.grad_mode import no_grad
from ...core.layout import numel
from ...ops.network import group_normalization
from ...ops.network.batch_normalization import batch_norm
from ...ops.table.arguments import tensors_checked
from ...ops.table.checks import check
from ...tensors.tensor import Tensor

__all__ = ["group_norm", "instance_norm"]


@tensors_checked
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Return ``(input - mean) / sqrt(variance + eps) * weight + bias``, with the statistics of groups of channels.

    Args:
        input: floating-point numbers, of shape (n, channels, ...).
        num_groups: the number of groups of equally many adjacent channels.
        weight, bias: of shape (channels,) and the input's dtype; None stands for 1 and 0.
        eps: a small number that keeps the divisor from 0.

    Raises:
        RuntimeError: the channels do not divide into the groups, or the shapes or dtypes do not fit.
        ValueError: there is a single example with one element per group.
        NotImplementedError: the input is not floating-point.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.group_norm(numgrad.ones(1, 4, 2), 2).shape
        torch.Size([1, 4, 2])
    """
    shape = input._layout.shape
    check(len(shape) >= 2, "Expected at least 2 dimensions for input tensor but received {}", len(shape))
    groups = [shape[0] * shape[1] // max(num_groups, 1), num_groups, *shape[2:]]
    if groups[0] * numel(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {groups}")
    return group_normalization.group_norm(input, num_groups, weight, bias, eps)


@tensors_checked
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:
    """Apply :func:`batch_norm` to each example alone, with the mean and variance of each of its channels.

    Args:
        input: floating-point numbers, of shape (n, channels, ...).
        running_mean, running_var: of shape (channels,) and the input's dtype, or None; they are moved towards the mean
            of the examples' statistics.
        weight, bias: of the same shape and dtype; None stands for 1 and 0.
        use_input_stats: True to use the mean and variance of the input, False to use the running ones.
        momentum: the weight of the new statistics in the running ones: 1 replaces them.
        eps: a small number that keeps the divisor from 0.

    Raises:
        ValueError: each channel of an example has a single element, and the input's statistics are to be used.
        RuntimeError: the sizes do not fit, the dtypes differ, or running statistics are to be used but missing.
        NotImplementedError: the input is not floating-point.
    """
    shape = input._layout.shape
    running = running_mean, running_var
    if use_input_stats and numel(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    n, channels = shape[:2]
    if not input._layout.size:
        return input.clone()
    means, variances, weights, biases = [
        None if tensor is None else tensor.repeat(n) for tensor in (running_mean, running_var, weight, bias)
    ]
    together = input.reshape(1, n * channels, *shape[2:])
    out = batch_norm(together, means, variances, weights, biases, use_input_stats, momentum, eps)
    if use_input_stats:
        with no_grad():
            for old, new in zip(running, (means, variances), strict=True):
                if old is not None and new is not None:
                    old.copy_(new.reshape(n, channels).mean(0))
    return out.reshape(shape)
