"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

import math
from typing import Any

from ..tensors.tensor import Tensor
from .fused import FusedOptimizer
from .hyperparameters import EPSILON, NOT_NEGATIVE, RATE, check_betas, hyperparameters
from .scalars import moment_numbers, number_in, set_number

__all__ = ["NAdam"]


class NAdam(FusedOptimizer):
    r"""NAdam (Dozat, 2016): Adam with Nesterov momentum, which looks ahead by one step.

    With gradient ``g``, parameter ``p``, moments ``m`` and ``v``, a step number ``t`` is::

        g = g + weight_decay * p                    (decoupled: p = p - lr * weight_decay * p)
        mu(t) = beta1 * (1 - 0.96**(t * momentum_decay) / 2)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        d = (1 - mu(t)) / (1 - mu(1)...mu(t)) * g + mu(t + 1) / (1 - mu(1)...mu(t + 1)) * m
        p = p - lr * d / (sqrt(v / (1 - beta2**t)) + eps)

    Args:
        params: tensors, named tensors or parameter groups.
        lr: the learning rate.
        betas: the decay rates of the two running means per step.
        eps: a number added to the denominator.
        weight_decay: factor of the L2 penalty, or of the decoupled decay.
        momentum_decay: the rate at which the momentum rises to its final value.
        decoupled_weight_decay: True to decay the parameters themselves, as :class:`AdamW` does.
        foreach, capturable: accepted for compatibility with PyTorch; steps are always fused.
        maximize: True to ascend the gradient instead of descending it.
        differentiable: must be False.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> optimizer = numgrad.optim.NAdam([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.8944], requires_grad=True)
    """

    _kernel = "nadam"
    _scalars = "step", "mu_product"
    _tensors = "exp_avg", "exp_avg_sq"

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, hyperparameters(
            locals(), lr=RATE, eps=EPSILON, betas=check_betas, weight_decay=NOT_NEGATIVE, momentum_decay=NOT_NEGATIVE,
        ))

    def _initial_values(self, group: dict[str, Any]) -> dict[str, float]:
        return {"mu_product": 1.0}

    def _count(self, group: dict[str, Any], param: Tensor, buffers: tuple[Tensor | None, ...]) -> Any:
        step = super()._count(group, param, buffers)
        product = self.state[param]["mu_product"]
        momentum = product._layout.type.dtype.compute.numpy.type(_momentum(group, step))  # rounded like the product
        return step, set_number(product, number_in(product) * momentum)

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        step, product = step
        rate, following = float(group["lr"]), _momentum(group, step + 1)
        return (
            *moment_numbers(group),
            rate * (1.0 - _momentum(group, step)) / (1.0 - product),
            rate * following / (1.0 - product * following),
            1.0 / math.sqrt(1.0 - float(group["betas"][1]) ** step),
            float(group["eps"]),
        )


def _momentum(group: dict[str, Any], step: float) -> float:
    """Return ``mu(step)``."""
    return float(group["betas"][0]) * (1.0 - 0.5 * 0.96 ** (step * float(group["momentum_decay"])))
