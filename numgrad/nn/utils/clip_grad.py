"""Gradient clipping.

``foreach`` is accepted for compatibility with PyTorch and has no effect.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Generator, Iterable

from ...autograd.grad_mode import no_grad
from ...ops.creation.from_data import tensor
from ...ops.shapes.joining import stack
from ...tensors.tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _listed(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [parameter.grad for parameter in _listed(parameters) if parameter.grad is not None]


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all tensors as one vector, a 0-d tensor; ``norm_type`` may be infinity.

    Raises:
        RuntimeError: ``error_if_nonfinite`` is set and the norm is infinite or NaN.

    Example:
        >>> import numgrad
        >>> numgrad.nn.utils.get_total_norm([numgrad.tensor([3.0]), numgrad.tensor([4.0])])
        tensor(5.)
    """
    tensors = _listed(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return tensor(0.0)
    norms = [tensor.norm(norm_type).to(tensors[0].device) for tensor in tensors]
    total = norms[0] if len(norms) == 1 else stack(norms)
    total = total.norm(norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients, whose norm is ``total_norm``, so that it is at most ``max_norm``."""
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in _gradients(parameters):
        gradient.mul_(scale.to(gradient.device))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients so that their total norm is at most ``max_norm``; return the norm before scaling.

    Raises:
        RuntimeError: ``error_if_nonfinite`` is set and the norm is infinite or NaN.

    Example:
        >>> import numgrad
        >>> w = numgrad.tensor([3.0, 4.0], requires_grad=True)
        >>> (w * w).sum().backward()
        >>> numgrad.nn.utils.clip_grad_norm_([w], 1.0)
        tensor(10.)
        >>> w.grad
        tensor([0.6000, 0.8000])
    """
    generated = isinstance(parameters, Generator)
    parameters = _listed(parameters)
    if generated and not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Call :func:`clip_grad_norm_` after a FutureWarning, because the name is deprecated."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clamp every element of the gradients to ``[-clip_value, clip_value]``.

    Example:
        >>> import numgrad
        >>> x = numgrad.zeros(2, requires_grad=True)
        >>> (x * numgrad.tensor([0.5, 5.0])).sum().backward()
        >>> numgrad.nn.utils.clip_grad_value_([x], 1.0)
        >>> x.grad
        tensor([0.5000, 1.0000])
    """
    for gradient in _gradients(parameters):
        gradient.clamp_(min=-float(clip_value), max=float(clip_value))
