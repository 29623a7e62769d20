"""The public functions of convolutions: they check the arguments and bring them to the form of the operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.layout import Ints, Layout, layout_of
from ...tensors.tensor import Tensor, check_one_device
from ..shapes.dimensions import squeeze_dim, unsqueeze_op
from ..shapes.padding import pad
from ..shapes.views import for_each_dimension
from ..table.checks import check, check_supported
from ..table.lookup import lookup
from ..table.planned import Planned
from .convolution import conv_transpose_op, convolution_op

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


def _each(name: str, value: Any, rank: int) -> Ints:
    """Return one number for each dimension, given one for all or one for each."""
    numbers = for_each_dimension(value, rank, name)
    if len(numbers) != rank:
        raise _unmatched(name, numbers, rank)
    least = 0 if "padding" in name else 1
    if min(numbers) < least:
        raise RuntimeError(f"{'non-positive' if least else 'negative'} {name} is not supported")
    return numbers


def _unmatched(name: str, numbers: Ints, rank: int) -> RuntimeError:
    return RuntimeError(
        f"expected {name} to be a single integer value or a list of {rank} values to match the convolution dimensions, "
        f"but got {name}={list(numbers)}"
    )


def _images(name: str, input: Layout, weight: Layout, stride: Ints) -> Layout:
    """Return the layout of a batch of images; a single image becomes a batch of one.

    Raises:
        RuntimeError: images or filters have the wrong number of dimensions.
    """
    rank = len(stride)
    if len(input.shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    check(len(weight.shape) >= 3, "weight should have at least three dimensions, but got shape {}", weight)
    if len(weight.shape) != rank + 2:
        raise _unmatched("stride", stride, len(weight.shape) - 2)  # PyTorch's message for such filters
    return layout_of(input.type, (1,) * (rank + 2 - len(input.shape)) + input.shape)


def _check(
    input: Layout, weight: Layout, bias: Layout | None, groups: int, transposed: bool, sizes: Ints = (),
    reach: Ints = (),
) -> None:
    """Raise unless the images, of these padded sizes, and the filters, with these extents, match.

    Raises:
        RuntimeError: the shapes or dtypes do not match.
        NotImplementedError: the images are of bools.
    """
    filters, channels = weight.shape[:2]
    shown = f"weight of size {list(weight.shape)}"
    check(groups >= 1, "non-positive groups is not supported")
    check(
        filters >= groups,
        "Given groups={}, expected weight to be at least {} at dimension 0, but got {} instead",
        groups, groups, shown,
    )
    if filters % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{list(weight.shape)}] instead"
        )
    setting = "transposed=1" if transposed else f"groups={groups}"
    inputs, outputs = (filters, groups * channels) if transposed else (groups * channels, filters)
    check(
        input.shape[1] == inputs, "Given {}, {}, expected input{} to have {} channels, but got {} channels instead",
        setting, shown, input, inputs, input.shape[1],
    )
    if bias is not None and bias.shape != (outputs,):
        raise RuntimeError(
            f"Given {'transposed=1, ' * transposed}{shown}, expected bias to be 1-dimensional with {outputs} elements, "
            f"but got bias of size {list(bias.shape)} instead"
        )
    if any(extent > size for extent, size in zip(reach, sizes, strict=True)):
        padded, extents = [f"({_by(each)})" for each in (sizes, reach)]
        raise RuntimeError(
            f"Calculated padded input size per channel: {padded}. Kernel size: {extents}. Kernel size can't be greater "
            "than actual input size"
        )
    if 0 in weight.shape[2:]:
        raise RuntimeError(f"kernel size should be greater than zero, but got {_by(weight.shape[2:])}")
    if 0 in input.shape[2:] and 0 not in input.shape[:2]:
        shape = list(input.shape)
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {shape}")
    check_one_device(input, weight, bias)
    for name, other in (("weight", weight), ("bias", bias)):
        if other is not None and other.type is not input.type:
            dtypes = input.type.dtype, other.type.dtype
            raise RuntimeError(f"Input type ({dtypes[0]}) and {name} type ({dtypes[1]}) should be the same")
    check_supported(input, "ifc", "slow_conv_transpose2d_out_cpu" if transposed else "slow_conv2d_cpu")


def _by(numbers: Ints) -> str:
    return " x ".join(map(str, numbers))


def _of_one(op: Planned, geometry: tuple[Any, ...], widths: Sequence[int] = ()) -> Any:
    """Return a call of an operation that accepts a single image and pads images by ``widths`` unless all are 0."""

    def call(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        single = len(input._layout.shape) < len(weight._layout.shape)
        images = unsqueeze_op(input, 0) if single else input
        out = op(pad(images, widths) if any(widths) else images, weight, bias, *geometry)
        return squeeze_dim(out, 0) if single else out

    return call, ()


def _convolution(rank: int) -> Any:
    """Return the public function for images of ``rank`` dimensions."""
    name = f"conv{rank}d"

    def resolve(
        input: Layout, weight: Layout, bias: Layout | None = None, stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1,
    ) -> Any:
        steps, gaps = _each("stride", stride, rank), _each("dilation", dilation, rank)
        images = _images(name, input, weight, steps)
        reach = tuple([gap * (size - 1) + 1 for gap, size in zip(gaps, weight.shape[2:], strict=True)])
        if isinstance(padding, str):
            check(padding != "same" or max(steps) <= 1, "padding='same' is not supported for strided convolutions")
            check(padding in ("same", "valid"), "Invalid padding string: '{}'", padding)
            totals = [extent - 1 if padding == "same" else 0 for extent in reach]
        else:
            totals = [2 * extra for extra in _each("padding", padding, rank)]
        sizes = tuple([size + total for size, total in zip(images.shape[2:], totals, strict=True)])
        _check(images, weight, bias, groups, False, sizes, reach)
        uneven = [width for total in reversed(totals) for width in (0, total % 2)]  # the odd zero goes to the end
        geometry = steps, tuple([total // 2 for total in totals]), gaps, groups
        if images.shape == input.shape and not any(uneven):
            return convolution_op, (input, weight, bias, *geometry)
        return _of_one(convolution_op, geometry, uneven)

    resolve.__name__ = resolve.__qualname__ = name
    resolve.__doc__ = f"""The convolution of images of {rank} dimensions with filters.

    Args:
        input: of shape (n, channels, ...) or (channels, ...).
        weight: the filters, of shape (filters, channels / groups, ...).
        bias: of shape (filters,), added to all that a filter gives.
        stride: by how many elements windows lie apart.
        padding: how many zeros there are before and behind each dimension; "same" for as many as leave the size as it
            is, "valid" for none.
        dilation: by how many elements of an image those of a filter lie apart.
        groups: of channels and filters; each filter sees the channels of its group.

    Returns:
        A tensor of shape (n, filters, ...) or (filters, ...).

    Raises:
        RuntimeError: the shapes or dtypes do not fit.
        NotImplementedError: the images are of bools.

    Example:
        >>> import numgrad
        >>> image, filters = numgrad.ones(1, 1{", 3" * rank}), numgrad.ones(1, 1{", 2" * rank})
        >>> numgrad.{name}(image, filters).shape
        torch.Size([1, 1{", 2" * rank}])
    """
    return lookup(resolve, method=False)


def _transposed_convolution(rank: int) -> Any:
    """Return the public function for images of ``rank`` dimensions."""
    name = f"conv_transpose{rank}d"

    def resolve(
        input: Layout, weight: Layout, bias: Layout | None = None, stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1,
        dilation: int | Sequence[int] = 1,
    ) -> Any:
        steps, gaps = _each("stride", stride, rank), _each("dilation", dilation, rank)
        images = _images(name, input, weight, steps)
        widths, extras = _each("padding", padding, rank), _each("output_padding", output_padding, rank)
        _check(images, weight, bias, groups, True)
        if any(extra >= max(step, gap) for extra, step, gap in zip(extras, steps, gaps, strict=True)):
            named = ("output_padding", extras), ("stride", steps), ("dilation", gaps)
            sizes = " ".join([
                f"{what}_{dim}: {number}" for what, numbers in named
                for dim, number in zip(("depth", "height", "width")[-rank:], numbers, strict=True)
            ])
            raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {sizes}")
        geometry = steps, widths, extras, gaps, groups
        if images.shape == input.shape:
            return conv_transpose_op, (input, weight, bias, *geometry)
        return _of_one(conv_transpose_op, geometry)

    resolve.__name__ = resolve.__qualname__ = name
    resolve.__doc__ = f"""The transposed convolution of images of {rank} dimensions with filters.

    That is the gradient of a convolution for its images, if ``input`` is that for its results: each element is
    multiplied with a filter, and what overlaps is added up.

    Args:
        input: of shape (n, channels, ...) or (channels, ...).
        weight: the filters, of shape (channels, filters / groups, ...).
        bias: of shape (filters,), added to all that a filter gives.
        stride: by how many elements the results of neighbours lie apart.
        padding: how many elements are taken away before and behind each dimension.
        output_padding: how many elements more there are behind each dimension, less than stride or dilation.
        groups: of channels and filters; each filter sees the channels of its group.
        dilation: by how many elements of the result those of a filter lie apart.

    Returns:
        A tensor of shape (n, filters, ...) or (filters, ...), the further sizes of which are
        ``(size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1``.

    Raises:
        RuntimeError: the shapes or dtypes do not fit.
        NotImplementedError: the images are of bools.
    """
    return lookup(resolve, method=False)


conv1d, conv2d, conv3d = [_convolution(rank) for rank in (1, 2, 3)]
conv_transpose1d, conv_transpose2d, conv_transpose3d = [_transposed_convolution(rank) for rank in (1, 2, 3)]
