"""Sorting along a dimension, and results based on order: top k, k-th value, median, mode."""

from __future__ import annotations

from typing import Any

from ...core.layout import Layout, all_dims, layout_of, output_strides
from ...core.types import bool_, int32, int64
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..shapes.dimensions import permute_op
from ..table.arguments import Dim, OptionalDim
from ..table.checks import check, check_supported
from ..table.lookup import lookup, operation
from ..table.op import composite
from ..table.planned import Planned
from ..table.public_signatures import OneOrSeveral
from .axes import (
    check_not_empty,
    moved_gradient,
    picked,
    picked_gradient,
    reduced_shape,
    return_type,
    rows_of_examples,
)
from .extremes import shared_evenly

# -- sorting ----------------------------------------------------------------------------------------------------


def _sorted(p: Plan, input: TensorRef, dim: int, descending: bool) -> tuple[TensorRef, ...]:
    """Add the steps that sort the elements; return them and their original indices, with the input's strides order."""
    strides = output_strides(input.shape, ((input.shape, input.layout.strides),))
    order = tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))
    permuted = input.viewed(permute_op.prepare(input.layout, order)[0])
    axis = order.index(dim) if order else 0
    results = picked(p, "sort_axis", permuted, (axis,), permuted.shape, descending)
    return tuple([tensor.viewed(layout_of(tensor.type, input.shape, strides)) for tensor in results])


@operation("SortBackward0", direct=True, outputs=["out", "indices"])
def sort_op(p: Plan, input: TensorRef, dim: Dim, descending: bool) -> tuple[TensorRef, ...]:
    return _sorted(p, input, dim, descending)


@operation("SortBackward1", direct=True, aten="sort", outputs=["out", "indices"])
def stable_sort_op(p: Plan, input: TensorRef, dim: Dim, descending: bool) -> tuple[TensorRef, ...]:
    return _sorted(p, input, dim, descending)


def _refuse_complex(input: Layout | TensorRef, name: str) -> None:
    dtype = input.type.dtype
    check(not dtype.is_complex, "{} does not support complex dtypes on CPU ({}, shape {})", name, dtype, input)


@lookup(results=return_type("sort"))
def sort(
    input: Layout, dim: Dim = -1, descending: bool = False, *, stable: bool | None = None
) -> Any:
    """The elements in ascending or descending order along a dimension, and their original indices.

    Equal elements keep their order, with or without ``stable``; a NaN counts as larger than everything.

    Raises:
        RuntimeError: the elements are complex.

    Example:
        >>> import numgrad
        >>> values, indices = numgrad.sort(numgrad.tensor([3, 1, 2]))
        >>> values, indices
        (tensor([1, 2, 3]), tensor([1, 2, 0]))
    """
    _refuse_complex(input, "Sort")
    return sort_op if stable is None else stable_sort_op, (dim, descending)


@operation("ArgsortBackward0", public=True, direct=True, nondifferentiable=["input"])
def argsort_op(
    p: Plan, input: TensorRef, dim: Dim = -1, descending: bool = False, *, stable: bool = False
) -> TensorRef:
    """The indices that would sort the tensor along a dimension; see :func:`sort`.

    Raises:
        RuntimeError: the elements are complex.

    Example:
        >>> import numgrad
        >>> numgrad.argsort(numgrad.tensor([3, 1, 2]))
        tensor([1, 2, 0])
    """
    _refuse_complex(input, "Sort")
    return _sorted(p, input, dim, descending)[1]


@composite
def msort(input: Tensor) -> Tensor:
    """The elements in ascending order along the first dimension.

    Example:
        >>> import numgrad
        >>> numgrad.msort(numgrad.tensor([3, 1, 2]))
        tensor([1, 2, 3])
    """
    return sort(input, 0)[0]


@operation("TopkBackward0", public=True, direct=True, outputs=["out", "indices"], results=return_type("topk"))
def topk_op(
    p: Plan, input: TensorRef, k: int, dim: Dim = -1, largest: bool = True, sorted: bool = True
) -> tuple[TensorRef, TensorRef]:
    """The ``k`` largest (or smallest) elements along a dimension, in order, and their indices.

    Unlike PyTorch, which does not specify it, the index is that of the first of equal elements.

    Of equal elements the first are taken; a NaN counts as larger than everything.

    Raises:
        RuntimeError: there are fewer than ``k``, or the elements are bools or complex.

    Example:
        >>> import numgrad
        >>> values, indices = numgrad.topk(numgrad.tensor([3, 1, 2]), 2)
        >>> values, indices
        (tensor([3, 2]), tensor([0, 2]))
    """
    _refuse_complex(input, "topk")
    check(input.type.dtype is not bool_, "topk does not support bool dtypes on CPU", input)
    length = input.shape[dim] if input.shape else 1
    check(0 <= k <= length, "selected index k out of range: {} of {} elements", k, length, input)
    shape = (*input.shape[:dim], k, *input.shape[dim + 1 :]) if input.shape else ()
    return picked(p, "sort_axis", input, (dim,), shape, largest, k if shape else 1)


for _op in (sort_op, stable_sort_op, topk_op):
    _op.gradient("input")(moved_gradient)


# -- one element of each line -----------------------------------------------------------------------------------


