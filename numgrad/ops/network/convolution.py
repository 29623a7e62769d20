"""Convolutions: products of filters with the windows of images, as matrices, or without where filters see one channel.

An image has ``channels`` and one to three further dimensions.  All three operations, the convolution and its gradients
for the images and the filters, are linear in each of their two tensors, and the rules of each are the other two.  A
transposed convolution is the second of them, of what it is given for the gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.layout import Ints, Layout, layout_of
from ...core.tensor import Tensor, tensor_of
from ...core.types import float32
from ..memory.copying import copier, row_reader
from ..memory.images import following, formatted_like
from ..pointwise.arithmetic import conj
from ..reductions.axes import Prepared
from ..reductions.sums import sum_dims
from ..shapes.parts import of_part, slice_op
from ..table.planned import planned
from .im2col import correlator, spread, window_products


@planned(
    "ConvolutionBackward0", inputs=["input", "weight", "bias"], joint=True, batch=1, shared=["weight", "bias"]
)
@following("input", "weight", volumes=float32)
def convolution_op(
    input: Layout, weight: Layout, bias: Layout | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Prepared:
    """``out[n, o] = bias[o] + sum(weight[o, c, k] * input[n, c, k * dilation + stride * position - padding])``.

    Images are (n, c, ...), filters (o, c / groups, ...).
    """
    kernel, read = weight.shape[2:], row_reader(weight)
    each_dim = zip(input.shape[2:], kernel, stride, padding, dilation, strict=True)
    extents = [(size + 2 * p - d * (k - 1) - 1) // s + 1 for size, k, s, p, d in each_dim]
    out = layout_of(input.type, (input.shape[0], weight.shape[0], *extents))
    direct = _depthwise("convolution", input.shape, weight.shape, out, stride, padding, dilation, groups)
    if direct is not None:
        read_images, read_bias = row_reader(input), row_reader(bias)
        return out, lambda input, weight, bias: direct(read_images(input), read(weight), read_bias(bias))
    sizes = _padded_sizes(input, padding)
    correlate = _correlated(input, sizes, padding, (), out, kernel, stride, dilation, groups, bias)
    return out, lambda input, weight, bias: correlate(input, read(weight), bias)


@convolution_op.gradient("input", "weight", "bias")
def _(grad, input, weight, needed, stride, padding, dilation, groups):
    """``(convolution_input(grad, conj(weight)), convolution_weight(grad, conj(input)), sum(grad))``, what is needed."""
    shape, how = input._layout.shape, (stride, padding, dilation, groups)
    return [
        _for(input, convolution_input(grad, conj(weight), shape[2:], *how)) if needed[0] else None,
        convolution_weight(grad, conj(input), weight._layout.shape[2:], *how) if needed[1] else None,
        sum_dims(grad, (0, *range(2, len(shape))), False) if needed[2] else None,
    ]


@planned(
    "ConvolutionBackwardBackward0", aten="convolution_backward",
    inputs=["grad_output", "weight"], linear=True, batch=1, shared=["weight"]
)
@following("grad_output", "weight", volumes=float32)
def convolution_input(
    grad_output: Layout, weight: Layout, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Prepared:
    """The gradient for the images."""
    out, launch = _spread_products(grad_output, weight, None, size, stride, padding, dilation, groups)
    return out, lambda grad, weight: launch(grad, weight, None)


def _spread_products(
    grad_output: Layout, weight: Layout, bias: Layout | None, size: Ints, stride: Ints, padding: Ints, dilation: Ints,
    groups: int,
) -> Prepared:
    """What lies ``stride`` apart, and zeros between, convolved with the filters turned round, or what is the same."""
    out = layout_of(grad_output.type, (grad_output.shape[0], groups * weight.shape[1], *size))
    direct = _depthwise("convolution_input", out.shape, weight.shape, grad_output, stride, padding, dilation, groups)
    if direct is not None:
        read, read_filters, read_bias = row_reader(grad_output), row_reader(weight), row_reader(bias)
        return out, lambda grad, weight, bias: direct(read(grad), read_filters(weight), read_bias(bias))
    if max(stride) > 1:
        added = _added_products(grad_output, weight, bias, out, stride, padding, dilation, groups)
        if added is not None:
            return out, added
    steps, (filters, channels, *kernel) = weight.strides, weight.shape
    filters //= groups
    reach = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    sizes = [extent + more for extent, more in zip(size, reach, strict=True)]
    low = [more - extra for more, extra in zip(reach, padding, strict=True)]
    ones = (1,) * len(kernel)
    correlate = _correlated(grad_output, sizes, low, stride, out, tuple(kernel), ones, dilation, groups, bias)
    backwards = layout_of(
        weight.type, (groups, channels, filters, *kernel),
        (filters * steps[0], steps[1], steps[0], *[-step for step in steps[2:]]),
    )
    last = sum([(k - 1) * step for k, step in zip(kernel, steps[2:], strict=True)])
    turned = of_part(backwards, last, copier(backwards, layout_of(weight.type, backwards.shape)))
    return out, lambda grad, weight, bias: correlate(grad, turned(weight), bias)


def _added_products(
    grad_output: Layout, weight: Layout, bias: Layout | None, out: Layout, stride: Ints, padding: Ints, dilation: Ints,
    groups: int,
) -> Callable[..., Any] | None:
    """Filters times gradients, added up where their windows lie: nothing is multiplied with zeros, as it is otherwise.

    None if the device does not have it.
    """
    sizes = [size + 2 * extra for size, extra in zip(out.shape[2:], padding, strict=True)]
    padded = layout_of(out.type, (*out.shape[:2], *sizes))
    launch = out.type.backend.spread_products_launcher(
        grad_output, padded, weight.shape[2:], stride, dilation, groups, bias
    )
    if launch is None:
        return None
    read, (_, inside) = row_reader(weight), spread(padded, out.shape[2:], [-extra for extra in padding])
    return lambda grad, weight, bias: inside(tensor_of(padded, launch(grad, read(weight), bias)))._storage


@planned("ConvolutionBackwardBackward0", aten="convolution_backward", inputs=["grad_output", "input"], linear=True)
@following("grad_output", "input", volumes=float32)
def convolution_weight(
    grad_output: Layout, input: Layout, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Prepared:
    """The gradient for the filters: products of the gradients with the windows of the images."""
    out = layout_of(input.type, (grad_output.shape[1], input.shape[1] // groups, *kernel))
    direct = _depthwise("convolution_weight", input.shape, out.shape, grad_output, stride, padding, dilation, groups)
    read = row_reader(grad_output)
    if direct is not None:
        read_images = row_reader(input)
        return out, lambda grad, input: direct(read(grad), read_images(input))
    padded, embed = spread(input, _padded_sizes(input, padding), padding)
    packed = layout_of(grad_output.type, grad_output.shape)
    multiply = window_products(padded, packed, out, stride, dilation, groups)
    inside = _inside(input, padded, padding, ())
    mend = input.type.backend.weight_mending_launcher(padded, packed, kernel, stride, dilation, groups, inside)
    if padded is input or mend is None:
        return out, lambda grad, input: multiply(embed(input), tensor_of(packed, read(grad)))

    def launch(grad: Tensor, input: Tensor) -> Any:
        images, given = embed(input), read(grad)
        row = multiply(images, tensor_of(packed, given))
        mend(images, given, row)
        return row

    return out, launch


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


@planned(
    "ConvolutionBackward0", aten="convolution", inputs=["input", "weight", "bias"], joint=True, batch=1,
    shared=["weight", "bias"],
)
@following("input", "weight", volumes=float32)
def conv_transpose_op(
    input: Layout, weight: Layout, bias: Layout | None, stride: Ints, padding: Ints, output_padding: Ints,
    dilation: Ints, groups: int,
) -> Prepared:
    """``convolution_input(input, weight) + bias``: filters are (c, o / groups, ...)."""
    each_dim = zip(input.shape[2:], weight.shape[2:], stride, padding, output_padding, dilation, strict=True)
    size = tuple([(n - 1) * s - 2 * p + d * (k - 1) + extra + 1 for n, k, s, p, extra, d in each_dim])
    if min(size) < (1 if input.shape[0] else 0):
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, input.shape[2:]))}). Calculated output size per "
            f"channel: ({' x '.join(map(str, size))}). Output size is too small"
        )
    return _spread_products(input, weight, bias, size, stride, padding, dilation, groups)


@conv_transpose_op.gradient("input", "weight", "bias")
def _(grad, input, weight, needed, stride, padding, output_padding, dilation, groups):
    """``(convolution(grad, conj(weight)), convolution_weight(conj(input), grad), sum(grad))``, what is needed."""
    shape, how = input._layout.shape, (stride, padding, dilation, groups)
    return [
        _for(input, convolved(grad, conj(weight), shape, *how)) if needed[0] else None,
        convolution_weight(conj(input), grad, weight._layout.shape[2:], *how) if needed[1] else None,
        sum_dims(grad, (0, *range(2, len(shape))), False) if needed[2] else None,
    ]


def _for(images: Tensor, grad: Tensor) -> Tensor:
    """The gradient for images, with channels last if they have and the convolution has."""
    return grad if len(images._layout.shape) == 5 and images.dtype is not float32 else formatted_like(grad, images)


def convolved(images: Tensor, weight: Tensor, shape: Ints, *how: Any) -> Tensor:
    """The convolution, of as many windows as ``shape`` says: behind those of a transposed one there may be more."""
    out = convolution_op(images, weight, None, *how)
    for dim in range(2, len(shape)):
        if out._layout.shape[dim] > shape[dim]:
            out = slice_op(out, dim, 0, shape[dim], 1)
    return out


def _depthwise(
    name: str, images: Ints, filters: Ints, windows: Layout, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Callable[..., Any] | None:
    """The kernel for filters that see one channel of several, if the device has one: it copies no windows."""
    if groups == 1 or filters[1] != 1:
        return None
    numbers: list[int] = []
    sizes = (images[2:], 1), (filters[2:], 1), (stride, 1), (padding, 0), (dilation, 1), (windows.shape[2:], 1)
    for each, otherwise in sizes:
        numbers += (*(otherwise,) * (3 - len(each)), *each)
    return windows.type.backend.depthwise_launcher(
        name, windows.type, images[0], images[1], filters[0] // groups, numbers
    )


def _padded_sizes(input: Layout, padding: Ints) -> list[int]:
    """The extents of images with zeros before and behind each dimension."""
    return [size + 2 * extra for size, extra in zip(input.shape[2:], padding, strict=True)]


def _inside(input: Layout, image: Layout, low: Sequence[int], step: Sequence[int]) -> tuple[Sequence[int], ...]:
    """Where images that :func:`spread` puts into ``image`` begin and end, and their elements' steps."""
    step = step or (1,) * len(low)
    each_dim = zip(low, input.shape[2:], step, image.shape[2:], strict=True)
    return low, [min(first + (extent - 1) * by + 1, size) for first, extent, by, size in each_dim], step


def _correlated(
    input: Layout, sizes: Sequence[int], low: Sequence[int], step: Sequence[int], out: Layout, kernel: Ints,
    stride: Ints, dilation: Ints, groups: int, bias: Layout | None,
) -> Callable[[Tensor, Any, Tensor | None], Any]:
    """What puts images into zeros, as :func:`spread` does, and multiplies the windows with filters.

    The zeros are no terms of the sums: an infinity or NaN that they are multiplied with does not count.
    """
    image, embed = spread(input, sizes, low, step)
    correlate = correlator(image, out, kernel, stride, dilation, groups, bias)
    inside = _inside(input, image, low, step)
    mend = image.type.backend.mending_launcher(image, out, kernel, stride, dilation, groups, inside)
    if image is input or mend is None:
        return lambda images, filters, bias: correlate(embed(images), filters, bias)

    def launch(images: Tensor, filters: Any, bias: Tensor | None) -> Any:
        embedded = embed(images)
        row = correlate(embedded, filters, bias)
        mend(embedded, filters, bias, row)
        return row

    return launch
