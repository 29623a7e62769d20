"""Layer normalization and its relative by the root of the mean square."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import devices
from ..._layout import Layout, layout_of, numel
from ..._tensor import Tensor, tensor_of
from ..._types import dtype
from ...autograd.grad_mode import TRACED, state
from ..arguments import checked
from ..batches import aligned, expanded
from ..copying import convert, row_reader
from ..one_device import check_one_device
from ..planned import planned
from ..pointwise.arithmetic import add, div, mul, neg, sub
from ..pointwise.powers import pow, sqrt
from ..reductions.axes import Prepared
from ..reductions.sums import mean_dims, sum_to_shape
from ..table import public

__all__ = ["layer_norm", "rms_norm"]


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
            check_one_device(input, argument)
            raise RuntimeError(
                f"mixed dtype (CPU): expect parameter to have scalar type of {input.type.dtype.legacy}, not "
                f"{argument.type.dtype.legacy}"
            )
    outer = len(input.shape) - len(shape)
    each = layout_of(input.type, input.shape[:outer] + (1,) * len(shape))
    compute = devices.layer_norm_launcher(input.type, input.size, numel(shape), each.size, eps)
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
    if state.mode & TRACED:
        normal = layer_norm_op(input, None, None, shape, eps)[0]
        of_input = layer_norm_backward(grad, input, mean, scale, weight, shape, eps)
        return [of_input, sum_to_shape(mul(grad, normal), shape), sum_to_shape(grad, shape)]
    given = grad, input, mean, scale, weight
    layouts, readers, launch = _gradients(*[None if one is None else one._layout for one in given], shape)
    rows = launch(*[read(one) for read, one in zip(readers, given, strict=True)])
    return [tensor_of(layout, row) for layout, row in zip(layouts, rows, strict=True)]


@functools.lru_cache(maxsize=1024)
def _gradients(
    grad: Layout, input: Layout, mean: Layout, scale: Layout, weight: Layout | None, shape: tuple[int, ...]
) -> tuple[list[Layout], list[Any], Any]:
    launch = devices.layer_norm_gradients_launcher(input.type, input.size, numel(shape), mean.size)
    layouts = [layout_of(input.type, own) for own in (input.shape, shape, shape)]
    return layouts, [row_reader(one) for one in (grad, input, mean, scale, weight)], launch


@planned(
    "NativeLayerNormBackwardBackward0", inputs=["grad_output", "input", "mean", "scale", "weight"],
    nondifferentiable=["mean", "scale"], shared=["weight"],
)
def layer_norm_backward(
    grad_output: Layout, input: Layout, mean: Layout, scale: Layout, weight: Layout | None, shape: tuple[int, ...],
    eps: float,
) -> Any:
    """``(g - mean(g) - y * mean(g * y)) * scale``, the gradient for the input.

    Here ``g = grad_output * weight`` and ``y`` is the normalized input.  Mean and scale are functions of the input,
    and the rules know that.
    """
    check_one_device(grad_output, input, mean, scale, weight)
    launch = devices.layer_norm_backward_launcher(input.type, input.size, numel(shape))
    readers = [row_reader(one) for one in (grad_output, input, mean, scale, weight)]
    return layout_of(input.type, input.shape), lambda *tensors: launch(
        *[read(tensor) for read, tensor in zip(readers, tensors, strict=True)]
    )


@layer_norm_backward.batched
def _(grad_output, input, mean, scale, weight, shape, eps):
    own = [expanded(one) for one in (input, mean, scale)]
    weighted = mul(expanded(grad_output), aligned(weight, len(input._layout.shape)))
    return layer_norm_backward(weighted, *own, None, shape, eps)


@layer_norm_backward.gradient("grad_output")
def _(grad, input, mean, scale, weight, shape, eps):
    """``g = grad * scale; y = (input - mean) * scale; weight * (g - mean(g) - y * mean(g * y))``."""
    projected = layer_norm_backward(grad, input, mean, scale, None, shape, eps)
    return projected if weight is None else mul(projected, weight)


@layer_norm_backward.gradient("weight")
def _(grad, grad_output, input, mean, scale, shape, eps):
    return sum_to_shape(mul(grad_output, layer_norm_backward(grad, input, mean, scale, None, shape, eps)), shape)


@layer_norm_backward.gradient("input")
def _(grad, grad_output, input, mean, scale, weight, shape, eps):
    """``-(y * mean(P(c) * g) + P(c) * mean(g * y) + P(g) * mean(c * y)) * scale ** 2``."""
    # With P(v) = v - mean(v) - y * mean(v * y), which projects, the gradient is P(g) / s, of which the derivative is
    # -(y * mean(P(c) * g) + P(c) * mean(g * y) + P(g) * mean(c * y)) / s^2, c being the incoming gradient.  The
    # divisor s is computed anew, as a function of the input, lest further derivatives miss a part.
    dims = tuple(range(len(input._layout.shape) - len(shape), len(input._layout.shape)))
    centred = sub(input, mean_dims(input, dims, True))
    divisor = sqrt(add(mean_dims(mul(centred, centred), dims, True), eps))
    normal = div(centred, divisor)
    scaled = grad_output if weight is None else mul(grad_output, weight)
    outer, inner = [mean_dims(mul(v, normal), dims, True) for v in (grad, scaled)]
    project_grad, project_scaled = [
        mul(layer_norm_backward(v, input, mean, scale, None, shape, eps), divisor) for v in (grad, scaled)
    ]
    curved = mul(normal, mean_dims(mul(project_grad, scaled), dims, True))
    total = add(curved, add(mul(project_grad, inner), mul(project_scaled, outer)))
    return neg(div(total, mul(divisor, divisor)))


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
    kind = input.type.dtype
    if not kind.is_floating_point:
        raise NotImplementedError(f"\"{name}\" not implemented for '{kind.legacy}' (shape {list(input.shape)})")


@checked
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
    if isinstance(normalized_shape, int):
        raise TypeError("layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
    return layer_norm_op(input, weight, bias, tuple(normalized_shape), float(eps))[0]


def _epsilon(kind: dtype) -> float:
    return float(np.finfo(kind.numpy).eps)


@checked
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
    if isinstance(normalized_shape, int):
        raise TypeError("layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
    shape = tuple(normalized_shape)
    _check_shape("rms_norm", input._layout, shape, weight=None if weight is None else weight._layout)
    dims = tuple(range(len(input._layout.shape) - len(shape), len(input._layout.shape)))
    square = add(mean_dims(pow(input, 2), dims, True), _epsilon(input.dtype) if eps is None else eps)
    out = mul(input, square.rsqrt())
    return out if weight is None else convert(mul(out, weight), input.dtype)


public(layer_norm, method=False)
public(rms_norm, method=False)
