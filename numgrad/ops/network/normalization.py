"""Layer normalization, and root-mean-square normalization."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ...core.layout import Layout, numel
from ...core.types import finfo
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.physical import aligned, expanded
from ..composition import differentiated_as
from ..memory.copying import convert
from ..pointwise.arithmetic import add, div, mul, sub
from ..pointwise.exponential import pow, sqrt
from ..reductions.sums import mean_dims, sum_dims, sum_to_shape
from ..table.checks import check, check_supported
from ..table.lookup import operation
from ..table.op import composite, public


@operation(
    "NativeLayerNormBackward0", inputs=["input", "weight", "bias"], extras=["mean", "scale"], joint=True, mixed=True,
    shared=["weight", "bias"],
)
def layer_norm_op(
    p: Plan, input: TensorRef, weight: TensorRef | None, bias: TensorRef | None, shape: tuple[int, ...], eps: float
) -> tuple[TensorRef, ...]:
    """Add the steps of ``(input - mean) * scale * weight + bias`` over the last dimensions, of ``shape``.

    The results are the normalized tensor, the means, and the scales ``1 / sqrt(variance + eps)``.
    """
    factors = {name: tensor and tensor.layout for name, tensor in (("weight", weight), ("bias", bias))}
    _check_shape("LayerNormKernelImpl", input.layout, shape, **factors)
    for argument in (weight, bias):
        if argument is not None and argument.type is not input.type:
            raise RuntimeError(
                f"mixed dtype (CPU): expect parameter to have scalar type of {input.type.dtype.legacy}, not "
                f"{argument.type.dtype.legacy}"
            )
    each = input.shape[: len(input.shape) - len(shape)] + (1,) * len(shape)
    rows = [tensor and p.contiguous(tensor) for tensor in (input, weight, bias)]
    buffers = p.backend.layer_norm_rows(p, *rows, numel(shape), numel(each), eps)
    return tuple([p.tensor(b, input.type, s) for b, s in zip(buffers, (input.shape, each, each), strict=True)])


@layer_norm_op.batched
def _(input, weight, bias, shape, eps):
    out, mean, scale = layer_norm_op(expanded(input), None, None, shape, eps)
    rank = len(input._layout.shape)
    for parameter, combine in ((weight, mul), (bias, add)):
        if parameter is not None:
            out = combine(out, aligned(parameter, rank))
    return out, mean, scale


@layer_norm_op.gradient("input", "weight", "bias")
def _(grad, input, weight, mean, scale, shape, eps):
    """``y = (input - mean) * scale; g = grad * weight; (scale * (g - mean(g) - y * mean(g * y)), sum(grad * y),
    sum(grad))``.
    """
    return layer_norm_backward(grad, input, mean, scale, weight, shape, eps)


@operation(
    "NativeLayerNormBackwardBackward0", aten="native_layer_norm_backward",
    inputs=["grad_output", "input", "mean", "scale", "weight"],
    nondifferentiable=["mean", "scale"], outputs=["of_input", "of_weight", "of_bias"],
)
def layer_norm_backward(
    p: Plan, grad_output: TensorRef, input: TensorRef, mean: TensorRef, scale: TensorRef, weight: TensorRef | None,
    shape: tuple[int, ...], eps: float,
) -> tuple[TensorRef, ...]:
    """Add the steps that compute the gradients of input, weight and bias; mean and scale are functions of the input."""
    rows = [tensor and p.contiguous(tensor) for tensor in (grad_output, input, mean, scale, weight)]
    buffers = p.backend.layer_norm_gradients(p, *rows, numel(shape))
    return tuple([p.tensor(b, input.type, s) for b, s in zip(buffers, (input.shape, shape, shape), strict=True)])


@layer_norm_backward.batched
def _(grad_output, input, mean, scale, weight, shape, eps):
    grads, *saved = [expanded(each) for each in (grad_output, input, mean, scale)]
    rank = len(input._layout.shape)
    weighted = grads if weight is None else mul(grads, aligned(weight, rank))
    dims = tuple(range(1, rank - len(shape) + 1))
    normal = layer_norm_op(saved[0], None, None, shape, eps)[0]  # recomputed, to depend on the input
    sums = [sum_dims(each, dims, False) for each in (mul(grads, normal), grads)]
    return layer_norm_backward(weighted, *saved, None, shape, eps)[0], *sums


@differentiated_as(layer_norm_backward)
def _(grad_output, input, weight, shape, eps):
    """``y = (input - mean) * scale; g = grad_output * weight; (scale * (g - mean(g) - y * mean(g * y)),
    sum(grad_output * y), sum(grad_output))``.
    """
    rank = len(input._layout.shape)
    dims = tuple(range(rank - len(shape), rank))
    normal, divisor = standardized(input, dims, eps)
    weighted = grad_output if weight is None else mul(grad_output, weight)
    sums = [sum_to_shape(each, shape) for each in (mul(grad_output, normal), grad_output)]
    return projected(weighted, normal, divisor, dims), *sums


def standardized(input: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """Return the input normalized to mean 0 and variance 1 over some dimensions, and the divisor."""
    centred = sub(input, mean_dims(input, dims, True))
    divisor = sqrt(add(mean_dims(mul(centred, centred), dims, True), eps))
    return div(centred, divisor), divisor


def projected(grad: Tensor, normal: Tensor, divisor: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Return ``(grad - mean(grad) - normal * mean(grad * normal)) / divisor``, the gradient of ``standardized``."""
    along = mul(normal, mean_dims(mul(grad, normal), dims, True))
    return div(sub(sub(grad, mean_dims(grad, dims, True)), along), divisor)


