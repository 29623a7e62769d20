"""Bags of an embedding: sums, means or columnwise maxima of the table rows at each bag's indices.

Bag ``b`` has the indices from number ``starts[b]`` to ``starts[b + 1]``.  The caller ensures that ``starts`` is int64,
has one element more than there are bags, begins with 0, never decreases, and ends at most with the number of indices.
"""

from __future__ import annotations

from ...core.types import int64, tensor_type
from ...devices import Buffer, Plan, TensorRef
from ...tensors.tensor import Tensor
from ..creation.spaced import arange
from ..indexing.gathering import embedding_dense_backward, embedding_op, scatter_zeros
from ..indexing.index import index_op
from ..pointwise.arithmetic import div, mul
from ..pointwise.comparison import eq, ge, where
from ..reductions.searching import searchsorted
from ..reductions.sums import sum_dims
from ..shapes.dimensions import unsqueeze
from ..shapes.padding import constant_pad
from ..shapes.parts import narrow
from ..table.lookup import operation


@operation(
    "EmbeddingBagBackward0", aten="_embedding_bag", inputs=["weight", "indices", "starts", "factors"],
    nondifferentiable=["indices", "starts"], extras=["divisors"],
)
def embedding_bag_op(
    p: Plan, weight: TensorRef, indices: TensorRef, starts: TensorRef, factors: TensorRef | None, mean: bool,
    scale_grad_by_freq: bool, padding_idx: int,
) -> tuple[TensorRef, TensorRef]:
    """Add the steps that compute the sum or mean of the rows in each bag, and the divisor of each mean.

    Args:
        factors: of the rows, for sums; None stands for 1.
        padding_idx: a row to skip; -1 for none.
        scale_grad_by_freq: True to divide a row's gradient by the number of its indices.
    """
    count, (rows, width) = starts.size - 1, weight.shape
    buffers, scales = _buffers(p, weight, indices, starts), None if factors is None else p.contiguous(factors)
    out, divisors = p.backend.bag_sums(p, *buffers, scales, rows, width, padding_idx, mean)
    return p.tensor(out, weight.type, (count, width)), p.tensor(divisors, weight.type, (count,))


def _buffers(p: Plan, weight: TensorRef, indices: TensorRef, starts: TensorRef) -> tuple[Buffer, Buffer, Buffer]:
    """Add the steps that make the tensors contiguous; return their buffers, the indices as int64."""
    return p.contiguous(weight), p.contiguous(indices, int64), p.contiguous(starts)


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
    """Return, for each of ``count`` indices, the gradient of the bag that has it; 0 for indices after the last bag."""
    ends, numbers = narrow(starts, 0, 1, starts._layout.size - 1), arange(count, device=starts.device)
    which = searchsorted(ends, numbers, right=True)
    return index_op(constant_pad(grad, (0, 0, 0, 1), 0), which, (0,), False)


@operation(
    "EmbeddingBagBackward0", aten="_embedding_bag", inputs=["weight", "indices", "starts"],
    nondifferentiable=["indices", "starts"], extras=["chosen"],
)
def embedding_bag_max_op(
    p: Plan, weight: TensorRef, indices: TensorRef, starts: TensorRef, padding_idx: int
) -> tuple[TensorRef, TensorRef]:
    """Add the steps that compute the largest element of each column in the rows of each bag, and its row.

    For a bag without rows to compare, these are 0 and -1.
    """
    count, (rows, width) = starts.size - 1, weight.shape
    out, chosen = p.backend.bag_largest(p, *_buffers(p, weight, indices, starts), rows, width, padding_idx)
    numbers = tensor_type(int64, weight.type.device)
    return p.tensor(out, weight.type, (count, width)), p.tensor(chosen, numbers, (count, width))


@embedding_bag_max_op.gradient("weight")
def _(grad, chosen, weight_shape):
    """``zeros(weight_shape)``, with ``grad`` added at ``chosen``."""
    used = ge(chosen, 0)
    return scatter_zeros(where(used, grad, 0), where(used, chosen, 0), weight_shape, 0)
