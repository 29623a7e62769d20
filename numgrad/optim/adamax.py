"""Adamax: Adam with the largest gradient instead of the mean of squares."""

from __future__ import annotations

from typing import Any

from .fused import FusedOptimizer
from .hyperparameters import EPSILON, NOT_NEGATIVE, RATE, check_betas, hyperparameters
from .scalars import slope_numbers

__all__ = ["Adamax"]


class Adamax(FusedOptimizer):
    r"""Adamax (Kingma and Ba, 2015): Adam with a slowly decaying maximum of the gradient instead of the squares.

    With gradient ``g``, parameter ``p``, running mean ``m`` and maximum ``u``, a step number ``t`` is::

        g = g + weight_decay * p
        m = beta1 * m + (1 - beta1) * g
        u = max(beta2 * u, abs(g) + eps)
        p = p - lr / (1 - beta1**t) * m / u

    Args:
        params: tensors, named tensors or parameter groups.
        lr: the learning rate.
        betas: the decay rates of the running mean and of the maximum per step.
        eps: a number added to the gradient's magnitude.
        weight_decay: factor of the L2 penalty.
        foreach, capturable: accepted for compatibility with PyTorch; steps are always fused.
        maximize: True to ascend the gradient instead of descending it.
        differentiable: must be False.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> optimizer = numgrad.optim.Adamax([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.9000], requires_grad=True)
    """

    _kernel = "adamax"
    _tensors = "exp_avg", "exp_inf"

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ):
        super().__init__(params, hyperparameters(
            locals(), lr=RATE, eps=EPSILON, betas=check_betas, weight_decay=NOT_NEGATIVE,
        ))

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        beta1, beta2 = map(float, group["betas"])
        rate = float(group["lr"]) / (1.0 - beta1**step)
        return *slope_numbers(group), 1.0 - beta1, beta2, float(group["eps"]), rate
