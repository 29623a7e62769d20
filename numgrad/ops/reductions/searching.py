"""Distinct elements, their counts, and insertion points in sorted rows."""

from __future__ import annotations

import math
from typing import Any

from ...core.layout import Layout, all_dims, layout_of, normal_dim
from ...core.types import bool_, float32, float64, int32, int64, to_dtype
from ...devices import Given, Plan, TensorRef
from ...devices.recording import values_read
from ...tensors.tensor import Tensor, check_one_device
from ..batching.examples import dynamic, each
from ..creation.factories import full
from ..creation.from_data import tensor
from ..indexing.launchers import flat_result
from ..indexing.masking import masked_select_op
from ..indexing.selecting import index_select_op
from ..memory.copying import to_type
from ..pointwise.clamping import clamp
from ..pointwise.comparison import eq, ne
from ..shapes.views import reshape
from ..table.checks import check, check_supported, not_implemented
from ..table.lookup import lookup, operation
from ..table.op import public
from ..table.promotion import promote_types
from .axes import axis_sizes
from .extremes import aminmax_op
from .sorting import sort

# -- distinct elements ------------------------------------------------------------------------------------------


@operation("Unique2Backward0", aten="_unique2", nondifferentiable=["input"], outputs=["out", "inverse", "counts"])
def unique_op(
    p: Plan, input: TensorRef, dim: int | None, consecutive: bool, return_inverse: bool, return_counts: bool
) -> Plan:
    """Add the steps that find distinct elements, or slices along a dimension, with inverse indices and counts."""
    check_supported(input, "bif", "unique")
    shape, sizes = input.shape, (1, input.size, 1)
    if dim is not None:
        dim = normal_dim(dim, len(shape))
        sizes = axis_sizes(shape, (dim,))
        check(
            input.size != 0 or not sizes[1],
            "There are 0 sized dimensions, and they aren't selected, so unique{} cannot be applied (dim {}, shape {})",
            '_consecutive' * consecutive, dim, shape,
        )
    buffers = p.backend.unique_slices(p, p.contiguous(input), *sizes, consecutive)
    return p.returns_from(_laid_out, input.layout, dim, return_inverse, return_counts, *buffers)


def _laid_out(
    input: Layout, dim: int | None, return_inverse: bool, return_counts: bool, different: Any, inverse: Any, counts: Any
) -> Any:
    """Return the layout of the distinct elements and their memory, or tuples of these with inverse and counts."""
    shape, count, indices = input.shape, counts.size, input.type.with_dtype(int64)
    left = (count,) if dim is None else (*shape[:dim], count, *shape[dim + 1 :])
    layouts, memories = [layout_of(input.type, left)], [different]
    if return_inverse:
        layouts.append(layout_of(indices, shape if dim is None else (inverse.size,)))
        memories.append(inverse)
    if return_counts:
        layouts.append(layout_of(indices, (count,)))
        memories.append(counts)
    return (tuple(layouts), memories) if len(layouts) > 1 else (layouts[0], different)


@public
@dynamic("_unique2")
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements, or slices along ``dim``, in ascending order.

    Unlike PyTorch's, the results have no node that would raise an error in backward.

    No NaN equals another.  The results are not differentiable.

    Args:
        sorted: ignored: the results are always sorted.
        return_inverse: True to return the index of each element (or slice) in the result, too.
        return_counts: True to return the number of occurrences, too.

    Example:
        >>> import numgrad
        >>> numgrad.unique(numgrad.tensor([3, 1, 3]))
        tensor([1, 3])
    """
    return unique_op(input, dim, False, return_inverse, return_counts)


@public
@dynamic("unique_consecutive")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices along ``dim``, that differ from the preceding one; see :func:`unique`.

    Example:
        >>> import numgrad
        >>> numgrad.unique_consecutive(numgrad.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
    """
    return unique_op(input, dim, True, return_inverse, return_counts)


# -- counting ---------------------------------------------------------------------------------------------------


