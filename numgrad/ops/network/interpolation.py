"""Images resized by interpolation between their pixels."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.layout import Ints, Layout
from ...core.types import dtype, float32, float64, uint8
from ...tensors.tensor import Tensor
from ..table.checks import check_value, not_implemented
from ..table.lookup import lookup
from ..table.op import public
from .average_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .byte_images import bytes_resized
from .resampling import LineMap, check_rows, map_maker, resampled

#: The public functions of ``nn.functional`` defined here.
__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

# -- along one dimension: positions and weights rounded as in PyTorch, in the dtype of the elements -------------------


def _step(length: int, count: int, align_corners: bool, scale: float | None, real: type) -> Any:
    """Return the distance of neighbouring output elements, in elements of the input."""
    if align_corners:
        return real(length - 1) / real(count - 1) if count > 1 else real(0)
    return real(1 / scale) if scale is not None and scale > 0 else real(length) / real(count)


def _nearest(
    exact: bool, length: int, count: int, align_corners: bool, scale: float | None, real: type
) -> LineMap:
    """Return the map to the nearest element; ``exact`` measures from the elements' centres, not from their corners."""
    if exact:
        positions = np.maximum(_positions(length, count, False, scale, real), real(0)) + real(0.5)
    else:
        positions = _step(length, count, False, scale, real) * np.arange(count).astype(real)
    indices = np.floor(positions.astype(np.float32))  # as in PyTorch, also for float64
    return LineMap(length, np.minimum(indices.astype(np.int64), length - 1))


def _positions(length: int, count: int, align_corners: bool, scale: float | None, real: type) -> np.ndarray:
    """Return the positions of the output elements in the input, rounded once, as by a fused multiply-add."""
    step, numbers = np.float64(_step(length, count, align_corners, scale, real)), np.arange(count)
    return (step * numbers if align_corners else step * (numbers + 0.5) - 0.5).astype(real)


def _taps(length: int, indices: np.ndarray, weights: np.ndarray) -> LineMap:
    """Return a map with a fixed number of terms per result, from arrays of shape (count, terms)."""
    counts = np.full(len(indices), indices.shape[1])
    return LineMap(length, np.clip(indices, 0, length - 1).reshape(-1), counts, weights.reshape(-1).astype(np.float64))


def _linear(length: int, count: int, align_corners: bool, scale: float | None, real: type) -> LineMap:
    """Return the map that interpolates between two elements, which coincide if the size stays the same."""
    positions = np.maximum(_positions(length, count, align_corners, scale, real), real(0))
    if length == count:
        positions = np.arange(count).astype(real)
    first = np.minimum(positions.astype(np.int64), length - 1)
    share = np.clip(positions - first.astype(real), real(0), real(1))
    second = first + (length != count)
    return _taps(length, np.stack([first, second], 1), np.stack([real(1) - share, share], 1))


def cubic_weights(share: Any, a: float) -> list[Any]:
    """Return the weights of four neighbours at -1, 0, 1 and 2, for a point between 0 and 1 (Keys 1981)."""

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(share + 1), near(share), near(1 - share), far(2 - share)]


def _cubic(length: int, count: int, align_corners: bool, scale: float | None, real: type) -> LineMap:
    """Return the map that interpolates between four elements."""
    positions = _positions(length, count, align_corners, scale, real)
    first = np.minimum(np.floor(positions).astype(np.int64), length - 1)
    share = np.clip(positions - first.astype(real), real(0), real(1))
    weights = cubic_weights(share, -0.75)
    return _taps(length, np.stack([first + at for at in (-1, 0, 1, 2)], 1), np.stack(weights, 1))


def _triangle(x: np.ndarray) -> np.ndarray:
    return 1 - x


def _keys(x: np.ndarray) -> np.ndarray:
    """The cubic kernel of Keys 1981, with the parameter common in image libraries."""
    return np.where(x < 1, cubic_weights(x, -0.5)[1], cubic_weights(x - 1, -0.5)[0])


def _lanczos(x: np.ndarray) -> np.ndarray:
    return (np.sinc(x) * np.sinc(x / 3)).astype(x.dtype)


#: For each antialiased mode, its filter as a function of the distance, and the distance beyond which it is 0.
_FILTERS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {
    "bilinear": (_triangle, 1), "bicubic": (_keys, 2), "lanczos": (_lanczos, 3),
}


