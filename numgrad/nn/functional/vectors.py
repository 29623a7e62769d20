"""Functions along a dimension: softmax and its relatives, layer normalization, normalization to norm 1."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ...autograd.grad_mode import no_grad
from ...ops.creation.factories import empty_like, zeros_like
from ...ops.creation.random_numbers import exponential_
from ...ops.network import normalization as normalization_ops
from ...ops.network import softmax as softmax_ops
from ...ops.network.normalization import rms_norm as rms_norm
from ...ops.table.arguments import tensors_checked
from ...ops.table.checks import check
from ...tensors.tensor import Tensor

__all__ = ["gumbel_softmax", "layer_norm", "log_softmax", "normalize", "rms_norm", "softmax", "softmin"]


@tensors_checked
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Return ``input`` divided by its ``p``-norm along ``dim``, or by ``eps`` if the norm is smaller.

    Args:
        input: floating-point numbers, of any shape.
        p: the order of the norm.
        dim: the dimension, or dimensions, of the vectors.
        eps: the lower bound of the divisor.
        out: a tensor to overwrite with the result, in which case nothing is recorded.

    Raises:
        RuntimeError: the input is not floating-point.
        IndexError: there is no such dimension.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.normalize(numgrad.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    check(
        input.is_floating_point() or input.is_complex(),
        "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}", input.dtype.legacy, input,
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
    """Return ``(input - mean) / sqrt(variance + eps) * weight + bias``, with statistics over the last dimensions.

    The variance is the mean of the squared deviations from the mean.

    Args:
        input: floating-point numbers, of shape (..., *normalized_shape).
        normalized_shape: the sizes of the last dimensions, over which mean and variance are taken.
        weight, bias: of shape ``normalized_shape`` and the input's dtype; None stands for 1 and 0.
        eps: a small number that keeps the divisor from 0.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the input is not floating-point.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.layer_norm(numgrad.tensor([[1.0, 3.0], [2.0, 6.0]]), (2,))
        tensor([[-1.0000,  1.0000],
                [-1.0000,  1.0000]])
    """
    return normalization_ops.layer_norm(input, normalized_shape, weight, bias, eps)


def _dim(name: str, input: Tensor, dim: int | None, stacklevel: int) -> int:
    """Return the given dimension or, with a warning, the one that PyTorch used to choose."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel + 1,  # tensors_checked() is called in between
    )
    return 0 if len(input._layout.shape) in (0, 1, 3) else 1


@tensors_checked
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return ``exp(input)`` divided by its sum along ``dim``.

    Args:
        input: floating-point numbers, of any shape.
        dim: the dimension along which the results sum to 1.
        dtype: the dtype to which the input is converted first.

    Raises:
        IndexError: there is no such dimension.
        NotImplementedError: the input is not floating-point.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.softmax(numgrad.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
    return softmax_ops.softmax(input, _dim("softmax", input, dim, _stacklevel), dtype)


@tensors_checked
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return :func:`softmax` of ``-input``.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.softmin(numgrad.tensor([0.0, 1.0]), dim=0)
        tensor([0.7311, 0.2689])
    """
    return softmax_ops.softmax(-input, _dim("softmin", input, dim, _stacklevel), dtype)


@tensors_checked
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return the logarithm of :func:`softmax`, without its rounding errors.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.log_softmax(numgrad.tensor([0.0, 0.0]), dim=0)
        tensor([-0.6931, -0.6931])
    """
    return softmax_ops.log_softmax(input, _dim("log_softmax", input, dim, _stacklevel), dtype)


@tensors_checked
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Return a differentiable random choice: :func:`softmax` of ``(logits + g) / tau`` with Gumbel noise ``g``.

    Args:
        logits: unnormalized log-probabilities, of any shape.
        tau: the temperature; the lower it is, the closer the result is to a one-hot choice.
        hard: True to return that choice as a one-hot vector, with the gradient of the soft one.
        eps: ignored, accepted for compatibility with PyTorch.
        dim: the dimension along which to choose.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> numgrad.nn.functional.gumbel_softmax(numgrad.zeros(1, 3), hard=True).sum()
        tensor(1.)
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=3)
    noise = -exponential_(empty_like(logits)).log()
    soft = softmax_ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = zeros_like(logits).scatter_(dim, soft.detach().max(dim, keepdim=True)[1], 1.0)
    return chosen - soft.detach() + soft