@operation("BincountBackward0", inputs=["input", "weights"], nondifferentiable=["input", "weights"])
def bincount_op(p: Plan, input: TensorRef, weights: TensorRef | None, minlength: int) -> Plan:
    counted = None
    if weights is not None and input.size:  # PyTorch's counts of an empty input are integers
        counted = p.contiguous(weights, float32 if weights.type.dtype is float32 else float64)
    counts = p.backend.bincount(p, p.contiguous(input), counted, minlength)
    dtype = int64 if counted is None else to_dtype(counted.dtype)
    return p.returns_from(flat_result, input.type.with_dtype(dtype), counts)


@public
@dynamic("bincount")
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """The number of occurrences of each number from 0 in a vector of integers, or the sums of their weights.

    Raises:
        RuntimeError: the input is not a vector of non-negative integers, or the weights do not fit it.
        NotImplementedError: the dtype is not an integer one.

    Example:
        >>> import numgrad
        >>> numgrad.bincount(numgrad.tensor([0, 2, 2]))
        tensor([1, 0, 2])
    """
    if input._layout.type.dtype.category != int64.category:
        raise not_implemented("bincount_cpu", input._layout)
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, not {minlength}")
    check_one_device(input, weights)
    if weights is not None and weights._layout.shape != input._layout.shape:
        raise RuntimeError(
            "weights should be 1-d and have the same length as input: "
            f"{list(weights.shape)} and {list(input.shape)}"
        )
    if len(input._layout.shape) != 1:
        raise RuntimeError(
            f"bincount only supports 1-d non-negative integral inputs (shape {list(input.shape)})."
        )
    return bincount_op(input, weights, minlength)


@operation("HistcBackward0", nondifferentiable=["input"], numbers=["low", "high"])
def histc_op(p: Plan, input: TensorRef, low: Given, high: Given, bins: int) -> TensorRef:
    return p.tensor(p.backend.histogram(p, p.contiguous(input), bins, low, high), input.type, (bins,))


@public
@each
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """The number of elements in each of ``bins`` equally wide bins from ``min`` to ``max``.

    If the two are equal, the smallest and largest elements are used instead.  Elements outside do not count.

    Raises:
        RuntimeError: there are no bins, or the range is empty or not finite.
        NotImplementedError: the elements are not floating-point numbers.

    Example:
        >>> import numgrad
        >>> numgrad.histc(numgrad.tensor([1.0, 2.0, 2.0]), bins=2, min=0, max=4)
        tensor([1., 2.])
    """
    check_supported(input._layout, "f", "histogram_cpu")
    check(bins > 0, "torch.histogram(): bins must be > 0, but got {} for dimension 0", bins)
    low, high = float(min), float(max)
    if low == high and input._layout.size:
        values_read("a range that is that of the elements")
        low, high = [end.item() for end in aminmax_op.function(input, all_dims(input._layout.shape), False)]
    check(math.isfinite(low) and math.isfinite(high), "torch.histc: range of [{}, {}] is not finite", low, high)
    if low == high:
        low, high = low - 1, high + 1
    if low > high:
        raise RuntimeError(f"torch.histc: max must be larger than min, but they are {high} and {low}")
    return histc_op(input, low, high, bins)


# -- indices in sorted rows -------------------------------------------------------------------------------------


@operation(
    "SearchsortedBackward0", aten="searchsorted", inputs=["sorted_sequence", "input"],
    nondifferentiable=["sorted_sequence", "input"],
)
def search_op(p: Plan, sorted_sequence: TensorRef, input: TensorRef, right: bool, out_int32: bool) -> TensorRef:
    shape, target = sorted_sequence.shape, input.shape
    positions = p.backend.search_rows(
        p, p.contiguous(sorted_sequence), p.contiguous(input), shape[-1], input.size if len(shape) == 1 else target[-1],
        right, promote_types(sorted_sequence.type.dtype, input.type.dtype).numpy,
    )
    out = p.tensor(positions, input.type.with_dtype(int64), target)
    return to_type.build(p, out, input.type.with_dtype(int32)) if out_int32 else out


