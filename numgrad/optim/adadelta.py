"""Adadelta: steps scaled by running means of squared gradients and changes."""

from __future__ import annotations

from typing import Any

from .fused import FusedOptimizer
from .hyperparameters import EPSILON, NOT_NEGATIVE, RATE, hyperparameters, within
from .scalars import slope_numbers

__all__ = ["Adadelta"]


class Adadelta(FusedOptimizer):
    r"""Adadelta (Zeiler, 2012): steps scaled by running means of squared gradients and of squared changes.

    With gradient ``g``, parameter ``p`` and running means ``s`` and ``c``, a step is::

        g = g + weight_decay * p
        s = rho * s + (1 - rho) * g**2
        d = sqrt(c + eps) / sqrt(s + eps) * g
        c = rho * c + (1 - rho) * d**2
        p = p - lr * d

    Args:
        params: tensors, named tensors or parameter groups.
        lr: a factor of the steps.
        rho: the decay rate of the running means per step.
        eps: a number added under the roots.
        weight_decay: factor of the L2 penalty.
        foreach, capturable: accepted for compatibility with PyTorch; steps are always fused.
        maximize: True to ascend the gradient instead of descending it.
        differentiable: must be False.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> optimizer = numgrad.optim.Adadelta([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.9997], requires_grad=True)
    """

    _kernel = "adadelta"
    _tensors = "square_avg", "acc_delta"

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, hyperparameters(
            locals(), lr=RATE, rho=within(0.0, 1.0), eps=EPSILON, weight_decay=NOT_NEGATIVE,
        ))

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        rho = float(group["rho"])
        return *slope_numbers(group), rho, 1.0 - rho, float(group["eps"]), float(group["lr"])
