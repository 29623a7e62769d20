"""Writing along a dimension, with an index for each element: ``scatter`` and its reductions."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import devices
from ...core.layout import Layout, layout_of, normal_dim
from ...core.types import TensorType, bool_, dtype
from ...devices import Given, Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.batches import zeros_with
from ..memory.copying import convert, filled_of
from ..memory.overwriting import as_number
from ..pointwise.arithmetic import conj, div, mul
from ..pointwise.comparison import choose, eq, where
from ..pointwise.integers import floor_quotient
from ..shapes.broadcasting import expand
from ..shapes.parts import slice_op
from ..shapes.views import reshape
from ..table.arguments import Dim
from ..table.checks import check, check_supported, not_implemented
from ..table.lookup import lookup, operation
from ..table.op import public
from ..table.operands import check_apart
from .gathering import beyond, check_index_dtype, gather_op, scatter_into, scatter_zeros
from .index import stays
from .launchers import number_in
from .selecting import check_part, not_added

# -- setting and adding -------------------------------------------------------------------------------------------


@operation(
    "ScatterBackward0", direct=True, changes="contiguous", inputs=["input", "index", "src"],
    nondifferentiable=["index"], dims=["dim"],
)
def scatter_op(p: Plan, input: TensorRef, index: TensorRef, src: TensorRef, dim: int) -> None:
    scatter_into(p, input, index, src, dim, "set")


@operation(
    "ScatterBackward1", direct=True, changes="contiguous", aten="scatter",
    inputs=["input", "index"], nondifferentiable=["index"], numbers=["value"], dims=["dim"]
)
def scatter_value(p: Plan, input: TensorRef, index: TensorRef, dim: int, value: Given) -> None:
    scatter_into(p, input, index, value, dim, "set")


@scatter_op.gradient("input")
@scatter_value.gradient("input")
def _(grad, index, dim):
    return scatter_value(grad, index, dim, 0)


@operation(
    "ScatterAddBackward0", changes="contiguous", inputs=["input", "index", "src"], nondifferentiable=["index"],
    dims=["dim"], passed=["input"],
)
def scatter_add_op(p: Plan, input: TensorRef, index: TensorRef, src: TensorRef, dim: int) -> None:
    scatter_into(p, input, index, src, dim, "add")


@scatter_op.gradient("src")
def _(grad, index, input_shape, dim):
    """``gather(grad, index, dim)``, 0 for elements that later ones overwrote."""
    picked = gather_op(grad, index, dim)
    if index._layout.size < 2:
        return picked

    def written(numbers: Tensor) -> Tensor:
        target = zeros_with((index,), input_shape, numbers._layout.type)
        return gather_op(scatter_op.in_place(target, index, numbers, dim), index, dim)

    return choose(stays(index, written), picked, 0)


@scatter_add_op.gradient("src")
def _(grad, index, dim):
    return gather_op(grad, index, dim)


# -- reductions ---------------------------------------------------------------------------------------------------


@operation(
    "ScatterReduceBackward0", changes="contiguous", inputs=["input", "index", "src"], nondifferentiable=["index"],
    dims=["dim"], joint=True,
)
def scatter_reduce_op(
    p: Plan, input: TensorRef, index: TensorRef, src: TensorRef, dim: int, reduce: str, include_self: bool
) -> None:
    _reduce(p, input, index, src, dim, reduce, include_self)


@operation(
    "IndexReduceBackward0", changes="contiguous", inputs=["input", "index", "src"], nondifferentiable=["index"],
    dims=["dim"], joint=True,
)
def index_reduce_op(
    p: Plan, input: TensorRef, index: TensorRef, src: TensorRef, dim: int, reduce: str, include_self: bool
) -> None:
    """``scatter_reduce_op`` with an index that was expanded to the shape of the source."""
    _reduce(p, input, index, src, dim, reduce, include_self)


def _reduce(
    p: Plan, input: TensorRef, index: TensorRef, src: TensorRef, dim: int, reduce: str, include_self: bool
) -> None:
    """Add the steps that reduce elements of the source into the input, which is overwritten."""
    dtype = input.type.dtype
    counts = None
    if reduce == "mean":  # counts of the elements to divide by; 1 if there are none
        input_ones, index_ones = [filled(p, 1, input.type, tensor.shape) for tensor in (input, index)]
        if not include_self:
            scatter_into(p, input_ones, index, filled(p, 0, input.type), dim, "set")
        scatter_into(p, input_ones, index, index_ones, dim, "add")
        counts = input_ones
    if not include_self:
        scatter_into(p, input, index, filled(p, _identity(dtype, reduce), input.type), dim, "set")
    scatter_into(p, input, index, src, dim, {"sum": "add", "mean": "add", "prod": "multiply"}.get(reduce, reduce))
    if counts is not None:
        op = div if dtype.is_floating_point or dtype.is_complex else floor_quotient
        op.op.build(p, input, counts, into=input)


def filled(p: Plan, value: Any, type: TensorType, shape: tuple[int, ...] = ()) -> TensorRef:
    """Add the steps for a new tensor filled with a number."""
    result = p.new_tensor(layout_of(type, shape))
    p.fill(p.contiguous(result), value)
    return result


def _identity(type: dtype, reduce: str) -> Any:
    """Return the identity element of a reduction."""
    if reduce in ("sum", "mean", "prod"):
        return int(reduce == "prod")
    dtype = type.numpy
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind == "f":
        return float("-inf") if reduce == "amax" else float("inf")
    return np.iinfo(dtype).min if reduce == "amax" else np.iinfo(dtype).max


def _counts(like: Tensor, index: Tensor, dim: int, include_self: bool) -> Tensor:
    """Return the number of elements that each result is the mean of; 1 if there are none."""
    input_ones, index_ones = [filled_of(tensor._layout.shape, 1, like._layout.type) for tensor in (like, index)]
    return scatter_add_op(_without_self(input_ones, index, dim, include_self), index, index_ones, dim)


def _without_self(grad: Tensor, index: Tensor, dim: int, include_self: bool) -> Tensor:
    return grad if include_self else scatter_value(grad, index, dim, 0)


@scatter_reduce_op.gradient("input", "src")
@index_reduce_op.gradient("input", "src")
def _(grad, input, index, src, out, dim, reduce, include_self, needed):
    """``(grad * d(out) / d(input), gather(grad, index, dim) * d(out) / d(src))``: 1 for sums, 1 / count for means, the
    other factors for products, a share for extremes.
    """
    if reduce == "prod":
        return [
            _of_factor(grad, input, index, src, dim, include_self) if needed[0] else None,
            _of_factors(grad, input, index, src, out, dim, include_self) if needed[1] else None,
        ]
    if reduce == "mean":
        grad = div(grad, _counts(grad, index, dim, include_self))
    if reduce in ("sum", "mean"):
        return [_without_self(grad, index, dim, include_self), gather_op(grad, index, dim) if needed[1] else None]
    is_input, is_source = convert(eq(input, out), grad.dtype), convert(eq(src, gather_op(out, index, dim)), grad.dtype)
    is_input = _without_self(is_input, index, dim, include_self)
    shares = div(grad, scatter_add_op(is_input, index, is_source, dim))  # evenly among all that equal the extreme
    return [mul(shares, is_input), mul(gather_op(shares, index, dim), is_source)]


def _of_factor(grad: Tensor, input: Tensor, index: Tensor, src: Tensor, dim: int, include_self: bool) -> Tensor:
    """Return the gradient of a product for the input: the product of the other factors, with 1 instead of a 0."""
    nonzero = where(eq(input, 0), 1, input)
    product = scatter_reduce_op(nonzero, index, src, dim, "prod", include_self)
    return _without_self(div(mul(grad, conj(product)), conj(nonzero)), index, dim, include_self)


def _of_factors(
    grad: Tensor, input: Tensor, index: Tensor, src: Tensor, out: Tensor, dim: int, include_self: bool
) -> Tensor:
    """Return the gradients of products for the source; for the only factor that is 0, the product of the others."""
    zero = eq(src, 0)
    zeros = gather_op(scatter_zeros(convert(zero, src.dtype), index, input._layout.shape, dim), index, dim)
    alone = mul(zero, eq(zeros, 1))
    others = scatter_reduce_op(input, index, where(alone, 1, src), dim, "prod", include_self)
    quotient = div(gather_op(mul(grad, conj(out)), index, dim), conj(where(zero, 1, src)))
    return where(alone, gather_op(mul(grad, conj(others)), index, dim), quotient)


# -- the public functions -----------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096, typed=True)
def _check(input: Layout, dim: int, index: Layout, src: Layout | None) -> int:
    """Return the dimension counted from the front, for tensors that fit together.

    Raises:
        RuntimeError: if dtypes or shapes do not fit.
    """
    check_index_dtype(index, "scatter")
    dim = normal_dim(dim, len(input.shape))
    expected, dtype = input.type.dtype, None if src is None else src.type.dtype
    check(
        dtype in (None, expected),
        "scatter(): Expected self.dtype to be equal to src.dtype ({} and {})", expected, dtype,
    )
    for which, layout in (("self", input), ("src", src)):
        if layout is not None and max(len(layout.shape), 1) != max(len(index.shape), 1):
            raise RuntimeError(
                f"Index tensor must have the same number of dimensions as {which} tensor "
                f"(index {list(index.shape)}, {which} {list(layout.shape)})"
            )
    for other, extent in enumerate(index.shape):
        too_large = other != dim and extent > input.shape[other]
        if too_large or (src is not None and extent > (src.shape or (1,))[other]):
            source = "" if src is None else f" and to be no larger size than src {list(src.shape)}"
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from "
                f"dimension {dim}{source}"
            )
    return dim


def _resolved(op: Callable[..., Any], input: Layout, dim: int, index: Layout, src: Layout, *arguments: Any) -> Any:
    """Return the call of an operation with the part of the source that the index reaches.

    Raises:
        RuntimeError: if dtypes or shapes do not fit.
    """
    arguments = _check(input, dim, index, src), *arguments
    if src.shape == index.shape:
        return op, arguments
    return op, arguments, lambda input, index, src: (input, index, _reached(src, index))


def _reached(src: Tensor, index: Tensor) -> Tensor:
    """Return the part of a source that the index reaches."""
    for dim, (size, extent) in enumerate(zip(src._layout.shape, index._layout.shape, strict=False)):
        if size > extent:
            src = slice_op(src, dim, 0, extent, 1)
    return src


@lookup(outside=beyond, export=False)
def _scattered(input: Layout, dim: int, index: Layout, src: Layout) -> Any:
    return _resolved(scatter_op, input, dim, index, src)


#: The operations of ``scatter`` with a tensor, by ``reduce``, and their last arguments.
_SCATTERS: dict[str | None, Any] = {
    None: (scatter_op,), "add": (scatter_add_op,), "multiply": (scatter_reduce_op, "prod", True),
}


@public(in_place=True)
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None,
    inplace: bool = False,
) -> Tensor:
    """Return a copy with ``src`` written at ``index``: ``out[i, index[i, j]] = src[i, j]`` for ``dim=1``.

    The last of several values for one element counts.

    Args:
        index: int32 or int64, of the input's number of dimensions, no larger outside ``dim``, nor than ``src``.
        src: a tensor or a number.
        value: another name for a number as ``src``.
        reduce: "add" or "multiply" to add to the present element, or multiply it.

    Raises:
        RuntimeError: if dtypes or shapes do not fit, or an index is not in [0, size).

    Example:
        >>> import numgrad
        >>> numgrad.scatter(numgrad.zeros(3), 0, numgrad.tensor([2, 0]), numgrad.tensor([1.0, 5.0]))
        tensor([5., 0., 1.])
    """
    if src.__class__ is Tensor and reduce is None and not inplace:
        return _scattered(input, dim, index, src)
    check(reduce in _SCATTERS, "reduce argument must be either add or multiply.")
    source = value if src is None else src
    number = not isinstance(source, Tensor)
    tensors: tuple[Tensor, ...] = input, index
    if reduce is not None and not number:
        warnings.warn(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
            "PyTorch release. Use torch.scatter_reduce instead for more reduction options.",
            UserWarning,
            stacklevel=3 + inplace,
        )
    dim = _check(input._layout, dim, index._layout, None if number else source._layout)
    if number and reduce is None:
        op, others = scatter_value, [as_number(source)]
    else:
        if number:
            source = filled_of(index._layout.shape, number_in(source, input._layout.type), input._layout.type)
        op, *others = _SCATTERS[reduce]
        tensors = input, index, _reached(source, index)
    if inplace:
        check_apart(*tensors)
    try:
        return (op.in_place if inplace else op)(*tensors, dim, *others)
    except devices.OutOfBoundsError as error:
        raise beyond(error, input, dim) from None


@lookup(outside=beyond, in_place=True)
def scatter_add(input: Layout, dim: int, index: Layout, src: Layout) -> Any:
    """Return a copy with ``src`` added at ``index``: ``out[i, index[i, j]] += src[i, j]`` for ``dim=1``.

    Values for the same element are added in the order of the indices, whatever the number of threads.

    Raises:
        RuntimeError: if dtypes or shapes do not fit, or an index is not in [0, size).

    Example:
        >>> import numgrad
        >>> numgrad.scatter_add(numgrad.zeros(2), 0, numgrad.tensor([1, 1]), numgrad.tensor([1.0, 5.0]))
        tensor([0., 6.])
    """
    return _resolved(scatter_add_op, input, dim, index, src)


@lookup(outside=beyond, in_place=True)
def scatter_reduce(
    input: Layout, dim: int, index: Layout, src: Layout, reduce: str, *, include_self: bool = True
) -> Any:
    """Return a copy in which the elements of ``src`` with the same index are reduced to one element.

    Unlike PyTorch, "amax" and "amin" without ``include_self`` share the gradient among the sources alone.

    Args:
        index: int32 or int64, as for :func:`scatter`.
        reduce: "sum", "prod", "mean" (of integers rounded down), "amax" or "amin".
        include_self: if True, reduce the present element with them.

    The gradient of "amax" and "amin" is shared evenly among equal elements.

    Raises:
        RuntimeError: if dtypes or shapes do not fit, or an index is not in [0, size).

    Example:
        >>> import numgrad
        >>> index, source = numgrad.tensor([0, 0, 1]), numgrad.tensor([1.0, 5.0, 2.0])
        >>> numgrad.scatter_reduce(numgrad.zeros(2), 0, index, source, "amax")
        tensor([5., 2.])
    """
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    dtype = input.type.dtype
    if (reduce == "mean" and dtype is bool_) or (reduce in ("amax", "amin") and dtype.is_complex):
        raise not_implemented(f"scatter_gather_tensor_cpu_reduce_{reduce}", input)
    return _resolved(scatter_reduce_op, input, dim, index, src, reduce, include_self)


@lookup(outside=not_added, in_place=True)
def index_reduce(
    input: Layout, dim: Dim, index: Layout, source: Layout, reduce: str, *, include_self: bool = True
) -> Any:
    """Return a copy with the parts of ``source`` that share an index reduced to one.

    Part ``i`` of the source is reduced into part ``index[i]`` of the result.

    Args:
        index: a vector of int32 or int64, with an element for each part of the source along ``dim``.
        reduce: "prod", "mean" (of integers rounded down), "amax" or "amin".
        include_self: if True, reduce the present part with them.

    Gradients are those of :func:`scatter_reduce`.

    Raises:
        IndexError, RuntimeError: if the index is not a vector, one of its elements is not in [0, size), or the source
            does not fit.
    """
    check(
        reduce in ("prod", "mean", "amax", "amin"),
        "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {}.", reduce,
    )
    check_part("index_reduce_", input, dim, index, source)
    check_supported(input, "if", "index_func_")
    shape = [1] * len(source.shape)
    shape[dim : dim + 1] = [index.size] if source.shape else []

    def spread(input: Tensor, index: Tensor, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return input, expand(reshape(index, shape), source._layout.shape), source

    return index_reduce_op, (dim, reduce, include_self), spread
