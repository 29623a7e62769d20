"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ..tensors.tensor import Tensor
from .fused import FusedOptimizer
from .hyperparameters import NOT_NEGATIVE, RATE, hyperparameters
from .scalars import number_in, set_number, slope_numbers

__all__ = ["ASGD"]


class ASGD(FusedOptimizer):
    r"""Averaged stochastic gradient descent (Polyak and Juditsky, 1992).

    With gradient ``g``, parameter ``p`` and average ``a``, a step number ``t`` is::

        g = g + weight_decay * p
        p = (1 - lambd * eta) * p - eta * g
        a = a + mu * (p - a)
        eta = lr / (1 + lambd * lr * t)**alpha      (lr before the first step)
        mu = 1 / max(1, t - t0)                     (1 before the first step)

    The average is ``optimizer.state[p]["ax"]``.

    Args:
        params: tensors, named tensors or parameter groups.
        lr: the learning rate.
        lambd: the rate at which the parameters and the learning rate decay.
        alpha: the exponent of the learning rate's decay.
        t0: the step after which averaging begins.
        weight_decay: factor of the L2 penalty.
        foreach, capturable: accepted for compatibility with PyTorch; steps are always fused.
        maximize: True to ascend the gradient instead of descending it.
        differentiable: must be False.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> optimizer = numgrad.optim.ASGD([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.8000], requires_grad=True)
    """

    _kernel = "asgd"
    _scalars = "step", "eta", "mu"
    _tensors = ("ax",)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ):
        super().__init__(params, hyperparameters(locals(), lr=RATE, weight_decay=NOT_NEGATIVE))

    def _initial_values(self, group: dict[str, Any]) -> dict[str, float]:
        return {"eta": float(group["lr"]), "mu": 1.0}

    def _count(self, group: dict[str, Any], param: Tensor, buffers: tuple[Tensor | None, ...]) -> Any:
        """Return the learning rate and the averaging share of this step, and store those of the next one."""
        step = super()._count(group, param, buffers)
        state = self.state[param]
        now = number_in(state["eta"]), number_in(state["mu"])
        rate = float(group["lr"])
        set_number(state["eta"], rate / (1.0 + float(group["lambd"]) * rate * step) ** float(group["alpha"]))
        set_number(state["mu"], 1.0 / max(1.0, step - float(group["t0"])))
        return now

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        eta, mu = step
        return *slope_numbers(group), 1.0 - float(group["lambd"]) * eta, eta, mu
