"""Adam: steps by running means of the gradients and of their squares."""

from __future__ import annotations

import math
from typing import Any

from ..tensors.tensor import Tensor
from .fused import FusedOptimizer
from .hyperparameters import EPSILON, NOT_NEGATIVE, RATE, check_betas, hyperparameters
from .scalars import moment_numbers

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

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> optimizer = numgrad.optim.Adam([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.9000], requires_grad=True)
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
        options = hyperparameters(locals(), lr=RATE, eps=EPSILON, betas=check_betas, weight_decay=NOT_NEGATIVE)
        if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        super().__init__(params, {**options, "betas": tuple(map(float, betas))})

    def _buffer_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return "exp_avg", "exp_avg_sq", "max_exp_avg_sq" if group["amsgrad"] else None

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        beta1, beta2 = map(float, group["betas"])
        return (
            *moment_numbers(group),
            float(group["lr"]) / (1.0 - beta1**step),
            1.0 / math.sqrt(1.0 - beta2**step),
            float(group["eps"]),
        )
