"""Products; cumulative sums, products, extremes and log-sum-exps along a dimension; differences of neighbours."""

from __future__ import annotations

from typing import Any

from ...core.layout import Layout, all_dims, normal_dim
from ...core.types import bool_, dtype, finfo
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.batches import is_mapped
from ..memory.copying import convert
from ..memory.overwriting import copy_
from ..pointwise.arithmetic import abs as magnitude_of
from ..pointwise.arithmetic import add, conj, div, mul, sub
from ..pointwise.comparison import ge, isinf, le, ne, where
from ..pointwise.exponential import exp
from ..pointwise.integers import logical_and
from ..shapes.joining import cat
from ..shapes.parts import narrow, select_op
from ..shapes.views import reshape
from ..table.arguments import Dim, DType, OptionalDim
from ..table.checks import check, check_supported
from ..table.lookup import lookup, operation
from ..table.op import composite, public_functions
from .axes import (
    along_axis,
    axis_sizes,
    moved_gradient,
    picked,
    restored,
    return_type,
    rows_of_examples,
)
from .sums import all_op, as_real, folded, summed_type
from .sums import sum as sum_of


@operation("CumsumBackward0", public=True, linear=True, order=["input", "dim", "dtype"])
def cumsum_op(p: Plan, input: TensorRef, dim: Dim, *, dtype: DType = None, backwards: bool = False) -> TensorRef:
    """The cumulative sums along a dimension, computed in ``dtype``, int64 for integers.

    Example:
        >>> import numgrad
        >>> numgrad.cumsum(numgrad.tensor([1, 2, 3]), 0)
        tensor([1, 3, 6])
    """
    return scanned(p, "sum", input, dim, backwards, dtype)


@cumsum_op.gradient("input")
def _(grad, dim, backwards):
    return cumsum_op(grad, dim, None, not backwards)


@operation("LogcumsumexpBackward0", public=True)
def logcumsumexp_op(p: Plan, input: TensorRef, dim: Dim) -> TensorRef:
    """The logarithms of the cumulative sums of the exponentials along a dimension.

    Raises:
        NotImplementedError: the elements are not floating-point numbers.
    """
    check_supported(input, "f", "logcumsumexp_out_cpu")
    out = along_axis(p, "scan_axis", input, (dim,), "logsumexp", input.type.numpy)
    return p.tensor(out, input.type, input.shape)


@logcumsumexp_op.gradient("input")
def _(grad, input, out, dim):
    """``shares * linear_recurrence(grad / linear_recurrence(shares, exp(previous(out) - out), dim, False),
    exp(out - next(out)), dim, True)``, where ``shares = exp(input - out)``.
    """
    # dout[j] / dx[k] = exp(x[k] - out[j]), so the gradient is exp(x[k] - out[k]) * S[k] with
    # S[k] = grad[k] + exp(out[k] - out[k+1]) * S[k+1]: no exponential exceeds 1.  The sum of exp(x[k] - out[j]) over k
    # is 1 except for the rounding of out[j], so the gradient is divided by it.
    shares = exp(sub(input, out))
    factors = exp(sub(out, shift(out, dim, True, float("inf"))))
    totals = linear_recurrence(
        where(isinf(out), 1.0, shares), where(isinf(out), 0.0, shift(factors, dim, False, 0.0)), dim, False
    )
    return mul(shares, linear_recurrence(div(grad, totals), factors, dim, True))


@operation("CummaxBackward0", public=True, outputs=["out", "indices"], results=return_type("cummax"))
def cummax_op(p: Plan, input: TensorRef, dim: Dim) -> tuple[TensorRef, TensorRef]:
    """The cumulative maxima along a dimension, and their indices: of equal ones the last.

    Raises:
        NotImplementedError: the elements are complex.

    Example:
        >>> import numgrad
        >>> values, indices = numgrad.cummax(numgrad.tensor([1, 3, 2]), 0)
        >>> values, indices
        (tensor([1, 3, 3]), tensor([0, 1, 1]))
    """
    check_supported(input, "bif", "cummax_cpu")
    return picked(p, "extremes_so_far", input, (dim,), input.shape, True)


@operation("CumminBackward0", public=True, outputs=["out", "indices"], results=return_type("cummin"))
def cummin_op(p: Plan, input: TensorRef, dim: Dim) -> tuple[TensorRef, TensorRef]:
    """The cumulative minima along a dimension, and their indices: of equal ones the last.

    Raises:
        NotImplementedError: the elements are complex.
    """
    check_supported(input, "bif", "cummin_cpu")
    return picked(p, "extremes_so_far", input, (dim,), input.shape, False)


cummax_op.gradient("input")(moved_gradient)
cummin_op.gradient("input")(moved_gradient)


