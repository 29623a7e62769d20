"""Reductions: sum, mean, largest and smallest elements, over all or some dimensions."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from .. import devices
from .._layout import normal_dim, normal_dims, numel
from .._tensor import Tensor, fresh
from .._types import bool_, int64, tensor_type, to_dtype
from .comparison import eq, isnan, where
from .copying import contiguous, convert
from .pointwise import div, mul
from .shape import expand, expand_op, permute_op, reshape, unsqueeze
from .table import operation, public

__all__ = ["argmax", "argmin", "max", "mean", "min", "sum", "sum_to_shape"]




def axis_view(input: Tensor, dims: tuple[int, ...]) -> tuple[Any, int, int, int]:
    """The elements as one row seen as (outer, length, inner), ``length`` running over ``dims``.

    Copies the tensor if it is not contiguous, or if ``dims`` are not neighbours.
    """
    shape = input._shape
    if dims and dims[-1] - dims[0] + 1 != len(dims):
        rest = tuple(d for d in range(len(shape)) if d not in dims)
        return axis_view(permute_op(input, rest + dims), tuple(range(len(rest), len(shape))))
    flat = contiguous(input)._flat
    first, last = (dims[0], dims[-1] + 1) if dims else (0, 0)
    return flat, numel(shape[:first]), numel(shape[first:last]), numel(shape[last:])


def reduced_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """The shape that is left."""
    if keepdim:
        return tuple([1 if d in dims else extent for d, extent in enumerate(shape)])
    return tuple([extent for d, extent in enumerate(shape) if d not in dims])


def restored(tensor: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """A reduced tensor with its dimensions of size 1 put back."""
    if not keepdim:
        for dim in dims:
            tensor = unsqueeze(tensor, dim)
    return tensor


# -- sums -------------------------------------------------------------------------------------------------------


def _sum(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    kind = input._type if input.is_floating_point() else tensor_type(int64, input.device)
    shape = reduced_shape(input._shape, dims, keepdim)
    return fresh(devices.sum_axis(*axis_view(input, dims), kind), shape, kind)


@operation("SumBackward0")
def sum_all(input: Tensor) -> Tensor:
    return _sum(input, tuple(range(len(input._shape))), False)


@sum_all.gradient("input")
def _(grad, input_shape):
    return expand_op(grad, input_shape)


@operation("SumBackward1")
def sum_dims(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    return _sum(input, dims, keepdim)


@sum_dims.gradient("input")
def _(grad, input_shape, dims, keepdim):
    return expand(restored(grad, dims, keepdim), input_shape)


def sum(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The sum of all elements, or over some dimensions.  Integers and bools are summed as int64."""
    if dtype is not None:
        input = convert(input, to_dtype(dtype))
    if dim is None and not keepdim:
        return sum_all(input)
    return sum_dims(input, normal_dims(dim, len(input._shape)), keepdim)


