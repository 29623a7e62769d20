"""Batch normalization: each channel normalized with its own mean and variance, or with running ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numgrad_kernels import scalar

from ...autograd.grad_mode import no_grad
from ...core.layout import Layout, layout_of, numel
from ...core.types import float32
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..composition import differentiated_as
from ..memory.copying import clone, contiguous_op
from ..memory.images import following
from ..pointwise.arithmetic import mul, sub
from ..reductions.axes import along_axis
from ..reductions.sums import sum_dims
from ..shapes.views import reshape
from ..table.checks import check_index, check_supported
from ..table.lookup import operation
from ..table.op import public
from ..table.operands import fused
from .group_normalization import channel_sizes
from .loss_reduction import refuse_gradient
from .normalization import projected, standardized


@operation(
    "NativeBatchNormBackward0", aten="native_batch_norm",
    inputs=["input", "weight", "bias", "running_mean", "running_var"],
    nondifferentiable=["running_mean", "running_var"], extras=["mean", "scale", "variance"], joint=True, mixed=True,
)
@following("input", ambiguous=False)
def batch_norm_op(
    p: Plan, input: TensorRef, weight: TensorRef | None, bias: TensorRef | None, running_mean: TensorRef | None,
    running_var: TensorRef | None, training: bool, eps: float,
) -> tuple[TensorRef, ...]:
    """Add the steps of ``(input - mean) * scale * weight + bias`` for each channel (dimension 1).

    The results are the normalized tensor, the means, the scales ``1 / sqrt(variance + eps)``, and the variances.  Means
    and variances are those of the channels if ``training``, else the running ones.
    """
    _check(input, training, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    type, channels = input.type, input.shape[1:2]
    if training and _is_fused(p, input):
        rows = [each and p.contiguous(each) for each in (input, weight, bias)]
        buffers = p.backend.normalized_channels(p, *rows, *channel_sizes(input), channels[0], True, eps)
        return p.tensor(buffers[0], type, input.shape), *[p.tensor(each, type, channels) for each in buffers[1:]]
    if training:
        moments = along_axis(p, "variance_axis", input, _dims(input), 0, False)
        variance, mean = [p.tensor(moment, type, channels) for moment in moments]
    else:
        mean, variance = [contiguous_op.build(p, each) for each in (running_mean, running_var) if each is not None]
    scale = fused(p, "batch_norm", _inverse, [variance], variance.layout, passed=[eps])
    return _fused(p, _normalized, input, mean, scale, weight or 1.0, bias or 0.0), mean, scale, variance


@batch_norm_op.gradient("input", "weight", "bias")
def _(grad, input, weight, mean, scale, training, eps):
    """``y = (input - mean) * scale; g = grad * weight; (scale * (g - mean(g) - y * mean(g * y)), sum(grad * y),
    sum(grad))``.
    """
    return batch_norm_backward(grad, input, weight, mean, scale, training, eps)


@operation(
    "NativeBatchNormBackwardBackward0", aten="native_batch_norm_backward",
    inputs=["grad_output", "input", "weight", "mean", "scale"],
    nondifferentiable=["mean", "scale"], outputs=["of_input", "of_weight", "of_bias"],
)
@following("input")
def batch_norm_backward(
    p: Plan, grad_output: TensorRef, input: TensorRef, weight: TensorRef | None, mean: TensorRef, scale: TensorRef,
    training: bool, eps: float,
) -> tuple[TensorRef, ...]:
    """Add the steps that compute the gradients of input, weight and bias; in training, statistics depend on input."""
    type, operands = input.type, (grad_output, input, mean, scale)
    if _is_fused(p, input):
        rows = [tensor and p.contiguous(tensor) for tensor in (*operands, weight)]
        buffers = p.backend.normalized_channels_gradients(p, *rows, *channel_sizes(input), True, not training)
        return p.tensor(buffers[0], type, input.shape), *[p.tensor(tensor, type, mean.shape) for tensor in buffers[1:]]
    sums = [sum_dims.build(p, tensor, _dims(input), False) for tensor in (_fused(p, _product, *operands), grad_output)]
    if not training:
        return _fused(p, _scaled, grad_output, scale, weight or 1.0), *sums
    share = mean.size / input.size if input.size else 0.0
    tilt, shift = [fused(p, "batch_norm", _average, [tensor], tensor.layout, passed=[share]) for tensor in sums]
    return _fused(p, _slope, *operands, weight or 1.0, shift, tilt), *sums


@differentiated_as(batch_norm_backward)
def _(grad_output, input, weight, mean, scale, training, eps):
    """``y = (input - mean) * scale; g = grad_output * weight; (scale * (g - mean(g) - y * mean(g * y)),
    sum(grad_output * y), sum(grad_output))``, and ``scale * g`` for the first where mean and scale are constants.
    """
    shape, dims = (-1, *(1,) * (len(input._layout.shape) - 2)), _dims(input._layout)
    weighted = grad_output if weight is None else mul(grad_output, reshape(weight, shape))
    if training:
        normal, divisor = standardized(input, dims, eps)
        of_input = projected(weighted, normal, divisor, dims)
    else:
        centre, scales = reshape(mean, shape), reshape(scale, shape)
        normal, of_input = mul(sub(input, centre), scales), mul(weighted, scales)
    return of_input, *[sum_dims(each, dims, False) for each in (mul(grad_output, normal), grad_output)]


def _is_fused(p: Plan, input: TensorRef) -> bool:
    """Return True if kernels of the device normalize the channels of a batch."""
    return input.layout.contiguous and input.size > 0 and p.backend.channels_are_fused(channel_sizes(input)[1], True)


def _dims(input: Layout | TensorRef) -> tuple[int, ...]:
    """Return all dimensions except that of the channels."""
    return (0, *range(2, len(input.shape)))


# -- the elementwise functions ------------------------------------------------------------------------------------


def _inverse(variance, eps):
    return 1 / scalar.sqrt(variance + eps)


def _normalized(input, mean, scale, weight, bias):
    return (input - mean) * scale * weight + bias


def _product(grad, input, mean, scale):
    return grad * ((input - mean) * scale)


def _slope(grad, input, mean, scale, weight, shift, tilt):
    return (grad - shift - (input - mean) * scale * tilt) * scale * weight


def _scaled(grad, scale, weight):
    return grad * scale * weight


def _average(total, share):
    return total * share


def _fused(p: Plan, function: Callable[..., Any], first: TensorRef, *others: TensorRef | float) -> TensorRef:
    """Add a fused elementwise step over ``first`` and further operands, which hold one element per channel or all."""
    behind = len(first.shape) - 2
    operands = [
        layout.viewed(layout_of(layout.type, (*layout.shape, *(1,) * behind), (*layout.layout.strides, *(0,) * behind)))
        if isinstance(layout, TensorRef) and len(layout.shape) == 1 else layout
        for layout in others
    ]
    return fused(p, "batch_norm", function, [first, *operands], layout_of(first.type, first.shape))


# -- the public function ------------------------------------------------------------------------------------------


def _check(input: TensorRef, training: bool, **arguments: TensorRef | None) -> None:
    """Raise unless ``input`` can be normalized with these arguments of one element per channel.

    Raises:
        RuntimeError: a size or dtype differs, or running statistics are missing in evaluation mode.
        NotImplementedError: the input's dtype is not a floating-point one.
    """
    channels = input.shape[1] if len(input.shape) > 1 else 0
    for name, tensor in arguments.items():
        if tensor is not None and tensor.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {tensor.size}")
        if tensor is not None and len(tensor.shape) != 1:
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {len(tensor.shape)} ({name})")
        if tensor is None and name.startswith("running") and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    check_index(len(input.shape) >= 2, "Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    check_supported(input, "f", "batch_norm")
    present = [argument for argument in arguments.values() if argument is not None]
    if any(tensor.type is not input.type for tensor in present):
        others = any(tensor.type.dtype is not float32 for tensor in present)
        rule = "expect parameter to have scalar type of Float" if others else "all inputs must share same datatype."
        raise RuntimeError(f"mixed dtype (CPU): {rule}")


@public(export=False)
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:
    """``(input - mean) / sqrt(variance + eps) * weight + bias``, for each channel.

    With ``training``, mean and variance are those of the channel, and the running statistics move towards them:
    ``running += momentum * (new - running)``, with the unbiased variance as the new one.  Otherwise mean and variance
    are the running statistics.

    Args:
        input: floating-point numbers, of shape (n, channels, ...).
        running_mean, running_var: of shape (channels,) and the input's dtype; optional in training.
        weight, bias: of that shape and dtype, too; None stands for 1 and 0.
        training: True to normalize with the statistics of the batch.
        momentum: the weight of the new statistics in the running ones: 1 replaces them.
        eps: a positive number that keeps the divisor from 0.

    Raises:
        ValueError: in training, a channel has a single element, ``eps`` is not positive, or only one of the running
            statistics is given.
        RuntimeError: the sizes do not fit, the dtypes differ, or the running statistics are missing.
        NotImplementedError: the input's dtype is not a floating-point one.
    """
    if training and input.shape[0] * numel(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if training and (running_mean is None) is not (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    return channels_normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def channels_normalized(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return the result of :func:`batch_norm`, the means and the scales; None for the latter two if not computed."""
    statistics = {"running_mean": running_mean, "running_var": running_var}
    for name, running in statistics.items():
        refuse_gradient("native_batch_norm", name, running)
    if input.numel() == 0 and weight is None and bias is None:
        return clone(input), None, None  # for any number of dimensions, as in PyTorch
    out, mean, scale, variance = batch_norm_op(input, weight, bias, *statistics.values(), bool(training), float(eps))
    if training and running_mean is not None and running_var is not None and out.numel():
        count, share = input.numel() // mean.numel(), float(momentum)
        with no_grad():
            running_mean.lerp_(mean, share)
            running_var.lerp_(mul(variance, count / (count - 1) if count > 1 else math.nan), share)
    return out, mean, scale
