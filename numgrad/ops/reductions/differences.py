"""Differences of neighbours, and the integral that adds up what lies between them."""

from __future__ import annotations

from ..._layout import normal_dim
from ..._tensor import Tensor
from ..._types import bool_
from ..overwriting import copy_
from ..pointwise.arithmetic import add, mul, sub
from ..pointwise.comparison import ne
from ..shapes.joining import cat
from ..shapes.parts import narrow
from ..table import composite, public_functions
from .scans import cumsum_op
from .sums import sum as sum_of

__all__ = ["cumulative_trapezoid", "diff", "trapezoid"]


def _neighbours(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """All but the first index of a dimension, and all but the last."""
    count = max(input._layout.shape[dim] - 1, 0)
    return narrow(input, dim, input._layout.shape[dim] - count, count), narrow(input, dim, 0, count)


@composite
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences of neighbours in a dimension, ``n`` times; of bools, whether they differ.

    ``prepend`` and ``append`` are joined to the two ends before, unless ``n`` is 0, which makes a copy of the input.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: the tensor has no dimension, or ``n`` is negative.
    """
    if not input._layout.shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = normal_dim(dim, len(input._layout.shape))
    if n == 0:
        return copy_(public_functions["zeros_like"](input), input)
    ends = [tensor for tensor in (prepend, input, append) if tensor is not None]
    result = cat(ends, dim) if len(ends) > 1 else input
    difference = ne if result._layout.type.dtype is bool_ else sub
    for _ in range(n):
        result = difference(*_neighbours(result, dim))
    return result


@composite(method=False, names=["trapz"])
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The integral over a dimension by the trapezoidal rule, at points ``x`` or ``dx`` apart.

    ``x`` is one row, of as many points as y has in the dimension, or a tensor of y's shape.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: x and y differ in the number of points.
    """
    dim = normal_dim(dim, len(y._layout.shape))
    return mul(sum_of(_areas(y, x, dx, dim), dim), 0.5)


@composite(method=False)
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """:func:`trapezoid` up to each point but the first.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: x and y differ in the number of points.
    """
    dim = normal_dim(dim, len(y._layout.shape))
    return mul(cumsum_op(_areas(y, x, dx, dim), dim), 0.5)


def _areas(y: Tensor, x: Tensor | None, dx: float, dim: int) -> Tensor:
    """Twice the areas of the trapezoids between neighbours in a dimension."""
    both = add(*_neighbours(y, dim))
    if x is None:
        return mul(both, dx)
    following = (1,) * (len(y._layout.shape) - dim - 1)
    return mul(both, diff(x).reshape((-1, *following)) if len(x._layout.shape) == 1 else diff(x, dim=dim))


