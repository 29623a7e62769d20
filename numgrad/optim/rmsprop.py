"""RMSprop."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from .checks import check_not_negative, check_rate
from .fused import FusedOptimizer, buffer, new_number

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
        check_rate(lr)
        check_not_negative(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        })

    def _kept(self, group: dict[str, Any], param: Tensor) -> tuple[Tensor | None, ...]:
        state = self.state[param]
        if not state:
            state["step"] = new_number()
        square = buffer(state, "square_avg", param)
        velocity = buffer(state, "momentum_buffer", param) if group["momentum"] > 0 else None
        mean = buffer(state, "grad_avg", param) if group["centered"] else None
        return square, mean, velocity

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        alpha = float(group["alpha"])
        return (
            -1.0 if group["maximize"] else 1.0,
            float(group["weight_decay"]),
            alpha,
            1.0 - alpha,
            float(group["eps"]),
            float(group["lr"]),
            float(group["momentum"]),
        )
