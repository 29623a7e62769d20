"""Sums, means and the tests for any or all true elements, over all or some dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.grad_mode import TRACED, state
from ...core.layout import Layout, all_dims, layout_of, normal_dims, numel
from ...core.types import TensorType, bool_, dtype, int64, tensor_type, uint8
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.batches import physical
from ..memory.copying import warn_of_loss
from ..pointwise.arithmetic import div
from ..shapes.broadcasting import expand, expand_op
from ..shapes.dimensions import permute_op
from ..shapes.views import reshape, sizes_of
from ..table.arguments import ALL, DType, SomeDims
from ..table.lookup import lookup, operation
from ..table.op import attach
from ..table.widening import converted
from .axes import dims_of_examples, memory_order, passes, reduced_shape, restored


def summed_type(input: TensorRef, dtype: dtype | None) -> TensorType:
    """Return the type of a sum or product: ``dtype`` if given, else the input's, int64 for integers and bools."""
    if dtype is None:
        if input.type.dtype.category > int64.category:
            return input.type
        dtype = int64
    return tensor_type(dtype, input.type.device)


def as_real(input: TensorRef, type: TensorType) -> dtype | None:
    """Return the dtype to convert complex input to if the result is real, with a warning; None if there is none."""
    old = input.type.dtype
    if not old.is_complex or type.dtype.is_complex or type.dtype is bool_:
        return None
    warn_of_loss(old, type.dtype)
    return type.dtype


#: Reductions whose partial results are combined by another reduction; all others are applied again.
_COMBINED_BY = {"nansum": "sum", "nonzero": "sum", "nanany": "any"}


def folded(
    p: Plan, name: str, input: TensorRef, dims: tuple[int, ...], keepdim: bool, type: TensorType, divisor: float = 1.0
) -> TensorRef:
    """Add the backend's reduction ``name`` over some dimensions, divided by a number.

    It reads the elements in memory order, in one pass for each group of adjacent dimensions, so that a tensor without
    gaps is not copied.  Results of float16 and bfloat16 are computed in float32; operations made of this function alone
    are ``direct``.
    """
    computed = type.with_dtype(type.dtype.compute)
    order = memory_order(input.layout)
    x = input.viewed(permute_op.prepare(input.layout, order)[0])
    out = p.contiguous(x, None if name == "nonzero" else as_real(input, type))
    sizes = passes(x.shape, tuple([position for position, d in enumerate(order) if d in dims]))
    for number, each in enumerate(sizes, 1):
        out = p.backend.fold_axis(p, out, *each, name, computed.numpy, divisor if number == len(sizes) else 1.0)
        name = _COMBINED_BY.get(name, name)
    kept = [d for d in order if d not in dims]
    if kept != sorted(kept):
        reduced = p.tensor(out, computed, tuple([input.shape[d] for d in kept]))
        back = tuple(sorted(range(len(kept)), key=kept.__getitem__))
        out = p.contiguous(reduced.viewed(permute_op.prepare(reduced.layout, back)[0]))
    return converted(p, p.tensor(out, computed, reduced_shape(input.shape, dims, keepdim)), type.dtype)


# -- sums -------------------------------------------------------------------------------------------------------


@operation("SumBackward0", linear=True, direct=True)
def sum_all(p: Plan, input: TensorRef, dtype: dtype | None = None) -> TensorRef:
    return sum_dims.build(p, input, all_dims(input.shape), False, dtype)


@sum_all.gradient("input")
def _(grad, input_shape):
    return expand_op(grad, input_shape)


@operation("SumBackward1", linear=True, dims=["dims"], direct=True)
def sum_dims(p: Plan, input: TensorRef, dims: tuple[int, ...], keepdim: bool, dtype: dtype | None = None) -> TensorRef:
    type = summed_type(input, dtype)
    return folded(p, "any" if type.dtype is bool_ else "sum", input, dims, keepdim, type)


sum_all.batched(lambda input, dtype=None: sum_dims(physical(input), dims_of_examples(input), False, dtype))


@sum_dims.gradient("input")
def _(grad, input_shape, dims, keepdim):
    return expand_op(restored(grad, dims, keepdim), input_shape)


@lookup
def sum(
    input: Layout, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType = None
) -> Any:
    """The sum of all elements, or over some dimensions, computed in ``dtype``.

    Integers and bools are summed as int64 unless ``dtype`` is given.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([[1, 2], [3, 4]])
        >>> numgrad.sum(x)
        tensor(10)
        >>> numgrad.sum(x, 0)
        tensor([4, 6])
        >>> numgrad.sum(x, 1, keepdim=True)
        tensor([[3],
                [7]])
    """
    if dim is None and not keepdim:
        return sum_all, (dtype,)
    return sum_dims, (normal_dims(dim, len(input.shape)), keepdim, dtype)


