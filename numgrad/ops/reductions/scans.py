"""Running sums, extremes and log-sum-exps along a dimension."""

from __future__ import annotations

from typing import Any

from ..._layout import Layout, layout_of
from ..._types import dtype, to_dtype
from ..indexing.gathering import scatter_zeros
from ..lookup import lookup
from ..planned import planned
from ..pointwise.arithmetic import exp, mul, sub
from ..table import public
from .axes import Prepared, axis_launcher, one_dim, picked_of_shape, return_type
from .extremes import refuse_complex_order
from .products import linear_recurrence, scanned, shift

__all__ = ["cummax", "cummin", "cumsum", "logcumsumexp"]


@planned("CumsumBackward0", linear=True, dims=["dim"])
def cumsum_op(input: Layout, dim: int, backwards: bool, kind: dtype | None = None) -> Prepared:
    """The sums of the elements up to each; if ``backwards``, of those from each."""
    return scanned("sum", input, dim, backwards, kind)


@cumsum_op.gradient("input")
def _(grad, dim, backwards):
    return cumsum_op(grad, dim, not backwards)


@lookup
def cumsum(input: Layout, dim: Any = None, *, dtype: Any = None) -> Any:
    """The sums of the elements up to each one along a dimension, computed in ``dtype``, int64 for integers."""
    return cumsum_op, (one_dim(input, dim, "cumsum"), False, None if dtype is None else to_dtype(dtype))


@planned("LogcumsumexpBackward0", dims=["dim"])
def logcumsumexp_op(input: Layout, dim: int) -> Prepared:
    return layout_of(input.type, input.shape), axis_launcher("scan_axis", input, (dim,), "logsumexp", input.type)


@logcumsumexp_op.gradient("input")
def _(grad, input, out, dim):
    """``exp(input - out) * linear_recurrence(grad, exp(out - next(out)), dim, True)``."""
    # dout[j] / dx[k] = exp(x[k] - out[j]), so the gradient is exp(x[k] - out[k]) * S[k] with
    # S[k] = grad[k] + exp(out[k] - out[k+1]) * S[k+1]: no exponential is larger than 1.
    factors = exp(sub(out, shift(out, dim, True, float("inf"))))
    return mul(exp(sub(input, out)), linear_recurrence(grad, factors, dim, True))


@lookup
def logcumsumexp(input: Layout, dim: Any = None) -> Any:
    """The logarithms of the sums of the exponentials of the elements up to each one along a dimension.

    Raises:
        NotImplementedError: the elements are not floating-point numbers.
    """
    dim = one_dim(input, dim, "logcumsumexp")
    if not input.type.dtype.is_floating_point:
        raise NotImplementedError(
            f"\"logcumsumexp_out_cpu\" not implemented for '{input.type.dtype.legacy}' (shape {list(input.shape)})"
        )
    return logcumsumexp_op, (dim,)


@planned("CummaxBackward0", outputs=["out", "indices"], dims=["dim"])
def cummax_op(input: Layout, dim: int) -> Prepared:
    return picked_of_shape("extremes_so_far", input, (dim,), input.shape, True)


@planned("CumminBackward0", outputs=["out", "indices"], dims=["dim"])
def cummin_op(input: Layout, dim: int) -> Prepared:
    return picked_of_shape("extremes_so_far", input, (dim,), input.shape, False)


@cummax_op.gradient("input")
@cummin_op.gradient("input")
def _(grad, indices, input_shape, dim):
    """``scatter_zeros(grad, indices, input_shape, dim)``."""
    return scatter_zeros(grad, indices, input_shape, dim) if input_shape else grad


@lookup(results=return_type("cummax"))
def cummax(input: Layout, dim: Any = None) -> Any:
    """The largest elements up to each one along a dimension, and their indices: of equal ones the last.

    Raises:
        NotImplementedError: the elements are complex.
    """
    refuse_complex_order(input, "cummax_cpu")
    return cummax_op, (one_dim(input, dim, "cummax"),)


@lookup(results=return_type("cummin"))
def cummin(input: Layout, dim: Any = None) -> Any:
    """The smallest elements up to each one along a dimension, and their indices: of equal ones the last.

    Raises:
        NotImplementedError: the elements are complex.
    """
    refuse_complex_order(input, "cummin_cpu")
    return cummin_op, (one_dim(input, dim, "cummin"),)


for _function in (cumsum, logcumsumexp, cummax, cummin):
    public(_function, checks=True)
