"""RMSprop: steps divided by the root of a running mean of squared gradients."""

from __future__ import annotations

from typing import Any

from .fused import FusedOptimizer
from .hyperparameters import EPSILON, NOT_NEGATIVE, RATE, hyperparameters
from .scalars import slope_numbers

__all__ = ["RMSprop"]


class RMSprop(FusedOptimizer):
    r"""RMSprop (Hinton, 2012): steps divided by the root of a running mean of the squared gradient.

    With gradient ``g``, parameter ``p``, running mean ``s`` and velocity ``v``, a step is::

        g = g + weight_decay * p
        s = alpha * s + (1 - alpha) * g**2
        v = momentum * v + g / (sqrt(s) + eps)
        p = p - lr * v

    With ``centered``, ``s`` is replaced by ``s`` minus the square of the gradient's own running mean.

    Args:
        params: tensors, named tensors or parameter groups.
        lr: the learning rate.
        alpha: the decay rate of the running means per step.
        eps: a number added to the denominator.
        weight_decay: factor of the L2 penalty.
        momentum: the part of the velocity that is kept at each step.
        centered: True to divide by the root of an estimate of the gradient's variance (Graves, 2013).
        capturable, foreach: accepted for compatibility with PyTorch; steps are always fused.
        maximize: True to ascend the gradient instead of descending it.
        differentiable: must be False.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> optimizer = numgrad.optim.RMSprop([x], lr=0.01)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.9000], requires_grad=True)
    """

    _kernel = "rmsprop"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, hyperparameters(
            locals(), lr=RATE, eps=EPSILON, momentum=NOT_NEGATIVE, weight_decay=NOT_NEGATIVE, alpha=NOT_NEGATIVE,
        ))

    def _buffer_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        velocity = "momentum_buffer" if group["momentum"] > 0 else None
        return "square_avg", velocity, "grad_avg" if group["centered"] else None

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        alpha = float(group["alpha"])
        return (
            *slope_numbers(group),
            alpha,
            1.0 - alpha,
            float(group["eps"]),
            float(group["lr"]),
            float(group["momentum"]),
        )