@operation("KthvalueBackward0", public=True, outputs=["out", "indices"], results=return_type("kthvalue"))
def kthvalue_op(
    p: Plan, input: TensorRef, k: int, dim: Dim = -1, keepdim: bool = False
) -> tuple[TensorRef, TensorRef]:
    """The ``k``-th smallest element along a dimension (``k`` from 1), and its index.

    Unlike PyTorch, which does not specify it, the index is that of the first of equal elements.

    Raises:
        RuntimeError, IndexError: ``k`` is out of range, or the dimension is empty.

    Example:
        >>> import numgrad
        >>> values, indices = numgrad.kthvalue(numgrad.tensor([3, 1, 2]), 2)
        >>> values, indices
        (tensor(2), tensor(2))
    """
    _check_ordered(input, "kthvalue", dim)
    length = input.shape[dim] if input.shape else 1
    check(
        1 <= k <= length,
        "kthvalue(): selected number k out of range for dimension {}: {} of {} elements", dim, k, length, input,
    )
    return picked(p, "kth_axis", input, (dim,), reduced_shape(input.shape, (dim,), keepdim), k - 1)


@operation("MedianBackward1", outputs=["out", "indices"])
def median_dim(p: Plan, input: TensorRef, dim: Dim, keepdim: bool) -> tuple[TensorRef, TensorRef]:
    return picked(p, "median_axis", input, (dim,), reduced_shape(input.shape, (dim,), keepdim), False)


@operation("NanmedianBackward1", outputs=["out", "indices"])
def nanmedian_dim(p: Plan, input: TensorRef, dim: Dim, keepdim: bool) -> tuple[TensorRef, TensorRef]:
    return picked(p, "median_axis", input, (dim,), reduced_shape(input.shape, (dim,), keepdim), True)


@operation("ModeBackward0", public=True, outputs=["out", "indices"], results=return_type("mode"))
def mode_op(p: Plan, input: TensorRef, dim: Dim = -1, keepdim: bool = False) -> tuple[TensorRef, TensorRef]:
    """The most frequent elements along a dimension, of several the smallest, and the indices where they occur last.

    Example:
        >>> import numgrad
        >>> values, indices = numgrad.mode(numgrad.tensor([1, 2, 2]))
        >>> values
        tensor(2)
    """
    check_supported(input, "bif", "mode_cpu")
    check_not_empty(input, "mode", dim)
    return picked(p, "mode_axis", input, (dim,), reduced_shape(input.shape, (dim,), keepdim))


for _op in (kthvalue_op, median_dim, nanmedian_dim, mode_op):
    _op.gradient("input")(picked_gradient)


def _check_ordered(input: Layout | TensorRef, name: str, dim: int | None = None) -> None:
    """Raise if the elements have no order, or if the dimension is empty."""
    check_supported(input, "if", f"{name}_cpu")
    if dim is not None:
        check_not_empty(input, name, dim)


def _median_of_all(p: Plan, input: TensorRef, past_nan: bool) -> TensorRef:
    if input.size:
        return picked(p, "median_axis", input, all_dims(input.shape), (), past_nan)[0]
    out, dtype = p.new(1, input.type.numpy), input.type.dtype
    p.fill(out, float("nan") if dtype.is_floating_point else _NAN_AS.get(dtype, 0))
    return p.tensor(out, input.type, ())


#: The processor's result of converting NaN: the smallest number for int32 and int64, 0 for others.
_NAN_AS = {int32: -(2**31), int64: -(2**63)}


@operation("MedianBackward0")
def median_all(p: Plan, input: TensorRef) -> TensorRef:
    return _median_of_all(p, input, False)


@operation("NanmedianBackward0")
def nanmedian_all(p: Plan, input: TensorRef) -> TensorRef:
    return _median_of_all(p, input, True)


median_all.batched(lambda input: median_dim(rows_of_examples(input), 1, False)[0])
nanmedian_all.batched(lambda input: nanmedian_dim(rows_of_examples(input), 1, False)[0])


@median_all.gradient("input")
@nanmedian_all.gradient("input")
def _(grad, input, out):
    """``mask = input == out; where(mask, grad / sum(mask), 0)``; a NaN equals a NaN."""
    return shared_evenly(grad, input, out)


def _median(input: Layout, dim: int | None, keepdim: bool, name: str, over_all: Planned, over_dim: Planned) -> Any:
    _check_ordered(input, name, dim)
    return (over_all, ()) if dim is None else (over_dim, (dim, keepdim))


@lookup(results=return_type("median"))
def median(input: Layout, dim: OptionalDim = None, keepdim: bool = False) -> OneOrSeveral:
    """The median of all elements, or with ``dim`` the medians along it and their indices.

    Unlike PyTorch, which does not specify it, the index is that of the first of equal elements.

    For an even number of elements it is the lower of the two middle ones.  If there is a NaN, it is NaN.

    Raises:
        NotImplementedError: the elements are bools or complex.

    Example:
        >>> import numgrad
        >>> numgrad.median(numgrad.tensor([3.0, 1.0, 2.0]))
        tensor(2.)
    """
    return _median(input, dim, keepdim, "median", median_all, median_dim)


@lookup(results=return_type("nanmedian"))
def nanmedian(input: Layout, dim: OptionalDim = None, keepdim: bool = False) -> OneOrSeveral:
    """The median of the elements that are not NaN; see :func:`median`.

    Example:
        >>> import numgrad
        >>> numgrad.nanmedian(numgrad.tensor([1.0, numgrad.nan, 3.0]))
        tensor(1.)
    """
    return _median(input, dim, keepdim, "nanmedian", nanmedian_all, nanmedian_dim)
