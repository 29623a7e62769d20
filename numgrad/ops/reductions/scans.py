"""Running sums, extremes and log-sum-exps along a dimension."""

from __future__ import annotations

from typing import Any

from ... import devices
from ..._tensor import Tensor, fresh
from ..._types import dtype, to_dtype
from ..copying import convert
from ..indexing.gathering import scatter_zeros
from ..pointwise.arithmetic import exp, mul, sub
from ..table import operation, public
from .axes import axis_view, index_tensor, numpy_names, one_dim, return_type
from .extremes import refuse_complex_order
from .products import linear_recurrence, shift
from .sums import as_real, summed_type

__all__ = ["cummax", "cummin", "cumsum", "logcumsumexp"]

_cummax_result, _cummin_result = return_type("cummax"), return_type("cummin")


@operation("CumsumBackward0", linear=True, dims=["dim"])
def cumsum_op(input: Tensor, dim: int, backwards: bool, kind: dtype | None = None) -> Tensor:
    """The sums of the elements up to each; if ``backwards``, of those from each."""
    type = summed_type(input._layout, kind)
    row = devices.scan_axis("sum", *axis_view(convert(input, as_real(input._layout, type) or input.dtype), (dim,)), type, backwards)
    return fresh(row, input._layout.shape, type)


@cumsum_op.gradient("input")
def _(grad, dim, backwards):
    return cumsum_op(grad, dim, not backwards)


def cumsum(input: Tensor, dim: Any = None, *, dtype: Any = None, **names: Any) -> Tensor:
    """The sums of the elements up to each one along a dimension, computed in ``dtype``, int64 for integers."""
    if names:
        dim, _ = numpy_names("cumsum", names, dim)
    return cumsum_op(input, one_dim(input, dim, "cumsum"), False, None if dtype is None else to_dtype(dtype))


@operation("LogcumsumexpBackward0", dims=["dim"])
def logcumsumexp_op(input: Tensor, dim: int) -> Tensor:
    row = devices.scan_axis("logsumexp", *axis_view(input, (dim,)), input._layout.type)
    return fresh(row, input._layout.shape, input._layout.type)


@logcumsumexp_op.gradient("input")
def _(grad, input, out, dim):
    """``exp(input - out) * linear_recurrence(grad, exp(out - next(out)), dim, True)``."""
    # dout[j] / dx[k] = exp(x[k] - out[j]), so the gradient is exp(x[k] - out[k]) * S[k] with
    # S[k] = grad[k] + exp(out[k] - out[k+1]) * S[k+1]: no exponential is larger than 1.
    factors = exp(sub(out, shift(out, dim, True, float("inf"))))
    return mul(exp(sub(input, out)), linear_recurrence(grad, factors, dim, True))


def logcumsumexp(input: Tensor, dim: Any = None, **names: Any) -> Tensor:
    """The logarithms of the sums of the exponentials of the elements up to each one along a dimension.

    Raises:
        NotImplementedError: the elements are not floating-point numbers.
    """
    if names:
        dim, _ = numpy_names("logcumsumexp", names, dim)
    dim = one_dim(input, dim, "logcumsumexp")
    if not input._layout.type.dtype.is_floating_point:
        raise NotImplementedError(
            f"\"logcumsumexp_out_cpu\" not implemented for '{input.dtype.legacy}' (shape {list(input.shape)})"
        )
    return logcumsumexp_op(input, dim)


def _extremes(input: Tensor, dim: int, largest: bool) -> tuple[Tensor, Tensor]:
    row, _, length, inner = axis_view(input, (dim,))
    values, indices = devices.extremes_so_far(row, length, inner, largest)
    return fresh(values, input._layout.shape, input._layout.type), index_tensor(indices, input._layout.shape, input)


@operation("CummaxBackward0", outputs=["out", "indices"], dims=["dim"])
def cummax_op(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    return _extremes(input, dim, True)


@operation("CumminBackward0", outputs=["out", "indices"], dims=["dim"])
def cummin_op(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    return _extremes(input, dim, False)


@cummax_op.gradient("input")
@cummin_op.gradient("input")
def _(grad, indices, input_shape, dim):
    """``scatter_zeros(grad, indices, input_shape, dim)``."""
    return scatter_zeros(grad, indices, input_shape, dim) if input_shape else grad


def cummax(input: Tensor, dim: Any = None, **names: Any) -> Any:
    """The largest elements up to each one along a dimension, and their indices: of equal ones the last.

    Raises:
        NotImplementedError: the elements are complex.
    """
    if names:
        dim, _ = numpy_names("cummax", names, dim)
    refuse_complex_order(input, "cummax_cpu")
    return _cummax_result(*cummax_op(input, one_dim(input, dim, "cummax")))


def cummin(input: Tensor, dim: Any = None, **names: Any) -> Any:
    """The smallest elements up to each one along a dimension, and their indices: of equal ones the last.

    Raises:
        NotImplementedError: the elements are complex.
    """
    if names:
        dim, _ = numpy_names("cummin", names, dim)
    refuse_complex_order(input, "cummin_cpu")
    return _cummin_result(*cummin_op(input, one_dim(input, dim, "cummin")))


for _function in (cumsum, logcumsumexp, cummax, cummin):
    public(_function)
