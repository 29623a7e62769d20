"""RAdam: Adam that rectifies the variance of its first steps."""

from __future__ import annotations

import math
from typing import Any

from .fused import FusedOptimizer
from .hyperparameters import EPSILON, NOT_NEGATIVE, RATE, check_betas, hyperparameters
from .scalars import moment_numbers

__all__ = ["RAdam"]


class RAdam(FusedOptimizer):
    r"""RAdam (Liu et al., 2020): Adam that ignores the second moment until it is known accurately enough.

    With gradient ``g``, parameter ``p``, moments ``m`` and ``v``, a step number ``t`` is::

        g = g + weight_decay * p                    (decoupled: p = p - lr * weight_decay * p)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        rho(t) = R - 2 * t * beta2**t / (1 - beta2**t)             with R = 2 / (1 - beta2) - 1
        r = sqrt((rho(t) - 4) * (rho(t) - 2) * R / ((R - 4) * (R - 2) * rho(t)))
        d = r * sqrt(1 - beta2**t) / (sqrt(v) + eps) if rho(t) > 5 else 1
        p = p - lr * m / (1 - beta1**t) * d

    Args:
        params: tensors, named tensors or parameter groups.
        lr: the learning rate.
        betas: the decay rates of the two running means per step.
        eps: a number added to the denominator.
        weight_decay: factor of the L2 penalty, or of the decoupled decay.
        decoupled_weight_decay: True to decay the parameters themselves, as :class:`AdamW` does.
        foreach, capturable: accepted for compatibility with PyTorch; steps are always fused.
        maximize: True to ascend the gradient instead of descending it.
        differentiable: must be False.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> optimizer = numgrad.optim.RAdam([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.8000], requires_grad=True)
    """

    _kernel = "radam"
    _tensors = "exp_avg", "exp_avg_sq"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, hyperparameters(
            locals(), lr=RATE, eps=EPSILON, betas=check_betas, weight_decay=NOT_NEGATIVE,
        ))

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        beta1, beta2 = map(float, group["betas"])
        rectification = _rectification(beta2, step)
        scale = 1.0 if rectification is None else rectification * math.sqrt(1.0 - beta2**step)
        return (
            *moment_numbers(group),
            float(group["lr"]) / (1.0 - beta1**step) * scale,
            0.0 if rectification is None else 1.0,
            float(group["eps"]),
        )


def _rectification(beta2: float, step: float) -> float | None:
    """Return the factor ``r`` of a step that uses the second moment; None if the step ignores it."""
    last = 2.0 / (1.0 - beta2) - 1.0
    length = last - 2.0 * step * beta2**step / (1.0 - beta2**step)
    if length <= 5.0:
        return None
    return math.sqrt((length - 4.0) * (length - 2.0) * last / ((last - 4.0) * (last - 2.0) * length))
