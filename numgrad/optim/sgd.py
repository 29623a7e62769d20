"""Stochastic gradient descent, with momentum and weight decay."""

from __future__ import annotations

from typing import Any

from ..ops.creation.factories import zeros_like
from ..tensors.tensor import Tensor
from .fused import FusedOptimizer
from .hyperparameters import hyperparameters, learning_rate, within
from .scalars import slope_numbers

__all__ = ["SGD"]

_RATE, _FACTOR = learning_rate(nan=True), within(0.0, nan=True)  # as in PyTorch, where no other optimizer accepts NaN


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
        ValueError: an option is negative, or ``nesterov`` is set without momentum.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> optimizer = numgrad.optim.SGD([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.8000], requires_grad=True)
    """

    _kernel = "sgd"
    _scalars = ()

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
        super().__init__(params, hyperparameters(locals(), lr=_RATE, momentum=_FACTOR, weight_decay=_FACTOR))
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def _buffer_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return ("momentum_buffer" if group["momentum"] else None,)

    def _buffers(
        self, group: dict[str, Any], param: Tensor, names: tuple[str | None, ...]
    ) -> tuple[Tensor | None, ...]:
        """Return the velocity, which belongs to the state only once a step has filled it."""
        if names == (None,):
            return (None,)
        velocity = self.state[param].get("momentum_buffer")
        return (zeros_like(param) if velocity is None else velocity,)

    def _count(self, group: dict[str, Any], param: Tensor, buffers: tuple[Tensor | None, ...]) -> Any:
        """Return True in the first step that fills the velocity."""
        if buffers[0] is None:
            return False
        state = self.state[param]
        is_first = state.get("momentum_buffer") is None
        state["momentum_buffer"] = buffers[0]
        return is_first

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        momentum = float(group["momentum"])
        return (
            *slope_numbers(group),
            float(group["lr"]),
            0.0 if step else momentum,
            1.0 if step else 1.0 - float(group["dampening"]),
            momentum if group["nesterov"] else 0.0,
        )