def _filtered(
    mode: str, length: int, count: int, align_corners: bool, scale: float | None, real: type
) -> LineMap:
    """Return the antialiased map: its filter is as wide as the output elements if these are the larger ones."""
    (function, reach), step = _FILTERS[mode], _step(length, count, align_corners, scale, real)
    stretch = max(step, real(1))
    width, centres = reach * stretch, step * (np.arange(count).astype(real) + real(0.5))
    low = np.maximum((centres - width + real(0.5)).astype(np.int64), 0)
    high = np.minimum((centres + width + real(0.5)).astype(np.int64), length)
    indices = low[:, None] + np.arange((high - low).max())
    inside = indices < high[:, None]
    distances = np.abs((indices.astype(real) - centres[:, None] + real(0.5)) / stretch)
    weights = np.where(inside & (distances < reach), function(distances), real(0))
    totals = weights.sum(1, keepdims=True)
    weights = np.divide(weights, totals, where=totals != 0, out=weights)
    return LineMap(length, indices[inside], inside.sum(1), weights[inside].astype(np.float64))


# -- the public functions -----------------------------------------------------------------------------------------

#: For each mode, the function that makes the map along a dimension, and PyTorch's name by the number of dimensions.
_MODES: dict[str, tuple[Callable[..., LineMap], dict[int, str]]] = {
    "nearest": (functools.partial(_nearest, False), {rank: f"Nearest{rank}D" for rank in (1, 2, 3)}),
    "nearest-exact": (functools.partial(_nearest, True), {rank: f"NearestExact{rank}D" for rank in (1, 2, 3)}),
    "linear": (_linear, {1: "Linear1D"}), "bilinear": (_linear, {2: "Bilinear2D"}),
    "trilinear": (_linear, {3: "Trilinear3D"}), "bicubic": (_cubic, {2: "Bicubic2D"}),
}

_MODE_NAMES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"


@map_maker
def _map(mode: str, antialias: bool, *numbers: Any) -> LineMap:
    """Return the map of a mode along a dimension."""
    _, count, *_ = numbers
    check_rows(count)
    return _filtered(mode, *numbers) if antialias else _MODES[mode][0](*numbers)


def _operation(input: Layout, mode: str, antialias: bool) -> str:
    """Return PyTorch's name of the operation.

    Raises:
        NotImplementedError: the mode does not support this number of dimensions.
    """
    rank = len(input.shape) - 2
    if antialias:
        return f"Upsample{mode.capitalize()}2DAa"
    names = _MODES[mode][1] if mode in _MODES else {}
    if rank in names:
        return f"Upsample{names[rank]}"
    if rank in (1, 2, 3) and mode in ("linear", "bilinear", "trilinear") and (rank, mode) != (3, "bicubic"):
        raise NotImplementedError(f"Got {rank + 2}D input, but {mode} mode needs {next(iter(names)) + 2}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank + 2}D) for the modes: {_MODE_NAMES} "
        f"(got {mode})"
    )


def _sizes(
    input: Layout, size: Any, scale_factor: Any, recompute: bool
) -> tuple[Ints, Sequence[float | None]]:
    """Return the output size, and the scale factors for the positions (None where these depend on the sizes alone).

    Raises:
        ValueError, TypeError: the arguments do not determine the size.
    """
    extents = input.shape[2:]
    needed = "Please provide input tensor in (N, C, d1, d2, ...,dK) format and"
    check_value(size is None or scale_factor is None, "only one of size or scale_factor should be defined")
    if size is not None:
        check_value(not recompute, "recompute_scale_factor is not meaningful with an explicit size.")
        sizes = tuple(size) if isinstance(size, tuple | list) else (size,) * len(extents)
        check_value(
            len(sizes) == len(extents),
            "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions "
            "of {} and output size of {!s}. {} output size in (o1, o2, ...,oK) format.", extents, size, needed,
        )
        if not all(isinstance(number, int) for number in sizes):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
                f"with types {[type(number) for number in sizes]}"
            )
        return sizes, (None,) * len(extents)
    check_value(scale_factor is not None, "either size or scale_factor should be defined")
    factors = tuple(scale_factor) if isinstance(scale_factor, tuple | list) else (scale_factor,) * len(extents)
    check_value(
        len(factors) == len(extents),
        "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
        "dimensions of {} and scale_factor of shape {!s}. {} scale_factor in (s1, s2, ...,sK) format.",
        extents, scale_factor, needed,
    )
    sizes = tuple([math.floor(extent * factor) for extent, factor in zip(extents, factors, strict=True)])
    return sizes, (None,) * len(extents) if recompute else factors