@functools.lru_cache(maxsize=1024)
def _check_shape(name: str, input: Layout, shape: tuple[int, ...], **arguments: Layout | None) -> None:
    """Raise unless the input can be normalized over its last dimensions, of ``shape``.

    Raises:
        RuntimeError: the input's shape does not end in ``shape``, or an argument has another shape.
        NotImplementedError: the input's dtype is not a floating-point one.
    """
    check(
        shape,
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
        "normalized_shape = []",
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
    check_supported(input, "f", name)


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
        weight, bias: of ``normalized_shape`` and the input's dtype; None stands for 1 and 0.
        eps: keeps the divisor from 0.
        cudnn_enable: accepted for compatibility with PyTorch.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the input's dtype is not a floating-point one.

    Example:
        >>> import numgrad
        >>> numgrad.layer_norm(numgrad.tensor([[1.0, 3.0], [2.0, 8.0]]), (2,))
        tensor([[-1.0000,  1.0000],
                [-1.0000,  1.0000]])
    """
    return layer_norm_op(input, weight, bias, tuple(normalized_shape), float(eps))[0]


@composite(method=False)
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """``input / sqrt(mean(input ** 2) + eps) * weight``, with the mean over the last dimensions.

    Args:
        input: floating-point numbers, of shape (..., *normalized_shape).
        normalized_shape: the sizes of the last dimensions.
        weight: of ``normalized_shape``; None stands for 1.
        eps: keeps the divisor from 0; the machine epsilon of the dtype that is computed in unless given.

    Raises:
        RuntimeError: the shapes do not fit.
        NotImplementedError: the input's dtype is not a floating-point one.
    """
    shape = tuple(normalized_shape)
    _check_shape("rms_norm", input._layout, shape, weight=None if weight is None else weight._layout)
    dims = tuple(range(len(input._layout.shape) - len(shape), len(input._layout.shape)))
    if eps is None:
        eps = finfo(input.dtype.compute).eps
    wide = convert(input, input.dtype.compute)
    out = mul(wide, add(mean_dims(pow(wide, 2), dims, True), eps).rsqrt())
    return convert(out if weight is None else mul(out, weight), input.dtype)
