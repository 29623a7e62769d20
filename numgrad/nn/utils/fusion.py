"""Fusion of a batch normalization in evaluation mode into the preceding layer."""

from __future__ import annotations

import copy
from typing import Any

from ...tensors.tensor import Tensor
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a convolution equivalent to ``conv`` followed by the batch normalization ``bn``.

    Both must be in evaluation mode.  ``transpose`` is True for a transposed convolution.

    Raises:
        AssertionError: either is in training mode, or ``bn`` has no running statistics.
    """
    return _fused(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a linear layer equivalent to ``linear`` followed by the batch normalization ``bn``, both in evaluation
    mode.

    Raises:
        AssertionError: either is in training mode, or ``bn`` has no running statistics or other features.
    """
    if not (linear.training or bn.training) and bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fused(linear, bn, fuse_linear_bn_weights)


def _fused(layer: Any, bn: Any, fuse: Any, *options: bool) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Only support fusing BatchNorm with running mean and running var")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = fuse(
        layer.weight, layer.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, *options
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None, transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a convolution fused with a normalization, whose own weight and bias may be None."""
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a linear layer fused with a normalization, whose own weight and bias may be None."""
    return _weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _weights(
    weight: Tensor, bias: Tensor | None, mean: Tensor, variance: Tensor, eps: float, scale: Tensor | None,
    shift: Tensor | None, shape: list[int],
) -> tuple[Parameter, Parameter]:
    """Return ``(weight * s, (bias - mean) * s + shift)`` with ``s = scale / sqrt(variance + eps)`` in this shape."""
    factor = (variance + eps).rsqrt()
    if scale is not None:
        factor = factor * scale
    fused_bias = (-mean if bias is None else bias - mean) * factor
    if shift is not None:
        fused_bias = fused_bias + shift
    fused_weight = (weight * factor.reshape(shape)).to(weight.dtype)
    fused_bias = fused_bias.to(weight.dtype if bias is None else bias.dtype)
    return Parameter(fused_weight, weight.requires_grad), Parameter(fused_bias, bias is not None and bias.requires_grad)