def _check_sizes(input: Layout, sizes: Ints) -> None:
    """Raise unless input and output have pixels.

    Raises:
        RuntimeError: one of them is empty.
    """
    extents, rank = input.shape[2:], len(sizes)
    if min(extents) < 1 or min(sizes) < 1:
        before, after = [
            ", ".join([f"{dim}: {size}" for dim, size in zip("DHW"[-rank:], each, strict=True)])
            for each in (extents, sizes)
        ]
        joined = "and output" if rank == 1 else "output"
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({before}) {joined} ({after})"
        )
    if input.shape[1] == 0:
        shape = list(input.shape)
        raise RuntimeError(f"Non-empty {rank + 2}D data tensor expected but got a tensor with sizes {shape}")


@lookup(export=False)
def interpolate(
    input: Layout, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Any:
    """Images resized to ``size`` or by ``scale_factor``.

    Args:
        input: floating-point numbers, of shape (n, channels, ...) with 1 to 3 further dimensions; the nearest modes,
            and those for images, also accept uint8.
        size: of the output, one number for all further dimensions or one for each.
        scale_factor: the output size divided by the input size, instead of ``size``.
        mode: "nearest" takes the nearest element, rounding positions down, "nearest-exact" rounding to the nearest;
            "linear", "bilinear" and "trilinear" interpolate between two elements along 1, 2 and 3 dimensions,
            "bicubic" between four along 2; "area" averages.
        align_corners: True to align the centres of the outermost elements of input and output, False to align their
            edges.
        recompute_scale_factor: True to compute positions from the sizes alone, not from ``scale_factor``.
        antialias: True if "bilinear", "bicubic" and "lanczos" average over all input elements of an output element.

    Raises:
        ValueError, TypeError, RuntimeError: the arguments contradict each other or the shape.
        NotImplementedError: the mode does not support this number of dimensions, or this dtype.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.interpolate(numgrad.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    rank = len(input.shape) - 2
    check_value(
        align_corners is None or mode not in ("nearest", "area", "nearest-exact"),
        "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear",
    )
    area = mode == "area" and rank in (1, 2, 3)
    sizes, factors = _sizes(input, size, scale_factor, bool(recompute_scale_factor))
    check_value(
        not antialias or (mode in _FILTERS and rank == 2),
        "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input",
    )
    if mode == "lanczos":
        check_value(not align_corners, "Lanczos mode does not support align_corners=True")
        check_value(antialias, "Lanczos mode requires antialias=True")
    if area:
        average = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[rank - 1]
        return lambda input: average(input, sizes), ()
    name = _operation(input, mode, antialias)
    _check_sizes(input, sizes)
    dtype_of_input: dtype = input.type.dtype
    nearest, of_bytes = mode.startswith("nearest"), dtype_of_input is uint8
    if not dtype_of_input.is_floating_point and not (of_bytes and (nearest or rank == 2)):
        raise not_implemented("compute_index_ranges_weights" if antialias else _kernel(mode, rank), input)
    real = float64 if of_bytes and not nearest else float32 if of_bytes else dtype_of_input.compute
    each_dim = zip(input.shape[2:], sizes, factors, strict=True)
    maps = tuple([
        _map(mode, antialias, length, count, bool(align_corners), factor, real.numpy.type)
        for length, count, factor in each_dim
    ])
    if of_bytes and not nearest:
        return bytes_resized(name, input.shape[2:], maps), ()
    op, *arguments = resampled(name, *maps)
    return op, arguments


def _kernel(mode: str, rank: int) -> str:
    """Return the kernel's name in PyTorch's error message for an unsupported dtype."""
    if rank == 2 and mode != "bicubic":
        return f"upsample_{mode.removesuffix('-exact')}2d_channels_last"
    kind = mode.removesuffix("-exact") if mode.startswith("nearest") else "cubic" if mode == "bicubic" else "linear"
    return f"compute_indices_weights_{kind}"


def _deprecated(name: str) -> None:
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", UserWarning, stacklevel=4
    )


@public(export=False)
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """A deprecated name of :func:`interpolate`."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@public(export=False)
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """A deprecated name of :func:`interpolate` with the nearest elements."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@public(export=False)
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """A deprecated name of :func:`interpolate` between two elements along each dimension, with corners aligned."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
