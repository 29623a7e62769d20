"""Adagrad: steps divided by the root of the sum of squared gradients."""

from __future__ import annotations

from typing import Any

from .fused import FusedOptimizer
from .hyperparameters import EPSILON, NOT_NEGATIVE, RATE, hyperparameters
from .scalars import slope_numbers

__all__ = ["Adagrad"]


class Adagrad(FusedOptimizer):
    r"""Adagrad (Duchi et al., 2011): steps divided by the root of the sum of all squared gradients.

    With gradient ``g``, parameter ``p`` and sum ``s``, a step number ``t`` is::

        g = g + weight_decay * p
        s = s + g**2
        p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)

    Args:
        params: tensors, named tensors or parameter groups.
        lr: the learning rate.
        lr_decay: the rate at which the learning rate decreases with the number of steps.
        weight_decay: factor of the L2 penalty.
        initial_accumulator_value: the initial value of the sums.
        eps: a number added to the denominator.
        foreach, fused: accepted for compatibility with PyTorch; steps are always fused.
        maximize: True to ascend the gradient instead of descending it.
        differentiable: must be False.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> optimizer = numgrad.optim.Adagrad([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.9000], requires_grad=True)
    """

    _kernel = "adagrad"
    _tensors = ("sum",)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        super().__init__(params, hyperparameters(
            locals(), lr=RATE, lr_decay=NOT_NEGATIVE, weight_decay=NOT_NEGATIVE, initial_accumulator_value=NOT_NEGATIVE,
            eps=EPSILON,
        ))
        for group in self.param_groups:
            for param in group["params"]:
                self._buffers(group, param, self._buffer_names(group))

    def _initial_values(self, group: dict[str, Any]) -> dict[str, float]:
        return {"sum": self.defaults["initial_accumulator_value"]}

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        return (
            *slope_numbers(group),
            float(group["lr"]) / (1.0 + (step - 1.0) * float(group["lr_decay"])),
            float(group["eps"]),
        )
