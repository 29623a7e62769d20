"""Max unpooling: images restored from the maxima of windows; and max pooling with random windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import devices
from ...autograd.grad_mode import no_grad
from ...core.layout import Ints, Layout, layout_of, numel
from ...core.types import int64
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..creation.random_numbers import rand
from ..creation.spaced import arange
from ..indexing.gathering import gather_op
from ..indexing.index import stays
from ..memory.copying import convert
from ..memory.images import following, formatted_like
from ..pointwise.arithmetic import add, mul, sub
from ..pointwise.comparison import choose
from ..pointwise.rounding import trunc
from ..reductions.extremes import max_dim
from ..shapes.dimensions import squeeze_dim, unsqueeze_op
from ..shapes.joining import cat
from ..shapes.views import reshape
from ..table.checks import check, check_index, check_supported, check_value
from ..table.lookup import lookup, operation
from ..table.op import public
from .image_windows import Numbers, window_numbers
from .pooling import elements_at, joined, max_pool_backward, placed

#: The public functions of ``nn.functional`` defined here.
__all__ = [
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]

# -- unpooling ----------------------------------------------------------------------------------------------------


@operation(
    "MaxUnpool2DBackward0", aten="max_unpool2d", inputs=["input", "indices"], nondifferentiable=["indices"],
    linear=True, shapes=["shape"],
)
@following("input", volumes=False)
def max_unpool_op(p: Plan, input: TensorRef, indices: TensorRef, shape: Ints, rank: int) -> TensorRef:
    """Add the steps that write the elements to zeros of ``shape`` at the indices; of repeated indices the last wins."""
    return placed(p, input, indices, shape, rank, "set")


@max_unpool_op.gradient("input")
def _(grad, indices, input_layout, shape, rank):
    """``gather(grad, indices)``, 0 for elements that later ones overwrote."""

    def written(numbers: Tensor) -> Tensor:
        return elements_at(max_unpool_op(numbers, indices, shape, rank), indices, rank)

    last = stays(indices, written)
    return formatted_like(choose(last, elements_at(grad, indices, rank), 0), input_layout)


max_unpool3d_op = max_unpool_op.recorded_by("MaxUnpool3DBackward0")


def _unpooled_size(input: Layout, kernel_size: Ints, stride: Ints, padding: Ints, output_size: Any) -> Ints:
    """Return the size of the images: ``output_size``, if the windows fit it, or the usual one for None.

    Raises:
        ValueError: the windows do not fit.
    """
    rank = len(kernel_size)
    each_dim = zip(input.shape[-rank:], kernel_size, stride, padding, strict=True)
    usual = tuple([(size - 1) * s + k - 2 * p for size, k, s, p in each_dim])
    if output_size is None:
        return usual
    sizes = tuple(output_size)[2:] if len(output_size) == rank + 2 else tuple(output_size)
    check_value(
        len(sizes) == rank,
        "output_size should be a sequence containing {} or {} elements, but it has a length of '{}'",
        rank, rank + 2, len(output_size),
    )
    for dim, (size, expected, step) in enumerate(zip(sizes, usual, stride, strict=True)):
        if not expected - step < size < expected + step:
            raise ValueError(
                f'invalid output_size "{sizes}" (dim {dim} must be between {expected - step} and {expected + step})'
            )
    return sizes


def _check_unpooling(image: Layout, indices: Layout, stride: Ints, dims: int) -> None:
    """Raise unless images can be unpooled with these indices.

    Raises:
        RuntimeError: the shapes, the dtype of the indices, or the strides do not fit.
        NotImplementedError: the images' dtype is not a floating-point one.
    """
    if indices.type.dtype is not int64:
        got = "" if dims == 3 else f" but got: {indices.type.dtype.legacy}"
        raise RuntimeError(f"elements in indices should be type int64{got}")
    rank = len(image.shape)
    if rank not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with "
            f"{rank} dimensions."
        )
    check(
        image.shape == indices.shape,
        "Expected shape of indices to be same as that of the input tensor ({}) but got indices tensor with shape: {}",
        image, indices,
    )
    for dim in range(1, rank):
        check(
            image.shape[dim] != 0,
            "max_unpooling{}d_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, but "
            "got {} with dimension {} being empty.", dims, image, dim,
        )
    check(dims != 3 or min(stride) > 0, "strides should be greater than zero, but got stride: {}", stride)
    check_supported(image, "f", f"max_unpool{dims}d")


def _max_unpool(rank: int) -> Any:
    """Return the public function for images of ``rank`` dimensions."""
    name, dims = f"max_unpool{rank}d", max(rank, 2)

    def resolve(
        input: Layout, indices: Layout, kernel_size: Numbers, stride: Numbers | None = None, padding: Numbers = 0,
        output_size: Sequence[int] | None = None,
    ) -> Any:
        steps = kernel_size if stride is None else stride
        window_arguments = {"kernel_size": kernel_size, "stride": steps, "padding": padding}
        windows = [window_numbers(name, argument, value, rank) for argument, value in window_arguments.items()]
        size = _unpooled_size(input, windows[0], windows[1], windows[2], output_size)
        behind = (1,) * (dims - rank)  # images of one column
        image, index = [layout_of(each.type, (*each.shape, *behind)) for each in (input, indices)]
        _check_unpooling(image, index, windows[1], dims)
        shape, last = (*image.shape[:-dims], *size, *behind), len(input.shape)
        op = max_unpool3d_op if rank == 3 else max_unpool_op

        def call(input: Tensor, indices: Tensor) -> Tensor:
            pair = [unsqueeze_op(each, last) for each in (input, indices)] if behind else [input, indices]
            try:
                out = op(*pair, shape, dims)
            except devices.OutOfBoundsError as error:
                volume = "x".join(map(str, shape[-dims:]))
                raise RuntimeError(
                    f"Found an invalid max index: {error.index} (output volumes are of size {volume})"
                ) from None
            return squeeze_dim(out, last) if behind else out

        return call, ()

    resolve.__name__ = resolve.__qualname__ = name
    resolve.__doc__ = f"""Images of {rank} dimensions in which the largest elements of windows stand, and zeros else.

    Args:
        input, indices: what ``max_pool{rank}d`` returned, of shape (n, channels, ...) or (channels, ...).
        kernel_size, stride, padding: of the windows.
        output_size: the size of the images, where that does not follow from the windows.

    Raises:
        RuntimeError, ValueError: shapes, sizes or indices do not fit.
        NotImplementedError: the input is not of floating-point numbers.
    """
    return lookup(resolve, export=False)


max_unpool1d, max_unpool2d, max_unpool3d = [_max_unpool(rank) for rank in (1, 2, 3)]


# -- random windows (Graham 2014) -----------------------------------------------------------------------------------


@operation(
    "FractionalMaxPool2DBackward0", aten="fractional_max_pool2d", inputs=["input", "windows"],
    nondifferentiable=["windows"], extras=["indices"], dims=(),
)
def fractional_max_pool_op(
    p: Plan, input: TensorRef, windows: TensorRef, rank: int
) -> tuple[TensorRef, TensorRef]:
    """Add the steps that compute the maxima of windows over the last dimensions, and their flat indices in these.

    ``windows``, of shape (..., *counts, elements), holds the flat indices of the elements of each window.
    """
    last = len(windows.shape) - 1
    windows_buffer, shape = p.contiguous(windows), windows.shape[:-1]
    flat = p.tensor(p.contiguous(input), input.type, joined(input.shape, rank))
    index = p.tensor(windows_buffer, windows.type, joined(windows.shape, rank + 1))
    lines = p.contiguous(gather_op.build(p, flat, index, len(flat.shape) - 1))
    values, numbers = max_dim.build(p, p.tensor(lines, input.type, windows.shape), last, True)
    indices = gather_op.build(p, p.tensor(windows_buffer, windows.type, windows.shape), numbers, last)
    values, indices = [p.tensor(p.contiguous(each), each.type, shape) for each in (values, indices)]
    return values, indices


fractional_max_pool3d_op = fractional_max_pool_op.recorded_by("FractionalMaxPool3DBackward0")
_backward = {rank: max_pool_backward.recorded_by(f"FractionalMaxPool{rank}DBackwardBackward0") for rank in (2, 3)}


@fractional_max_pool_op.gradient("input")
def _(grad, indices, input_shape, rank):
    """``zeros(input_shape)``, with ``grad`` added at ``indices``."""
    return _backward[rank](grad, indices, input_shape, rank)


def _random_windows(samples: Tensor, sizes: Ints, kernel: Ints, counts: Ints) -> Tensor:
    """Return the flat indices of the elements of each channel's windows.

    Along a dimension, window ``i`` begins at ``trunc((i + sample) * step) - trunc(sample * step)``; the last one ends
    with the dimension.
    """
    rank, sets, number = len(sizes), samples._layout.shape[:2], samples.dtype.compute.numpy.type
    total: Any = 0
    for dim, (size, width, count) in enumerate(zip(sizes, kernel, counts, strict=True)):
        sample = samples[..., dim if rank == 3 else 1 - dim].unsqueeze(-1)
        step = float(number(size - width) / number(max(count - 1, 1)))
        numbers = arange(count - 1, dtype=samples.dtype, device=samples.device) if count > 1 else sample[..., :0]
        begin = convert(sub(trunc(mul(add(numbers, sample), step)), trunc(mul(sample, step))), int64)
        end = begin.new_full((*sets, min(count, 1)), size - width)
        starts = reshape(cat([begin, end], 2), (*sets, *[count if d == dim else 1 for d in range(rank)], *[1] * rank))
        inside = reshape(arange(width, device=samples.device), [width if d == dim else 1 for d in range(rank)])
        total = add(total, mul(add(starts, inside), numel(sizes[dim + 1 :])))
    return reshape(total, (*sets, *counts, numel(kernel)))


def _fractional_max_pool(rank: int, indices: bool) -> Any:
    """Return the public function for images of ``rank`` dimensions; with ``indices`` it always returns these."""
    name = f"fractional_max_pool{rank}d"

    def numbers(argument: str, value: Numbers) -> Ints:
        values = (value,) * rank if isinstance(value, int) else tuple(value)
        if len(values) != rank:
            ints = "tuple of Ints" if rank == 2 else "tuple of three Ints"
            raise RuntimeError(f"{name}: {argument} must either be a single Int or {ints}")
        return values

    def check_windows(input: Tensor, kernel: Ints, counts: Ints) -> None:
        shape = input._layout.shape
        for dim in range(len(shape) - rank - 1, len(shape)):
            check(
                shape[dim] != 0,
                "{}(): Expected input to have non-zero size for non-batch dimensions, but got{} with dimension {} "
                "being empty.", name, shape, dim,
            )
        where, names = name + "_out" * (rank == 3), ("time", "height", "width")[-rank:]
        for axis, size, width, count in zip(names, shape[-rank:], kernel, counts, strict=True):
            if count + width - (rank == 2) > size:  # in three dimensions PyTorch's limit is one less
                raise RuntimeError(f"{where}(): pool {axis} {width} too large relative to input {axis} {size}")

    def call(
        input: Tensor, kernel_size: Numbers, output_size: Numbers | None = None,
        output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        shape = input._layout.shape
        if output_size is None:
            if output_ratio is None:
                raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
            ratios = (output_ratio,) * rank if isinstance(output_ratio, int | float) else output_ratio
            if len(ratios) < rank or len(ratios) > rank == 2:  # in three dimensions PyTorch ignores extra numbers
                raise ValueError(
                    f"{name} requires output_ratio to either be a single number or {rank} of them, not {len(ratios)}."
                )
            output_size = [int(size * ratio) for size, ratio in zip(shape[-rank:], ratios[:rank], strict=True)]
        ranks = rank + 1, rank + 2
        check_index(len(shape) in ranks, "{}(): Expected {}D or {}D tensor, but got: {}", name, *ranks, shape)
        check_supported(input._layout, "f", "check_uniform_bounds")
        kernel, counts = numbers("kernel_size", kernel_size), numbers("output_size", output_size)
        check_windows(input, kernel, counts)
        images = input if len(shape) == rank + 2 else unsqueeze_op(input, 0)
        samples = _random_samples
        if samples is None:
            samples = rand(*images._layout.shape[:2], rank, dtype=input.dtype, device=input.device)
        check(samples.dtype is input.dtype, "Expect _random_samples to have the same dtype as input")
        expected = *images._layout.shape[:2], rank
        check(samples._layout.shape == expected, "Expect _random_samples of shape {}; got {}.", expected, samples)
        with no_grad():
            windows = _random_windows(samples, shape[-rank:], kernel, counts)
        op = fractional_max_pool3d_op if rank == 3 else fractional_max_pool_op
        out = op(images, windows, rank)[: 1 + (indices or return_indices)]
        out = out if images is input else tuple([squeeze_dim(axis, 0) for axis in out])
        return out if len(out) > 1 else out[0]

    call.__name__ = call.__qualname__ = name + "_with_indices" if indices else name
    call.__doc__ = f"""The largest elements of windows of images of {rank} dimensions that lie at random places.

    Args:
        input: floating-point numbers, of shape (n, channels, ...) or (channels, ...).
        kernel_size: the size of a window, a number for all dimensions or one for each.
        output_size: how many windows there are.
        output_ratio: that by the input's size, where it is not given.
        return_indices: True to also return the int64 indices of the elements in each flattened image.

    Raises:
        RuntimeError, IndexError, ValueError: the shape, or the numbers, do not fit.
        NotImplementedError: the input is not of floating-point numbers.
    """
    return public(call, export=False)


fractional_max_pool2d, fractional_max_pool3d = [_fractional_max_pool(rank, False) for rank in (2, 3)]
fractional_max_pool2d_with_indices, fractional_max_pool3d_with_indices = [
    _fractional_max_pool(rank, True) for rank in (2, 3)
]
