"""Adafactor: Adam-like steps with factored second moments of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.types import finfo
from ..tensors.tensor import Tensor
from .checks import check_gradient
from .hyperparameters import hyperparameters, learning_rate, within
from .optimizer import Optimizer, evaluated
from .scalars import new_number, number_in, set_number

__all__ = ["Adafactor"]


def _check_eps(name: str, values: tuple[float | None, float]) -> None:
    for number, eps in enumerate(values, 1):
        if eps is not None or number == 2:
            within(0.0, message="{name} should be >= 0 but is: {value}")(f"epsilon{number}", eps)


class Adafactor(Optimizer):
    r"""Adafactor (Shazeer and Stern, 2018): steps scaled by a second moment that is stored as rows and columns.

    For matrices, ``r`` and ``c`` are running means of the squared gradient, averaged over columns and over rows; for
    other parameters, ``v`` is a running mean of the squared gradient itself.  With gradient ``g``, parameter ``p`` of
    ``n`` elements, and norms ``|.|``, a step number ``t`` is::

        w = t**beta2_decay
        a = max(eps2, |p| / sqrt(n)) * min(lr, 1 / sqrt(t))
        p = p - lr * weight_decay * p
        r = r + w * (mean(g**2, -1) - r)            c = c + w * (mean(g**2, -2) - c)
        v = r @ c / max(mean(r), eps1)              (otherwise v = v + w * (g**2 - v))
        u = g / sqrt(max(v, eps1**2))
        p = p - a / max(1, |u| / sqrt(n) / d) * u

    Args:
        params: tensors, named tensors or parameter groups.
        lr: the largest relative step size.
        beta2_decay: the exponent by which the moments' memory grows with the step number.
        eps: ``eps1`` (None: the machine epsilon of the parameter's dtype) and ``eps2``.
        d: the root mean square above which steps are clipped.
        weight_decay: factor of the decay of the parameters.
        foreach: accepted for compatibility with PyTorch.
        maximize: True to ascend the gradient instead of descending it.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> optimizer = numgrad.optim.Adafactor([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ):
        super().__init__(params, hyperparameters(
            locals(), lr=learning_rate("Learning rate should be >= 0 but is: {value}"),
            beta2_decay=within(-math.inf, 0.0, "beta2_decay should be <= 0 but is: {value}"),
            eps=_check_eps,
            d=within(1.0, message="Clipping threshold d should be >= 1 but is: {value}"),
            weight_decay=within(0.0, message="weight_decay should be >= 0 but is: {value}"),
        ))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; return the loss that ``closure``, if given, computes.

        Raises:
            RuntimeError: a parameter is complex, or its gradient has another shape or dtype; no parameter is changed.
        """
        loss = evaluated(closure)
        work = [(group, param) for group in self.param_groups for param in group["params"] if param.grad is not None]
        for _, param in work:
            if param.is_complex():
                raise RuntimeError("Adafactor does not support complex parameters")
            check_gradient(param)
        for group, param in work:
            if param.numel():
                self._update(group, param)
        return loss

    def _initialized_state(self, param: Tensor) -> dict[str, Any]:
        """Return the state of a parameter, initialized if it is empty."""
        state = self.state[param]
        if not state:
            state["step"] = new_number()
            shape = list(param.shape)
            if len(shape) > 1:
                state["row_var"] = param.new_zeros([*shape[:-1], 1])
                state["col_var"] = param.new_zeros([*shape[:-2], 1, shape[-1]])
            else:
                state["variance"] = param.new_zeros(shape)
        return state

    def _update(self, group: dict[str, Any], param: Tensor) -> None:
        state = self._initialized_state(param)
        grad: Any = param.grad
        if group["maximize"]:
            grad = -grad
        root, lr = math.sqrt(param.numel()), float(group["lr"])
        eps1, eps2 = group["eps"]
        eps1 = finfo(param.dtype).eps if eps1 is None else float(eps1)
        step = set_number(state["step"], number_in(state["step"]) + 1)
        weight = step ** float(group["beta2_decay"])
        rate = max(float(eps2), param.norm().item() / root) * min(lr, 1.0 / math.sqrt(step))
        if group["weight_decay"]:
            param.mul_(1.0 - lr * float(group["weight_decay"]))
        square = grad * grad
        if "row_var" in state:
            row = state["row_var"].lerp_(square.mean(-1, keepdim=True), weight)
            column = state["col_var"].lerp_(square.mean(-2, keepdim=True), weight)
            variance = row / row.mean(-2, keepdim=True).clamp(min=eps1) * column
        else:
            variance = state["variance"].lerp_(square, weight)
        change = variance.clamp(min=eps1 * eps1).rsqrt() * grad
        param.add_(change, alpha=-rate / max(1.0, change.norm().item() / (root * float(group["d"]))))
