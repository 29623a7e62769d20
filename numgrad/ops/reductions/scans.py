"""Running sums, extremes and log-sum-exps along a dimension."""

from __future__ import annotations

from ..._layout import Layout, layout_of
from ..arguments import Dim, DType
from ..indexing.gathering import scatter_zeros
from ..operands import not_implemented
from ..operation import operation
from ..pointwise.arithmetic import exp, mul, sub
from .axes import Prepared, axis_launcher, picked_of_shape, return_type
from .extremes import refuse_complex_order
from .products import linear_recurrence, scanned, shift

__all__ = ["cumsum_op"]


@operation("CumsumBackward0", linear=True, internal=["backwards"])
def cumsum_op(input: Layout, dim: Dim, *, dtype: DType = None, backwards: bool = False) -> Prepared:
    """The sums of the elements up to each one along a dimension, computed in ``dtype``, int64 for integers."""
    return scanned("sum", input, dim, backwards, dtype)


@cumsum_op.gradient("input")
def _(grad, dim, backwards):
    return cumsum_op(grad, dim, None, not backwards)


@operation("LogcumsumexpBackward0")
def logcumsumexp_op(input: Layout, dim: Dim) -> Prepared:
    """The logarithms of the sums of the exponentials of the elements up to each one along a dimension.

    Raises:
        NotImplementedError: the elements are not floating-point numbers.
    """
    if not input.type.dtype.is_floating_point:
        raise not_implemented("logcumsumexp_out_cpu", input)
    return layout_of(input.type, input.shape), axis_launcher("scan_axis", input, (dim,), "logsumexp", input.type.numpy)


@logcumsumexp_op.gradient("input")
def _(grad, input, out, dim):
    """``exp(input - out) * linear_recurrence(grad, exp(out - next(out)), dim, True)``."""
    # dout[j] / dx[k] = exp(x[k] - out[j]), so the gradient is exp(x[k] - out[k]) * S[k] with
    # S[k] = grad[k] + exp(out[k] - out[k+1]) * S[k+1]: no exponential is larger than 1.
    factors = exp(sub(out, shift(out, dim, True, float("inf"))))
    return mul(exp(sub(input, out)), linear_recurrence(grad, factors, dim, True))


@operation("CummaxBackward0", outputs=["out", "indices"], results=return_type("cummax"))
def cummax_op(input: Layout, dim: Dim) -> Prepared:
    """The largest elements up to each one along a dimension, and their indices: of equal ones the last.

    Raises:
        NotImplementedError: the elements are complex.
    """
    refuse_complex_order(input, "cummax_cpu")
    return picked_of_shape("extremes_so_far", input, (dim,), input.shape, True)


@operation("CumminBackward0", outputs=["out", "indices"], results=return_type("cummin"))
def cummin_op(input: Layout, dim: Dim) -> Prepared:
    """The smallest elements up to each one along a dimension, and their indices: of equal ones the last.

    Raises:
        NotImplementedError: the elements are complex.
    """
    refuse_complex_order(input, "cummin_cpu")
    return picked_of_shape("extremes_so_far", input, (dim,), input.shape, False)


@cummax_op.gradient("input")
@cummin_op.gradient("input")
def _(grad, indices, input_shape, dim):
    """``scatter_zeros(grad, indices, input_shape, dim)``."""
    return scatter_zeros(grad, indices, input_shape, dim) if input_shape else grad
