"""Steps of convolutions on a GPU: products of matrices with copies of windows (im2col).

The window of an image at each position of a filter is copied to a column of a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...core.layout import Ints, Layout, contiguous_strides, layout_of, numel
from ..common import row_adder
from ..plan import Buffer, Plan, TensorRef
from ..windows import add_overlapping
from . import runtime
from .products import expanded, product_into

__all__ = ["correlation", "depthwise_is_fused", "spread_products", "window_products"]

#: Least and greatest number of bytes of the windows that are copied at a time.
_LEAST, _MOST = 1 << 26, 1 << 28


def workspace(device: int) -> int:
    """Return the number of bytes of the windows that are copied at a time: a small part of the GPU's memory."""
    return min(max(runtime.driver.device_properties(device).total_memory // 128, _LEAST), _MOST)


def depthwise_is_fused(type: Any, stride: int) -> bool:
    """Return False: all convolutions, of any number of groups, are computed as products with windows."""
    return False


class _Tile(NamedTuple):
    """The windows of some images, or of some rows of an image, for each group of channels.

    Attributes:
        windows: view of the images, (groups, channels, *kernel, images, *positions).
        columns: shape of a copy, (groups, channels * kernel, images * positions).
        start: offset of the first result.
        part: layout of the results, (groups, filters, images, *positions).
    """

    windows: TensorRef
    columns: Ints
    start: int
    part: Layout


def _tiles(
    p: Plan, image: TensorRef, out: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int
) -> Iterator[_Tile]:
    """Yield the tiles of all windows of the images, the results of which are contiguous and of the shape ``out``."""
    (count, filters, rows, *trailing), (out_image, out_channel, *out_steps) = out, contiguous_strides(out)
    (image_step, channel_step, *steps), channels = image.layout.strides, image.shape[1] // groups
    filters //= groups
    height = channels * numel(kernel)
    row_bytes = max(groups * height * numel(tuple(trailing)) * image.type.numpy.itemsize, 1)
    assert p.device is not None
    most = workspace(p.device)
    images, tall = max(most // (row_bytes * max(rows, 1)), 1), min(max(most // row_bytes, 1), rows)
    wide = [gap * step for gap, step in zip(stride, steps, strict=True)]
    before = channels * channel_step, channel_step, *[gap * step for gap, step in zip(dilation, steps, strict=True)]
    for first in range(0, count, images):
        for row in range(0, rows, tall):
            positions = min(images, count - first), min(tall, rows - row), *trailing
            windows = layout_of(image.type, (groups, channels, *kernel, *positions), (*before, image_step, *wide))
            part = layout_of(
                image.type, (groups, filters, *positions), (filters * out_channel, out_channel, out_image, *out_steps)
            )
            yield _Tile(
                image.viewed(windows, first * image_step + row * wide[0]), (groups, height, numel(positions)),
                first * out_image + row * out_steps[0], part,
            )  # fmt: skip


def _scratch(p: Plan, tile: _Tile) -> tuple[Buffer, Buffer]:
    """Return the buffers for the columns and the results of tiles, the largest of which is the first."""
    dtype = tile.part.type.numpy
    return p.new(numel(tile.columns), dtype), p.new(tile.part.size, dtype)


def _matrices(p: Plan, tensor: TensorRef, shape: Ints, scratch: Buffer) -> TensorRef:
    """Add the step that copies a tensor to the beginning of a buffer, and return the copy as a stack of matrices."""
    buffer = scratch.part(0, tensor.size)
    p.assign(tensor, p.tensor(buffer, tensor.type, tensor.shape))
    return p.tensor(buffer, tensor.type, shape)


def correlation(
    p: Plan, image: TensorRef, filters: Buffer, bias: Buffer | None, out: Ints, kernel: Ints, stride: Ints,
    dilation: Ints, groups: int,
) -> Buffer:  # fmt: skip
    """Return the buffer of the products of filters and the windows of images, plus the bias; its shape is ``out``."""
    type, results = image.type, p.new_tensor(layout_of(image.type, out))
    tiles = list(_tiles(p, image, out, kernel, stride, dilation, groups))
    room, buffers = _scratch(p, tiles[0])
    matrices = p.tensor(filters, type, (groups, out[1] // groups, tiles[0].columns[1]))
    for tile in tiles:
        buffer = buffers.part(0, tile.part.size)
        product_into(p, matrices, _matrices(p, tile.windows, tile.columns, room), (False, False), None, buffer)
        products, part = p.tensor(buffer, type, tile.part.shape), results.viewed(tile.part, tile.start)
        if bias is None:
            p.assign(products, part)
        else:
            p.pointwise(row_adder(type.numpy), [products, expanded(bias, type, products.shape, (0, 1))], part)
    return p.contiguous(results)


def spread_products(
    p: Plan, grad: Buffer, filters: Buffer, bias: Buffer | None, windows: Ints, out: TensorRef, kernel: Ints,
    stride: Ints, dilation: Ints, groups: int,
) -> None:  # fmt: skip
    """Add the steps that add filters times gradients, of the shape ``windows``, to their windows in ``out``.

    The images ``out`` are contiguous.  A bias of each channel is added to them.
    """
    type = out.type
    if bias is None:
        p.fill(p.contiguous(out), 0)
    else:
        p.assign(expanded(bias, type, out.shape, (1,)), out)
    grads = p.tensor(grad, type, windows)
    tiles = list(_tiles(p, out, windows, kernel, stride, dilation, groups))
    room, buffer = _scratch(p, tiles[0])
    matrices = p.tensor(filters, type, (groups, windows[1] // groups, tiles[0].columns[1]))
    for tile in tiles:
        shape, columns = (*tile.part.shape[:2], tile.columns[2]), room.part(0, numel(tile.columns))
        part = _matrices(p, grads.viewed(tile.part, tile.start), shape, buffer)
        product_into(p, matrices, part, (True, False), None, columns)
        add_overlapping(p, p.tensor(columns, type, tile.windows.shape), tile.windows)


def window_products(
    p: Plan, image: TensorRef, grad: Buffer, windows: Ints, out: Ints, stride: Ints, dilation: Ints, groups: int
) -> Buffer:
    """Return the buffer of the products of gradients, of the shape ``windows``, and the windows of images."""
    type, grads = image.type, p.tensor(grad, image.type, windows)
    tiles = list(_tiles(p, image, windows, out[2:], stride, dilation, groups))
    room, buffer = _scratch(p, tiles[0])
    total, later = [p.new(numel(out), type.numpy) for _ in range(2)]
    for tile in tiles:
        shape, products = (*tile.part.shape[:2], tile.columns[2]), total if tile is tiles[0] else later
        part = _matrices(p, grads.viewed(tile.part, tile.start), shape, buffer)
        product_into(p, part, _matrices(p, tile.windows, tile.columns, room), (False, True), None, products)
        if products is later:
            p.backend.row_step(p, row_adder(type.numpy), [total, later, total], total.size)
    return total
