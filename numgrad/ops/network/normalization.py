"""Layer normalization, its relative by the root of the mean square, and batch normalization."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels import scalar

from ...autograd.grad_mode import no_grad
from ...core.layout import Layout, layout_of, numel
from ...core.tensor import Tensor, tensor_of
from ...core.types import float32
from ..batching.physical import aligned, expanded
from ..memory.copying import clone, convert, copier, row_reader
from ..memory.images import following
from ..pointwise.arithmetic import add, div, mul, sub
from ..pointwise.exponential import pow, sqrt
from ..reductions.axes import Prepared, axis_launcher
from ..reductions.sums import mean_dims, sum_dims, sum_to_shape
from ..shapes.views import reshape
from ..table.composition import differentiated_as
from ..table.op import composite, public
from ..table.operands import fused_launcher, not_implemented
from ..table.planned import planned
from .loss_reduction import refuse_gradient


@planned(
    "NativeLayerNormBackward0", inputs=["input", "weight", "bias"], extras=["mean", "scale"], joint=True,
    shared=["weight", "bias"],
)
def layer_norm_op(
    input: Layout, weight: Layout | None, bias: Layout | None, shape: tuple[int, ...], eps: float
) -> Prepared:
    """``(input - mean) * scale * weight + bias`` over the last dimensions, of ``shape``.

    The results are that, the means, and the scales, which are ``1 / sqrt(variance + eps)``.
    """
    _check_shape("LayerNormKernelImpl", input, shape, weight=weight, bias=bias)
    for argument in (weight, bias):
        if argument is not None and argument.type is not input.type:
            raise RuntimeError(
                f"mixed dtype (CPU): expect parameter to have scalar type of {input.type.dtype.legacy}, not "
                f"{argument.type.dtype.legacy}"
            )
    outer = len(input.shape) - len(shape)
    each = layout_of(input.type, input.shape[:outer] + (1,) * len(shape))
    compute = input.type.backend.layer_norm_launcher(input.type, input.size, numel(shape), each.size, eps)
    read, read_weight, read_bias = [row_reader(one) for one in (input, weight, bias)]
    return (layout_of(input.type, input.shape), each, each), lambda tensor, factors, terms: compute(
        read(tensor), read_weight(factors), read_bias(terms)
    )


@layer_norm_op.batched
def _(input, weight, bias, shape, eps):
    out, mean, scale = layer_norm_op(expanded(input), None, None, shape, eps)
    rank = len(input._layout.shape)
    for one, combine in ((weight, mul), (bias, add)):
        if one is not None:
            out = combine(out, aligned(one, rank))
    return out, mean, scale


@layer_norm_op.gradient("input", "weight", "bias")
def _(grad, input, weight, mean, scale, shape, eps):
    """``y = (input - mean) * scale; g = grad * weight; (scale * (g - mean(g) - y * mean(g * y)), sum(grad * y),
    sum(grad))``.
    """
    return layer_norm_backward(grad, input, mean, scale, weight, shape, eps)


@planned(
    "NativeLayerNormBackwardBackward0", aten="native_layer_norm_backward",
    inputs=["grad_output", "input", "mean", "scale", "weight"],
    nondifferentiable=["mean", "scale"], outputs=["of_input", "of_weight", "of_bias"],
)
def layer_norm_backward(
    grad_output: Layout, input: Layout, mean: Layout, scale: Layout, weight: Layout | None, shape: tuple[int, ...],
    eps: float,
) -> Prepared:
    """The gradients for the input, the weight and the bias; mean and scale are functions of the input."""
    compute = input.type.backend.layer_norm_gradients_launcher(input.type, input.size, numel(shape), mean.size)
    readers = [row_reader(one) for one in (grad_output, input, mean, scale, weight)]
    layouts = tuple([layout_of(input.type, own) for own in (input.shape, shape, shape)])
    return layouts, lambda *tensors: compute(*[read(one) for read, one in zip(readers, tensors, strict=True)])


@layer_norm_backward.batched
def _(grad_output, input, mean, scale, weight, shape, eps):
    grads, *own = [expanded(one) for one in (grad_output, input, mean, scale)]
    rank = len(input._layout.shape)
    weighted = grads if weight is None else mul(grads, aligned(weight, rank))
    dims = tuple(range(1, rank - len(shape) + 1))
    normal = layer_norm_op(own[0], None, None, shape, eps)[0]  # which depends on the input, as mean and scale do
    sums = [sum_dims(one, dims, False) for one in (mul(grads, normal), grads)]
    return layer_norm_backward(weighted, *own, None, shape, eps)[0], *sums


@differentiated_as(layer_norm_backward)
def _(grad_output, input, weight, shape, eps):
    """``y = (input - mean) * scale; g = grad_output * weight; (scale * (g - mean(g) - y * mean(g * y)),
    sum(grad_output * y), sum(grad_output))``.
    """
    rank = len(input._layout.shape)
    dims = tuple(range(rank - len(shape), rank))
    normal, divisor = standardized(input, dims, eps)
    weighted = grad_output if weight is None else mul(grad_output, weight)
    sums = [sum_to_shape(one, shape) for one in (mul(grad_output, normal), grad_output)]
    return projected(weighted, normal, divisor, dims), *sums


def standardized(input: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """The input with mean 0 and variance 1 over some dimensions, and what it was divided by."""
    centred = sub(input, mean_dims(input, dims, True))
    divisor = sqrt(add(mean_dims(mul(centred, centred), dims, True), eps))
    return div(centred, divisor), divisor


def projected(grad: Tensor, normal: Tensor, divisor: Tensor, dims: tuple[int, ...]) -> Tensor:
    """``(grad - mean(grad) - normal * mean(grad * normal)) / divisor``: the gradient for what was ``standardized``."""
    along = mul(normal, mean_dims(mul(grad, normal), dims, True))
    return div(sub(sub(grad, mean_dims(grad, dims, True)), along), divisor)


@functools.lru_cache(maxsize=1024)
def _check_shape(name: str, input: Layout, shape: tuple[int, ...], **arguments: Layout | None) -> None:
    """Raise unless what has the layout ``input`` can be normalized over its last dimensions, of ``shape``.

    Raises:
        RuntimeError: the input does not end in it, or an argument is of another.
        NotImplementedError: the input is not of floating-point numbers.
    """
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for parameter, argument in arguments.items():
        if argument is not None and argument.shape != shape:
            raise RuntimeError(
                f"Expected {parameter} to be of same shape as normalized_shape, but got {parameter} of shape "
                f"{list(argument.shape)} and normalized_shape = {list(shape)}"
            )
    if input.shape[-len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, "
            f"{', '.join(map(str, shape))}], but got input of size{list(input.shape)}"
        )
    if not input.type.dtype.is_floating_point:
        raise not_implemented(name, input)


@public(method=False)
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:
    """``(input - mean) / sqrt(variance + eps) * weight + bias``, over the last dimensions.

    The variance is the mean of the squared distances from the mean.

    Args:
        input: floating-point numbers, of shape (..., *normalized_shape).
        normalized_shape: the sizes of the last dimensions, over which mean and variance are taken.
        weight, bias: of ``normalized_shape`` and the input's dtype; none stands for 1 and 0.
        eps: keeps the divisor from 0.
        cudnn_enable: taken because PyTorch takes it.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the input is not of floating-point numbers.
    """
    return layer_norm_op(input, weight, bias, tuple(normalized_shape), float(eps))[0]


@composite(method=False)
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """``input / sqrt(mean(input ** 2) + eps) * weight``, the mean being over the last dimensions.

    Args:
        input: floating-point numbers, of shape (..., *normalized_shape).
        normalized_shape: the sizes of the last dimensions.
        weight: of ``normalized_shape``; none stands for 1.
        eps: keeps the divisor from 0; the distance from 1 to the dtype's next number unless given.

    Raises:
        RuntimeError: the shapes do not fit.
        NotImplementedError: the input is not of floating-point numbers.
    """
    shape = tuple(normalized_shape)
    _check_shape("rms_norm", input._layout, shape, weight=None if weight is None else weight._layout)
    dims = tuple(range(len(input._layout.shape) - len(shape), len(input._layout.shape)))
    if eps is None:
        eps = float(np.finfo(input.dtype.numpy).eps)
    square = add(mean_dims(pow(input, 2), dims, True), eps)
    out = mul(input, square.rsqrt())
    return out if weight is None else convert(mul(out, weight), input.dtype)


# -- batch normalization ----------------------------------------------------------------------------------------


@planned(
    "NativeBatchNormBackward0", aten="native_batch_norm",
    inputs=["input", "weight", "bias", "running_mean", "running_var"],
    nondifferentiable=["running_mean", "running_var"], extras=["mean", "scale", "variance"], joint=True,
)
@following("input", ambiguous=False)
def batch_norm_op(
    input: Layout, weight: Layout | None, bias: Layout | None, running_mean: Layout | None,
    running_var: Layout | None, training: bool, eps: float,
) -> Prepared:
    """``(input - mean) * scale * weight + bias`` for each channel, which is dimension 1.

    The results are that, the means, the scales, which are ``1 / sqrt(variance + eps)``, and the variances: those of
    the channels if ``training``, else the running ones.
    """
    _check(input, training, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    each, out = layout_of(input.type, input.shape[1:2]), layout_of(input.type, input.shape)
    invert = fused_launcher("batch_norm", _inverse, [each, float], each)
    normalize = _launcher(_normalized, out, input, each, each, weight or 1.0, bias or 0.0)
    moments = axis_launcher("variance_axis", input, _dims(input), 0, False) if training else None
    copies = [copier(one, each) for one in (running_mean, running_var) if one is not None]

    def launch(input: Tensor, weight: Any, bias: Any, *running: Any) -> Any:
        if moments is not None:
            variance, mean = moments(input)
        else:
            mean, variance = [copy(one) for copy, one in zip(copies, running, strict=True)]
        scale = invert(tensor_of(each, variance), eps)
        return normalize(input, tensor_of(each, mean), tensor_of(each, scale), weight, bias), mean, scale, variance

    return (out, each, each, each), launch


@batch_norm_op.gradient("input", "weight", "bias")
def _(grad, input, weight, mean, scale, training, eps):
    """``y = (input - mean) * scale; g = grad * weight; (scale * (g - mean(g) - y * mean(g * y)), sum(grad * y),
    sum(grad))``.
    """
    return batch_norm_backward(grad, input, weight, mean, scale, training, eps)


@planned(
    "NativeBatchNormBackwardBackward0", aten="native_batch_norm_backward",
    inputs=["grad_output", "input", "weight", "mean", "scale"],
    nondifferentiable=["mean", "scale"], outputs=["of_input", "of_weight", "of_bias"],
)
@following("input")
def batch_norm_backward(
    grad_output: Layout, input: Layout, weight: Layout | None, mean: Layout, scale: Layout, training: bool, eps: float
) -> Prepared:
    """The gradients for the input, the weight and the bias, where mean and scale depend on it in training."""
    each, out = layout_of(input.type, mean.shape), layout_of(input.type, input.shape)
    given = grad_output, input, mean, scale
    product = _launcher(_product, out, *given)
    summed = [axis_launcher("fold_axis", one, _dims(input), "sum", input.type.numpy) for one in (out, grad_output)]
    share = each.size / input.size if training and input.size else 0.0
    average = mul.op.launcher([each, float], each)
    slope = _launcher(_slope if training else _scaled, out, *given, weight or 1.0, each, each)

    def launch(grad: Tensor, input: Tensor, weight: Any, *statistics: Tensor) -> Any:
        terms = grad, input, *statistics
        sums = summed[0](tensor_of(out, product(*terms))), summed[1](grad)
        tilt, shift = [tensor_of(each, average(tensor_of(each, total), share)) for total in sums]
        return slope(*terms, weight, shift, tilt), *sums

    return (out, each, each), launch


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
    return of_input, *[sum_dims(one, dims, False) for one in (mul(grad_output, normal), grad_output)]


def _dims(input: Layout) -> tuple[int, ...]:
    """All dimensions but that of the channels."""
    return (0, *range(2, len(input.shape)))


# -- what is done with each element -------------------------------------------------------------------------------


def _inverse(variance, eps):
    return 1 / scalar.sqrt(variance + eps)


def _normalized(input, mean, scale, weight, bias):
    return (input - mean) * scale * weight + bias


def _product(grad, input, mean, scale):
    return grad * ((input - mean) * scale)


def _slope(grad, input, mean, scale, weight, shift, tilt):
    return (grad - shift - (input - mean) * scale * tilt) * scale * weight


def _scaled(grad, input, mean, scale, weight, shift, tilt):
    return grad * scale * weight


def _launcher(function: Callable[..., Any], out: Layout, *given: Layout | float) -> Callable[..., Any]:
    """What computes a function of elements and of what belongs to their channels."""
    behind = len(out.shape) - 2
    operands = [
        layout_of(own.type, (*own.shape, *(1,) * behind), (*own.strides, *(0,) * behind))
        if isinstance(own, Layout) and len(own.shape) == 1 else own
        for own in given
    ]
    compute = fused_launcher("batch_norm", function, operands, out)
    return lambda *tensors: compute(*[tensor for tensor in tensors if tensor is not None])


# -- the public function ------------------------------------------------------------------------------------------


def _check(input: Layout, training: bool, **arguments: Layout | None) -> None:
    """Raise unless what has the layout ``input`` can be normalized with these arguments, of one element a channel.

    Raises:
        RuntimeError: they have other sizes or dtypes, or there are no statistics.
        NotImplementedError: the input is not of floating-point numbers.
    """
    channels = input.shape[1] if len(input.shape) > 1 else 0
    for name, own in arguments.items():
        if own is not None and own.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {own.size}")
        if own is not None and len(own.shape) != 1:
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {len(own.shape)} ({name})")
        if own is None and name.startswith("running") and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    if len(input.shape) < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    if not input.type.dtype.is_floating_point:
        raise not_implemented("batch_norm", input)
    given = [own for own in arguments.values() if own is not None]
    if any(own.type is not input.type for own in given):
        others = any(own.type.dtype is not float32 for own in given)
        wanted = "expect parameter to have scalar type of Float" if others else "all inputs must share same datatype."
        raise RuntimeError(f"mixed dtype (CPU): {wanted}")


@public(export=False)
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:
    """``(input - mean) / sqrt(variance + eps) * weight + bias``, for each channel.

    If ``training``, mean and variance are those of the channel, and the running ones are brought nearer to them:
    ``running += momentum * (new - running)``, where the sum of the squared distances from the mean is divided by one
    less than their number.  Else they are the running ones.

    Args:
        input: floating-point numbers, of shape (n, channels, ...).
        running_mean, running_var: of shape (channels,) and the input's dtype; in training there may be none.
        weight, bias: of that shape and dtype, too; none stands for 1 and 0.
        training: whose mean and variance are taken.
        momentum: how near the running ones are brought to the new ones: 1 replaces them.
        eps: keeps the divisor from 0.

    Raises:
        ValueError: in training there is one element to a channel, ``eps`` is not positive, or there are running means
            without variances, or the other way round.
        RuntimeError: the sizes do not fit, the dtypes differ, or there are no running statistics to take.
        NotImplementedError: the input is not of floating-point numbers.
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
    """:func:`batch_norm`, with the means and what deviations from them were multiplied by, if there are such."""
    statistics = {"running_mean": running_mean, "running_var": running_var}
    for name, running in statistics.items():
        refuse_gradient("native_batch_norm", name, running)
    if input.numel() == 0 and weight is None and bias is None:
        return clone(input), None, None  # of any number of dimensions, as in PyTorch
    out, mean, scale, variance = batch_norm_op(input, weight, bias, *statistics.values(), bool(training), float(eps))
    if training and running_mean is not None and running_var is not None and out.numel():
        count, share = input.numel() // mean.numel(), float(momentum)
        with no_grad():
            running_mean.lerp_(mean, share)
            running_var.lerp_(mul(variance, count / (count - 1) if count > 1 else math.nan), share)
    return out, mean, scale
