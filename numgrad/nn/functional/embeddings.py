"""Embeddings: rows of a table by index, and reductions of such rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import devices
from ...autograd.grad_mode import no_grad
from ...core.types import int32, int64
from ...ops.creation.from_data import from_numpy
from ...ops.creation.spaced import arange
from ...ops.indexing import gathering
from ...ops.network.embedding_bags import embedding_bag_max_op, embedding_bag_op
from ...ops.pointwise.comparison import where
from ...ops.table.arguments import tensors_checked
from ...ops.table.checks import check, check_assertion, check_implemented, check_value
from ...tensors.tensor import Tensor, check_one_device

__all__ = ["embedding", "embedding_bag"]


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
    """Return rows of ``weight``: ``out[i, j] = weight[input[i, j]]``.

    Args:
        input: int64 or int32 row indices, of any shape; the output has one more dimension.
        weight: of shape (rows, columns).
        padding_idx: a row that gets no gradient; a negative one counts from the end.
        max_norm: the maximum norm; looked-up rows with a larger norm are first scaled down to it, in ``weight`` itself.
        norm_type: the order of that norm.
        scale_grad_by_freq: True to divide a row's gradient by the number of times it was looked up.
        sparse: ignored: gradients are dense.

    Raises:
        IndexError: an index is not in [0, rows).
        AssertionError: ``padding_idx`` is out of range.
        RuntimeError: the weight is not a matrix, or the input has another dtype.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.embedding(numgrad.tensor([1, 0]), numgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[3., 4.],
                [1., 2.]])
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight._layout.shape[0]
        check_assertion(
            -rows <= padding_idx < rows,
            "Padding_idx must be within num_embeddings: {} is not, for a weight of shape {}", padding_idx, weight,
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


@tensors_checked
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Return the sums, means or maxima, by columns, of the rows of ``weight`` in bags of row indices.

    The result equals :func:`embedding` followed by a reduction, but the rows are not stored.  A bag without rows gives
    0.

    Args:
        input: int64 or int32 row indices: of shape (bags, size), or (count) with ``offsets``.
        weight: of shape (rows, columns), of floating-point numbers.
        offsets: the start of each bag in ``input``, the first at 0; int64 or int32, of shape (bags).
        max_norm: the maximum norm; looked-up rows with a larger norm are first scaled down to it, in ``weight`` itself.
        norm_type: the order of that norm.
        scale_grad_by_freq: True to divide a row's gradient by the number of times it was looked up.
        mode: "sum", "mean" or "max".
        sparse: must be False, because there are no sparse gradients.
        per_sample_weights: factors of the rows in a sum, of the input's shape and the weight's dtype.
        include_last_offset: True if ``offsets`` has an extra element, the end of the last bag.
        padding_idx: a row that is ignored; a negative one counts from the end.

    Returns:
        A tensor of shape (bags, columns).

    Raises:
        ValueError: the shapes do not fit, or the mode is invalid or does not support an option.
        RuntimeError: a row index, an offset or a dtype is invalid.
        NotImplementedError: there are factors but the mode is not "sum", or the gradient should be sparse.

    Example:
        >>> import numgrad
        >>> table = numgrad.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> numgrad.nn.functional.embedding_bag(numgrad.tensor([[0, 1], [1, 1]]), table, mode="sum")
        tensor([[4., 6.],
                [6., 8.]])
    """
    if weight.dtype is int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=3,
        )
        input, weight = weight, input
    _check_bags(input, weight, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights)
    rows = weight._layout.shape[0]
    check(
        padding_idx is None or -rows <= padding_idx < rows,
        "padding_idx must be within the number of embeddings, {} through {}, but got {}", -rows, rows - 1, padding_idx,
    )
    padding = -1 if padding_idx is None else padding_idx % rows
    if offsets is None:
        bags, size = input._layout.shape
        starts = arange(bags + 1, device=input.device) * size
    else:
        starts = _starts(offsets, input._layout.size, include_last_offset)
    if max_norm is not None:
        _limit_norms(weight, input, max_norm, norm_type)
    indices = input.reshape(-1)
    factors = per_sample_weights if per_sample_weights is None else per_sample_weights.reshape(-1)
    try:
        if mode == "max":
            return embedding_bag_max_op(weight, indices, starts, padding)[0]
        return embedding_bag_op(weight, indices, starts, factors, mode == "mean", scale_grad_by_freq, padding)[0]
    except devices.OutOfBoundsError as error:
        raise RuntimeError(
            f"embedding_bag: the input takes value {error.index} which is not in the valid range [0, {error.size}), "
            f"for a weight of shape {list(weight.shape)}"
        ) from error


def _check_bags(
    input: Tensor, weight: Tensor, offsets: Tensor | None, scale_grad_by_freq: bool, mode: str, sparse: bool,
    factors: Tensor | None,
) -> None:
    """Raise unless the arguments of :func:`embedding_bag` fit each other."""
    if factors is not None and factors._layout.shape != input._layout.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({factors.shape}) is not None, then it must have the same shape as "
            f"the input ({input.shape})"
        )
    rank = input.dim()
    check_value(weight.dim() == 2, "weight has to be a 2D Tensor, but got Tensor of dimension {}", weight.dim())
    if rank == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
            f"sequences. However, found offsets of type {type(offsets)}"
        )
    check_value(rank != 1 or offsets is not None, "offsets has to be a 1D Tensor but got None")
    check_value(offsets is None or offsets.dim() == 1, "offsets has to be a 1D Tensor, not of shape {}", offsets)
    check_value(rank in (1, 2), "input has to be 1D or 2D Tensor, but got Tensor of dimension {}", rank)
    check_value(mode in ("sum", "mean", "max"), "mode has to be one of sum, mean or max")
    if mode == "max" and (scale_grad_by_freq or sparse):
        refused = "scaling the gradient by the frequency" if scale_grad_by_freq else "sparse weights"
        raise ValueError(f"max mode does not support {refused}")
    check_implemented(
        factors is None or mode == "sum",
        "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
        "mode='{}').", mode,
    )
    check_implemented(not sparse, "embedding_bag: there are no sparse gradients; leave sparse=False for dense ones")
    check_one_device(*[each._layout for each in (weight, input, offsets, factors) if each is not None])
    for name, tensor in (("indices", input), ("offsets", offsets)):
        if tensor is not None and tensor.dtype not in (int32, int64):
            raise _wrong_type(name, tensor, "one of the following scalar types: Long, Int; but got")
    if not weight.is_floating_point():
        raise _wrong_type("weight", weight, "one of the following scalar types: Float, Double; but got")
    if factors is not None and factors.dtype is not weight.dtype:
        expected = "the same type as tensor for argument #1 'per_sample_weights'; but type"
        raise _wrong_type("weight", weight, expected, f"does not equal {factors._layout.type.name}")


def _wrong_type(name: str, tensor: Tensor, expected: str, instead: str = "instead") -> RuntimeError:
    return RuntimeError(
        f"Expected tensor for argument #1 '{name}' to have {expected} {tensor._layout.type.name} {instead} (while "
        f"checking arguments for embedding_bag) (shape {list(tensor.shape)})"
    )


def _starts(offsets: Tensor, size: int, include_last: bool) -> Tensor:
    """Return the starts of the bags and the end of the last one, for ``size`` row indices.

    Raises:
        RuntimeError: the offsets are invalid.
    """
    array = offsets.detach().cpu().numpy().astype(np.int64)
    if include_last and not array.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    starts: Any = array if include_last else np.append(array, size if array.size else 0)
    if array.size and array[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {array[0]}"
        )
    if array.size and array[-1] > size:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {size} but got offsets[-1] of {array[-1]}"
        )
    falls = np.flatnonzero(np.diff(starts) < 0)
    if falls.size:
        first = falls[0]
        raise RuntimeError(
            f"embedding_bag: offsets must not fall, but offsets[{first}] is {starts[first]} and offsets[{first + 1}] "
            f"is {starts[first + 1]}"
        )
    return from_numpy(starts).to(offsets.device)
