"""Losses, normalization, attention and other composed operations under ``vmap``; see ``calls``."""

from __future__ import annotations

import functools
from typing import Any

from ..._tensor import Tensor
from ...autograd.levels import tensors_in
from ..batches import aligned, expanded, is_shared, mapped_to, physical
from ..network.binary_losses import bce_op, bce_with_logits_op, soft_margin_loss_op
from ..network.likelihood import nll_loss_2d_backward, nll_loss_backward
from ..network.normalization import layer_norm_backward, layer_norm_op
from ..network.regression_losses import huber_loss_op, mse_loss_op, smooth_l1_loss_op
from ..pointwise.arithmetic import add, mul
from ..pointwise.complexes import complex_op, polar_op
from ..reductions.sums import mean_dims, sum_dims
from .calls import each_example

__all__: list[str] = []


def _loss(op: Any, *args: Any) -> Tensor:
    """The loss of each example."""
    rank = max([len(one._layout.shape) for one in tensors_in(args)])
    values, place = mapped_to(args, lambda one: aligned(one, rank)), op.parameters.index("reduction")
    losses, reduction = op(*values[:place], "none", *values[place + 1 :]), values[place]
    dims = tuple(range(1, rank + 1))
    return losses if reduction == "none" else (sum_dims if reduction == "sum" else mean_dims)(losses, dims, False)


for _op in (bce_op, bce_with_logits_op, soft_margin_loss_op, mse_loss_op, smooth_l1_loss_op, huber_loss_op):
    _op.batched(functools.partial(_loss, _op))


def _of_parts(op: Any, *parts: Tensor) -> Tensor:
    rank = max([len(one._layout.shape) for one in parts])
    return op(*[aligned(one, rank) for one in parts])


for _op in (complex_op, polar_op):
    _op.batched(functools.partial(_of_parts, _op))


@nll_loss_backward.batched
@nll_loss_2d_backward.batched
def _(grad_output, target, weight, total_weight, shape, ignored, reduction):
    op = nll_loss_backward if len(shape) < 3 else nll_loss_2d_backward
    args = (grad_output, target, weight, total_weight, shape, ignored, reduction)
    if grad_output._layout.shape or not all(map(is_shared, (target, weight, total_weight))):
        return each_example(op, grad_output._mapped.level, args)
    slopes = op(physical(grad_output).new_ones(()), *map(physical, args[1:4]), *args[4:])  # it is linear
    return mul(aligned(grad_output, len(shape)), slopes)


@layer_norm_op.batched
def _(input, weight, bias, shape, eps):
    layer_norm_op.entry((input, weight, bias, shape, eps))  # which checks the examples
    if is_shared(weight) and is_shared(bias):
        return layer_norm_op(*map(physical, (input, weight, bias)), shape, eps)
    out, mean, scale = layer_norm_op(expanded(input), None, None, shape, eps)
    rank = len(input._layout.shape)
    for one, combine in ((weight, mul), (bias, add)):
        if one is not None:
            out = combine(out, aligned(one, rank))
    return out, mean, scale


@layer_norm_backward.batched
def _(grad_output, input, mean, scale, weight, shape, eps):
    grads = expanded(grad_output)
    own = [expanded(one) for one in (input, mean, scale)]
    return layer_norm_backward(mul(grads, aligned(weight, len(input._layout.shape))), *own, None, shape, eps)