def sum_to_shape(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The sum over whatever broadcasting ``shape`` to the input's shape repeated."""
    extra = len(input._shape) - len(shape)
    dims = tuple(range(extra)) + tuple(
        [extra + d for d, size in enumerate(shape) if size == 1 and input._shape[extra + d] != 1]
    )
    if not dims:
        return input
    return reshape(sum_dims(input, dims, True), shape)


# -- means ------------------------------------------------------------------------------------------------------


@operation("MeanBackward0")
def mean_all(input: Tensor) -> Tensor:
    return div(sum_all(input), float(numel(input._shape)))


@mean_all.gradient("input")
def _(grad, input_shape):
    return expand(div(grad, float(numel(input_shape))), input_shape)


@operation("MeanBackward1")
def mean_dims(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    count = numel(tuple([input._shape[d] for d in dims]))
    return div(sum_dims(input, dims, keepdim), float(count))


@mean_dims.gradient("input")
def _(grad, input_shape, dims, keepdim):
    count = numel(tuple([input_shape[d] for d in dims]))
    return expand(div(restored(grad, dims, keepdim), float(count)), input_shape)


def mean(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The mean of all elements, or over some dimensions.

    Raises:
        RuntimeError: the elements are not floating-point numbers.
    """
    if dtype is not None:
        input = convert(input, to_dtype(dtype))
    if not input.is_floating_point():
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {input.dtype.legacy} (shape {list(input._shape)})"
        )
    if dim is None and not keepdim:
        return mean_all(input)
    return mean_dims(input, normal_dims(dim, len(input._shape)), keepdim)


# -- largest and smallest ---------------------------------------------------------------------------------------


def _result_type(name: str) -> Any:
    """A named pair that prints as PyTorch's."""
    pair = namedtuple(name, ["values", "indices"])  # type: ignore[misc]

    def text(self: Any) -> str:
        return f"torch.return_types.{name}(\nvalues={self.values!r},\nindices={self.indices!r})"

    pair.__repr__ = text  # type: ignore[method-assign]
    return pair


_max_result, _min_result = _result_type("max"), _result_type("min")


def _extreme(input: Tensor, dim: int, keepdim: bool, largest: bool) -> tuple[Tensor, Tensor]:
    dims = (dim,) if input._shape else ()
    values, indices = devices.extreme_axis(*axis_view(input, dims), largest)
    shape = reduced_shape(input._shape, dims, keepdim)
    return fresh(values, shape, input._type), fresh(indices, shape, tensor_type(int64, input.device))


def _extreme_of_all(input: Tensor, largest: bool) -> tuple[Tensor, Tensor]:
    values, indices = devices.extreme_axis(contiguous(input)._flat, 1, numel(input._shape), 1, largest)
    return fresh(values, (), input._type), fresh(indices, (), tensor_type(int64, input.device))


@operation("MaxBackward0", outputs=["out", "indices"])
def max_dim(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    return _extreme(input, dim, keepdim, True)


@operation("MinBackward0", outputs=["out", "indices"])
def min_dim(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    return _extreme(input, dim, keepdim, False)


@max_dim.gradient("input")
@min_dim.gradient("input")
def _(grad, indices, input_shape, dim, keepdim):
    if not input_shape:
        return grad
    return put_along(restored(grad, (dim,), keepdim), restored(indices, (dim,), keepdim), input_shape, dim)


@operation("PutAlongBackward0", inputs=["input", "indices"], nondifferentiable=["indices"])
def put_along(input: Tensor, indices: Tensor, shape: tuple[int, ...], dim: int) -> Tensor:
    """Zeros of ``shape`` with the input, of size 1 along ``dim``, at its index on that dimension."""
    flat = contiguous(indices)._flat
    sizes = numel(shape[:dim]), shape[dim], numel(shape[dim + 1 :])
    return fresh(devices.put_axis(contiguous(input)._flat, flat, *sizes), shape, input._type)


@put_along.gradient("input")
def _(grad, indices, dim):
    return take_along(grad, indices, dim)


@operation("TakeAlongBackward0", inputs=["input", "indices"], nondifferentiable=["indices"])
def take_along(input: Tensor, indices: Tensor, dim: int) -> Tensor:
    """The input's elements at the indices, which have size 1 along ``dim``."""
    flat, outer, length, inner = axis_view(input, (dim,))
    picked = devices.take_axis(flat, contiguous(indices)._flat, outer, length, inner)
    return fresh(picked, indices._shape, input._type)


@take_along.gradient("input")
def _(grad, indices, input_shape, dim):
    return put_along(grad, indices, input_shape, dim)


@operation("MaxBackward1")
def max_all(input: Tensor) -> Tensor:
    return _extreme_of_all(input, True)[0]


@operation("MinBackward1")
def min_all(input: Tensor) -> Tensor:
    return _extreme_of_all(input, False)[0]


@max_all.gradient("input")
@min_all.gradient("input")
def _(grad, input, out):
    # The gradient is shared evenly among equal elements.
    mask = convert(where(expand(isnan(out), input._shape), isnan(input), eq(input, out)), input.dtype)
    return mul(mask, div(grad, sum_all(mask)))


def _check_not_empty(input: Tensor, name: str, dim: int | None) -> None:
    if dim is None:
        if numel(input._shape) == 0:
            error = IndexError if name.startswith("arg") else RuntimeError  # as in PyTorch
            raise error(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                f"with the 'dim' argument (shape {list(input._shape)})."
            )
    elif input._shape and input._shape[dim] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


def max(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The largest element; with ``dim`` the largest along it and their indices; of two tensors the larger elements.

    A NaN counts as larger than everything; of equal elements the first index is given.

    Raises:
        RuntimeError, IndexError: there is no element to choose from.
    """
    return _max_or_min(input, dim, keepdim, "max", max_all, max_dim, _max_result)


def min(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest element; with ``dim`` the smallest along it and their indices; of two tensors the smaller elements.

    A NaN counts as smaller than everything; of equal elements the first index is given.

    Raises:
        RuntimeError, IndexError: there is no element to choose from.
    """
    return _max_or_min(input, dim, keepdim, "min", min_all, min_dim, _min_result)


def _max_or_min(
    input: Tensor, dim: Any, keepdim: bool, name: str, over_all: Any, over_dim: Any, result: Any
) -> Any:
    if isinstance(dim, Tensor):
        return getattr(input, f"{name}imum")(dim)
    if dim is None:
        _check_not_empty(input, name, None)
        return over_all(input)
    dim = normal_dim(dim, len(input._shape))
    _check_not_empty(input, name, dim)
    return result(*over_dim(input, dim, keepdim))


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element: in the flattened tensor, or along a dimension."""
    return _place(input, dim, keepdim, "argmax", True)


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element: in the flattened tensor, or along a dimension."""
    return _place(input, dim, keepdim, "argmin", False)


def _place(input: Tensor, dim: int | None, keepdim: bool, name: str, largest: bool) -> Tensor:
    if input.dtype is bool_:
        raise RuntimeError(f"{name}(): does not support bool input (shape {list(input._shape)})")
    input = input.detach()
    if dim is None:
        _check_not_empty(input, name, None)
        index = _extreme_of_all(input, largest)[1]
        return reshape(index, (1,) * len(input._shape)) if keepdim else index
    dim = normal_dim(dim, len(input._shape))
    _check_not_empty(input, name, dim)
    return _extreme(input, dim, keepdim, largest)[1]


for _function in (sum, mean, max, min, argmax, argmin):
    public(_function)
