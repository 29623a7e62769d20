"""Sorting along a dimension, and what has a place in the order: the largest few, the k-th, the median, the mode."""

from __future__ import annotations

from typing import Any

from ... import devices
from ..._tensor import Tensor, fresh, strided
from ..._types import bool_, int32, int64, tensor_type
from ..copying import kept_strides, row_of
from ..indexing.gathering import scatter_zeros
from ..shapes.views import permute_op
from ..table import operation, public
from .axes import (
    axis_view,
    check_not_empty,
    index_tensor,
    numpy_names,
    one_dim,
    picked_gradient,
    reduced_shape,
    return_type,
)
from .extremes import refuse_complex_order, shared_evenly

__all__ = ["argsort", "kthvalue", "median", "mode", "msort", "nanmedian", "sort", "topk"]

_sort_result, _topk_result, _kthvalue_result = return_type("sort"), return_type("topk"), return_type("kthvalue")
_median_result, _nanmedian_result = return_type("median"), return_type("nanmedian")
_mode_result = return_type("mode")

# -- sorting ----------------------------------------------------------------------------------------------------


def _sorted(input: Tensor, dim: int, descending: bool) -> tuple[Tensor, Tensor]:
    """The elements in order, and where they stood; they lie in memory as the input's do."""
    strides = kept_strides(input)
    order = tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))
    place = (order.index(dim),) if order else (0,)
    values, indices = devices.sort_axis(*axis_view(permute_op(input, order), place), descending)
    shape = input._layout.shape
    return (
        strided(values, shape, strides, 0, input._layout.type),
        strided(indices, shape, strides, 0, tensor_type(int64, input.device)),
    )


@operation("SortBackward0", outputs=["out", "indices"], dims=["dim"])
def sort_op(input: Tensor, dim: int, descending: bool) -> tuple[Tensor, Tensor]:
    return _sorted(input, dim, descending)


@operation("SortBackward1", outputs=["out", "indices"], dims=["dim"])
def stable_sort_op(input: Tensor, dim: int, descending: bool) -> tuple[Tensor, Tensor]:
    return _sorted(input, dim, descending)


@sort_op.gradient("input")
@stable_sort_op.gradient("input")
def _(grad, indices, input_shape, dim):
    """``scatter_zeros(grad, indices, input_shape, dim)``."""
    return scatter_zeros(grad, indices, input_shape, dim) if input_shape else grad


def _refuse_complex(input: Tensor, name: str) -> None:
    if input._layout.type.dtype.is_complex:
        raise RuntimeError(
            f"{name} does not support complex dtypes on CPU ({input.dtype}, shape {list(input.shape)})"
        )


def sort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None, **names: Any
) -> Any:
    """The elements in ascending or descending order along a dimension, and where they stood.

    Equal elements stay in order, whether ``stable`` says so or not; a NaN counts as larger than everything.

    Raises:
        RuntimeError: the elements are complex.
    """
    if names:
        dim, _ = numpy_names("sort", names, dim, empty=-1)
    _refuse_complex(input, "Sort")
    op = sort_op if stable is None else stable_sort_op
    return _sort_result(*op(input, one_dim(input, dim, "sort"), descending))


def argsort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False, **names: Any
) -> Tensor:
    """The indices that would sort the tensor along a dimension; see :func:`sort`.

    Raises:
        RuntimeError: the elements are complex.
    """
    if names:
        dim, _ = numpy_names("argsort", names, dim, empty=-1)
    _refuse_complex(input, "Sort")
    return sort_op(input.detach(), one_dim(input, dim, "argsort"), descending)[1]


def msort(input: Tensor) -> Tensor:
    """The elements in ascending order along the first dimension."""
    return sort(input, 0)[0]


@operation("TopkBackward0", outputs=["out", "indices"], dims=["dim"])
def topk_op(input: Tensor, k: int, dim: int, largest: bool) -> tuple[Tensor, Tensor]:
    layout = input._layout
    values, indices = devices.sort_axis(*axis_view(input, (dim,)), largest, k)
    shape = (*layout.shape[:dim], k, *layout.shape[dim + 1 :]) if layout.shape else ()
    return fresh(values, shape, layout.type), index_tensor(indices, shape, input)


@topk_op.gradient("input")
def _(grad, indices, input_shape, dim):
    """``scatter_zeros(grad, indices, input_shape, dim)``."""
    return scatter_zeros(grad, indices, input_shape, dim) if input_shape else grad


def topk(
    input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, **names: Any
) -> Any:
    """The ``k`` largest (or smallest) elements along a dimension, in order, and where they stood.

    Unlike PyTorch, which leaves it open, among equal elements the first index is given.

    Of equal elements the first are taken; a NaN counts as larger than everything.

    Raises:
        RuntimeError: there are fewer, or the elements are bools or complex.
    """
    if names:
        dim, _ = numpy_names("topk", names, dim, empty=-1)
    _refuse_complex(input, "topk")
    layout = input._layout
    if layout.type.dtype is bool_:
        raise RuntimeError(f"topk does not support bool dtypes on CPU (shape {list(input.shape)})")
    dim = one_dim(input, dim, "topk")
    length = layout.shape[dim] if layout.shape else 1
    if not 0 <= k <= length:
        raise RuntimeError(f"selected index k out of range: {k} of {length} elements (shape {list(input.shape)})")
    return _topk_result(*topk_op(input, k if layout.shape else 1, dim, largest))


