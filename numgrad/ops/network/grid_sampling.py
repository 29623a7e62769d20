"""Images sampled at the points of a grid, between the pixels, and grids made by affine maps."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import devices
from ...autograd.grad_mode import no_grad
from ...core.layout import Ints, Layout, layout_of, numel
from ...core.types import TensorType, int64
from ...devices import Given, Plan, TensorRef
from ...tensors.tensor import Tensor, check_one_device
from ..composition import differentiated_as
from ..creation.factories import ones
from ..creation.spaced import linspace
from ..matrices.matmul import matmul
from ..memory.copying import contiguous, convert
from ..pointwise.arithmetic import abs, add, div, mul, neg, sub
from ..pointwise.comparison import ge, gt, le, lt, where
from ..pointwise.rounding import floor, round_op, trunc
from ..shapes.dimensions import unsqueeze_op
from ..shapes.joining import stack
from ..shapes.parts import select_op
from ..shapes.views import reshape
from ..table.autocasting import autocasting
from ..table.checks import check, check_implemented, check_supported, check_value
from ..table.lookup import operation
from ..table.op import public
from .interpolation import cubic_weights

#: The public functions of ``nn.functional`` defined here.
__all__ = ["affine_grid", "grid_sample"]

# -- weighted sums of indexed elements ----------------------------------------------------------------------------


@operation(
    "WeightedGatherBackward0", inputs=["input", "index", "weights"], nondifferentiable=["index"], batch=1, linear=True
)
def weighted_gather(p: Plan, input: TensorRef, index: TensorRef, weights: TensorRef) -> TensorRef:
    """``out[n, c, p] = sum(weights[n, p, t] * input[n, c, index[n, p, t]])`` over ``t``; index -1 stands for a 0."""
    (batch, channels, length), (count, taps) = input.shape, index.shape[1:]
    shape = batch, channels, count
    matrix = _taps_of(taps, index.type), p.contiguous(index), p.contiguous(weights), _unit(input.type)
    out = p.backend.csr_axis(
        p, p.contiguous(input), batch * channels, length, 1, max(channels, 1), count, matrix, numel(shape) * taps, 0,
        True,
    )
    return p.tensor(out, input.type, shape)


@weighted_gather.gradient("input")
def _(grad, index, weights, input_shape):
    return weighted_scatter(grad, index, weights, input_shape[2])


@weighted_gather.gradient("weights")
def _(grad, input, index):
    return weighted_products(grad, input, index)


@operation(
    "WeightedScatterBackward0", inputs=["grad_output", "index", "weights"], nondifferentiable=["index"], batch=1,
    linear=True,
)
def weighted_scatter(
    p: Plan, grad_output: TensorRef, index: TensorRef, weights: TensorRef, length: int
) -> TensorRef:
    """Add ``weights[n, p, t] * grad_output[n, c, p]`` at ``index[n, p, t]`` to zeros of shape (n, c, length)."""
    (batch, channels, count), taps = grad_output.shape, index.shape[2]
    matrix = _taps_of(taps, index.type), p.contiguous(index), p.contiguous(weights)
    out = p.backend.csr_scatter(
        p, p.contiguous(grad_output), batch * channels, length, max(channels, 1), count, matrix, grad_output.size * taps
    )
    return p.tensor(out, grad_output.type, (batch, channels, length))


@weighted_scatter.gradient("grad_output")
def _(grad, index, weights):
    return weighted_gather(grad, index, weights)


@weighted_scatter.gradient("weights")
def _(grad, grad_output, index):
    return weighted_products(grad_output, grad, index)


@operation(
    "WeightedProductsBackward0", inputs=["grad_output", "input", "index"], nondifferentiable=["index"], batch=1,
    linear=True,
)
def weighted_products(p: Plan, grad_output: TensorRef, input: TensorRef, index: TensorRef) -> TensorRef:
    """``out[n, p, t] = sum(grad_output[n, c, p] * input[n, c, index[n, p, t]])`` over the channels ``c``."""
    (channels, length), (batch, count, taps) = input.shape[1:], index.shape
    out = p.backend.csr_weights(
        p, p.contiguous(grad_output), p.contiguous(input), length, channels, max(count, 1),
        (_taps_of(taps, index.type), p.contiguous(index)), batch * count,
    )
    return p.tensor(out, input.type, index.shape)


@weighted_products.gradient("grad_output")
def _(grad, input, index):
    return weighted_gather(input, index, grad)


@weighted_products.gradient("input")
def _(grad, grad_output, index, input_shape):
    return weighted_scatter(grad_output, index, grad, input_shape[2])


@functools.cache
def _taps_of(count: int, type: TensorType) -> Any:
    """Return the number of terms of each point, on a device."""
    return devices.moved(np.full(1, count, np.int64), type.device)


@functools.cache
def _unit(type: TensorType) -> Any:
    return devices.moved(np.ones(1, type.numpy), type.device)


# -- along one dimension ------------------------------------------------------------------------------------------


def _location(grid: Tensor, size: int, align_corners: bool) -> Tensor:
    """Map -1 to 1 onto the pixels of a dimension: to the centres of the outermost ones, or to their outer edges."""
    if align_corners:
        return mul(add(grid, 1), (size - 1) / 2)
    return sub(mul(add(grid, 1), size / 2), 0.5)


def _padded(position: Tensor, size: int, padding: str, align_corners: bool, rank: int) -> Tensor:
    """Return positions within a dimension; positions outside are clamped to the border or reflected there.

    As in PyTorch, a NaN becomes the first position, or the last in three dimensions; with zeros outside, it stays NaN
    or becomes a position outside.
    """
    if padding == "zeros":
        return where(lt(abs(position), 2**31), position, -100.0) if rank == 3 else position
    if padding == "reflection":
        low, span = (0.0, 2 * (size - 1)) if align_corners else (-0.5, 2 * size)
        distance = sub(position, low)
        distance = where(lt(distance, 0), neg(distance), distance)
        over = sub(distance, mul(trunc(div(distance, span)), span)) if span else mul(distance, 0)
        position = add(where(gt(over, sub(span, over)), sub(span, over), over), low)
    last = float(size - 1)
    if rank == 3:
        return where(le(position, 0), 0.0, where(lt(position, last), position, last))
    return where(gt(position, 0), where(lt(position, last), position, last), 0.0)


def _taps(
    grid: Tensor, size: int, mode: str, padding: str, align_corners: bool, rank: int
) -> tuple[Tensor, Tensor]:
    """Return the pixels to sample, as floating-point numbers along a last dimension, and their weights."""
    position = _location(grid, size, align_corners)
    if mode != "bicubic":
        position = _padded(position, size, padding, align_corners, rank)
    if mode == "nearest":
        weight = where(lt(position, -math.inf), position, 1.0)  # always 1, with a gradient of 0
        return unsqueeze_op(round_op(position), 2), unsqueeze_op(weight, 2)
    first = floor(position)
    share = sub(position, first)
    if mode == "bilinear":
        return stack([first, add(first, 1)], 2), stack([sub(1, share), share], 2)
    positions = stack([add(first, at) for at in (-1, 0, 1, 2)], 2)
    return _padded(positions, size, padding, align_corners, rank), stack(cubic_weights(share, -0.75), 2)


# -- sampling -----------------------------------------------------------------------------------------------------


@operation("GridSampler2DBackward0", aten="grid_sampler_2d", direct=True, inputs=["input", "grid"], batch=1)
def grid_sampler_op(
    p: Plan, input: TensorRef, grid: TensorRef, mode: str, padding: str, align_corners: bool
) -> tuple[TensorRef, ...]:
    """Add the step that samples the images at the points of a grid; see ``grid_sample``."""
    out = layout_of(input.type, (*input.shape[:2], *grid.shape[1:-1]))
    return p.host(_unrecorded, [out], _sampled, Given(0), Given(1), mode, padding, align_corners)


def _unrecorded(compute: Callable[..., Tensor], *arguments: Any) -> tuple[Any]:
    """Return the storage of a tensor that operations compute without recording."""
    with no_grad():
        return (contiguous(compute(*arguments))._storage,)


@differentiated_as(grid_sampler_op)
def _sampled(input, grid, mode, padding, align_corners):
    """The sum of the pixels around each point, each times a weight for each dimension."""
    if input.dtype.is_half:
        wide = [convert(tensor, input.dtype.compute) for tensor in (input, grid)]
        return convert(_sampled(*wide, mode, padding, align_corners), input.dtype)
    (batch, channels, *sizes), points = input._layout.shape, grid._layout.shape[1:-1]
    rank, count = len(sizes), numel(points)
    rows = reshape(grid, (batch, count, rank))
    index: Any = None
    for dim, size in enumerate(sizes):
        positions, factors = _taps(select_op(rows, 2, rank - 1 - dim), size, mode, padding, align_corners, rank)
        within = mul(ge(positions, 0), le(positions, size - 1))
        at = convert(where(within, positions, 0.0), int64)
        if index is None:
            index, weights, inside = at, factors, within
            continue
        taps = index._layout.shape[2] * at._layout.shape[2]
        index, weights, inside = [
            reshape(join(unsqueeze_op(before, 3), unsqueeze_op(new, 2)), (batch, count, taps))
            for join, before, new in ((add, mul(index, size), at), (mul, weights, factors), (mul, inside, within))
        ]
    flat = reshape(input, (batch, channels, numel(tuple(sizes))))
    return reshape(weighted_gather(flat, where(inside, index, -1), weights), (batch, channels, *points))


grid_sampler_3d_op = grid_sampler_op.recorded_by("GridSampler3DBackward0")


def _check(input: Layout, grid: Layout, mode: str) -> None:
    """Raise unless the grid has points for each image.

    Raises:
        RuntimeError: the shapes, dtypes or devices do not match.
        NotImplementedError: the images' dtype is not a floating-point one.
    """
    message = f"grid_sampler(): expected {{}}, but got input with sizes {list(input.shape)} and grid with sizes " + str(
        list(grid.shape)
    )
    check_one_device(input, grid)
    if input.shape[:1] != grid.shape[:1]:
        raise RuntimeError(message.format("grid and input to have same batch size"))
    rank = len(input.shape)
    check(
        grid.shape[-1] == rank - 2,
        "grid_sampler(): expected grid to have size {} in last dimension, but got grid with sizes {}", rank - 2, grid,
    )
    if rank not in (4, 5) or rank != len(grid.shape):
        shown = rank if rank in (4, 5) else "4D or 5"
        raise RuntimeError(message.format(f"{shown}D input and grid with same number of dimensions"))
    for dim in range(2, rank):
        check(
            input.shape[dim] != 0,
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {} with "
            "dimension {} being empty", input, dim,
        )
    check(rank != 5 or mode != "bicubic", "grid_sampler(): bicubic interpolation only supports 4D input")
    check_supported(input, "f", f"grid_sampler_{rank - 2}d_cpu{'_kernel_impl' * (rank == 4)}")
    if grid.type is not input.type:
        names = [layout.type.dtype.legacy for layout in (input, grid)]
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")


def _corners(align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details.",
            UserWarning, stacklevel=4,
        )
    return bool(align_corners)


@public(export=False)
@autocasting
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Images at the points of a grid, interpolated between their pixels (Jaderberg et al. 2015).

    Args:
        input: floating-point numbers, of shape (n, channels, h, w) or (n, channels, d, h, w).
        grid: of shape (n, ..., 2) or (n, ..., 3): for each point x, y (and z), from -1 to 1 within an image.
        mode: "bilinear" between two pixels along each dimension, "nearest", or, in 2 dimensions, "bicubic" between 4.
        padding_mode: the values outside: "zeros", the pixels of the "border", or a "reflection" of the image.
        align_corners: True if -1 and 1 are the centres of the outermost pixels, instead of their outer edges.

    Raises:
        ValueError: the mode is unknown.
        RuntimeError: the shapes or dtypes do not match.
        NotImplementedError: the input's dtype is not a floating-point one.
    """
    check_value(
        mode in ("bilinear", "nearest", "bicubic"),
        "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{}'", mode,
    )
    check_value(
        padding_mode in ("zeros", "border", "reflection"),
        "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{}'",
        padding_mode,
    )
    corners = _corners(align_corners)
    _check(input._layout, grid._layout, mode)
    op = grid_sampler_3d_op if len(input._layout.shape) == 5 else grid_sampler_op
    return op(input, grid, mode, padding_mode, corners)


