"""Convolutions: matrix products of filters and image windows, or direct kernels if each filter sees one channel.

An image has ``channels`` and one to three further dimensions.  The convolution and its gradients for images and filters
are three operations, each linear in both of its tensors, and the rules of each are the other two.  A transposed
convolution is the gradient for the images, applied to its input.
"""

from __future__ import annotations

from typing import Any

from ...core.layout import Ints, layout_of
from ...core.types import float32
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..memory.images import following, formatted_like
from ..pointwise.arithmetic import conj
from ..reductions.sums import sum_dims
from ..shapes.parts import slice_op
from ..table.lookup import operation
from .image_windows import spread


@operation(
    "ConvolutionBackward0", inputs=["input", "weight", "bias"], joint=True, batch=1, shared=["weight", "bias"]
)
@following("input", "weight", volumes=float32)
def convolution_op(
    p: Plan, input: TensorRef, weight: TensorRef, bias: TensorRef | None, stride: Ints, padding: Ints, dilation: Ints,
    groups: int,
) -> TensorRef:
    """``out[n, o] = bias[o] + sum(weight[o, c, k] * input[n, c, k * dilation + stride * position - padding])``.

    Images are (n, c, ...), filters (o, c / groups, ...).
    """
    each_dim = zip(input.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    extents = tuple([(size + 2 * p - d * (k - 1) - 1) // s + 1 for size, k, s, p, d in each_dim])
    return _correlated(p, input, weight, bias, extents, stride, padding, dilation, groups)


@convolution_op.gradient("input", "weight", "bias")
def _(grad, input, weight, needed, stride, padding, dilation, groups):
    """``(convolution_input(grad, conj(weight)), convolution_weight(grad, conj(input)), sum(grad))``, what is needed."""
    shape, geometry = input._layout.shape, (stride, padding, dilation, groups)
    return [
        _for(input, convolution_input(grad, conj(weight), shape[2:], *geometry)) if needed[0] else None,
        convolution_weight(grad, conj(input), weight._layout.shape[2:], *geometry) if needed[1] else None,
        sum_dims(grad, (0, *range(2, len(shape))), False) if needed[2] else None,
    ]


@operation(
    "ConvolutionBackwardBackward0", aten="convolution_backward",
    inputs=["grad_output", "weight"], linear=True, batch=1, shared=["weight"]
)
@following("grad_output", "weight", volumes=float32)
def convolution_input(
    p: Plan, grad_output: TensorRef, weight: TensorRef, size: Ints, stride: Ints, padding: Ints, dilation: Ints,
    groups: int,
) -> TensorRef:
    """Add the steps that compute the gradient for the images."""
    return _spread(p, grad_output, weight, None, size, stride, padding, dilation, groups)


@operation("ConvolutionBackwardBackward0", aten="convolution_backward", inputs=["grad_output", "input"], linear=True)
@following("grad_output", "input", volumes=float32)
def convolution_weight(
    p: Plan, grad_output: TensorRef, input: TensorRef, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
    groups: int,
) -> TensorRef:
    """Add the steps that compute the gradient for the filters: products of the gradients with the image windows."""
    type, windows = input.type, grad_output.shape
    shape = windows[1], input.shape[1] // groups, *kernel
    if not (input.size and grad_output.size):
        return p.new_tensor(layout_of(type, shape), zeroed=True)
    out = _depthwise(
        p, "convolution_weight", (grad_output, input, None), input.shape, shape, windows[2:], stride, padding, dilation,
        groups,
    )
    if out is None:
        image, grad = spread(p, input, _padded_sizes(input.shape, padding), padding), p.contiguous(grad_output)
        out = p.backend.window_products(p, image, grad, windows, shape, stride, dilation, groups)
        if image is not input and type.numpy.kind in "fc":
            geometry = kernel, stride, dilation, groups, padding, _ends(input, padding, image)
            p.backend.mend_weight(p, p.contiguous(image), grad, out, (image.shape, windows), *geometry)
    return p.tensor(out, type, shape)


@convolution_input.gradient("grad_output")
def _(grad, weight, grad_output_shape, stride, padding, dilation, groups):
    return convolved(grad, conj(weight), grad_output_shape, stride, padding, dilation, groups)


@convolution_input.gradient("weight")
def _(grad, grad_output, weight_shape, stride, padding, dilation, groups):
    return convolution_weight(conj(grad_output), grad, weight_shape[2:], stride, padding, dilation, groups)


@convolution_weight.gradient("grad_output")
def _(grad, input, grad_output_shape, stride, padding, dilation, groups):
    return convolved(conj(input), grad, grad_output_shape, stride, padding, dilation, groups)


@convolution_weight.gradient("input")
def _(grad, grad_output, input_shape, stride, padding, dilation, groups):
    return convolution_input(conj(grad_output), grad, input_shape[2:], stride, padding, dilation, groups)


@operation(
    "ConvolutionBackward0", aten="convolution", inputs=["input", "weight", "bias"], joint=True, batch=1,
    shared=["weight", "bias"],
)
@following("input", "weight", volumes=float32)
def conv_transpose_op(
    p: Plan, input: TensorRef, weight: TensorRef, bias: TensorRef | None, stride: Ints, padding: Ints,
    output_padding: Ints, dilation: Ints, groups: int,
) -> TensorRef:
    """Add the steps of ``convolution_input(input, weight) + bias``, with filters of shape (c, o / groups, ...)."""
    each_dim = zip(input.shape[2:], weight.shape[2:], stride, padding, output_padding, dilation, strict=True)
    size = tuple([(n - 1) * s - 2 * p + d * (k - 1) + extra + 1 for n, k, s, p, extra, d in each_dim])
    if min(size) < (1 if input.shape[0] else 0):
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, input.shape[2:]))}). Calculated output size per "
            f"channel: ({' x '.join(map(str, size))}). Output size is too small"
        )
    return _spread(p, input, weight, bias, size, stride, padding, dilation, groups)


