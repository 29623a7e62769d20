"""Muon: momentum with orthogonalized updates of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import no_grad
from ..ops.creation.factories import zeros_like
from ..ops.matrices.addmm import addmm
from ..tensors.tensor import Tensor
from .checks import check_gradient
from .hyperparameters import hyperparameters, learning_rate, within
from .optimizer import Optimizer, evaluated

__all__ = ["Muon"]


class Muon(Optimizer):
    r"""Muon (Jordan et al., 2024): steps of matrices along their momentum, made nearly orthogonal.

    With gradient ``g``, parameter ``p`` and velocity ``v``, a step is::

        v = v + (1 - momentum) * (g - v)
        u = g + momentum * (v - g) if nesterov else v
        x = u / max(|u|, eps)
        x = a * x + (b * x @ x.T + c * (x @ x.T) @ (x @ x.T)) @ x            (ns_steps times)
        p = (1 - lr * weight_decay) * p - adjusted * x

    The iteration (Newton-Schulz, with coefficients ``a``, ``b`` and ``c``) brings all singular values close to 1.  It
    is computed in the parameters' own dtype.  PyTorch computes it in bfloat16, so its steps are rounded to two or three
    digits.

    Args:
        params: matrices, named matrices or parameter groups.
        lr: the learning rate.
        weight_decay: factor of the decay of the parameters.
        momentum: the part of the velocity that is kept at each step.
        nesterov: True to look ahead by one step.
        ns_coefficients: ``a``, ``b`` and ``c``.
        eps: the lower bound of the norm used as a divisor.
        ns_steps: the number of iterations.
        adjust_lr_fn: the factor of the learning rate for ``rows`` x ``columns``: "original" or None,
            ``sqrt(max(1, rows / columns))``; "match_rms_adamw", ``0.2 * sqrt(max(rows, columns))``.

    Raises:
        ValueError: an option is out of range, or a parameter is not a matrix.

    Example:
        >>> import numgrad
        >>> matrix = numgrad.eye(2).requires_grad_()
        >>> optimizer = numgrad.optim.Muon([matrix], lr=0.1, weight_decay=0.0)
        >>> (matrix * matrix).sum().backward()
        >>> optimizer.step()
        >>> matrix.shape
        torch.Size([2, 2])
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ):
        super().__init__(params, hyperparameters(
            locals(), lr=learning_rate("Learning rate should be >= 0 but is: {value}"),
            momentum=within(0.0, message="momentum should be >= 0 but is: {value}"),
            weight_decay=within(0.0, message="weight decay should be >= 0 but is: {value}"),
        ))
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        for group in self.param_groups:
            for param in group["params"]:
                _check_matrix(param)

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; return the loss that ``closure``, if given, computes.

        Raises:
            RuntimeError: a parameter is complex, or its gradient has another shape or dtype.
            ValueError: a parameter is not a matrix, or the options of the iteration are out of range.  In either case
                no parameter is changed.
        """
        loss = evaluated(closure)
        work = [(group, param) for group in self.param_groups for param in group["params"] if param.grad is not None]
        for group, param in work:
            if param.is_complex():
                raise RuntimeError("Muon does not support complex parameters")
            _check_matrix(param)
            check_gradient(param)
            if group["ns_steps"] >= 100:
                raise ValueError("Number of steps must be less than 100 for computational efficiency")
            if len(group["ns_coefficients"]) != 3:
                raise ValueError("Coefficients must be a tuple of exactly 3 values")
        for group, param in work:
            self._update(group, param)
        return loss

    def _update(self, group: dict[str, Any], param: Tensor) -> None:
        lr, momentum = float(group["lr"]), float(group["momentum"])
        grad: Any = param.grad
        state = self.state[param]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = zeros_like(param)
        velocity = state["momentum_buffer"].lerp_(grad, 1.0 - momentum)
        change = grad.lerp(velocity, momentum) if group["nesterov"] else velocity
        change = _orthogonal(change, group["ns_coefficients"], group["ns_steps"], float(group["eps"]))
        param.mul_(1.0 - lr * float(group["weight_decay"]))
        param.add_(change, alpha=-lr * _adjustment(group["adjust_lr_fn"], *param.shape))


def _check_matrix(param: Tensor) -> None:
    if param.dim() != 2:
        raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}")


def _orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Return a matrix with the same singular vectors and singular values close to 1."""
    a, b, c = map(float, coefficients)
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _adjustment(name: str | None, rows: int, columns: int) -> float:
    """Return the factor of the learning rate for a matrix of this size."""
    if name == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1.0, rows / columns)) if columns else 1.0
