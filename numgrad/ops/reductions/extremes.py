"""The largest and the smallest elements, and their places, over all or some dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import devices
from ..._layout import all_dims, normal_dim, normal_dims
from ..._tensor import Tensor, fresh
from ..._types import bool_
from ..batches import is_mapped
from ..copying import contiguous, convert
from ..examples import free
from ..pointwise.arithmetic import div, mul
from ..pointwise.comparison import eq, isnan, where
from ..shapes.views import expand, reshape
from ..table import operation, public
from .axes import (
    axis_view,
    check_not_empty,
    index_tensor,
    numpy_names,
    one_dim,
    picked_gradient,
    reduced_shape,
    restored,
    return_type,
)
from .sums import fold, sum_all, sum_dims

__all__ = [
    "amax", "amin", "aminmax", "argmax", "argmin", "max", "max_dim", "min", "refuse_complex_order", "shared_evenly",
]

_max_result, _min_result = return_type("max"), return_type("min")
_aminmax_result = return_type("aminmax", "min", "max")


def refuse_complex_order(input: Tensor, kernel: str) -> None:
    """Raise if the input is complex: such numbers have no order.

    Raises:
        NotImplementedError: it is.
    """
    if input._layout.type.dtype.is_complex:
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{input._layout.type.dtype.legacy}' (shape {list(input.shape)})"
        )


# -- along one dimension, with indices --------------------------------------------------------------------------


def _extreme(input: Tensor, dim: int, keepdim: bool, largest: bool) -> tuple[Tensor, Tensor]:
    values, indices = devices.extreme_axis(*axis_view(input, (dim,)), largest)
    shape = reduced_shape(input._layout.shape, (dim,), keepdim)
    return fresh(values, shape, input._layout.type), index_tensor(indices, shape, input)


@operation("MaxBackward0", outputs=["out", "indices"], dims=["dim"])
def max_dim(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    return _extreme(input, dim, keepdim, True)


@operation("MinBackward0", outputs=["out", "indices"], dims=["dim"])
def min_dim(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    return _extreme(input, dim, keepdim, False)


@max_dim.gradient("input")
@min_dim.gradient("input")
def _(grad, indices, input_shape, dim, keepdim):
    return picked_gradient(grad, indices, input_shape, dim, keepdim)


# -- of all elements --------------------------------------------------------------------------------------------


@operation("MaxBackward1")
def max_all(input: Tensor) -> Tensor:
    return fold("max", input, all_dims(input._layout.shape), False, input._layout.type)


@operation("MinBackward1")
def min_all(input: Tensor) -> Tensor:
    return fold("min", input, all_dims(input._layout.shape), False, input._layout.type)


@max_all.gradient("input")
@min_all.gradient("input")
def shared_evenly(grad, input, out):
    """The gradient of one element picked from all, shared among those that equal it; a NaN equals a NaN."""
    mask = where(expand(isnan(out), input._layout.shape), isnan(input), eq(input, out))
    return where(mask, div(grad, sum_all(convert(mask, input.dtype))), 0)


def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, **names: Any) -> Any:
    """The largest element; with ``dim`` the largest along it and their indices; of two tensors the larger elements.

    A NaN counts as larger than everything; of equal elements the first index is given.

    Raises:
        RuntimeError, IndexError: there is no element to choose from.
    """
    if names:
        dim, keepdim = numpy_names("max", names, dim, keepdim)
    return _max_or_min(input, dim if other is None else other, keepdim, "max", max_all, max_dim, _max_result)


def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, **names: Any) -> Any:
    """The smallest element; with ``dim`` the smallest along it and their indices; of two tensors the smaller elements.

    A NaN counts as smaller than everything; of equal elements the first index is given.

    Raises:
        RuntimeError, IndexError: there is no element to choose from.
    """
    if names:
        dim, keepdim = numpy_names("min", names, dim, keepdim)
    return _max_or_min(input, dim if other is None else other, keepdim, "min", min_all, min_dim, _min_result)


def _max_or_min(
    input: Tensor, dim: Any, keepdim: bool, name: str, over_all: Any, over_dim: Any, result: Any
) -> Any:
    if isinstance(dim, Tensor):
        return getattr(input, f"{name}imum")(dim)
    if dim is None:
        refuse_complex_order(input, f"{name}_all")
        check_not_empty(input, name, None)
        return over_all(input)
    dim = one_dim(input, dim, name)
    refuse_complex_order(input, name)
    check_not_empty(input, name, dim)
    return result(*over_dim(input, dim, keepdim))


# -- values alone, over several dimensions ----------------------------------------------------------------------


@operation("AmaxBackward0", dims=["dims"])
def amax_op(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    return fold("max", input, dims, keepdim, input._layout.type)


@operation("AminBackward0", dims=["dims"])
def amin_op(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    return fold("min", input, dims, keepdim, input._layout.type)


@amax_op.gradient("input")
@amin_op.gradient("input")
def _shared_evenly_over(grad, input, out, dims, keepdim):
    """The gradient shared among the elements that equal the one picked; where none does, it was a NaN, it is NaN."""
    mask = convert(eq(input, restored(out, dims, keepdim)), input.dtype)
    return mul(mask, div(restored(grad, dims, keepdim), sum_dims(mask, dims, True)))


def amax(input: Tensor, dim: int | Sequence[int] = (), keepdim: bool = False, **names: Any) -> Tensor:
    """The largest elements over all or some dimensions; the gradient is shared evenly among equal ones.

    Raises:
        RuntimeError, IndexError: there is no element to choose from.
    """
    if names:
        dim, keepdim = numpy_names("amax", names, dim, keepdim, empty=())
    return amax_op(input, _checked_dims(input, dim, "amax", "max_values_cpu"), keepdim)


def amin(input: Tensor, dim: int | Sequence[int] = (), keepdim: bool = False, **names: Any) -> Tensor:
    """The smallest elements over all or some dimensions; the gradient is shared evenly among equal ones.

    Raises:
        RuntimeError, IndexError: there is no element to choose from.
    """
    if names:
        dim, keepdim = numpy_names("amin", names, dim, keepdim, empty=())
    return amin_op(input, _checked_dims(input, dim, "amin", "min_values_cpu"), keepdim)


def _checked_dims(input: Tensor, dim: int | Sequence[int], name: str, kernel: str) -> tuple[int, ...]:
    refuse_complex_order(input, kernel)
    dims = normal_dims(dim, len(input._layout.shape))
    if isinstance(dim, Sequence) and len(dim) == 0:
        check_not_empty(input, name, None)
    for one in dims:
        check_not_empty(input, name, one)
    return dims


@operation("AminmaxBackward0", outputs=["min", "max"], dims=["dims"])
def aminmax_op(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> tuple[Tensor, Tensor]:
    return fold("min", input, dims, keepdim, input._layout.type), fold("max", input, dims, keepdim, input._layout.type)


@aminmax_op.gradient("input")
def _(grad, input, min, max, dims, keepdim):
    """``(input == min) * grad[0] / sum(input == min) + (input == max) * grad[1] / sum(input == max)``."""
    parts = [
        _shared_evenly_over(part, input, out, dims, keepdim)
        for part, out in zip(grad, (min, max), strict=True) if part is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False, **names: Any) -> Any:
    """The smallest and the largest elements, over all dimensions or one, as ``min`` and ``max``.

    Raises:
        RuntimeError, IndexError: there is no element to choose from.
    """
    if names:
        dim, keepdim = numpy_names("aminmax", names, dim, keepdim)
    refuse_complex_order(input, "aminmax_cpu")
    if dim is not None:
        dim = one_dim(input, dim, "aminmax")
        check_not_empty(input, "aminmax", dim)
    elif input._layout.size == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity "
            f"(shape {list(input.shape)})."
        )
    dims = all_dims(input._layout.shape) if dim is None else normal_dims(dim, len(input._layout.shape))
    return _aminmax_result(*aminmax_op(input, dims, keepdim))


# -- places -----------------------------------------------------------------------------------------------------


@free
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False, **names: Any) -> Tensor:
    """The index of the largest element: in the flattened tensor, or along a dimension."""
    if names:
        dim, keepdim = numpy_names("argmax", names, dim, keepdim)
    return _place(input, dim, keepdim, "argmax", True)


@free
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False, **names: Any) -> Tensor:
    """The index of the smallest element: in the flattened tensor, or along a dimension."""
    if names:
        dim, keepdim = numpy_names("argmin", names, dim, keepdim)
    return _place(input, dim, keepdim, "argmin", False)


def _place(input: Tensor, dim: int | None, keepdim: bool, name: str, largest: bool) -> Tensor:
    kind = input._layout.type.dtype
    if kind is bool_ or kind.is_complex:
        which = "bool" if kind is bool_ else "complex"
        raise RuntimeError(f"{name}(): does not support {which} input (dtype {kind}, shape {list(input.shape)})")
    input = input.detach()
    if dim is None:
        check_not_empty(input, name, None)
        row = reshape(contiguous(input), -1)
        index = _found(row, 0, False, largest)
        return reshape(index, (1,) * len(input._layout.shape)) if keepdim else index
    dim = one_dim(input, dim, name)
    check_not_empty(input, name, dim)
    return _found(input, normal_dim(dim, len(input._layout.shape)), keepdim, largest)


def _found(input: Tensor, dim: int, keepdim: bool, largest: bool) -> Tensor:
    if is_mapped(input):  # under ``vmap`` an operation of the table is to do it
        return (max_dim if largest else min_dim)(input, dim, keepdim)[1]
    return _extreme(input, dim, keepdim, largest)[1]


for _function in (max, min, amax, amin, aminmax, argmax, argmin):
    public(_function)
