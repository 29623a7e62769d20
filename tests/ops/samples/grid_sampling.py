"""Samples of images read at the points of a grid, of the operations for that, and of grids."""

import itertools
import math

import numpy as np
from ops.sampling import ANY, FLOATS, between, index, sample, without

without(
    "weighted_gather weighted_scatter weighted_products grid_sampler_op affine_grid_op", "0-d"
)


def _gathered(x, places):
    """The elements of each channel at the places, (n, c, p, t)."""
    batch, channels, _ = x.shape
    flat = places.reshape(batch, 1, math.prod(places.shape[1:])).repeat(channels, 1)
    return np.take_along_axis(x, flat, 2).reshape(batch, channels, *places.shape[1:])


def _gather(x, places, weights):
    return (_gathered(x, places) * weights[:, None]).sum(-1)


def _scatter(grad, places, weights, length):
    out = np.zeros((*grad.shape[:2], length))
    for n, p, t in np.ndindex(places.shape):
        out[n, :, places[n, p, t]] += weights[n, p, t] * grad[n, :, p]
    return out


def _products(grad, x, places):
    return (_gathered(x, places) * grad[..., None]).sum(1)


for _batch in (2, 0):
    _x, _places, _out = (_batch, 3, 5), (_batch, 4, 2), (_batch, 3, 4)
    sample("weighted_gather", _gather, _x, _places, _places, domain=(ANY, index(5), ANY), dtypes=FLOATS)
    sample("weighted_scatter", _scatter, _out, _places, _places, args=(5,), domain=(ANY, index(5), ANY), dtypes=FLOATS)
    sample("weighted_products", _products, _out, _x, _places, domain=(ANY, ANY, index(5)), dtypes=FLOATS)


def _grid_sample(x, grid, mode, padding, align_corners):
    rank, sizes = x.ndim - 2, x.shape[2:]
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for point in np.ndindex(grid.shape[:-1]):
        places = [
            (g + 1) / 2 * (size - 1) if align_corners else ((g + 1) * size - 1) / 2
            for g, size in zip(grid[point][::-1], sizes, strict=True)
        ]
        if padding == "border":
            places = [min(max(place, 0), size - 1) for place, size in zip(places, sizes, strict=True)]
        for corner in itertools.product((0, 1), repeat=rank):
            pixel = [int(np.floor(place)) + at for place, at in zip(places, corner, strict=True)]
            if mode == "nearest":
                pixel, corner = [round(place) for place in places], corner if any(corner) else None
            inside = all(0 <= at < size for at, size in zip(pixel, sizes, strict=True))
            share = np.prod([1 - abs(place - at) for place, at in zip(places, pixel, strict=True)])
            share = float(corner is None) if mode == "nearest" else share
            if inside:
                out[(point[0], slice(None), *point[1:])] += share * x[(point[0], slice(None), *pixel)]
    return out


for _x, _grid, _how in (
    ((2, 2, 3, 4), (2, 3, 2, 2), ("bilinear", "zeros", False)),
    ((1, 1, 3, 2), (1, 2, 2, 2), ("nearest", "zeros", True)),
    ((1, 2, 2, 3, 2), (1, 2, 1, 2, 3), ("bilinear", "border", True)),
    ((0, 1, 2, 2), (0, 1, 1, 2), ("bilinear", "zeros", True)),
):
    sample("grid_sampler_op", _grid_sample, _x, _grid, args=_how, domain=(ANY, between(-1.3, 1.3)), dtypes=FLOATS)


def _affine_grid(theta, size, align_corners):
    lines = []
    for extent in size:
        line = np.linspace(-1, 1, extent) if extent > 1 else np.zeros(1)
        lines.append(line if align_corners else line * (extent - 1) / extent)
    points = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size)], -1)
    return np.einsum("...k,njk->n...j", points, theta)


for _theta, _size in (((2, 2, 3), (3, 2)), ((1, 3, 4), (2, 1, 3)), ((0, 2, 3), (2, 2))):
    for _corners in (False, True):
        sample("affine_grid_op", _affine_grid, _theta, args=(_size, _corners), dtypes=FLOATS)
