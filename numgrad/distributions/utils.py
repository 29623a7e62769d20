"""Shared parts of distributions: broadcast parameters, conversion of probabilities and logits, cached attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import enable_grad
from ..core.types import finfo, get_default_dtype
from ..ops.creation.factories import empty, zeros
from ..ops.creation.from_data import tensor
from ..ops.indexing.masking import tril_indices
from ..ops.network.softmax import softmax
from ..ops.pointwise.exponential import log, log1p, sigmoid
from ..ops.shapes.broadcasting import broadcast_tensors
from ..tensors.tensor import Tensor

__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs", "probs_to_logits",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]


#: The constant of Euler and Mascheroni.
euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Return the values as tensors of one shape.

    Numbers get the dtype and device of the first tensor, or the default ones if there is none.

    Raises:
        ValueError: a value is neither a tensor nor a number.
    """
    for value in values:
        if not isinstance(value, Tensor | float | int):
            raise ValueError(f"Input arguments must all be instances of Number or torch.Tensor, not {type(value)}")
    first_tensor = next((value for value in values if isinstance(value, Tensor)), None)
    dtype, device = (get_default_dtype(), None) if first_tensor is None else (first_tensor.dtype, first_tensor.device)
    return tuple(broadcast_tensors(*[
        value if isinstance(value, Tensor) else tensor(value, dtype=dtype, device=device) for value in values
    ]))  # fmt: skip


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return probabilities, from log odds if ``is_binary``, otherwise by softmax over the last dimension."""
    return sigmoid(logits) if is_binary else softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Return probabilities clamped so that their distance to 0 and 1 is at least the machine epsilon of their dtype."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def clipped(probs: Tensor) -> Tensor:
    """Return probabilities clamped to those that have a finite logit in their dtype."""
    info = finfo(probs.dtype)
    return probs.clamp(info.tiny, 1 - info.eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return the inverse of :func:`logits_to_probs`, for probabilities clamped by :func:`clamp_probs`."""
    probs = clamp_probs(probs)
    return log(probs) - log1p(-probs) if is_binary else log(probs)


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """Return the sum over the last ``dim`` dimensions."""
    return value if dim == 0 else value.flatten(-dim).sum(-1)


_sum_rightmost = sum_rightmost  # PyTorch's name


def standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Tensor:
    """Return standard normal numbers."""
    return empty(shape, dtype=dtype, device=device).normal_()


_standard_normal = standard_normal  # PyTorch's name


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the elements of square matrices on and below a diagonal, row after row.

    Raises:
        ValueError: ``diag`` is not the number of a diagonal.
    """
    size = mat.shape[-1]
    if not -size < diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    rows, columns = tril_indices(size, size, diag, device=mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return square matrices with given elements on and below a diagonal, row after row, and zeros elsewhere.

    Raises:
        ValueError: no square matrix has that many elements there.
    """
    count, size = vec.shape[-1], 1
    while _elements_below(size, diag) < count:
        size += 1
    if _elements_below(size, diag) != count:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a square "
            "D x D matrix."
        )
    rows, columns = tril_indices(size, size, diag, device=vec.device)
    places = (rows * size + columns).expand(vec.shape)
    flat = zeros((*vec.shape[:-1], size * size), dtype=vec.dtype, device=vec.device)
    return flat.scatter(-1, places, vec).unflatten(-1, (size, size))


def _elements_below(size: int, diag: int) -> int:
    """Return the number of elements on and below a diagonal."""
    return sum(min(max(row + diag + 1, 0), size) for row in range(size))


class lazy_property:  # noqa: N801 - PyTorch's name
    """An attribute that a method computes at the first access, with gradients, and that is then cached."""

    def __init__(self, wrapped: Callable[[Any], Any]):
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value
