"""Layer normalization and its relative by the root of the mean square."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import devices
from ..._layout import numel
from ..._tensor import Tensor, fresh
from ..._types import dtype
from ...autograd.grad_mode import TRACED, state
from ..arguments import checked
from ..batches import empty_beside
from ..copying import convert, row_of, row_or_none
from ..one_device import check_one_device
from ..pointwise.arithmetic import add, div, mul, neg, sub
from ..pointwise.powers import pow, sqrt
from ..reductions.sums import mean_dims, sum_to_shape
from ..table import operation, public

__all__ = ["layer_norm", "rms_norm"]


def fused_layer_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...], eps: float
) -> Tensor:
    """Layer normalization over the last dimensions, of ``shape``, with one kernel for all its gradients."""
    lead, kind = input._layout.shape[: len(input._layout.shape) - len(shape)], input._layout.type
    each = lead + (1,) * len(shape)
    mean, scale = [empty_beside((input, weight, bias), each, kind) for _ in range(2)]
    return layer_norm_op((input, weight, bias), input, weight, bias, mean, scale, shape, eps)


@operation("NativeLayerNormBackward0", inputs=["tensors"], sequence=True)
def layer_norm_op(
    tensors: tuple[Tensor, Tensor | None, Tensor | None],
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    scale: Tensor,
    shape: tuple[int, ...],
    eps: float,
) -> Tensor:
    """``(input - mean) * scale * weight + bias`` over the last dimensions, of ``shape``.

    ``tensors`` are input, weight and bias.  ``mean`` and ``scale``, which is ``1 / sqrt(variance + eps)``, are filled
    with what the gradients need.
    """
    rows = row_of(input), numel(shape), row_or_none(weight), row_or_none(bias), eps, row_of(mean), row_of(scale)
    return fresh(devices.layer_norm_rows(*rows), input._layout.shape, input._layout.type)


@layer_norm_op.gradient("tensors")
def _(grad, input, weight, mean, scale, shape, eps):
    """``y = (input - mean) * scale; g = grad * weight; (scale * (g - mean(g) - y * mean(g * y)), sum(grad * y),
    sum(grad))``.
    """
    if state.mode & TRACED:
        normal = fused_layer_norm(input, None, None, shape, eps)
        of_input = layer_norm_backward(grad, input, mean, scale, weight, shape, eps)
        return [of_input, sum_to_shape(mul(grad, normal), shape), sum_to_shape(grad, shape)]
    rows = row_of(grad), row_of(input), row_of(mean), row_of(scale)
    layout = input._layout
    flats = devices.layer_norm_gradients(*rows, numel(shape), row_or_none(weight), layout.type)
    return [fresh(flat, s, layout.type) for flat, s in zip(flats, (layout.shape, shape, shape), strict=True)]


@operation(
    "NativeLayerNormBackwardBackward0", inputs=["grad_output", "input", "mean", "scale", "weight"],
    nondifferentiable=["mean", "scale"],
)
def layer_norm_backward(
    grad_output: Tensor, input: Tensor, mean: Tensor, scale: Tensor, weight: Tensor | None, shape: tuple[int, ...],
    eps: float,
) -> Tensor:
    """``(g - mean(g) - y * mean(g * y)) * scale``, the gradient for the input.

    Here ``g = grad_output * weight`` and ``y`` is the normalized input.  Mean and scale are functions of the input,
    and the rules know that.
    """
    rows = row_of(grad_output), row_of(input), row_of(mean), row_of(scale)
    row = devices.layer_norm_rows_backward(*rows, numel(shape), row_or_none(weight))
    return fresh(row, input._layout.shape, input._layout.type)


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


def _checked_shape(input: Tensor, normalized_shape: Sequence[int], **arguments: Tensor | None) -> tuple[int, ...]:
    """The shape to normalize over.

    Raises:
        TypeError: it is a single number.
        RuntimeError: the input does not end in it, or an argument is of another.
    """
    if isinstance(normalized_shape, int):
        raise TypeError("layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, argument in arguments.items():
        if argument is not None and argument._layout.shape != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(argument.shape)} and normalized_shape = {list(shape)}"
            )
    if input._layout.shape[-len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, "
            f"{', '.join(map(str, shape))}], but got input of size{list(input.shape)}"
        )
    return shape


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
    shape = _checked_shape(input, normalized_shape, weight=weight, bias=bias)
    if not input.is_floating_point():
        raise NotImplementedError(
            f"\"LayerNormKernelImpl\" not implemented for '{input.dtype.legacy}' (shape {list(input.shape)})"
        )
    for argument in (weight, bias):
        if argument is not None and argument._layout.type is not input._layout.type:
            check_one_device(input, argument)
            raise RuntimeError(
                f"mixed dtype (CPU): expect parameter to have scalar type of {input.dtype.legacy}, not "
                f"{argument.dtype.legacy}"
            )
    return fused_layer_norm(input, weight, bias, shape, float(eps))


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
    shape = _checked_shape(input, normalized_shape, weight=weight)
    if not input.is_floating_point():
        raise NotImplementedError(
            f"\"rms_norm\" not implemented for '{input.dtype.legacy}' (shape {list(input.shape)})"
        )
    dims = tuple(range(len(input._layout.shape) - len(shape), len(input._layout.shape)))
    square = add(mean_dims(pow(input, 2), dims, True), _epsilon(input.dtype) if eps is None else eps)
    out = mul(input, square.rsqrt())
    return out if weight is None else convert(mul(out, weight), input.dtype)


public(layer_norm, method=False)
public(rms_norm, method=False)
