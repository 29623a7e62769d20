"""Products of matrices with the windows of images (im2col), for as many windows at a time as a cache holds.

An image of ``channels`` is cut into windows, one for each position of a filter.  The windows of some images, or of some
rows of one, are copied side by side as the columns of a matrix, which BLAS multiplies with the filters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ...core.layout import Ints, Layout, layout_of, numel
from ...core.tensor import Tensor, tensor_of
from ..matrices.products import turned_plan
from ..memory.copying import assembly, copier, writer
from ..pointwise.arithmetic import add

#: Bytes of windows that are multiplied at a time, about.
BYTES = 1 << 21


def spread(
    input: Layout, sizes: Sequence[int], low: Sequence[int], step: Sequence[int] = ()
) -> tuple[Layout, Callable[[Tensor], Tensor]]:
    """What puts images into zeros of these ``sizes``: the first element at ``low``, the next one ``step`` later.

    Images are the last dimensions, as many as there are sizes.  Elements that would lie outside are left out.
    Returned are the layout of the result, and what makes it.
    """
    step, outer = step or (1,) * len(sizes), len(input.shape) - len(sizes)
    if tuple(sizes) == input.shape[outer:] and not any(low):
        return input, lambda tensor: tensor
    out = layout_of(input.type, (*input.shape[:outer], *sizes))
    first, begin, counts = zip(*map(_inside, input.shape[outer:], sizes, low, step), strict=True)
    shape = (*input.shape[:outer], *counts)
    source = layout_of(input.type, shape, input.strides)
    wide = [each * stride for each, stride in zip(step, out.strides[outer:], strict=True)]
    target = layout_of(input.type, shape, (*out.strides[:outer], *wide))
    skipped, start = _offset(first, input.strides[outer:]), _offset(begin, out.strides[outer:])
    fill = assembly(out, [(source, target, start)] if source.size else [], zeroed=True).launcher()

    def embed(tensor: Tensor) -> Tensor:
        part = (tensor_of(source, tensor._storage, tensor._offset + skipped),) if source.size else ()
        return tensor_of(out, fill(*part))

    return out, embed


def _inside(extent: int, size: int, low: int, step: int) -> tuple[int, int, int]:
    """Of ``extent`` elements from ``low`` on: how many lie before 0, where the next lies, how many before ``size``."""
    skipped = max(0, -(low // step))
    begin = low + step * skipped
    return skipped, begin, max(0, min(extent - skipped, -((begin - size) // step)))


def _offset(indices: Sequence[int], strides: Sequence[int]) -> int:
    return sum([index * stride for index, stride in zip(indices, strides, strict=True)])


class _Tile(NamedTuple):
    """Some windows of some images, of one group of channels after the other."""

    image: int  # where they begin in the images
    out: int  # where their results begin
    windows: Layout  # (groups, channels, *kernel, images, *positions), where they lie
    columns: Layout  # (groups, channels * kernel, images * positions), copied
    part: Layout  # (groups, filters, images, *positions), where their results lie


def _tiles(
    image: Layout, out: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int
) -> Iterator[_Tile]:
    """Tiles that hold all windows of the images, the results of which have the layout ``out``."""
    (count, filters, rows, *rest), (out_image, out_channel, *out_steps) = out.shape, out.strides
    (image_step, channel_step, *steps), channels = image.strides, image.shape[1] // groups
    filters //= groups
    height = channels * numel(kernel)
    row_bytes = max(groups * height * numel(tuple(rest)) * image.type.numpy.itemsize, 1)
    images, tall = max(BYTES // (row_bytes * max(rows, 1)), 1), min(max(BYTES // row_bytes, 1), rows)
    wide = [each * step for each, step in zip(stride, steps, strict=True)]
    before = channels * channel_step, channel_step, *[each * step for each, step in zip(dilation, steps, strict=True)]
    for first in range(0, count, images):
        for row in range(0, rows, tall):
            positions = min(images, count - first), min(tall, rows - row), *rest
            yield _Tile(
                first * image_step + row * wide[0],
                first * out_image + row * out_steps[0],
                layout_of(image.type, (groups, channels, *kernel, *positions), (*before, image_step, *wide)),
                layout_of(image.type, (groups, height, numel(positions))),
                layout_of(
                    out.type, (groups, filters, *positions), (filters * out_channel, out_channel, out_image, *out_steps)
                ),
            )


def _packed(layout: Layout) -> Layout:
    """The layout of a contiguous copy."""
    return layout_of(layout.type, layout.shape)


def _copier(layout: Layout) -> Callable[[Tensor], Any]:
    """What copies the elements of a tensor to memory of their own, in order."""
    return copier(layout, _packed(layout))


class _Unfolded(NamedTuple):
    """What is made of tiles of one size."""

    copy: Callable[[Tensor], Any]  # memory of the columns
    product: Layout  # of the results, packed
    beside: Layout  # of an element for each filter, repeated for each position
    multiply: Callable[..., Any]
    write: Callable[..., Any]


def correlator(
    image: Layout, out: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int, bias: Layout | None
) -> Callable[[Tensor, Any, Tensor | None], Any]:
    """What multiplies filters with the windows of images: ``launch(images, filters, bias)`` returns memory for ``out``.

    ``filters`` is a row, of (groups, filters / groups, channels / groups * kernel) elements.
    """
    direct = image.type.backend.correlation_launcher(image, out, kernel, stride, dilation, groups, bias)
    if direct is not None:
        return direct
    matrices = layout_of(image.type, (groups, out.shape[1] // groups, image.shape[1] // groups * numel(kernel)))
    (step,) = (0,) if bias is None else bias.strides
    new = out.type.backend.memory_launcher(out, False)

    @functools.cache
    def unfolded() -> list[tuple[_Tile, _Unfolded]]:
        """The tiles, of which there may be more than fit into memory, which ``new`` says sooner."""
        made: dict[Layout, _Unfolded] = {}
        tiles = list(_tiles(image, out, kernel, stride, dilation, groups))
        for tile in tiles:
            if tile.columns not in made:
                product, strides = _packed(tile.part), (matrices.shape[1] * step, step, *(0,) * (len(kernel) + 1))
                beside = layout_of(image.type, product.shape, strides)
                write = (
                    writer(product, tile.part) if bias is None
                    else add.op.launcher([product, beside], tile.part, True)
                )
                multiply = turned_plan(matrices, tile.columns).launcher()
                made[tile.columns] = _Unfolded(_copier(tile.windows), product, beside, multiply, write)
        return [(tile, made[tile.columns]) for tile in tiles]

    def launch(images: Tensor, filters: Any, bias: Tensor | None) -> Any:
        memory, matrix = new(), tensor_of(matrices, filters)
        for tile, (copy, product, beside, multiply, write) in unfolded():
            columns = copy(tensor_of(tile.windows, images._storage, images._offset + tile.image))
            found = tensor_of(product, multiply(matrix, tensor_of(tile.columns, columns)))
            added = () if bias is None else (tensor_of(beside, bias._storage, bias._offset),)
            write(found, *added, tensor_of(tile.part, memory, tile.out))
        return memory

    return launch


def window_products(
    image: Layout, grad: Layout, out: Layout, stride: Ints, dilation: Ints, groups: int
) -> Callable[[Tensor, Tensor], Any]:
    """What multiplies gradients with the windows of images: ``launch(images, grad)`` returns memory for ``out``.

    That is the sum over all windows, for each filter and element of a window.
    """
    direct = image.type.backend.window_products_launcher(image, grad, out, stride, dilation, groups)
    if direct is not None:
        return direct
    height = image.shape[1] // groups * numel(out.shape[2:])
    products = layout_of(out.type, (groups, grad.shape[1] // groups, height))
    accumulate = add.op.launcher([products, products], products, into=True)
    new = out.type.backend.memory_launcher(out, True)
    made: dict[Layout, tuple[Any, Any, Layout, Any]] = {}
    tiles = list(_tiles(image, grad, out.shape[2:], stride, dilation, groups))
    for tile in tiles:
        if tile.columns not in made:
            rows = layout_of(grad.type, (*products.shape[:2], tile.columns.shape[2]))
            copies = _copier(tile.windows), _copier(tile.part)
            made[tile.columns] = *copies, rows, turned_plan(rows, tile.columns, False, True).launcher()

    def launch(images: Tensor, grads: Tensor) -> Any:
        total = tensor_of(products, new())
        for tile in tiles:
            copy, copy_grads, rows, multiply = made[tile.columns]
            columns = copy(tensor_of(tile.windows, images._storage, images._offset + tile.image))
            given = copy_grads(tensor_of(tile.part, grads._storage, grads._offset + tile.out))
            product = multiply(tensor_of(rows, given), tensor_of(tile.columns, columns))
            accumulate(total, tensor_of(products, product), total)
        return total._storage

    return launch