def _neighbours(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return the input without the first index of a dimension, and without the last."""
    count = max(input._layout.shape[dim] - 1, 0)
    return narrow(input, dim, input._layout.shape[dim] - count, count), narrow(input, dim, 0, count)


@composite
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The ``n``-th differences of neighbours along a dimension; for bools, True where they differ.

    ``prepend`` and ``append`` are joined to the two ends first, unless ``n`` is 0, which copies the input.

    Raises:
        IndexError: the dimension is out of range.
        RuntimeError: the tensor is 0-d, or ``n`` is negative.

    Example:
        >>> import numgrad
        >>> numgrad.diff(numgrad.tensor([1, 4, 9]))
        tensor([3, 5])
    """
    check(input._layout.shape, "diff expects input to be at least one-dimensional")
    check(n >= 0, "order must be non-negative but got {}", n)
    dim = normal_dim(dim, len(input._layout.shape))
    if n == 0:
        return copy_(public_functions["zeros_like"](input), input)
    ends = [tensor for tensor in (prepend, input, append) if tensor is not None]
    result = cat(ends, dim) if len(ends) > 1 else input
    difference = ne if result._layout.type.dtype is bool_ else sub
    for _ in range(min(n, max(result._layout.shape[dim], 1))):  # further differences are empty
        result = difference(*_neighbours(result, dim))
    return result


@composite(method=False, names=["trapz"])
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The integral over a dimension by the trapezoidal rule, at points ``x`` or ``dx`` apart.

    ``x`` is a vector, with as many points as y along the dimension, or a tensor of y's shape.

    Raises:
        IndexError: the dimension is out of range.
        RuntimeError: x and y differ in the number of points.

    Example:
        >>> import numgrad
        >>> numgrad.trapezoid(numgrad.tensor([1.0, 2.0, 3.0]))
        tensor(4.)
    """
    dim = normal_dim(dim, len(y._layout.shape))
    last = y._layout.shape[dim] - 1
    if x is not None or last < 0:
        return mul(sum_of(_areas(y, x, dx, dim), dim), 0.5)
    ends = [mul(select_op(y, dim, index), 0.5) for index in (0, last)]
    return mul(sub(sum_of(y, dim), add(*ends)), dx)


@composite(method=False)
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """:func:`trapezoid` up to each point but the first.

    Raises:
        IndexError: the dimension is out of range.
        RuntimeError: x and y differ in the number of points.

    Example:
        >>> import numgrad
        >>> numgrad.cumulative_trapezoid(numgrad.tensor([1.0, 2.0, 3.0]))
        tensor([1.5000, 4.0000])
    """
    dim = normal_dim(dim, len(y._layout.shape))
    return mul(cumsum_op(_areas(y, x, dx, dim), dim), 0.5)


def _areas(y: Tensor, x: Tensor | None, dx: float, dim: int) -> Tensor:
    """Return twice the areas of the trapezoids between neighbours along a dimension."""
    both = add(*_neighbours(y, dim))
    if x is None:
        return mul(both, dx)
    following = (1,) * (len(y._layout.shape) - dim - 1)
    return mul(both, diff(x).reshape((-1, *following)) if len(x._layout.shape) == 1 else diff(x, dim=dim))


# -- products ---------------------------------------------------------------------------------------------------


def _prod(p: Plan, input: TensorRef, dims: tuple[int, ...], keepdim: bool, dtype: dtype | None) -> TensorRef:
    type = summed_type(input, dtype)
    return folded(p, "all" if type.dtype is bool_ else "prod", input, dims, keepdim, type)


@operation("ProdBackward0", direct=True)
def prod_all(p: Plan, input: TensorRef, dtype: dtype | None = None) -> TensorRef:
    return _prod(p, input, all_dims(input.shape), False, dtype)


@prod_all.gradient("input")
def _(grad, input, out):
    """``grad`` times the conjugate product of the other elements: ``out / input`` if that is exact."""
    input = convert(input, grad.dtype)
    if not is_mapped(input) and _is_divisible(out):
        return div(mul(grad, conj(out)), conj(input))
    row = reshape(input, -1)
    return mul(grad, conj(reshape(_products_of_others(row, 0), input._layout.shape)))


@operation("ProdBackward1", dims=["dim"], direct=True)
def prod_dim(p: Plan, input: TensorRef, dim: int, keepdim: bool, dtype: dtype | None = None) -> TensorRef:
    return _prod(p, input, (dim,) if input.shape else (), keepdim, dtype)


prod_all.batched(lambda input, dtype=None: prod_dim(rows_of_examples(input), 1, False, dtype))


@prod_dim.gradient("input")
def _(grad, input, out, dim, keepdim):
    """``grad`` times the conjugate products of the other elements: ``out / input`` if that is exact."""
    if not input._layout.shape:
        return grad
    grad, input = restored(grad, (dim,), keepdim), convert(input, grad.dtype)
    if not is_mapped(input) and _is_divisible(out):
        return div(mul(grad, conj(restored(out, (dim,), keepdim))), conj(input))
    return mul(grad, conj(_products_of_others(input, dim)))


def _is_divisible(product: Tensor) -> bool:
    """Return True if division by a factor gives the product of the others.

    It does not if a factor is 0, infinite or NaN, or if the product overflowed or underflowed.
    """
    magnitude = magnitude_of(product)
    limits = finfo(product.dtype)
    normal = logical_and(ge(magnitude, limits.tiny), le(magnitude, limits.max))
    return bool(all_op(normal, all_dims(normal._layout.shape)))


def _products_of_others(input: Tensor, dim: int) -> Tensor:
    """Return, for each element, the product of the others along the dimension: those before it times those after it."""
    before = shift(cumprod_op(input, dim), dim, False, 1)
    after = shift(cumprod_op(input, dim, None, True), dim, True, 1)
    return mul(before, after)


@lookup
def prod(input: Layout, dim: OptionalDim = None, keepdim: bool = False, *, dtype: DType = None) -> Any:
    """The product of all elements, or along a dimension, computed in ``dtype``.

    Integers and bools are multiplied as int64 unless ``dtype`` is given.

    Example:
        >>> import numgrad
        >>> numgrad.prod(numgrad.tensor([2, 3, 4]))
        tensor(24)
    """
    if dim is None:
        return prod_all, (dtype,)
    return prod_dim, (dim, keepdim, dtype)


# -- running products -------------------------------------------------------------------------------------------


def scanned(p: Plan, name: str, input: TensorRef, dim: int, backwards: bool, dtype: dtype | None) -> TensorRef:
    """Add the backend's scan ``name`` along a dimension, computed in ``dtype``."""
    type = summed_type(input, dtype)
    out = along_axis(p, "scan_axis", input, (dim,), name, type.numpy, backwards, dtype=as_real(input, type))
    return p.tensor(out, type, input.shape)


@operation("CumprodBackward0", public=True, order=["input", "dim", "dtype"])
def cumprod_op(p: Plan, input: TensorRef, dim: Dim, *, dtype: DType = None, backwards: bool = False) -> TensorRef:
    """The cumulative products along a dimension, computed in ``dtype``, int64 for integers.

    The gradient is ``P[k-1] * S[k]`` with the products ``P`` and ``S[k] = grad[k] + input[k+1] * S[k+1]``.

    Example:
        >>> import numgrad
        >>> numgrad.cumprod(numgrad.tensor([1, 2, 3]), 0)
        tensor([1, 2, 6])
    """
    return scanned(p, "prod", input, dim, backwards, dtype)


@cumprod_op.gradient("input")
def _(grad, input, out, dim, backwards):
    """``previous(conj(out)) * linear_recurrence(grad, next(conj(input)), dim, not backwards)``."""
    # With P the products, dP[j] / dx[k] = P[k-1] * x[k+1] * ... * x[j], so the gradient is P[k-1] * S[k] with
    # S[k] = grad[k] + x[k+1] * S[k+1].
    input = conj(convert(input, grad.dtype))
    following = linear_recurrence(grad, shift(input, dim, not backwards, 0), dim, not backwards)
    return mul(conj(shift(out, dim, backwards, 1)), following)


# -- operations of the gradients --------------------------------------------------------------------------------


@operation("ShiftBackward0", dims=["dim"])
def shift(p: Plan, input: TensorRef, dim: int, backwards: bool, fill: float) -> TensorRef:
    """Add the step that moves elements forward (or ``backwards``) by one along the dimension, with ``fill`` first."""
    return p.tensor(along_axis(p, "shift_axis", input, (dim,), backwards, fill), input.type, input.shape)


@shift.gradient("input")
def _(grad, dim, backwards):
    """``shift(grad, dim, not backwards, 0)``."""
    return shift(grad, dim, not backwards, 0)


@operation("LinearRecurrenceBackward0", inputs=["input", "factors"], dims=["dim"])
def linear_recurrence(p: Plan, input: TensorRef, factors: TensorRef, dim: int, backwards: bool) -> TensorRef:
    """Add the step of ``out[k] = input[k] + factors[k] * out[k-1]`` along a dimension (``out[k+1]`` if ``backwards``).

    The first factor is ignored.
    """
    _, *sizes = axis_sizes(input.shape, (dim,))
    out = p.backend.recurrence_axis(p, p.contiguous(input), p.contiguous(factors), *sizes, backwards)
    return p.tensor(out, input.type, input.shape)


@linear_recurrence.gradient("input")
def _through_recurrence(grad, factors, dim, backwards):
    """``linear_recurrence(grad, next(factors), dim, not backwards)``."""
    return linear_recurrence(grad, conj(shift(factors, dim, not backwards, 0)), dim, not backwards)


@linear_recurrence.gradient("factors")
def _(grad, factors, out, dim, backwards):
    """``linear_recurrence(grad, next(factors), dim, not backwards) * previous(conj(out))``."""
    return mul(_through_recurrence(grad, factors, dim, backwards), conj(shift(out, dim, backwards, 0)))
