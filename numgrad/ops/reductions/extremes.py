"""The largest and the smallest elements, and their indices, over all or some dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.layout import Layout, all_dims, normal_dim, normal_dims
from ...core.types import bool_
from ...devices import Plan, TensorRef
from ..batching.batches import physical
from ..memory.copying import convert
from ..pointwise.arithmetic import div, mul
from ..pointwise.clamping import maximum, minimum
from ..pointwise.comparison import eq, isnan, where
from ..shapes.broadcasting import expand
from ..table.arguments import OptionalDim
from ..table.checks import check_supported
from ..table.lookup import lookup, operation
from ..table.public_signatures import OneOrSeveral
from .axes import (
    along_axis,
    check_not_empty,
    dims_of_examples,
    picked,
    picked_gradient,
    reduced_along,
    reduced_shape,
    restored,
    return_type,
)
from .sums import folded, sum_all, sum_dims


def shared_evenly(grad, input, out):
    """The gradient of an element picked from all, shared among the elements equal to it; a NaN equals a NaN."""
    mask = where(expand(isnan(out), input._layout.shape), isnan(input), eq(input, out))
    return where(mask, div(grad, sum_all(convert(mask, input.dtype))), 0)


def shared_evenly_over(grad, input, out, dims, keepdim):
    """The gradient of picked elements, shared among the elements equal to them; NaN where a NaN was picked."""
    mask = convert(eq(input, restored(out, dims, keepdim)), input.dtype)
    return mul(mask, div(restored(grad, dims, keepdim), sum_dims(mask, dims, True)))


# -- along one dimension, with indices --------------------------------------------------------------------------


def _extreme(
    p: Plan, input: TensorRef, dims: tuple[int, ...], keepdim: bool, largest: bool
) -> tuple[TensorRef, TensorRef]:
    """Add the steps that compute the largest or smallest elements along some dimensions, and their indices."""
    along = reduced_along if len(dims) == 1 else along_axis  # indices over several dimensions are row-major
    return picked(p, "extreme_axis", input, dims, reduced_shape(input.shape, dims, keepdim), largest, along=along)


@operation("MaxBackward0", outputs=["out", "indices"], dims=["dim"])
def max_dim(p: Plan, input: TensorRef, dim: int, keepdim: bool) -> tuple[TensorRef, TensorRef]:
    return _extreme(p, input, (dim,), keepdim, True)


@operation("MinBackward0", outputs=["out", "indices"], dims=["dim"])
def min_dim(p: Plan, input: TensorRef, dim: int, keepdim: bool) -> tuple[TensorRef, TensorRef]:
    return _extreme(p, input, (dim,), keepdim, False)


max_dim.gradient("input")(picked_gradient)
min_dim.gradient("input")(picked_gradient)


# -- of all elements --------------------------------------------------------------------------------------------


@operation("MaxBackward1", direct=True)
def max_all(p: Plan, input: TensorRef) -> TensorRef:
    return folded(p, "max", input, all_dims(input.shape), False, input.type)


@operation("MinBackward1", direct=True)
def min_all(p: Plan, input: TensorRef) -> TensorRef:
    return folded(p, "min", input, all_dims(input.shape), False, input.type)


max_all.gradient("input")(shared_evenly)
min_all.gradient("input")(shared_evenly)


@lookup(results=return_type("max"))
def max(
    input: Layout, dim: int | Layout | None = None, keepdim: bool = False, *, other: Layout | None = None
) -> OneOrSeveral:
    """The largest element; with ``dim`` the largest along it and their indices; of two tensors the larger elements.

    A NaN counts as larger than everything; of equal elements the first index is returned.

    Raises:
        RuntimeError, IndexError: there is no element to choose from.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([[1, 5], [7, 2]])
        >>> numgrad.max(x)
        tensor(7)
        >>> values, indices = numgrad.max(x, 1)
        >>> values, indices
        (tensor([5, 7]), tensor([1, 0]))
    """
    return _max_or_min(input, dim if other is None else other, keepdim, "max", max_all, max_dim, maximum)


@lookup(results=return_type("min"))
def min(
    input: Layout, dim: int | Layout | None = None, keepdim: bool = False, *, other: Layout | None = None
) -> OneOrSeveral:
    """The smallest element; with ``dim`` the smallest along it and their indices; of two tensors the smaller elements.

    A NaN counts as smaller than everything; of equal elements the first index is returned.

    Raises:
        RuntimeError, IndexError: there is no element to choose from.

    Example:
        >>> import numgrad
        >>> values, indices = numgrad.min(numgrad.tensor([[1, 5], [7, 2]]), 1)
        >>> values, indices
        (tensor([1, 2]), tensor([0, 1]))
    """
    return _max_or_min(input, dim if other is None else other, keepdim, "min", min_all, min_dim, minimum)


def _max_or_min(
    input: Layout, dim: Any, keepdim: bool, name: str, over_all: Any, over_dim: Any, of_two: Any
) -> Any:
    if isinstance(dim, Layout):
        return of_two, ()
    if dim is None:
        check_supported(input, "bif", f"{name}_all")
        check_not_empty(input, name, None)
        return over_all, ()
    dim = normal_dim(dim, len(input.shape))
    check_supported(input, "bif", name)
    check_not_empty(input, name, dim)
    return over_dim, (dim, keepdim)


# -- values alone, over several dimensions ----------------------------------------------------------------------


@operation("AmaxBackward0", dims=["dims"], direct=True)
def amax_op(p: Plan, input: TensorRef, dims: tuple[int, ...], keepdim: bool) -> TensorRef:
    return folded(p, "max", input, dims, keepdim, input.type)


@operation("AminBackward0", dims=["dims"], direct=True)
def amin_op(p: Plan, input: TensorRef, dims: tuple[int, ...], keepdim: bool) -> TensorRef:
    return folded(p, "min", input, dims, keepdim, input.type)


max_all.batched(lambda input: amax_op(physical(input), dims_of_examples(input), False))
min_all.batched(lambda input: amin_op(physical(input), dims_of_examples(input), False))


amax_op.gradient("input")(shared_evenly_over)
amin_op.gradient("input")(shared_evenly_over)


@lookup
def amax(input: Layout, dim: int | Sequence[int] = (), keepdim: bool = False) -> Any:
    """The largest elements over all or some dimensions; the gradient is shared evenly among equal ones.

    Raises:
        RuntimeError, IndexError: there is no element to choose from.

    Example:
        >>> import numgrad
        >>> numgrad.amax(numgrad.tensor([[1, 5], [3, 2]]), 0)
        tensor([3, 5])
    """
    return amax_op, (_checked_dims(input, dim, "amax", "max_values_cpu"), keepdim)


@lookup
def amin(input: Layout, dim: int | Sequence[int] = (), keepdim: bool = False) -> Any:
    """The smallest elements over all or some dimensions; the gradient is shared evenly among equal ones.

    Raises:
        RuntimeError, IndexError: there is no element to choose from.

    Example:
        >>> import numgrad
        >>> numgrad.amin(numgrad.tensor([[3.0, 1.0], [2.0, 4.0]]), 1)
        tensor([1., 2.])
    """
    return amin_op, (_checked_dims(input, dim, "amin", "min_values_cpu"), keepdim)


def _checked_dims(input: Layout, dim: int | Sequence[int], name: str, kernel: str) -> tuple[int, ...]:
    check_supported(input, "bif", kernel)
    dims = normal_dims(dim, len(input.shape))
    if isinstance(dim, Sequence) and len(dim) == 0:
        check_not_empty(input, name, None)
    for number in dims:
        check_not_empty(input, name, number)
    return dims


@operation("AminmaxBackward0", outputs=["min", "max"], dims=["dims"], direct=True)
def aminmax_op(p: Plan, input: TensorRef, dims: tuple[int, ...], keepdim: bool) -> tuple[TensorRef, ...]:
    return tuple([folded(p, name, input, dims, keepdim, input.type) for name in ("min", "max")])


@aminmax_op.gradient("input")
def _(grad, input, min, max, dims, keepdim):
    """``(input == min) * grad[0] / sum(input == min) + (input == max) * grad[1] / sum(input == max)``."""
    parts = [
        shared_evenly_over(part, input, out, dims, keepdim)
        for part, out in zip(grad, (min, max), strict=True) if part is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@lookup(results=return_type("aminmax", "min", "max"))
def aminmax(input: Layout, *, dim: OptionalDim = None, keepdim: bool = False) -> Any:
    """The smallest and the largest elements, over all dimensions or one, as ``min`` and ``max``.

    Raises:
        RuntimeError, IndexError: there is no element to choose from.

    Example:
        >>> import numgrad
        >>> low, high = numgrad.aminmax(numgrad.tensor([3, 1, 2]))
        >>> low, high
        (tensor(1), tensor(3))
    """
    check_supported(input, "bif", "aminmax_cpu")
    if dim is not None:
        check_not_empty(input, "aminmax", dim)
    elif input.size == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity "
            f"(shape {list(input.shape)})."
        )
    return aminmax_op, (normal_dims(dim, len(input.shape)), keepdim)


# -- indices ----------------------------------------------------------------------------------------------------


@operation("ArgmaxBackward0", nondifferentiable=["input"], dims=["dims"])
def argmax_op(p: Plan, input: TensorRef, dims: tuple[int, ...], keepdim: bool) -> TensorRef:
    return _arg_extreme(p, input, dims, keepdim, True)


@operation("ArgminBackward0", nondifferentiable=["input"], dims=["dims"])
def argmin_op(p: Plan, input: TensorRef, dims: tuple[int, ...], keepdim: bool) -> TensorRef:
    return _arg_extreme(p, input, dims, keepdim, False)


def _arg_extreme(p: Plan, input: TensorRef, dims: tuple[int, ...], keepdim: bool, largest: bool) -> TensorRef:
    return _extreme(p, input, dims, keepdim, largest)[1]


@lookup
def argmax(input: Layout, dim: OptionalDim = None, keepdim: bool = False) -> Any:
    """The index of the largest element: in the flattened tensor, or along a dimension.

    Example:
        >>> import numgrad
        >>> numgrad.argmax(numgrad.tensor([[1, 5], [7, 2]]), 1)
        tensor([1, 0])
    """
    return argmax_op, (_dims_of_arg(input, dim, "argmax"), keepdim)


@lookup
def argmin(input: Layout, dim: OptionalDim = None, keepdim: bool = False) -> Any:
    """The index of the smallest element: in the flattened tensor, or along a dimension.

    Example:
        >>> import numgrad
        >>> numgrad.argmin(numgrad.tensor([[1, 5], [7, 2]]), 1)
        tensor([0, 1])
    """
    return argmin_op, (_dims_of_arg(input, dim, "argmin"), keepdim)


def _dims_of_arg(input: Layout, dim: int | None, name: str) -> tuple[int, ...]:
    dtype = input.type.dtype
    if dtype is bool_ or dtype.is_complex:
        which = "bool" if dtype is bool_ else "complex"
        raise RuntimeError(f"{name}(): does not support {which} input (dtype {dtype}, shape {list(input.shape)})")
    check_not_empty(input, name, dim)
    return normal_dims(dim, len(input.shape))
