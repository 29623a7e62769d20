"""Image windows as matrix columns (im2col, unfold), and the sum of such columns in an image (col2im, fold).

Images are the last three dimensions: channels, rows and columns.  Each operation is the other's gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.layout import Ints, Layout, layout_of, numel
from ...devices import Plan, TensorRef, add_overlapping
from ..shapes.views import sizes_of
from ..table.checks import check, not_implemented
from ..table.lookup import lookup, operation
from .image_windows import spread


@operation("Im2ColBackward0", linear=True, dims=())
def im2col_op(p: Plan, input: TensorRef, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> TensorRef:
    """Add the steps that copy the windows of (..., c, h, w) to the columns of (..., c * window elements, windows)."""
    image = spread(p, input, _padded(input.shape[-2:], padding), padding)
    windows = _windows(image.layout, kernel_size, dilation, stride)
    columns = p.new_tensor(layout_of(input.type, windows.shape))
    p.assign(image.viewed(windows), columns)
    shape = *input.shape[:-3], input.shape[-3] * numel(kernel_size), numel(windows.shape[-2:])
    return columns.viewed(layout_of(input.type, shape))


@im2col_op.gradient("input")
def _(grad, input_shape, kernel_size, dilation, padding, stride):
    return col2im_op(grad, input_shape[-2:], kernel_size, dilation, padding, stride)


@operation("Col2ImBackward0", linear=True, dims=())
def col2im_op(
    p: Plan, input: TensorRef, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> TensorRef:
    """Add the steps that add the columns at their windows to zeros of shape (..., c, *output_size)."""
    outer = *input.shape[:-2], input.shape[-2] // numel(kernel_size)
    image = p.new_tensor(layout_of(input.type, (*outer, *_padded(output_size, padding))), zeroed=True)
    windows = _windows(image.layout, kernel_size, dilation, stride)
    lines, steps = windows.shape[-1], input.layout.strides
    row_step, step = steps[-2:]
    strides = *steps[:-2], row_step * numel(kernel_size), row_step * kernel_size[1], row_step, step * lines, step
    add_overlapping(p, input.viewed(layout_of(input.type, windows.shape, strides)), image.viewed(windows))
    return spread(p, image, output_size, [-extra for extra in padding])


@col2im_op.gradient("input")
def _(grad, kernel_size, dilation, padding, stride):
    return im2col_op(grad, kernel_size, dilation, padding, stride)


def _padded(size: Ints, padding: Ints) -> Ints:
    return tuple([extent + 2 * extra for extent, extra in zip(size, padding, strict=True)])


def _counts(size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Ints:
    """Return the number of windows along rows and columns; less than 1 if no window fits."""
    each_dim = zip(size, kernel_size, dilation, padding, stride, strict=True)
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in each_dim])


def _windows(image: Layout, kernel_size: Ints, dilation: Ints, stride: Ints) -> Layout:
    """Return the layout of all windows of the images: (..., c, *kernel_size, *positions)."""
    positions = _counts(image.shape[-2:], kernel_size, dilation, (0, 0), stride)
    wide, between = [
        [each * step for each, step in zip(steps, image.strides[-2:], strict=True)] for steps in (stride, dilation)
    ]
    shape = *image.shape[:-2], *kernel_size, *positions
    return layout_of(image.type, shape, (*image.strides[:-2], *between, *wide))


# -- the public functions -----------------------------------------------------------------------------------------


def _pair(name: str, value: Any) -> Ints:
    """Return two numbers, given as a pair or as one for both."""
    pair = sizes_of((), value if isinstance(value, tuple | list) else (value, value), f"argument '{name}'")
    check(len(pair) == 2, "It is expected {} equals to 2, but got size {}", name, len(pair))
    return pair


def _checked(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the arguments as pairs.

    Raises:
        RuntimeError: there are more than two numbers, or one is too small.
    """
    pairs = [
        _pair(name, value) for name, value in
        (("kernel_size", kernel_size), ("dilation", dilation), ("padding", padding), ("stride", stride))
    ]
    kernel, gaps, widths, steps = pairs
    for name, short, pair in (("kernel size", "kernel", kernel), ("dilation", "dilation", gaps)):
        _check_least(name, short, pair, 1)
    _check_least("padding", "pad", widths, 0)
    _check_least("stride", "stride", steps, 1)
    return kernel, gaps, widths, steps