# -- one element of each line -----------------------------------------------------------------------------------


def _as_picked(found: tuple[Any, Any], input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """What a device function has found on each line: its elements and their places."""
    shape = reduced_shape(input._layout.shape, (dim,), keepdim)
    return fresh(found[0], shape, input._layout.type), index_tensor(found[1], shape, input)


@operation("KthvalueBackward0", outputs=["out", "indices"], dims=["dim"])
def kthvalue_op(input: Tensor, k: int, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    return _as_picked(devices.kth_axis(*axis_view(input, (dim,)), k - 1), input, dim, keepdim)


@operation("MedianBackward1", outputs=["out", "indices"], dims=["dim"])
def median_dim(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    return _as_picked(devices.median_axis(*axis_view(input, (dim,)), False), input, dim, keepdim)


@operation("NanmedianBackward1", outputs=["out", "indices"], dims=["dim"])
def nanmedian_dim(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    return _as_picked(devices.median_axis(*axis_view(input, (dim,)), True), input, dim, keepdim)


@operation("ModeBackward0", outputs=["out", "indices"], dims=["dim"])
def mode_op(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    return _as_picked(devices.mode_axis(*axis_view(input, (dim,))), input, dim, keepdim)


@kthvalue_op.gradient("input")
@median_dim.gradient("input")
@nanmedian_dim.gradient("input")
@mode_op.gradient("input")
def _(grad, indices, input_shape, dim, keepdim):
    return picked_gradient(grad, indices, input_shape, dim, keepdim)


def _checked(input: Tensor, dim: Any, name: str, bools: bool = False) -> int:
    """The dimension, if the elements have an order and there are some along it."""
    dim = one_dim(input, dim, name)
    _check_ordered(input, name, bools)
    check_not_empty(input, name, dim)
    return dim


def _check_ordered(input: Tensor, name: str, bools: bool = False) -> None:
    refuse_complex_order(input, f"{name}_cpu")
    if input._layout.type.dtype is bool_ and not bools:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool' (shape {list(input.shape)})")


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False, **names: Any) -> Any:
    """The ``k``-th smallest element along a dimension (``k`` from 1), and its index.

    Unlike PyTorch, which leaves it open, among equal elements the first index is given.

    Raises:
        RuntimeError, IndexError: there is none.
    """
    if names:
        dim, keepdim = numpy_names("kthvalue", names, dim, keepdim, empty=-1)
    dim = _checked(input, dim, "kthvalue")
    length = input._layout.shape[dim] if input._layout.shape else 1
    if not 1 <= k <= length:
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {dim}: {k} of {length} elements "
            f"(shape {list(input.shape)})"
        )
    return _kthvalue_result(*kthvalue_op(input, k, dim, keepdim))


def _median_of_all(input: Tensor, past_nan: bool) -> Tensor:
    if input._layout.size == 0:
        return input.new_full((), float("nan") if input.is_floating_point() else _NAN_AS.get(input.dtype, 0))
    values, _ = devices.median_axis(row_of(input), 1, input._layout.size, 1, past_nan)
    return fresh(values, (), input._layout.type)


#: What the processor's conversion of NaN gives: of int32 and int64 the smallest number, of others 0.
_NAN_AS = {int32: -(2**31), int64: -(2**63)}


@operation("MedianBackward0")
def median_all(input: Tensor) -> Tensor:
    return _median_of_all(input, False)


@operation("NanmedianBackward0")
def nanmedian_all(input: Tensor) -> Tensor:
    return _median_of_all(input, True)


median_all.gradient("input")(shared_evenly)
nanmedian_all.gradient("input")(shared_evenly)


def median(input: Tensor, dim: int | None = None, keepdim: bool = False, **names: Any) -> Any:
    """The median of all elements, or with ``dim`` the medians along it and their indices.

    Unlike PyTorch, which leaves it open, among equal elements the first index is given.

    Of an even number of elements it is the lower of the two in the middle.  Where there is a NaN it is NaN.

    Raises:
        NotImplementedError: the elements are bools or complex.
    """
    if names:
        dim, keepdim = numpy_names("median", names, dim, keepdim)
    if dim is None:
        _check_ordered(input, "median")
        return median_all(input)
    return _median_result(*median_dim(input, _checked(input, dim, "median"), keepdim))


def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False, **names: Any) -> Any:
    """The median of the elements that are not NaN; see :func:`median`."""
    if names:
        dim, keepdim = numpy_names("nanmedian", names, dim, keepdim)
    if dim is None:
        _check_ordered(input, "nanmedian")
        return nanmedian_all(input)
    return _nanmedian_result(*nanmedian_dim(input, _checked(input, dim, "nanmedian"), keepdim))


def mode(input: Tensor, dim: int = -1, keepdim: bool = False, **names: Any) -> Any:
    """The most frequent elements along a dimension, of several the smallest, and where they last stand."""
    if names:
        dim, keepdim = numpy_names("mode", names, dim, keepdim, empty=-1)
    return _mode_result(*mode_op(input, _checked(input, dim, "mode", bools=True), keepdim))


for _function in (sort, argsort, msort, topk, kthvalue, median, nanmedian, mode):
    public(_function)
