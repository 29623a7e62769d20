"""Products of all elements or along a dimension, and running products.

Their gradients hold where elements are 0, too: nothing is divided by an element that may be.
"""

from __future__ import annotations

from typing import Any

from ..._layout import Layout, all_dims, layout_of
from ..._tensor import Tensor
from ..._types import bool_, dtype, to_dtype
from ..arguments import Dim, DType
from ..batches import is_mapped
from ..copying import convert, row_reader, warn_of_loss
from ..lookup import lookup
from ..operation import operation
from ..planned import planned
from ..pointwise.arithmetic import conj, div, mul
from ..shapes.views import reshape
from .axes import Prepared, axis_launcher, axis_reader, one_dim, restored, rows_of_examples
from .sums import all_op, as_real, folded, summed_type

__all__ = ["linear_recurrence", "prod", "scanned", "shift"]

# -- products ---------------------------------------------------------------------------------------------------


def _prod(input: Layout, dims: tuple[int, ...], keepdim: bool, kind: dtype | None) -> Prepared:
    type = summed_type(input, kind)
    return folded("all" if type.dtype is bool_ else "prod", input, dims, keepdim, type)


@planned("ProdBackward0")
def prod_all(input: Layout, kind: dtype | None = None) -> Prepared:
    return _prod(input, all_dims(input.shape), False, kind)


@prod_all.gradient("input")
def _(grad, input, out):
    """``grad * conj(out / input)``; where an element is 0, the product of the others."""
    input = convert(input, grad.dtype)
    if not is_mapped(input) and all_op(input, all_dims(input._layout.shape)):
        return div(mul(grad, conj(out)), conj(input))
    row = reshape(input, -1)
    return mul(grad, conj(reshape(_products_of_others(row, 0), input._layout.shape)))


@planned("ProdBackward1", dims=["dim"])
def prod_dim(input: Layout, dim: int, keepdim: bool, kind: dtype | None = None) -> Prepared:
    return _prod(input, (dim,) if input.shape else (), keepdim, kind)


prod_all.batched(lambda input, kind=None: prod_dim(rows_of_examples(input), 1, False, kind))


@prod_dim.gradient("input")
def _(grad, input, out, dim, keepdim):
    """``grad * conj(out / input)``; where an element is 0, the product of the others."""
    if not input._layout.shape:
        return grad
    grad, input = restored(grad, (dim,), keepdim), convert(input, grad.dtype)
    if not is_mapped(input) and all_op(input, all_dims(input._layout.shape)):
        return div(mul(grad, conj(restored(out, (dim,), keepdim))), conj(input))
    return mul(grad, conj(_products_of_others(input, dim)))


def _products_of_others(input: Tensor, dim: int) -> Tensor:
    """For each element the product of the others along the dimension: of those before it and of those after it."""
    before = shift(cumprod_op(input, dim), dim, False, 1)
    after = shift(cumprod_op(input, dim, None, True), dim, True, 1)
    return mul(before, after)


@lookup
def prod(input: Layout, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product of all elements, or along a dimension, computed in ``dtype``.

    Integers and bools are multiplied as int64 unless it says otherwise.
    """
    if dtype is not None:
        dtype = to_dtype(dtype)
    if dim is None:
        return prod_all, (dtype,)
    return prod_dim, (one_dim(input, dim, "prod"), keepdim, dtype)


# -- running products -------------------------------------------------------------------------------------------


def scanned(name: str, input: Layout, dim: int, backwards: bool, kind: dtype | None) -> Prepared:
    """The device's scan ``name`` along a dimension, computed in ``kind``."""
    type = summed_type(input, kind)
    real = as_real(input, type)
    if real is not None:
        warn_of_loss(input.type.dtype, real)
    launch = axis_launcher("scan_axis", input, (dim,), name, type.numpy, backwards, kind=real)
    return layout_of(type, input.shape), launch


@operation("CumprodBackward0", internal=["backwards"])
def cumprod_op(input: Layout, dim: Dim, *, dtype: DType = None, backwards: bool = False) -> Prepared:
    """The products of the elements up to each one along a dimension, computed in ``dtype``, int64 for integers.

    The gradient is ``P[k-1] * S[k]`` with the products ``P`` and ``S[k] = grad[k] + input[k+1] * S[k+1]``.
    """
    return scanned("prod", input, dim, backwards, dtype)


@cumprod_op.gradient("input")
def _(grad, input, out, dim, backwards):
    """``previous(conj(out)) * linear_recurrence(grad, next(conj(input)), dim, not backwards)``."""
    # With P the products, dP[j] / dx[k] = P[k-1] * x[k+1] * ... * x[j], so the gradient is P[k-1] * S[k] with
    # S[k] = grad[k] + x[k+1] * S[k+1].
    input = conj(convert(input, grad.dtype))
    following = linear_recurrence(grad, shift(input, dim, not backwards, 0), dim, not backwards)
    return mul(conj(shift(out, dim, backwards, 1)), following)


# -- what the gradients are made of -----------------------------------------------------------------------------


@planned("ShiftBackward0", dims=["dim"])
def shift(input: Layout, dim: int, backwards: bool, fill: float) -> Prepared:
    """The elements moved one place on along the dimension (back if ``backwards``), ``fill`` where there is none."""
    return layout_of(input.type, input.shape), axis_launcher("shift_axis", input, (dim,), backwards, fill)


@shift.gradient("input")
def _(grad, dim, backwards):
    """``shift(grad, dim, not backwards, 0)``."""
    return shift(grad, dim, not backwards, 0)


@planned("LinearRecurrenceBackward0", inputs=["input", "factors"], dims=["dim"])
def linear_recurrence(input: Layout, factors: Layout, dim: int, backwards: bool) -> Prepared:
    """``out[k] = input[k] + factors[k] * out[k-1]`` along the dimension, or of ``k+1`` if ``backwards``.

    The first factor does not count.
    """
    read, _, length, inner = axis_reader(input, (dim,))
    read_factors = row_reader(factors)

    run = input.type.backend.recurrence_axis

    def launch(input: Tensor, factors: Tensor) -> Any:
        return run(read(input), read_factors(factors), length, inner, backwards)

    return layout_of(input.type, input.shape), launch


def _through_recurrence(grad: Tensor, factors: Tensor, dim: int, backwards: bool) -> Tensor:
    return linear_recurrence(grad, conj(shift(factors, dim, not backwards, 0)), dim, not backwards)


@linear_recurrence.gradient("input")
def _(grad, factors, dim, backwards):
    """``linear_recurrence(grad, next(factors), dim, not backwards)``."""
    return _through_recurrence(grad, factors, dim, backwards)


@linear_recurrence.gradient("factors")
def _(grad, factors, out, dim, backwards):
    """``linear_recurrence(grad, next(factors), dim, not backwards) * previous(conj(out))``."""
    return mul(_through_recurrence(grad, factors, dim, backwards), conj(shift(out, dim, backwards, 0)))
