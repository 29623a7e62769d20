"""Bags of an embedding: the rows of a table at some indices summed, or the largest of each column taken.

Bag ``b`` has the indices from number ``starts[b]`` to ``starts[b + 1]``: ``starts`` is int64, has one element more than
there are bags, begins with 0, never falls, and ends at most with the number of indices, which whoever calls sees to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import devices
from ...core.layout import Layout, layout_of
from ...core.tensor import Tensor
from ...core.types import int64, tensor_type
from ..creation.factories import arange
from ..indexing.gathering import embedding_dense_backward, embedding_op, scatter_zeros
from ..indexing.index import index_op
from ..indexing.launchers import index_reader
from ..memory.copying import row_reader
from ..pointwise.arithmetic import div, mul
from ..pointwise.comparison import eq, ge, where
from ..reductions.axes import Prepared
from ..reductions.searching import searchsorted
from ..reductions.sums import sum_dims
from ..shapes.dimensions import unsqueeze
from ..shapes.padding import constant_pad
from ..shapes.parts import narrow
from ..table.planned import planned


@planned(
    "EmbeddingBagBackward0", aten="_embedding_bag", inputs=["weight", "indices", "starts", "factors"],
    nondifferentiable=["indices", "starts"], extras=["divisors"],
)
def embedding_bag_op(
    weight: Layout, indices: Layout, starts: Layout, factors: Layout | None, mean: bool, scale_grad_by_freq: bool,
    padding_idx: int,
) -> Prepared:
    """The sums, or the means, of the rows in each bag, and by how many of them each mean was divided.

    Args:
        factors: of the rows, for sums; None stands for 1.
        padding_idx: a row that does not count; -1 for none.
        scale_grad_by_freq: whether a row's gradient is divided by the number of its indices.
    """
    count, (rows, width) = starts.size - 1, weight.shape
    compute = weight.type.backend.bag_sums_launcher(
        weight.type, rows, width, indices.size, count, padding_idx, mean
    )
    launch = _launcher(compute, weight, indices, starts, factors)
    return (layout_of(weight.type, (count, width)), layout_of(weight.type, (count,))), launch


def _launcher(
    compute: Callable[..., Any], weight: Layout, indices: Layout, starts: Layout, *factors: Layout | None
) -> Callable[..., Any]:
    """What gives ``compute`` the elements of tensors of these layouts."""
    reads = [row_reader(weight), index_reader(indices), row_reader(starts), *map(row_reader, factors)]

    def launch(*tensors: Any) -> Any:
        try:
            return compute(*[read(tensor) for read, tensor in zip(reads, tensors, strict=True)])
        except devices.OutOfBoundsError as error:
            raise RuntimeError(
                f"embedding_bag: the input takes value {error.index} which is not in the valid range [0, "
                f"{error.size}), for a weight of shape {list(weight.shape)}"
            ) from error

    return launch


@embedding_bag_op.gradient("weight")
def _(grad, indices, starts, factors, divisors, weight_shape, mean, scale_grad_by_freq, padding_idx):
    """``embedding_dense_backward`` of the gradient of each row in a bag, which is the bag's times its factor."""
    each = _of_each(div(grad, unsqueeze(divisors, 1)) if mean else grad, starts, indices._layout.size)
    if factors is not None:
        each = mul(each, unsqueeze(factors, 1))
    return embedding_dense_backward(each, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


@embedding_bag_op.gradient("factors")
def _(grad, weight, indices, starts, padding_idx):
    """``sum(grad * weight[indices], 1)``, 0 for the padding."""
    rows = embedding_op(weight, indices, -1, False, False)
    dots = sum_dims(mul(_of_each(grad, starts, indices._layout.size), rows), (1,), False)
    return where(eq(indices, padding_idx), 0, dots) if padding_idx >= 0 else dots


def _of_each(grad: Tensor, starts: Tensor, count: int) -> Tensor:
    """The gradients of bags, for each of so many indices in them; 0 for those after the last bag."""
    ends, numbers = narrow(starts, 0, 1, starts._layout.size - 1), arange(count, device=starts.device)
    which = searchsorted(ends, numbers, right=True)
    return index_op(constant_pad(grad, (0, 0, 0, 1), 0), which, (0,), False)


@planned(
    "EmbeddingBagBackward0", aten="_embedding_bag", inputs=["weight", "indices", "starts"],
    nondifferentiable=["indices", "starts"], extras=["chosen"],
)
def embedding_bag_max_op(weight: Layout, indices: Layout, starts: Layout, padding_idx: int) -> Prepared:
    """The largest element of each column in the rows of each bag, and the row that it is from.

    Where a bag has no row that counts, these are 0 and -1.
    """
    count, (rows, width) = starts.size - 1, weight.shape
    compute = weight.type.backend.bag_largest_launcher(
        weight.type, rows, width, indices.size, count, padding_idx
    )
    chosen = layout_of(tensor_type(int64, weight.type.device), (count, width))
    return (layout_of(weight.type, (count, width)), chosen), _launcher(compute, weight, indices, starts)


@embedding_bag_max_op.gradient("weight")
def _(grad, chosen, weight_shape):
    """``zeros(weight_shape)``, with ``grad`` added at ``chosen``."""
    found = ge(chosen, 0)
    return scatter_zeros(where(found, grad, 0), where(found, chosen, 0), weight_shape, 0)