# -- grids of affine maps -------------------------------------------------------------------------------------------


@operation(
    "AffineGridGeneratorBackward0", aten="affine_grid_generator", direct=True, inputs=["theta"], batch=1,
    linear=True
)
def affine_grid_op(p: Plan, theta: TensorRef, size: Ints, align_corners: bool) -> tuple[TensorRef, ...]:
    """Add the step that maps the points of images of ``size``, (h, w) or (d, h, w), by the matrices ``theta``."""
    out = layout_of(theta.type, (theta.shape[0], *size, len(size)))
    return p.host(_unrecorded, [out], _mapped, Given(0), size, align_corners)


def _mapped(theta: Tensor, size: Ints, align_corners: bool) -> Tensor:
    dtype = theta.dtype
    theta = convert(theta, dtype.compute)
    return convert(matmul(_points(theta, size, align_corners), theta.transpose(1, 2)), dtype)


@affine_grid_op.gradient("theta")
def _(grad, theta_layout, size, align_corners):
    """``transpose(grad) @ points``."""
    rows = reshape(grad, (grad._layout.shape[0], numel(size), len(size)))
    return matmul(rows.transpose(1, 2), _points(grad, size, align_corners))


def _points(like: Tensor, size: Ints, align_corners: bool) -> Tensor:
    """Return the points (x, y, 1) or (x, y, z, 1) of images, as rows in row-major order of the pixels."""
    options = {"dtype": like.dtype, "device": like.device}
    lines = []
    for dim, extent in enumerate(size):
        line = linspace(-1, 1, extent, **options) if extent > 1 else like.new_zeros((1,))
        line = line if align_corners else mul(line, (extent - 1) / extent)
        lines.append(reshape(line, [extent if d == dim else 1 for d in range(len(size))]).expand(size))
    return reshape(stack([*reversed(lines), ones(size, **options)], len(size)), (numel(size), len(size) + 1))


