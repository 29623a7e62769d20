"""Along a dimension: softmax and its relatives, layer normalization, norms of 1."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor
from ...ops.creation.factories import empty_like, zeros_like
from ...ops.creation.random_numbers import exponential_
from ...ops.network import normalization as normalization_ops
from ...ops.network import softmax as softmax_ops
from ...ops.network.normalization import rms_norm as rms_norm
from ...ops.table.arguments import tensors_checked

__all__ = ["gumbel_softmax", "layer_norm", "log_softmax", "normalize", "rms_norm", "softmax", "softmin"]


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
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """``(input - mean) / sqrt(variance + eps) * weight + bias``, over the last dimensions.

    The variance is the mean of the squared distances from the mean.

    Args:
        input: floating-point numbers, of shape (..., *normalized_shape).
        normalized_shape: the sizes of the last dimensions, over which mean and variance are taken.
        weight, bias: of ``normalized_shape`` and the input's dtype; none stands for 1 and 0.
        eps: keeps the divisor from 0.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the input is not of floating-point numbers.
    """
    return normalization_ops.layer_norm(input, normalized_shape, weight, bias, eps)


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
    return softmax_ops.softmax(input, _dim("softmax", input, dim, _stacklevel), dtype)


@tensors_checked
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """:func:`softmax` of ``-input``."""
    return softmax_ops.softmax(-input, _dim("softmin", input, dim, _stacklevel), dtype)


@tensors_checked
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of :func:`softmax`, without its rounding."""
    return softmax_ops.log_softmax(input, _dim("log_softmax", input, dim, _stacklevel), dtype)


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
    soft = softmax_ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = zeros_like(logits).scatter_(dim, soft.detach().max(dim, keepdim=True)[1], 1.0)
    return chosen - soft.detach() + soft
