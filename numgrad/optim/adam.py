"""Adam."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from .checks import check_betas, check_not_negative, check_rate
from .fused import FusedOptimizer, buffer, new_number

__all__ = ["Adam"]


class Adam(FusedOptimizer):
    r"""Adam (Kingma and Ba, 2015): steps scaled by running means of the gradient and of its square.

    With gradient ``g``, parameter ``p``, moments ``m`` and ``v``, a step number ``t`` is::

        g = g + weight_decay * p                    (decoupled: p = p - lr * weight_decay * p)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        p = p - lr * (m / (1 - beta1**t)) / (sqrt(v / (1 - beta2**t)) + eps)

    With ``amsgrad``, the largest ``v`` so far replaces the last one.

    Args:
        params: tensors, named tensors or parameter groups.
        lr: the learning rate.
        betas: the decay rates of the two running means per step.
        eps: a number added to the denominator.
        weight_decay: factor of the L2 penalty, or of the decoupled decay.
        amsgrad: True to use the largest second moment (Reddi et al., 2018).
        foreach, fused, capturable: accepted for compatibility with PyTorch; steps are always fused.
        maximize: True to ascend the gradient instead of descending it.
        differentiable: must be False.
        decoupled_weight_decay: True to decay the parameters themselves, as :class:`AdamW` does.

    Raises:
        ValueError: an option is out of range.
    """

    _kernel = "adam"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ):
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_rate(lr)
        check_not_negative(epsilon=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        if not (all(isinstance(beta, float) for beta in betas) or all(isinstance(beta, Tensor) for beta in betas)):
            raise ValueError("betas must be either both floats or both Tensors")
        super().__init__(params, {
            "lr": lr, "betas": tuple(map(float, betas)), "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable, "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
        })

    def _kept(self, group: dict[str, Any], param: Tensor) -> tuple[Tensor | None, ...]:
        state = self.state[param]
        if not state:
            state["step"] = new_number()
        first, second = buffer(state, "exp_avg", param), buffer(state, "exp_avg_sq", param)
        return first, second, buffer(state, "max_exp_avg_sq", param) if group["amsgrad"] else None

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        beta1, beta2 = map(float, group["betas"])
        rate, decay = float(group["lr"]), float(group["weight_decay"])
        decoupled = group["decoupled_weight_decay"]
        return (
            -1.0 if group["maximize"] else 1.0,
            0.0 if decoupled else decay,
            1.0 - rate * decay if decoupled else 1.0,
            1.0 - beta1,
            beta2,
            1.0 - beta2,
            rate / (1.0 - beta1**step),
            1.0 / math.sqrt(1.0 - beta2**step),
            float(group["eps"]),
        )
