"""Reductions of all elements under ``vmap``; see ``calls``."""

from __future__ import annotations

from ..._tensor import Tensor
from ..batches import physical, size_of
from ..reductions.extremes import amax_op, amin_op, max_all, min_all
from ..reductions.products import prod_all, prod_dim
from ..reductions.sorting import median_all, median_dim, nanmedian_all, nanmedian_dim
from ..reductions.sums import mean_all, mean_dims, sum_all, sum_dims
from ..shapes.views import reshape

__all__: list[str] = []


def _all_dims(input: Tensor) -> tuple[int, ...]:
    return tuple(range(1, len(input._layout.shape) + 1))


def _rows(input: Tensor) -> Tensor:
    """The elements of each example as a row."""
    return reshape(physical(input), (size_of(input), input._layout.size))


@sum_all.batched
def _(input, kind=None):
    return sum_dims(physical(input), _all_dims(input), False, kind)


@mean_all.batched
def _(input, kind=None):
    return mean_dims(physical(input), _all_dims(input), False, kind)


@prod_all.batched
def _(input, kind=None):
    return prod_dim(_rows(input), 1, False, kind)


@max_all.batched
def _(input):
    return amax_op(physical(input), _all_dims(input), False)


@min_all.batched
def _(input):
    return amin_op(physical(input), _all_dims(input), False)


@median_all.batched
def _(input):
    return median_dim(_rows(input), 1, False)[0]


@nanmedian_all.batched
def _(input):
    return nanmedian_dim(_rows(input), 1, False)[0]
