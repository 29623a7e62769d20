"""Different elements, how often they occur, and where they belong in a sorted row."""

from __future__ import annotations

import functools
import math
from typing import Any

from ...core.layout import Layout, layout_of, normal_dim, numel
from ...core.tensor import Tensor, check_one_device, fresh, tensor_of
from ...core.types import bool_, float32, float64, int32, int64, tensor_type
from ..batching.examples import dynamic, each
from ..creation.factories import full
from ..creation.from_data import tensor
from ..indexing.masking import masked_select_op
from ..indexing.selecting import index_select_op
from ..memory.copying import convert, row_of, row_reader
from ..pointwise.clamping import clamp
from ..pointwise.comparison import eq, ne
from ..shapes.views import reshape
from ..table.lookup import lookup
from ..table.op import public
from ..table.operands import not_implemented
from ..table.promotion import promote_types
from .axes import axis_sizes, index_tensor
from .extremes import refuse_complex_order
from .sorting import sort

# -- different elements -----------------------------------------------------------------------------------------


def _different(
    name: str, input: Tensor, dim: int | None, of_all: Any, of_slices: Any, return_inverse: bool, return_counts: bool
) -> Any:
    """The different elements, or slices along a dimension, and what is asked for besides."""
    layout, input = input._layout, input.detach()
    refuse_complex_order(layout, "unique")
    shape = layout.shape
    if dim is None:
        values, inverse, counts = of_all(row_of(input))
        left, inverse_shape = (values.size,), shape
    else:
        dim = normal_dim(dim, len(shape))
        length = shape[dim] if shape else 1
        if layout.size == 0 and length:
            raise RuntimeError(
                f"There are 0 sized dimensions, and they aren't selected, so {name} cannot be applied "
                f"(dim {dim}, shape {list(shape)})"
            )
        values, inverse, counts = of_slices(row_of(input), *axis_sizes(shape, (dim,)))
        left, inverse_shape = (*shape[:dim], counts.size, *shape[dim + 1 :]), (length,)
    results = [fresh(values, left, layout.type)]
    if return_inverse:
        results.append(index_tensor(inverse, inverse_shape, input))
    if return_counts:
        results.append(index_tensor(counts, (counts.size,), input))
    return tuple(results) if len(results) > 1 else results[0]


@public
@dynamic("_unique2")
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements, or slices along ``dim``, in ascending order.

    Unlike PyTorch's, the results have no node that would raise an error in backward.

    No NaN equals another.  The results are not differentiable.

    Args:
        sorted: they are sorted in any case.
        return_inverse: whether to return for each element (or slice) which of them it is, too.
        return_counts: whether to return how often each occurs, too.
    """
    backend = input._layout.type.backend
    find = backend.unique_elements, backend.unique_rows
    return _different("unique", input, dim, *find, return_inverse, return_counts)


@public
@dynamic("unique_consecutive")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices along ``dim``, that differ from the one before; see :func:`unique`."""
    find = input._layout.type.backend.consecutive_rows
    of_all = functools.partial(find, outer=1, length=input._layout.size, inner=1)
    return _different("unique_consecutive", input, dim, of_all, find, return_inverse, return_counts)


# -- counting ---------------------------------------------------------------------------------------------------


@public
@dynamic("bincount")
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 occurs in a row of integers, or the sums of the weights of those that do.

    Raises:
        RuntimeError: the input is not one row of non-negative integers, or the weights do not fit it.
        NotImplementedError: its elements are no integers.
    """
    if input._layout.type.dtype.category != int64.category:
        raise not_implemented("bincount_cpu", input._layout)
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, not {minlength}")
    check_one_device(input, weights)
    counted, row = None, None
    if weights is not None:
        if weights._layout.shape != input._layout.shape:
            raise RuntimeError(
                "weights should be 1-d and have the same length as input: "
                f"{list(weights.shape)} and {list(input.shape)}"
            )
        if input._layout.size:  # of nothing PyTorch counts in integers
            counted = weights._layout.type.dtype if weights._layout.type.dtype is float32 else float64
            row = row_of(convert(weights.detach(), counted))
    bincount = input._layout.type.backend.bincount
    counts = bincount(row_of(input), row, minlength) if len(input._layout.shape) == 1 else None
    if counts is None:
        raise RuntimeError(
            f"bincount only supports 1-d non-negative integral inputs (shape {list(input.shape)})."
        )
    return fresh(counts, (counts.size,), tensor_type(counted or int64, input.device))


@public
@each
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements there are in each of ``bins`` equally wide bins from ``min`` to ``max``.

    If the two are equal, the smallest and largest elements are used instead.  Elements outside do not count.

    Raises:
        RuntimeError: there are no bins, or the range is empty or not finite.
        NotImplementedError: the elements are not floating-point numbers.
    """
    if not input.is_floating_point():
        raise not_implemented("histogram_cpu", input._layout)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    row, type = row_of(input.detach()), input._layout.type
    low, high = float(min), float(max)
    if low == high and row.size:
        low, high = type.backend.value_range(row)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low}, {high}] is not finite")
    if low == high:
        low, high = low - 1, high + 1
    if low > high:
        raise RuntimeError(f"torch.histc: max must be larger than min, but they are {high} and {low}")
    return fresh(type.backend.histogram(row, bins, low, high), (bins,), type)


