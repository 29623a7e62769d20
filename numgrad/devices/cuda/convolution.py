"""Convolutions on a GPU: products of matrices with copies of windows (im2col).

An image of ``channels`` is cut into windows, one for each position of a filter, which are copied side by side as the
columns of a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...core.layout import Ints, Layout, contiguous_strides, layout_of, numel
from ..common import row_adder
from ..plan import Buffer, Plan, TensorRef
from ..windows import add_overlapping
from .products import product_into

__all__ = ["correlation", "depthwise", "spread_products", "window_products"]

#: Bytes of windows that are copied at a time, about, and how many times they are at most.
BYTES, _TIMES = 1 << 27, 16


def depthwise(
    p: Plan, name: str, first: TensorRef, second: TensorRef, bias: TensorRef | None, images: int, channels: int,
    multiplier: int, sizes: Sequence[int],
) -> None:  # fmt: skip
    """None: convolutions of any groups are products with windows; see the CPU's."""


class _Tile(NamedTuple):
    """The windows of some images, or of some rows of one, of one group of channels after the other."""

    windows: TensorRef  # (groups, channels, *kernel, images, *positions), where they lie
    columns: Ints  # (groups, channels * kernel, images * positions), the shape of a copy
    start: int  # where their results begin
    part: Layout  # (groups, filters, images, *positions), where these lie


def _tiles(
    image: TensorRef, out: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int
) -> Iterator[_Tile]:
    """Tiles that hold all windows of the images, whose results are contiguous and of the shape ``out``."""
    (count, filters, rows, *rest), (out_image, out_channel, *out_steps) = out, contiguous_strides(out)
    (image_step, channel_step, *steps), channels = image.layout.strides, image.shape[1] // groups
    filters //= groups
    height = channels * numel(kernel)
    row_bytes = max(groups * height * numel(tuple(rest)) * image.type.numpy.itemsize, 1)
    most = max(BYTES, row_bytes * rows * count // _TIMES)
    images, tall = max(most // (row_bytes * max(rows, 1)), 1), min(max(most // row_bytes, 1), rows)
    wide = [each * step for each, step in zip(stride, steps, strict=True)]
    before = channels * channel_step, channel_step, *[each * step for each, step in zip(dilation, steps, strict=True)]
    for first in range(0, count, images):
        for row in range(0, rows, tall):
            positions = min(images, count - first), min(tall, rows - row), *rest
            windows = layout_of(image.type, (groups, channels, *kernel, *positions), (*before, image_step, *wide))
            part = layout_of(
                image.type, (groups, filters, *positions), (filters * out_channel, out_channel, out_image, *out_steps)
            )
            yield _Tile(
                image.viewed(windows, first * image_step + row * wide[0]), (groups, height, numel(positions)),
                first * out_image + row * out_steps[0], part,
            )  # fmt: skip


def _matrices(p: Plan, tensor: TensorRef, shape: Ints, room: Buffer) -> TensorRef:
    """A copy of a tensor in a buffer that has room for it, as a stack of matrices."""
    buffer = room.part(0, tensor.size)
    p.assign(tensor, p.tensor(buffer, tensor.type, tensor.shape))
    return p.tensor(buffer, tensor.type, shape)


def _beside(bias: Buffer, type: Any, shape: Ints, dims: Ints) -> TensorRef:
    """A number for each channel or filter, repeated: the first of these ``dims`` are groups."""
    strides = [0] * len(shape)
    step = 1
    for dim in reversed(dims):
        strides[dim] = step
        step *= shape[dim]
    return TensorRef(bias.memory, layout_of(type, shape, tuple(strides)), bias.start)


def correlation(
    p: Plan, image: TensorRef, filters: Buffer, bias: Buffer | None, out: Ints, kernel: Ints, stride: Ints,
    dilation: Ints, groups: int,
) -> Buffer:  # fmt: skip
    """The products of filters with the windows of images, plus a number for each filter, of the shape ``out``."""
    type, made = image.type, p.new_tensor(layout_of(image.type, out))
    tiles = list(_tiles(image, out, kernel, stride, dilation, groups))
    columns, products = [p.new(size, type.numpy) for size in (numel(tiles[0].columns), tiles[0].part.size)]
    matrices = p.tensor(filters, type, (groups, out[1] // groups, tiles[0].columns[1]))
    for tile in tiles:
        found = products.part(0, tile.part.size)
        product_into(p, matrices, _matrices(p, tile.windows, tile.columns, columns), (False, False), None, found)
        each, part = p.tensor(found, type, tile.part.shape), made.viewed(tile.part, tile.start)
        if bias is None:
            p.assign(each, part)
        else:
            p.pointwise(row_adder(type.numpy), [each, _beside(bias, type, each.shape, (0, 1))], part)
    return p.contiguous(made)


def spread_products(
    p: Plan, grad: Buffer, filters: Buffer, bias: Buffer | None, windows: Ints, out: TensorRef, kernel: Ints,
    stride: Ints, dilation: Ints, groups: int,
) -> None:  # fmt: skip
    """Add up filters times gradients, of the shape ``windows``, where their windows lie in contiguous images ``out``.

    A bias for each channel is added, too.
    """
    type = out.type
    if bias is None:
        p.fill(p.contiguous(out), 0)
    else:
        p.assign(_beside(bias, type, out.shape, (1,)), out)
    grads = p.tensor(grad, type, windows)
    tiles = list(_tiles(out, windows, kernel, stride, dilation, groups))
    columns, parts = [p.new(size, type.numpy) for size in (numel(tiles[0].columns), tiles[0].part.size)]
    matrices = p.tensor(filters, type, (groups, windows[1] // groups, tiles[0].columns[1]))
    for tile in tiles:
        shape, found = (*tile.part.shape[:2], tile.columns[2]), columns.part(0, numel(tile.columns))
        given = _matrices(p, grads.viewed(tile.part, tile.start), shape, parts)
        product_into(p, matrices, given, (True, False), None, found)
        add_overlapping(p, p.tensor(found, type, tile.windows.shape), tile.windows)


def window_products(
    p: Plan, image: TensorRef, grad: Buffer, windows: Ints, out: Ints, stride: Ints, dilation: Ints, groups: int
) -> Buffer:
    """The products of gradients, of the shape ``windows``, with the windows of images."""
    type, grads = image.type, p.tensor(grad, image.type, windows)
    tiles = list(_tiles(image, windows, out[2:], stride, dilation, groups))
    columns, parts = [p.new(size, type.numpy) for size in (numel(tiles[0].columns), tiles[0].part.size)]
    total, later = [p.new(numel(out), type.numpy) for _ in range(2)]
    for tile in tiles:
        shape, made = (*tile.part.shape[:2], tile.columns[2]), total if tile is tiles[0] else later
        given = _matrices(p, grads.viewed(tile.part, tile.start), shape, parts)
        product_into(p, given, _matrices(p, tile.windows, tile.columns, columns), (False, True), None, made)
        if made is later:
            p.backend.row_step(p, row_adder(type.numpy), [total, later, total], total.size)
    return total
