"""Channels turned into pixels, pixels turned into channels, and channels in another order."""

from __future__ import annotations

from typing import Any

from ...core.layout import Ints, Layout, layout_of, view_strides
from ...devices import Plan, TensorRef
from ..memory.copying import contiguous_op
from ..memory.images import in_format
from ..table.checks import check
from ..table.lookup import lookup, operation

#: Functions that ``nn.functional`` exports.
__all__ = ["channel_shuffle", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


def _rearranged(p: Plan, input: TensorRef, sizes: Ints, order: Ints, shape: Ints) -> TensorRef:
    """Add the steps that split the input's dimensions into ``sizes``, permute these, and reshape to ``shape``."""
    strides = view_strides(input.shape, input.layout.strides, sizes) if input.size else (1,) * len(sizes)
    assert strides is not None  # splitting dimensions takes no copy
    source = layout_of(input.type, tuple([sizes[d] for d in order]), tuple([strides[d] for d in order]))
    out = contiguous_op.build(p, input.viewed(source)).viewed(layout_of(input.type, shape))
    return in_format(p, [input.layout], out)


def _check_image(name: str, input: TensorRef, what: str, factor: int) -> None:
    check(
        len(input.shape) >= 3,
        "{} expects input to have at least 3 dimensions, but got input with {} dimension(s)", name, len(input.shape),
    )
    check(factor > 0, "{} expects a positive {}, but got {}", name, what, factor)


@operation("PixelShuffleBackward0", public=True, linear=True, dims=(), method=False)
def pixel_shuffle_op(p: Plan, input: TensorRef, upscale_factor: int) -> TensorRef:
    """Rearrange channels into pixels, which enlarges images by a factor (Shi et al. 2016).

    ``(..., c * r**2, h, w)`` becomes ``(..., c, h * r, w * r)``.

    Raises:
        RuntimeError: if the factor is not positive, or does not fit the shape.
    """
    r = upscale_factor
    _check_image("pixel_shuffle", input, "upscale_factor", r)
    *outer, channels, height, width = input.shape
    if channels % r**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}"
        )
    n, c = len(outer), channels // r**2
    sizes, order = (*outer, c, r, r, height, width), (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return _rearranged(p, input, sizes, order, (*outer, c, height * r, width * r))


@operation("PixelUnshuffleBackward0", public=True, linear=True, dims=(), method=False)
def pixel_unshuffle_op(p: Plan, input: TensorRef, downscale_factor: int) -> TensorRef:
    """Rearrange pixels into channels: the inverse of :func:`pixel_shuffle`.

    ``(..., c, h * r, w * r)`` becomes ``(..., c * r**2, h, w)``.

    Raises:
        RuntimeError: if the factor is not positive, or does not fit the shape.
    """
    r = downscale_factor
    _check_image("pixel_unshuffle", input, "downscale_factor", r)
    *outer, channels, height, width = input.shape
    for name, dim, size in (("height", -2, height), ("width", -1, width)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({dim})={size} is "
                f"not divisible by {r}"
            )
    n, h, w = len(outer), height // r, width // r
    sizes, order = (*outer, channels, h, r, w, r), (*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return _rearranged(p, input, sizes, order, (*outer, channels * r**2, h, w))


@pixel_shuffle_op.gradient("input")
def _(grad, upscale_factor):
    return pixel_unshuffle_op(grad, upscale_factor)


@pixel_unshuffle_op.gradient("input")
def _(grad, downscale_factor):
    return pixel_shuffle_op(grad, downscale_factor)


@operation("ChannelShuffleBackward0", linear=True, dims=["dim"])
def channel_shuffle_op(p: Plan, input: TensorRef, groups: int, dim: int) -> TensorRef:
    """Return the elements along ``dim`` in the order of a matrix of ``groups`` rows that is read column by column."""
    shape, channels = input.shape, input.shape[dim]
    sizes = (*shape[:dim], groups, channels // groups, *shape[dim + 1 :])
    return _rearranged(p, input, sizes, (*range(dim), dim + 1, dim, *range(dim + 2, len(sizes))), shape)


@channel_shuffle_op.gradient("input")
def _(grad, input_shape, groups, dim):
    return channel_shuffle_op(grad, max(input_shape[dim] // groups, 1), dim)


@lookup(method=False, names=["native_channel_shuffle"])
def channel_shuffle(input: Layout, groups: int) -> Any:
    """Return images with channels taken from all groups of channels in turn (Zhang et al. 2018).

    The channels are dimension 1.

    Raises:
        RuntimeError: if there are fewer than three dimensions, or the groups do not divide the channels.
    """
    check(len(input.shape) >= 3, "channel_shuffle expects input with > 2 dims, but got input with sizes {}", input)
    check(groups > 0, "Number of groups to divide channels in must be positive. Value of groups:{}", groups)
    if input.shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and {groups} groups."
        )
    return channel_shuffle_op, (groups, 1)


pixel_shuffle, pixel_unshuffle = pixel_shuffle_op.public, pixel_unshuffle_op.public
native_channel_shuffle = channel_shuffle