@public(export=False)
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid for :func:`grid_sample` that maps images of ``size`` by an affine map.

    Args:
        theta: floating-point numbers, of shape (n, 2, 3) or (n, 3, 4): the matrices of the maps.
        size: the size of the output images, (n, channels, h, w) or (n, channels, d, h, w).
        align_corners: True if -1 and 1 are the centres of the outermost pixels, instead of their outer edges.

    Returns:
        A tensor of shape (n, h, w, 2) or (n, d, h, w, 3).

    Raises:
        ValueError, RuntimeError: the shapes do not match, or the dtype is not a floating-point one.
        NotImplementedError: the size has neither 4 nor 5 elements.
    """
    check_value(theta.dtype.is_floating_point, "Expected theta to have floating point type, but got {}", theta.dtype)
    sizes, rank = tuple(size), len(size) - 2
    check_implemented(
        rank in (2, 3),
        "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {!s}.",
        sizes,
    )
    if len(theta._layout.shape) != 3 or theta._layout.shape[1:] != (rank, rank + 1):
        raise ValueError(
            f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size {sizes}. Got "
            f"{theta.shape}."
        )
    check_value(min(sizes[2:]) >= 1 and min(sizes) >= 1, "Expected non-zero, positive output size. Got {!s}", sizes)
    if align_corners and min(sizes[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
            "is not an intended use case of affine_grid. See the documentation of affine_grid for details.",
            UserWarning, stacklevel=3,
        )
    if sizes[0] != theta._layout.shape[0]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{sizes[0]}, {rank + 1}] but got: "
            f"[{theta._layout.shape[0]}, {rank + 1}]."
        )
    return affine_grid_op(theta, sizes[2:], _corners(align_corners))
