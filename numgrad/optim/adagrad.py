"""Adagrad."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ops.creation.factories import full_like
from .checks import check_not_negative, check_rate
from .fused import FusedOptimizer, new_number

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
    """

    _kernel = "adagrad"

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
        check_rate(lr)
        check_not_negative(
            lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value,
            epsilon=eps,
        )
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        })
        for group in self.param_groups:
            for param in group["params"]:
                self._kept(group, param)

    def _kept(self, group: dict[str, Any], param: Tensor) -> tuple[Tensor | None, ...]:
        state = self.state[param]
        if not state:
            start = self.defaults["initial_accumulator_value"]
            state["step"] = new_number()
            state["sum"] = full_like(param, complex(start, start) if param.is_complex() else start)
        return (state["sum"],)

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        return (
            -1.0 if group["maximize"] else 1.0,
            float(group["weight_decay"]),
            float(group["lr"]) / (1.0 + (step - 1.0) * float(group["lr_decay"])),
            float(group["eps"]),
        )