def sum_to_shape(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the sum over the dimensions that broadcasting ``shape`` to the input's shape repeats."""
    if not state.mode & TRACED:  # not a view, which a leaf would have to copy
        return input if input._layout.shape == shape else sum_to_size_op.function(input, shape)
    dims = _repeated_dims(input._layout.shape, shape)
    if not dims:
        return input
    if not shape:
        return sum_all(input)
    return reshape(sum_dims(input, dims, True), shape)


def _repeated_dims(old: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    extra = len(old) - len(shape)
    return tuple(range(extra)) + tuple([extra + d for d, size in enumerate(shape) if size == 1 and old[extra + d] != 1])


@operation("SumToSizeBackward0", linear=True, direct=True)
def sum_to_size_op(p: Plan, input: TensorRef, shape: tuple[int, ...]) -> TensorRef:
    type = summed_type(input, None)
    out = folded(p, "sum", input, _repeated_dims(input.shape, shape), True, type)
    return out.viewed(layout_of(type, shape))


@sum_to_size_op.gradient("input")
def _(grad, input_shape):
    """``expand(grad, input_shape)``."""
    return expand_op(grad, input_shape)


def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """Return the sum over the dimensions that broadcasting a tensor of this size to the input's shape repeats.

    Raises:
        RuntimeError: the size does not broadcast to the input's shape.
    """
    shape = sizes_of(size)
    trailing = input._layout.shape[len(input._layout.shape) - len(shape) :]
    if len(shape) > len(trailing) or [a for a, b in zip(shape, trailing, strict=True) if a not in (1, b)]:
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(input.shape)}}}.")
    return sum_to_shape(input, shape) if shape else sum_all(input)


attach("sum_to_size", sum_to_size)


# -- means ------------------------------------------------------------------------------------------------------


@operation("MeanBackward0", linear=True, direct=True)
def mean_all(p: Plan, input: TensorRef, dtype: dtype | None = None) -> TensorRef:
    return mean_dims.build(p, input, all_dims(input.shape), False, dtype)


@mean_all.gradient("input")
def _(grad, input_shape):
    return expand(div(grad, float(numel(input_shape))), input_shape)


@operation("MeanBackward1", linear=True, dims=["dims"], direct=True)
def mean_dims(p: Plan, input: TensorRef, dims: tuple[int, ...], keepdim: bool, dtype: dtype | None = None) -> TensorRef:
    count = numel(tuple([input.shape[d] for d in dims]))
    return folded(p, "sum", input, dims, keepdim, summed_type(input, dtype), float(count))


mean_all.batched(lambda input, dtype=None: mean_dims(physical(input), dims_of_examples(input), False, dtype))


@mean_dims.gradient("input")
def mean_gradient(grad, input_shape, dims, keepdim):
    """``expand(grad / count, input_shape)``, ``count`` elements to each mean."""
    count = numel(tuple([input_shape[d] for d in dims]))
    return expand(div(restored(grad, dims, keepdim), float(count)), input_shape)


@lookup
def mean(
    input: Layout, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType = None
) -> Any:
    """The mean of all elements, or over some dimensions, computed in ``dtype``.

    Raises:
        RuntimeError: ``dtype``, or the input's dtype if none is given, is not floating-point or complex.

    Example:
        >>> import numgrad
        >>> numgrad.mean(numgrad.tensor([[1.0, 2.0], [3.0, 4.0]]), 0)
        tensor([2., 3.])
    """
    chosen = dtype or input.type.dtype
    if chosen.category <= int64.category:
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {chosen.legacy} (shape {list(input.shape)})"
        )
    if dim is None and not keepdim:
        return mean_all, (dtype,)
    return mean_dims, (normal_dims(dim, len(input.shape)), keepdim, dtype)


# -- truth ------------------------------------------------------------------------------------------------------


@operation("AnyBackward0", public=True, nondifferentiable=["input"])
def any_op(p: Plan, input: TensorRef, dim: SomeDims = ALL, keepdim: bool = False) -> TensorRef:
    """True if any element is nonzero, over all or some dimensions: a bool tensor, or a uint8 one for uint8.

    Example:
        >>> import numgrad
        >>> numgrad.any(numgrad.tensor([[False, True], [False, False]]), 1)
        tensor([ True, False])
    """
    return folded(p, "any", input, dim, keepdim, _truth_type(input))


@operation("AllBackward0", public=True, nondifferentiable=["input"])
def all_op(p: Plan, input: TensorRef, dim: SomeDims = ALL, keepdim: bool = False) -> TensorRef:
    """True if all elements are nonzero, over all or some dimensions: a bool tensor, or a uint8 one for uint8.

    Example:
        >>> import numgrad
        >>> numgrad.all(numgrad.tensor([True, False]))
        tensor(False)
    """
    return folded(p, "all", input, dim, keepdim, _truth_type(input))


def _truth_type(input: TensorRef) -> TensorType:
    return tensor_type(uint8 if input.type.dtype is uint8 else bool_, input.type.device)
