"""Scores as probabilities: softmax and its relatives."""

from __future__ import annotations

import warnings
from typing import Any

from ...core.tensor import Tensor
from ...ops.creation.filled import empty_like, zeros_like
from ...ops.creation.random_tensors import exponential_
from ...ops.network import softmax as ops
from ...ops.table.arguments import tensors_checked

__all__ = ["gumbel_softmax", "log_softmax", "softmax", "softmin"]


def _dim(name: str, input: Tensor, dim: int | None, stacklevel: int) -> int:
    """The dimension given, or, with a warning, the one that PyTorch used to choose."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel + 1,  # tensors_checked() is called in between
    )
    return 0 if len(input._layout.shape) in (0, 1, 3) else 1


@tensors_checked
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``exp(input)`` divided by its sum along ``dim``.

    Args:
        input: floating-point numbers, of any shape.
        dim: the dimension along which the results sum to 1.
        dtype: what the input is converted to first.

    Raises:
        IndexError: there is no such dimension.
        NotImplementedError: the input is not of floating-point numbers.
    """
    return ops.softmax(input, _dim("softmax", input, dim, _stacklevel), dtype)


@tensors_checked
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """:func:`softmax` of ``-input``."""
    return ops.softmax(-input, _dim("softmin", input, dim, _stacklevel), dtype)


@tensors_checked
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of :func:`softmax`, without its rounding."""
    return ops.log_softmax(input, _dim("log_softmax", input, dim, _stacklevel), dtype)


@tensors_checked
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A random choice that has a gradient: :func:`softmax` of ``(logits + g) / tau``, ``g`` being Gumbel noise.

    Args:
        logits: unnormalized log-probabilities, of any shape.
        tau: the temperature; the lower, the nearer the result is to a choice of one.
        hard: whether the result is that choice, as zeros and a one, with the gradient of the soft one.
        eps: without meaning, taken because PyTorch takes it.
        dim: the dimension to choose along.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=3)
    noise = -exponential_(empty_like(logits)).log()
    soft = ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = zeros_like(logits).scatter_(dim, soft.detach().max(dim, keepdim=True)[1], 1.0)
    return chosen - soft.detach() + soft
