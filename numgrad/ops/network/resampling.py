"""Separable linear maps of images: averages of windows, interpolation of pixels, mirrored edges.

Along each dimension such a map is a sparse matrix, a ``LineMap``.  The gradient is the same operation with the
transposed maps, and so are the gradients of higher order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import devices
from ...core.layout import numel
from ...core.types import TensorType
from ...devices import Plan, TensorRef
from ..memory.copying import contiguous_op
from ..memory.images import formatted_like, in_format
from ..table.lookup import operation
from ..table.planned import Planned


class LineMap:
    """A linear map of a line of elements, as a sparse matrix by rows; compared by identity.

    ``out[j] = sum(weights[k] * x[indices[k]]) / divisors[j]``, over ``k`` from ``starts[j]`` to ``starts[j + 1]``.

    Args:
        length: the number of elements in a line.
        indices: of the elements that the rows take, one row after the other.
        counts: the number of elements in each row; one unless given.
        weights, divisors: 1 unless given.

    Attributes:
        count: the number of rows.
    """

    def __init__(
        self, length: int, indices: np.ndarray, counts: np.ndarray | None = None, weights: np.ndarray | None = None,
        divisors: np.ndarray | None = None,
    ):
        self.length, self.indices = length, np.ascontiguousarray(indices, np.int64)
        counts = np.ones(indices.size, np.int64) if counts is None else counts
        self.count = counts.size
        self.starts = np.concatenate([np.zeros(1, np.int64), counts.cumsum()])
        self.weights = np.ones(indices.size) if weights is None else weights
        self.divisors = np.ones(self.count) if divisors is None else divisors
        self._matrices: dict[TensorType, tuple[Any, ...]] = {}
        self.step = int(self.count > 0 and bool((self.divisors != self.divisors[0]).any()))

    def __repr__(self) -> str:
        return f"<LineMap of {self.length} elements to {self.count}>"

    @functools.cached_property
    def changes_nothing(self) -> bool:
        """True if each result is the element at the same index."""
        numbers = np.arange(self.length)
        return (
            np.array_equal(self.indices, numbers) and np.array_equal(self.starts[:-1], numbers)
            and bool((self.weights == 1).all() and (self.divisors == 1).all())
        )

    @functools.cached_property
    def transposed(self) -> LineMap:
        """The map from results to elements, whose transpose is this map again."""
        rows = np.repeat(np.arange(self.count), np.diff(self.starts))
        order = np.argsort(self.indices, kind="stable")
        weights = (self.weights / self.divisors[rows])[order]
        result = LineMap(self.count, rows[order], np.bincount(self.indices, minlength=self.length), weights)
        result.transposed = self
        return result

    def matrix(self, type: TensorType) -> tuple[Any, ...]:
        """Return starts, indices, weights and divisors as buffers on the device of ``type``, in its dtype.

        Equal divisors are stored once.
        """
        real = type.numpy.type(0).real.dtype
        if type in self._matrices:
            return self._matrices[type]
        divisors = self.divisors if self.step else self.divisors[:1]
        rows = self.starts, self.indices, self.weights.astype(real), divisors.astype(real)
        return self._matrices.setdefault(type, tuple([devices.moved(row, type.device) for row in rows]))


#: The approximate number of int64 values needed to build each row of a map.
_NUMBERS = 8


def map_maker(make: Callable[..., LineMap]) -> Callable[..., LineMap]:
    """Decorate a function that makes maps: cache them, and report missing memory as numgrad's error."""
    return functools.lru_cache(maxsize=1024)(devices.reports_memory(make))


def check_rows(count: int) -> None:
    """Raise RuntimeError unless there is memory for a map of ``count`` rows."""
    devices.check_room(_NUMBERS * count, np.dtype(np.int64))


def window_map(length: int, starts: np.ndarray, stops: np.ndarray, divisors: np.ndarray | None = None) -> LineMap:
    """Return the map to the sums of the elements from each start to each stop."""
    counts = np.maximum(stops - starts, 0)
    before = np.repeat(counts.cumsum() - counts, counts)
    return LineMap(length, np.arange(counts.sum()) - before + np.repeat(starts, counts), counts, divisors=divisors)


@operation("AvgPool2DBackward0", aten="avg_pool2d", linear=True, dims=())
def resample_op(p: Plan, input: TensorRef, name: str, maps: tuple[LineMap, ...]) -> TensorRef:
    """Add the steps that apply one of ``maps`` along each of the last dimensions.

    ``name`` determines the node that records the operation; see ``resampled``.
    """
    shape, first, out = list(input.shape), len(input.shape) - len(maps), input
    effective = [(dim, line_map) for dim, line_map in enumerate(maps, first) if not line_map.changes_nothing]
    for dim, line_map in sorted(effective, key=lambda each: each[1].count / max(each[1].length, 1)):
        outer, length, inner = numel(tuple(shape[:dim])), shape[dim], numel(tuple(shape[dim + 1 :]))
        products = p.backend.csr_axis(
            p, p.contiguous(out), outer, length, inner, max(outer, 1), line_map.count, line_map.matrix(input.type),
            outer * inner * line_map.indices.size, line_map.step,
        )
        shape[dim] = line_map.count
        out = p.tensor(products, input.type, tuple(shape))
    if out is input:
        out = contiguous_op.build(p, input)
    return in_format(p, [] if name in _ROW_MAJOR else [input.layout], out)


#: Operations with row-major results in PyTorch, too, whatever the memory format of the images.
_ROW_MAJOR = {
    "UpsampleBicubic2DBackward", "UpsampleNearest3DBackward", "UpsampleNearestExact3DBackward",
    *[f"{kind}3D{suffix}" for kind in ("AvgPool", "AdaptiveAvgPool") for suffix in ("", "Backward")],
}


@resample_op.gradient("input")
def _(grad, input_layout, name, maps):
    """``resample(grad, name, transposed(maps))``."""
    back = name.removesuffix("Backward") if name.endswith("Backward") else f"{name}Backward"
    operation, *arguments = resampled(back, *[axis_map.transposed for axis_map in maps])
    gradient = operation(grad, *arguments)
    return gradient if name.startswith("Upsample") or name in _ROW_MAJOR else formatted_like(gradient, input_layout)


@functools.cache
def _recorded_by(name: str) -> Planned:
    return resample_op.recorded_by(f"{name}Backward0")


def resampled(name: str, *maps: LineMap) -> tuple[Planned, str, tuple[LineMap, ...]]:
    """Return the operation that maps the last dimensions, recorded under PyTorch's ``name``, and its arguments."""
    return _recorded_by(name), name, maps


def each_dimension(make: Callable[..., LineMap], *numbers: Sequence[Any]) -> list[LineMap]:
    """Return a map for each dimension, made of the numbers for it."""
    return [make(*each) for each in zip(*numbers, strict=True)]