def _check_least(name: str, short: str, pair: Ints, least: int) -> None:
    if min(pair) < least:
        must = "greater than zero" if least else "non-negative"
        raise RuntimeError(f"{name} should be {must}, but got {short}_height: {pair[0]} {short}_width: {pair[1]}")


@lookup(export=False, method=False)
def unfold(
    input: Layout, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1,
) -> Any:
    """The windows of images as columns: a convolution is the product of its filters with these.

    Args:
        input: of shape (n, channels, rows, columns), or without n.
        kernel_size: the size of a window; each size here is one number for rows and columns, or one for each.
        dilation: the distance between the elements of a window in the image.
        padding: the number of zeros before and after rows and columns.
        stride: the distance between windows.

    Returns:
        A tensor of shape (n, channels * elements of a window, windows), or without n.

    Raises:
        RuntimeError: the shape or the numbers do not fit.
        NotImplementedError: the dtype is an integer one.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.unfold(numgrad.ones(1, 1, 3, 3), 2).shape
        torch.Size([1, 4, 4])
    """
    kernel, gaps, widths, steps = _checked(kernel_size, dilation, padding, stride)
    shape, rank = input.shape, len(input.shape)
    check(
        rank in (3, 4) and 0 not in shape[rank - 3 :],
        "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
        "but got: {}", shape,
    )
    counts = _counts(shape[-2:], kernel, gaps, widths, steps)
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size {shape[-2:]}, kernel_size={kernel}, dilation={gaps}, padding={widths}, "
            f"calculated shape of the array of sliding blocks as {counts}, but its components must be at least one."
        )
    if input.type.dtype.category == 1:
        raise not_implemented("im2col_out_cpu", input)
    return im2col_op, (kernel, gaps, widths, steps)


@lookup(export=False, method=False)
def fold(
    input: Layout, output_size: int | Sequence[int], kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1,
) -> Any:
    """Images as sums of windows, given as columns as ``unfold`` returns them; overlapping elements add up.

    Args:
        input: of shape (n, channels * elements of a window, windows), or without n.
        output_size: the rows and columns of an image; each size here is one number for both, or one for each.
        kernel_size: the size of a window.
        dilation: the distance between the elements of a window in the image.
        padding: the number of elements that windows extend beyond either end of rows and columns.
        stride: the distance between windows.

    Returns:
        A tensor of shape (n, channels, *output_size), or without n.

    Raises:
        RuntimeError: the shape or the numbers do not fit.
        NotImplementedError: the dtype is an integer one.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.fold(numgrad.ones(1, 12, 9), output_size=(4, 4), kernel_size=2).shape
        torch.Size([1, 3, 4, 4])
    """
    size = _pair("output_size", output_size)
    kernel, gaps, widths, steps = _checked(kernel_size, dilation, padding, stride)
    shape, rank = input.shape, len(input.shape)
    check(
        rank in (2, 3) and 0 not in shape[rank - 2 :],
        "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
        "input, but got: {}", shape,
    )
    if shape[-2] % numel(kernel):
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={shape[-2]} and kernel_size={kernel}."
        )
    rows, columns = _counts(size, kernel, gaps, widths, steps)
    if min(rows, columns) < 1 or rows * columns != shape[-1]:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={gaps}, padding={widths}, stride={steps}, "
            f"expected size of input's dimension 2 to match the calculated number of sliding blocks {rows} * {columns} "
            f"= {rows * columns}, but got input.size(2)={shape[-1]}."
        )
    if input.type.dtype.category == 1:
        raise not_implemented("col2im_out_cpu", input)
    return col2im_op, (size, kernel, gaps, widths, steps)
