"""Vectors: of norm 1, and looked up by number."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor
from ...ops.indexing import gathering
from ...ops.pointwise.comparison import where
from ...ops.table.arguments import tensors_checked

__all__ = ["embedding", "normalize"]


@tensors_checked
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """``input`` divided by its ``p``-norm along ``dim``, which counts for at least ``eps``.

    Args:
        input: floating-point numbers, of any shape.
        p: the order of the norm.
        dim: the dimension, or dimensions, that the vectors lie along.
        eps: keeps the divisor from 0.
        out: a tensor to be overwritten with the result; then nothing is recorded.

    Raises:
        RuntimeError: the input is not of floating-point numbers.
        IndexError: there is no such dimension.
    """
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{input.dtype.legacy} (shape {list(input.shape)})"
        )
    result = input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand(input._layout.shape)
    if out is None:
        return result
    with no_grad():
        return out.copy_(result)


@tensors_checked
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of ``weight``: ``out[i, j] = weight[input[i, j]]``.

    Args:
        input: int64 or int32 numbers of rows, of any shape; the output has one dimension more.
        weight: of shape (rows, columns).
        padding_idx: a row that gets no gradient; a negative one counts from the end.
        max_norm: rows that are looked up and have a larger norm are scaled down to it first, in ``weight`` itself.
        norm_type: the order of that norm.
        scale_grad_by_freq: whether a row's gradient is divided by the number of times it was looked up.
        sparse: ignored: gradients are dense.

    Raises:
        IndexError: a number is not in [0, rows).
        AssertionError: ``padding_idx`` is none, either.
        RuntimeError: the weight is no matrix, or the input has another dtype.
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight._layout.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError(
                f"Padding_idx must be within num_embeddings: {padding_idx} is not, for a weight of shape "
                f"{list(weight.shape)}"
            )
        padding_idx %= rows
    if max_norm is not None:
        _limit_norms(weight, input, max_norm, norm_type)
    return gathering.embedding_op.public(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _limit_norms(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows at the indices down to a norm of at most ``max_norm``, in place."""
    with no_grad():
        rows = gathering.embedding_op.public(weight, indices.reshape(-1))
        norms = rows.norm(norm_type, 1, keepdim=True)
        weight[indices.reshape(-1)] = where(norms > max_norm, rows * (max_norm / (norms + 1e-7)), rows)