@public(method=False, direct=True)
@each
@lookup(export=False)
def searchsorted(
    sorted_sequence: Layout, input: Layout | Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Layout | None = None,
) -> Any:
    """The index at which each value belongs in a sorted sequence: that of the first element that is not smaller.

    With ``right`` (or ``side="right"``) it is that of the first larger element.  Several rows, (..., length), take
    several values each, (..., count); one row takes values of any shape.  ``sorter`` holds the indices that sort the
    rows.

    Raises:
        RuntimeError: the shapes do not fit, or ``side`` is neither "left" nor "right", or contradicts ``right``.

    Example:
        >>> import numgrad
        >>> numgrad.searchsorted(numgrad.tensor([1, 3, 5]), numgrad.tensor([2, 3]))
        tensor([1, 1])
    """
    check(side in (None, "left", "right"), "torch.searchsorted(): side can only be 'left' or 'right' but got {}", side)
    check(
        side != "left" or not right,
        "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True",
    )
    options: Any = {"out_int32": out_int32, "right": right or side == "right"}
    if not isinstance(input, Layout):
        return lambda rows, *sorter: searchsorted(
            rows, tensor(input, device=rows.device), sorter=sorter[0] if sorter else None, **options
        ), ()
    check_one_device(sorted_sequence, input, sorter)
    boundaries, target = sorted_sequence.shape, input.shape
    check(
        len(boundaries) <= 1 or target,
        "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
        "boundaries tensor dim({}) and input value's dim(0) numel(1)", len(boundaries),
    )
    check(
        len(boundaries) == 1 or (len(boundaries) != 0 and boundaries[:-1] == target[:-1]),
        "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
        "tensor and input value tensor must match, but we got boundaries tensor {} and input value tensor {}",
        boundaries, target,
    )
    if sorter is not None:
        check(
            sorter.shape == boundaries,
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor {} and got "
            "sorter tensor {}", boundaries, sorter,
        )
        return lambda rows, values, sorter: searchsorted(rows.detach().gather(-1, sorter), values, **options), ()
    for layout in (sorted_sequence, input):
        check_supported(layout, "bif", "searchsorted_out_cpu")
    return search_op, (options["right"], out_int32)


@public(method=False, takes_out=True)
@each
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The index at which each value belongs in a sorted vector of boundaries; see :func:`searchsorted`.

    Raises:
        RuntimeError: the boundaries are not a vector.

    Example:
        >>> import numgrad
        >>> numgrad.bucketize(numgrad.tensor([0, 3, 9]), numgrad.tensor([1, 5]))
        tensor([0, 1, 2])
    """
    if len(boundaries._layout.shape) != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


# -- membership -------------------------------------------------------------------------------------------------


@public(method=False)
@each
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """True for each element that is among ``test_elements``; with ``invert``, for each that is not.

    Either argument may be a number, but not both.  A NaN is never a member.  ``assume_unique`` is ignored.

    Raises:
        RuntimeError: the dtype of one is bool or complex.
        TypeError: none is a tensor.

    Example:
        >>> import numgrad
        >>> numgrad.isin(numgrad.tensor([1, 2, 3]), numgrad.tensor([2, 5]))
        tensor([False,  True, False])
    """
    if not (isinstance(elements, Tensor) or isinstance(test_elements, Tensor)):
        raise TypeError("isin(): elements or test_elements must be a tensor")
    for operand in (elements, test_elements):
        kind = operand.dtype if isinstance(operand, Tensor) else tensor(operand).dtype
        if kind is bool_ or kind.is_complex:
            raise RuntimeError(f"Unsupported input type encountered for isin(): {kind.legacy}")
    if not isinstance(test_elements, Tensor):
        return (ne if invert else eq)(elements.detach(), test_elements)
    row = sort(reshape(test_elements.detach(), (-1,)))[0]
    if row.is_floating_point():
        row = masked_select_op(row, eq(row, row))  # binary search needs an order, which NaNs lack
    if isinstance(elements, Tensor):
        elements = elements.detach()
    else:
        same = row.is_floating_point() or isinstance(elements, int)
        elements = tensor(elements, dtype=row.dtype if same else None, device=row.device)
    if not row._layout.size:
        return full(elements.shape, invert, dtype=bool_, device=elements.device)
    positions = clamp(searchsorted(row, elements), max=row._layout.size - 1)
    nearest = index_select_op(row, reshape(positions, (-1,)), 0)
    return (ne if invert else eq)(reshape(nearest, elements._layout.shape), elements)
