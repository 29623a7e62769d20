"""Average and power-average pooling of images, and local response normalization."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...core.layout import Ints, Layout, layout_of
from ...core.types import int64
from ...tensors.tensor import Tensor
from ..memory.copying import from_buffer
from ..memory.images import formatted_like
from ..pointwise.arithmetic import abs, add, div, mul, sign
from ..pointwise.comparison import relu
from ..pointwise.exponential import pow
from ..pointwise.rounding import truncated_quotient
from ..reductions.sums import mean
from ..shapes.dimensions import squeeze_dim, unsqueeze_op
from ..shapes.padding import pad
from ..shapes.views import reshape, sizes_of
from ..table.checks import check, check_supported, check_value, not_implemented
from ..table.lookup import lookup
from ..table.op import composite
from .image_windows import Numbers, check_windows, window_count, window_counts, window_numbers
from .resampling import LineMap, check_rows, each_dimension, map_maker, resampled, window_map

#: The public functions of ``nn.functional`` defined here.
__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "local_response_norm", "lp_pool1d", "lp_pool2d", "lp_pool3d",
]

# -- windows of one size ------------------------------------------------------------------------------------------


@map_maker
def _averages(length: int, kernel: int, stride: int, padding: int, ceil: bool, divisor: str | int) -> LineMap:
    """Return the map to the window sums along a dimension, divided by a number or by the size of each window.

    The divisor "padded" counts the padding, "inside" does not.
    """
    count = window_count(length, kernel, stride, padding, 1, ceil)
    check_rows(count)
    begin = np.arange(count) * stride - padding
    end = np.minimum(begin + kernel, length + padding)
    starts, stops = np.maximum(begin, 0), np.minimum(end, length)
    sizes = {"padded": end - begin, "inside": np.maximum(stops - starts, 1)}
    divisors = sizes[divisor] if isinstance(divisor, str) else np.full(begin.size, divisor)
    return window_map(length, starts, stops, divisors)


def _avg_pool(rank: int) -> Any:
    """Return the public function for images of ``rank`` dimensions."""
    name = f"avg_pool{rank}d"

    def resolve(
        input: Layout, kernel_size: Numbers, stride: Numbers | None = None, padding: Numbers = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Any:
        steps = kernel_size if stride is None or stride in ((), []) else stride
        window_arguments = {"kernel_size": kernel_size, "stride": steps, "padding": padding}
        windows = [window_numbers(name, argument, value, rank) for argument, value in window_arguments.items()]
        image, last = input, len(input.shape) - 1
        if rank == 1:  # an image of one row
            _check_lines(name, input)
            image = layout_of(input.type, (*input.shape[:-1], 1, input.shape[-1]))
            windows = [(otherwise, *lengths) for lengths, otherwise in zip(windows, (1, 1, 0), strict=True)]
        check(divisor_override != 0, "divisor must be not zero")
        ones = (1,) * len(windows[0])
        _check(image, *windows)
        window_counts(image, windows[0], windows[1], windows[2], ones, ceil_mode)
        whole = input.type.dtype is int64
        if not (whole or input.type.dtype.is_floating_point):
            raise not_implemented("avg_pool3d_out_frame" if rank == 3 else "avg_pool2d", input)
        divisors: tuple[Any, ...] = ("padded" if count_include_pad else "inside",) * len(ones)
        if divisor_override is not None:
            divisors = divisor_override, *ones[1:]
        numbers = image.shape[-len(ones) :], *windows, (ceil_mode,) * len(ones)
        averages = each_dimension(_averages, *numbers, divisors)
        sums = each_dimension(_averages, *numbers, ones)
        op, *arguments = resampled(f"AvgPool{len(ones)}D", *(sums if whole else averages))
        if rank > 1 and not whole:
            return op, arguments

        def call(input: Tensor) -> Tensor:
            out = op(unsqueeze_op(input, last) if rank == 1 else input, *arguments)
            if whole:
                counts = functools.reduce(
                    np.multiply.outer, [average.divisors.astype(np.int64) for average in averages]
                )
                out = truncated_quotient(out, from_buffer(counts.reshape(-1), counts.shape, out._layout.type))
            return squeeze_dim(out, last) if rank == 1 else out

        return call, ()

    resolve.__name__ = resolve.__qualname__ = name
    resolve.__doc__ = f"""The means of the windows of images of {rank} dimensions.

    Args:
        input: of shape (n, channels, ...) or (channels, ...), of floating-point numbers or int64, whose means are
            rounded towards 0.
        kernel_size: the size of a window.
        stride: by how many elements windows lie apart; the size of one unless given.
        padding: by how many zeros windows reach beyond either end of a dimension, at most half of their size.
        ceil_mode: whether a window that reaches further beyond the end counts, if it begins before that.
        count_include_pad: whether zeros of the padding count for the mean.
        divisor_override: what sums are divided by instead of the number of elements.

    Raises:
        RuntimeError: the shape, or the numbers, do not fit.
        NotImplementedError: the elements are of another dtype.
    """
    return lookup(resolve, export=rank == 1, method=False)


def _check(input: Layout, kernel_size: Ints, stride: Ints, padding: Ints) -> None:
    """Raise unless the images, batched or not, can be pooled with such windows.

    Raises:
        RuntimeError: the shape or the numbers do not fit.
    """
    shape, rank = list(input.shape), len(kernel_size)
    volumes = rank == 3 and len(shape) in (4, 5)
    if volumes and 0 in shape[-4:]:
        raise RuntimeError(
            "avg_pool3d(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
            f"{shape} and non-batch dimension {shape[-4:].index(0)} has length zero!"
        )
    check(
        rank != 2 or len(shape) <= 4,
        "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{}", shape,
    )
    check_windows(input, kernel_size, stride, padding, (1,) * rank)
    if volumes and any(k > size for k, size in zip(kernel_size, shape[-3:], strict=True)):
        extents, windows = [" ".join(map("{}: {}".format, names, each)) for names, each in (
            ("THW", shape[-3:]), (("kT", "kH", "kW"), kernel_size)
        )]
        raise RuntimeError(f"input image ({extents}) smaller than kernel size ({windows})")


def _check_lines(name: str, input: Layout) -> None:
    check(
        len(input.shape) in (2, 3),
        "Expected 2 to 3 dimensions, but got {}-dimensional tensor for argument #1 'self' (while checking arguments "
        "for {})", len(input.shape), name,
    )


avg_pool1d, avg_pool2d, avg_pool3d = [_avg_pool(rank) for rank in (1, 2, 3)]


def _lp_pool(rank: int, average: Any) -> Any:
    """Return the public function for images of ``rank`` dimensions."""

    def lp_pool(
        input: Tensor, norm_type: int | float, kernel_size: Numbers, stride: Numbers | None = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        means = average(pow(input, norm_type), kernel_size, stride, 0, ceil_mode)
        size = int(np.prod(window_numbers(lp_pool.__name__, "kernel_size", kernel_size, rank)))
        return pow(mul(mul(sign(means), relu(abs(means))), size), 1.0 / norm_type)

    lp_pool.__name__ = lp_pool.__qualname__ = f"lp_pool{rank}d"
    lp_pool.__doc__ = f"""``sum(x ** p) ** (1 / p)`` of the windows of images of {rank} dimensions.

    Args:
        input: of shape (n, channels, ...) or (channels, ...).
        norm_type: the ``p``.
        kernel_size, stride, ceil_mode: as :func:`avg_pool{rank}d` takes them.

    Raises:
        RuntimeError: the shape, or the numbers, do not fit.
    """
    return composite(lp_pool, export=False)


lp_pool1d, lp_pool2d, lp_pool3d = [
    _lp_pool(rank, average) for rank, average in ((1, avg_pool1d), (2, avg_pool2d), (3, avg_pool3d))
]


@composite(export=False)
def local_response_norm(
    input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """``input / (k + alpha * mean(input ** 2)) ** beta``, with the mean over ``size`` neighbouring channels.

    The formula is that of AlexNet (Krizhevsky, Sutskever and Hinton 2012), except for the mean instead of the sum.

    Args:
        input: of shape (n, channels, ...).
        size: the number of neighbouring channels; channels beyond the ends count as zeros.
        alpha, beta, k: the constants of the formula.

    Raises:
        ValueError: there are fewer than three dimensions.
    """
    shape = input._layout.shape
    if len(shape) < 3:
        gap = " " * 26  # as in PyTorch's message
        raise ValueError(f"Expected 3D or higher dimensionality{gap}input (got {len(shape)} dimensions)")
    if not input._layout.size:
        return input
    squares = reshape(mul(input, input), (shape[0], 1, shape[1], *shape[2:3], -1))
    squares = pad(squares, [0, 0, 0, 0, size // 2, (size - 1) // 2])
    means = reshape(avg_pool3d(squares, (size, 1, 1), 1), shape)
    return div(input, pow(add(mul(means, alpha), k), beta))


# -- a given number of windows ------------------------------------------------------------------------------------


def adaptive_bounds(length: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of ``count`` windows that cover a dimension; neighbours may overlap by an element."""
    check_rows(count)
    numbers = np.arange(count)
    return numbers * length // max(count, 1), -(-(numbers + 1) * length // max(count, 1))