# -- indices in sorted rows -------------------------------------------------------------------------------------


@public(method=False, direct=True)
@each
@lookup(export=False)
def searchsorted(
    sorted_sequence: Layout, input: Layout | Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Layout | None = None,
) -> Any:
    """Where each value belongs in a sorted row: the index of the first element that is not smaller.

    With ``right`` (or ``side="right"``) that of the first larger element.  Several rows, (..., length), take several
    values each, (..., count); one row takes values of any shape.  ``sorter`` holds the indices that sort the rows.

    Raises:
        RuntimeError: the shapes do not fit, or ``side`` is neither "left" nor "right", or contradicts ``right``.
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    how: Any = {"out_int32": out_int32, "right": right or side == "right"}
    if not isinstance(input, Layout):
        return lambda rows, *sorter: searchsorted(
            rows, tensor(input, device=rows.device), sorter=sorter[0] if sorter else None, **how
        ), ()
    check_one_device(sorted_sequence, input, sorter)
    own, wanted = sorted_sequence.shape, input.shape
    if len(own) > 1 and not wanted:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({len(own)}) and input value's dim(0) numel(1)"
        )
    if len(own) != 1 and (len(own) == 0 or own[:-1] != wanted[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(own)} and input value "
            f"tensor {list(wanted)}"
        )
    if sorter is not None:
        if sorter.shape != own:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(own)} and got sorter tensor {list(sorter.shape)}"
            )
        return lambda rows, values, sorter: searchsorted(rows.detach().gather(-1, sorter), values, **how), ()
    for layout in (sorted_sequence, input):
        refuse_complex_order(layout, "searchsorted_out_cpu")
    read_rows, read_values = row_reader(sorted_sequence), row_reader(input)
    search = input.type.backend.row_searcher(
        sorted_sequence.type, input.type, input.size, own[-1], numel(wanted) if len(own) == 1 else wanted[-1],
        how["right"], promote_types(sorted_sequence.type.dtype, input.type.dtype).numpy,
    )
    out = layout_of(tensor_type(int64, sorted_sequence.type.device), wanted)

    def call(rows: Tensor, values: Tensor) -> Tensor:
        found = tensor_of(out, search(read_rows(rows), read_values(values)))
        return convert(found, int32) if out_int32 else found

    return call, ()


@public(method=False)
@each
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Where each value belongs in one sorted row of boundaries; see :func:`searchsorted`.

    Raises:
        RuntimeError: the boundaries are not one row.
    """
    if len(boundaries._layout.shape) != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


# -- membership -------------------------------------------------------------------------------------------------


@public(method=False)
@each
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Which elements are among the ``test_elements``; with ``invert`` which are not: bools of the elements' shape.

    Either may be a number, but not both.  A NaN is among none.  ``assume_unique`` changes nothing.

    Raises:
        RuntimeError: the elements of one are bools or complex.
        TypeError: none is a tensor.
    """
    if not (isinstance(elements, Tensor) or isinstance(test_elements, Tensor)):
        raise TypeError("isin(): elements or test_elements must be a tensor")
    for one in (elements, test_elements):
        kind = one.dtype if isinstance(one, Tensor) else tensor(one).dtype
        if kind is bool_ or kind.is_complex:
            raise RuntimeError(f"Unsupported input type encountered for isin(): {kind.legacy}")
    if not isinstance(test_elements, Tensor):
        return (ne if invert else eq)(elements.detach(), test_elements)
    row = sort(reshape(test_elements.detach(), (-1,)))[0]
    if row.is_floating_point():
        row = masked_select_op(row, eq(row, row))  # a search goes astray beside a NaN
    if isinstance(elements, Tensor):
        elements = elements.detach()
    else:
        same = row.is_floating_point() or isinstance(elements, int)
        elements = tensor(elements, dtype=row.dtype if same else None, device=row.device)
    if not row._layout.size:
        return full(elements.shape, invert, dtype=bool_, device=elements.device)
    places = clamp(searchsorted(row, elements), max=row._layout.size - 1)
    nearest = index_select_op(row, reshape(places, (-1,)), 0)
    return (ne if invert else eq)(reshape(nearest, elements._layout.shape), elements)