@conv_transpose_op.gradient("input", "weight", "bias")
def _(grad, input, weight, needed, stride, padding, output_padding, dilation, groups):
    """``(convolution(grad, conj(weight)), convolution_weight(conj(input), grad), sum(grad))``, what is needed."""
    shape, geometry = input._layout.shape, (stride, padding, dilation, groups)
    return [
        _for(input, convolved(grad, conj(weight), shape, *geometry)) if needed[0] else None,
        convolution_weight(conj(input), grad, weight._layout.shape[2:], *geometry) if needed[1] else None,
        sum_dims(grad, (0, *range(2, len(shape))), False) if needed[2] else None,
    ]


def _for(images: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient for images, in channels-last layout if the images have it and the convolution supports it."""
    return grad if len(images._layout.shape) == 5 and images.dtype is not float32 else formatted_like(grad, images)


def convolved(images: Tensor, weight: Tensor, shape: Ints, *geometry: Any) -> Tensor:
    """Return a convolution cut to ``shape``: a transposed convolution may leave room for further windows at the end."""
    out = convolution_op(images, weight, None, *geometry)
    for dim in range(2, len(shape)):
        if out._layout.shape[dim] > shape[dim]:
            out = slice_op(out, dim, 0, shape[dim], 1)
    return out


def _correlated(
    p: Plan, input: TensorRef, weight: TensorRef, bias: TensorRef | None, extents: Ints, stride: Ints, padding: Ints,
    dilation: Ints, groups: int,
) -> TensorRef:
    """Add the steps that multiply filters with ``extents`` windows of zero-padded images and add the bias.

    The zeros are not terms of the sums: an infinity or NaN of a filter multiplied with padding does not count.
    """
    type, kernel, shape = input.type, weight.shape[2:], (input.shape[0], weight.shape[0], *extents)
    if not (input.size and weight.size):
        return _nothing(p, type, shape, bias)
    operands = input, weight, bias
    out = _depthwise(p, "convolution", operands, input.shape, weight.shape, extents, stride, padding, dilation, groups)
    if out is None:
        each_dim = zip(extents, kernel, stride, dilation, strict=True)
        seen = [(count - 1) * s + d * (k - 1) + 1 for count, k, s, d in each_dim]
        sizes = [max(pair) for pair in zip(seen, _padded_sizes(input.shape, padding), strict=True)]
        image, filters, added = spread(p, input, sizes, padding), p.contiguous(weight), bias and p.contiguous(bias)
        out = p.backend.correlation(p, image, filters, added, shape, kernel, stride, dilation, groups)
        if image is not input and type.numpy.kind in "fc":
            geometry = kernel, stride, dilation, groups, padding, _ends(input, padding, image)
            p.backend.mend(p, p.contiguous(image), filters, added, out, (image.shape, shape), *geometry)
    return p.tensor(out, type, shape)


def _spread(
    p: Plan, grad_output: TensorRef, weight: TensorRef, bias: TensorRef | None, size: Ints, stride: Ints, padding: Ints,
    dilation: Ints, groups: int,
) -> TensorRef:
    """Add the steps that sum filters times gradients at their windows in images of ``size``, plus the bias.

    With a stride of 1, this is the convolution of the gradients with the flipped filters.
    """
    type, (filters, channels, *extents) = grad_output.type, weight.shape
    kernel, shape, windows = tuple(extents), (grad_output.shape[0], groups * channels, *size), grad_output.shape
    if not (grad_output.size and weight.size):
        return _nothing(p, type, shape, bias)
    one_by_one = max(stride) == 1
    if not (one_by_one and filters == groups):
        operands = grad_output, weight, bias
        out = _depthwise(
            p, "convolution_input", operands, shape, weight.shape, windows[2:], stride, padding, dilation, groups
        )
        if out is not None:
            return p.tensor(out, type, shape)
    if one_by_one:
        flipped = _flipped_filters(p, weight, groups)
        before = tuple([d * (k - 1) - low for k, d, low in zip(kernel, dilation, padding, strict=True)])
        return _correlated(p, grad_output, flipped, bias, size, stride, before, dilation, groups)
    padded = p.new_tensor(layout_of(type, (*shape[:2], *_padded_sizes(shape, padding))))
    grad, matrices, added = p.contiguous(grad_output), p.contiguous(weight), bias and p.contiguous(bias)
    p.backend.spread_products(p, grad, matrices, added, windows, padded, kernel, stride, dilation, groups)
    return spread(p, padded, size, [-extra for extra in padding])


def _flipped_filters(p: Plan, weight: TensorRef, groups: int) -> TensorRef:
    """Add the steps that copy flipped filters, with the filters of a group grouped by channel."""
    steps, (filters, channels, *kernel) = weight.layout.strides, weight.shape
    filters //= groups
    backwards = layout_of(
        weight.type, (groups, channels, filters, *kernel),
        (filters * steps[0], steps[1], steps[0], *[-step for step in steps[2:]]),
    )
    copy = p.new_tensor(layout_of(weight.type, backwards.shape))
    p.assign(weight.viewed(backwards, sum([(k - 1) * step for k, step in zip(kernel, steps[2:], strict=True)])), copy)
    return copy.viewed(layout_of(weight.type, (groups * channels, filters, *kernel)))


def _nothing(p: Plan, type: Any, shape: Ints, bias: TensorRef | None) -> TensorRef:
    """Add the step that creates sums of no terms, plus the bias."""
    out = p.new_tensor(layout_of(type, shape), zeroed=bias is None)
    if bias is not None:
        p.assign(bias.viewed(layout_of(type, shape, (0, bias.layout.strides[0], *(0,) * (len(shape) - 2)))), out)
    return out


def _depthwise(
    p: Plan, name: str, tensors: tuple[Any, ...], images: Ints, filters: Ints, windows: Ints, stride: Ints,
    padding: Ints, dilation: Ints, groups: int,
) -> Any:
    """Add the kernel for filters of one channel, which copies no windows; return None if there is no such kernel."""
    if groups == 1 or filters[1] != 1 or not p.backend.depthwise_is_fused(tensors[0].type, stride[-1]):
        return None
    numbers: list[int] = []
    for each, otherwise in ((images[2:], 1), (filters[2:], 1), (stride, 1), (padding, 0), (dilation, 1), (windows, 1)):
        numbers += (*(otherwise,) * (3 - len(each)), *each)
    return p.backend.depthwise(p, name, *tensors, images[0], images[1], filters[0] // groups, numbers)


def _padded_sizes(images: Ints, padding: Ints) -> list[int]:
    """Return the extents of images with zeros before and after each dimension."""
    return [size + 2 * extra for size, extra in zip(images[2:], padding, strict=True)]


def _ends(input: TensorRef, low: Ints, image: TensorRef) -> list[int]:
    """Return the ends of the original images in ``image``, in which :func:`spread` puts them at ``low``."""
    each_dim = zip(low, input.shape[2:], image.shape[2:], strict=True)
    return [min(first + extent, size) for first, extent, size in each_dim]