@map_maker
def _adaptive_averages(length: int, count: int) -> LineMap:
    starts, stops = adaptive_bounds(length, count)
    return window_map(length, starts, stops, stops - starts)


def adaptive_sizes(name: str, input: Layout, output_size: Any, rank: int, internal: str = "") -> Ints:
    """Return the output size of the function ``name``, with the input's size instead of each None.

    Raises:
        RuntimeError, ValueError: the number of sizes or dimensions is wrong.
    """
    if rank == 1:
        if isinstance(output_size, tuple | list) and len(output_size) != 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(output_size)})")
        _check_lines(name, input)
        wanted_sizes = output_size if isinstance(output_size, tuple | list) else (output_size,)
        return sizes_of((), wanted_sizes, f"{name}(): argument 'output_size' (position 2)")
    if isinstance(output_size, int):
        return (output_size,) * rank
    count = len(output_size)
    check_value(len(input.shape) > count, "Input dimension should be at least {}", count + 1)
    extents = input.shape[len(input.shape) - count :]
    sizes = tuple([extent if size is None else size for size, extent in zip(output_size, extents, strict=True)])
    check(count == rank, "{}{} must be {}", name, internal, rank)
    return sizes_of((), sizes, f"{name}(): argument 'output_size' (position 2)")


def check_adaptive(name: str, input: Layout, rank: int, colon: str = "") -> None:
    """Raise unless the images, batched or not, have elements to pool.

    Raises:
        RuntimeError: the number of dimensions is wrong, or one of them is empty.
    """
    sizes = list(input.shape)
    if len(input.shape) not in (rank + 1, rank + 2):
        raise RuntimeError(f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got{colon} {sizes}")
    first = len(input.shape) - 2 if name == "adaptive_avg_pool2d" else 1  # it accepts images without channels
    for dim in range(first, len(input.shape)):
        check(
            input.shape[dim] != 0,
            "{}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {} with "
            "dimension {} being empty", name, sizes, dim,
        )


def _adaptive_avg_pool(rank: int) -> Any:
    """Return the public function for images of ``rank`` dimensions."""
    name, dims = f"adaptive_avg_pool{rank}d", max(rank, 2)

    def resolve(input: Layout, output_size: Any) -> Any:
        sizes = adaptive_sizes(name, input, output_size, rank, ": output_size")
        image, last = input, len(input.shape) - 1
        if rank == 1:  # an image of one row
            image, sizes = layout_of(input.type, (*input.shape[:-1], 1, input.shape[-1])), (1, *sizes)
        if min(sizes) < 0:
            raise RuntimeError(
                f"{name}: elements of output_size must be greater than or equal to 0 but received "
                f"{{{', '.join(map(str, sizes))}}}"
            )
        op: Any
        arguments: list[Any]
        if set(sizes) == {1}:
            op, arguments = mean, [tuple(range(-dims, 0)), True]
        else:
            inner = f"adaptive_avg_pool{dims}d"
            check_adaptive(inner, image, dims)
            check_supported(input, "f", f"{inner}_cpu" if rank == 3 else inner)
            maps = each_dimension(_adaptive_averages, image.shape[-dims:], sizes)
            op, *arguments = resampled(f"AdaptiveAvgPool{dims}D", *maps)

        def call(input: Tensor) -> Tensor:
            out = op(unsqueeze_op(input, last) if rank == 1 else input, *arguments)
            if rank > 1 and op is mean:
                return formatted_like(out, input)
            return squeeze_dim(out, last) if rank == 1 else out

        return call, ()

    resolve.__name__ = resolve.__qualname__ = name
    resolve.__doc__ = f"""The means of so many windows of images of {rank} dimensions that the output has a given size.

    Args:
        input: floating-point numbers, of shape (n, channels, ...) or (channels, ...).
        output_size: a number for all dimensions or one for each; None stands for the input's size.

    Raises:
        RuntimeError, ValueError: the shape, or the numbers, do not fit.
        NotImplementedError: the input is not of floating-point numbers.
    """
    return lookup(resolve, export=rank == 1, method=False)


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = [_adaptive_avg_pool(rank) for rank in (1, 2, 3)]
