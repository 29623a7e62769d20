"""Histograms: the number of elements, or of points with several coordinates, in each bin, with the bin edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from ...tensors.tensor import Tensor
from ..batching.examples import each
from ..creation.spaced import linspace
from ..memory.copying import convert
from ..shapes.views import reshape
from ..table.checks import check, check_supported
from ..table.op import public
from .axes import return_type
from .searching import bincount, searchsorted

_NAME = "torch.histogramdd"

_Histogram = return_type("histogram", "hist", "bin_edges")
_HistogramDd = return_type("histogramdd", "hist", "bin_edges")


@public
@each
def histogram(
    input: Tensor, bins: int | Tensor = 100, *, range: Sequence[float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> Annotated[Any, tuple[Tensor, Tensor]]:
    """The number of elements in each bin, and the edges of the bins; the last bin includes its upper edge.

    The results are not differentiable.

    Args:
        input: floating-point numbers of any shape.
        bins: the number of equally wide bins, or their edges in ascending order, a 1-d tensor.
        range: the ends of the bins; the smallest and the largest element unless given.
        weight: of the input's shape and dtype: the weight of each element, instead of 1.
        density: True to divide each bin by its width and by the sum of all.

    Raises:
        RuntimeError: there are no bins, the range is not finite or descends, or shapes or dtypes do not fit.
        NotImplementedError: the elements are not floating-point numbers.

    Example:
        >>> import numgrad
        >>> numgrad.histogram(numgrad.tensor([0.0, 1.0, 1.0]), 2)
        torch.return_types.histogram(
        hist=tensor([1., 2.]),
        bin_edges=tensor([0.0000, 0.5000, 1.0000]))
    """
    counts, edges = _counted(
        reshape(input.detach(), (-1, 1)), [bins], range, None if weight is None else reshape(weight.detach(), (-1,)),
        density,
    )  # fmt: skip
    return _Histogram(counts, edges[0])


@public(method=False)
@each
def histogramdd(
    input: Tensor, bins: int | Sequence[int] | Sequence[Tensor], *, range: Sequence[float] | None = None,
    weight: Tensor | None = None, density: bool = False,
) -> Annotated[Any, tuple[Tensor, tuple[Tensor, ...]]]:
    """The number of points in each bin of several dimensions, and the edges of the bins for each dimension.

    Args:
        input: floating-point numbers of shape (..., dimensions): the coordinates of the points.
        bins: the number of equally wide bins, for all dimensions or for each, or the edges for each.
        range: the ends of the bins for each dimension, in one sequence.
        weight, density: see :func:`histogram`; the weights have one dimension less than the input.

    Raises:
        RuntimeError, NotImplementedError: see :func:`histogram`.
    """
    shape = input._layout.shape
    check(len(shape) >= 2, "{}: input tensor should have at least 2 dimensions, but got {}", _NAME, len(shape))
    bins_per_dim = [bins] * shape[-1] if isinstance(bins, int) else list(bins)
    check(
        len(bins_per_dim) == shape[-1],
        "{}: The size of bins must be equal to the innermost dimension of the input: {} bins, shape {}",
        _NAME, len(bins_per_dim), shape,
    )
    if weight is not None and weight._layout.shape != shape[:-1]:
        raise _other_shape(input, weight)
    row = None if weight is None else reshape(weight.detach(), (-1,))
    counts, edges = _counted(reshape(input.detach(), (-1, shape[-1])), bins_per_dim, range, row, density)
    return _HistogramDd(counts, tuple(edges))


def _counted(
    points: Tensor, bins: Sequence[Any], limits: Sequence[float] | None, weight: Tensor | None, density: bool
) -> tuple[Tensor, list[Tensor]]:
    """Return the counts of the bins, and the edges for each dimension, of points of shape (n, dimensions)."""
    check_supported(points._layout, "f", "histogramdd")
    if weight is not None and weight._layout.shape != points._layout.shape[:1]:
        raise _other_shape(points, weight)
    if weight is not None and weight.dtype is not points.dtype:
        raise RuntimeError(
            f"{_NAME}: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but "
            f"got input({points.dtype}), and weight({weight.dtype})"
        )
    columns = points.unbind(1)
    edges = [_edges(dim, column, ends, limits) for dim, (column, ends) in enumerate(zip(columns, bins, strict=True))]
    sizes = [edge.numel() - 1 for edge in edges]
    index: Any = 0
    inside: Any = True
    for bounds, column, size in zip(edges, columns, sizes, strict=True):
        bin_number = searchsorted(bounds, column.contiguous(), right=True) - 1
        index = index * size + bin_number.where(column != bounds[-1], size - 1)  # the last bin includes its upper edge
        inside = (column >= bounds[0]) & (column <= bounds[-1]) & inside
    counts = bincount(index[inside], None if weight is None else weight[inside], math.prod(sizes))
    counts = reshape(convert(counts, points.dtype), sizes)
    if density:
        counts = counts / counts.sum()
        for dim, bounds in enumerate(edges):
            counts = counts / reshape(bounds.diff(), [-1 if other == dim else 1 for other in range(len(sizes))])
    return counts, edges


def _edges(dim: int, column: Tensor, bins: Any, limits: Sequence[float] | None) -> Tensor:
    """Return the edges of the bins of one dimension."""
    if isinstance(bins, Tensor):
        check(
            bins.dim() == 1,
            "{}: bins tensor should have one dimension, but got {} dimensions in the bins tensor for dimension {}",
            _NAME, bins.dim(), dim,
        )
        if bins.dtype is not column.dtype:
            raise RuntimeError(
                f"{_NAME}: input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{column.dtype} and bins for dimension {dim} with dtype {bins.dtype}"
            )
        check(
            bins.numel() >= 2,
            "torch.histogram(): bins must be > 0, but got {} edges, which bound none, for dimension {}",
            bins.numel(), dim,
        )
        return bins.detach().contiguous()
    check(bins > 0, "torch.histogram(): bins must be > 0, but got {} for dimension {}", bins, dim)
    if limits is not None:
        low, high = limits[2 * dim], limits[2 * dim + 1]
    else:
        low, high = [end.item() for end in column.aminmax()] if column.numel() else (0.0, 1.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{_NAME}: dimension {dim}'s range [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"{_NAME}: min should not exceed max, but got min {low} max {high} for dimension {dim}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, bins + 1, dtype=column.dtype, device=column.device)


def _other_shape(points: Tensor, weight: Tensor) -> RuntimeError:
    return RuntimeError(
        f"{_NAME}: if weight tensor is provided it should have the same shape as the input tensor excluding its "
        f"innermost dimension, but got input with shape {list(points.shape)} and weight with shape {list(weight.shape)}"
    )
