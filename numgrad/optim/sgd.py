"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ops.creation.factories import zeros_like
from .checks import check_rate
from .fused import FusedOptimizer

__all__ = ["SGD"]


class SGD(FusedOptimizer):
    r"""Stochastic gradient descent, optionally with momentum.

    With gradient ``g``, parameter ``p`` and velocity ``v``, a step is::

        g = g + weight_decay * p
        v = momentum * v + (1 - dampening) * g      (v = g in the first step)
        p = p - lr * v                              (nesterov: p - lr * (g + momentum * v))

    Args:
        params: tensors, named tensors or parameter groups.
        lr: the learning rate.
        momentum: the part of the velocity that is kept at each step.
        dampening: the part of the gradient that does not enter the velocity.
        weight_decay: factor of the L2 penalty.
        nesterov: True to look ahead by one step (Sutskever et al., 2013).
        maximize: True to ascend the gradient instead of descending it.
        foreach, fused: accepted for compatibility with PyTorch; steps are always fused.
        differentiable: must be False.

    Raises:
        ValueError: an option is out of range, or ``nesterov`` is set without momentum.
    """

    _kernel = "sgd"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        check_rate(lr)
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable,
            "fused": fused,
        })

    def _kept(self, group: dict[str, Any], param: Tensor) -> tuple[Tensor | None, ...]:
        if not group["momentum"]:
            return (None,)
        velocity = self.state[param].get("momentum_buffer")
        return (zeros_like(param) if velocity is None else velocity,)

    def _advanced(self, group: dict[str, Any], param: Tensor, kept: tuple[Tensor | None, ...]) -> Any:
        """Return True in the first step that fills the velocity."""
        if kept[0] is None:
            return False
        state = self.state[param]
        first = state.get("momentum_buffer") is None
        state["momentum_buffer"] = kept[0]
        return first

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        return (
            -1.0 if group["maximize"] else 1.0,
            float(group["weight_decay"]),
            float(group["lr"]),
            float(group["momentum"]),
            1.0 if step else 1.0 - float(group["dampening"]),
            float(group["nesterov"]),
        )
