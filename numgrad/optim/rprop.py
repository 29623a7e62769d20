"""Rprop: steps from the signs of gradients alone."""

from __future__ import annotations

from typing import Any

from .fused import FusedOptimizer
from .hyperparameters import RATE, hyperparameters

__all__ = ["Rprop"]


class Rprop(FusedOptimizer):
    r"""Resilient backpropagation (Riedmiller and Braun, 1993): steps by the gradient's signs alone, for full batches.

    With gradient ``g``, previous gradient ``h``, parameter ``p`` and step size ``s``, a step is::

        s = s * (etas[1] where g * h > 0, etas[0] where g * h < 0, else 1)
        s = min(max(s, step_sizes[0]), step_sizes[1])
        g = 0 where g * h < 0, else g
        p = p - sign(g) * s

    Args:
        params: tensors, named tensors or parameter groups.
        lr: the initial step size.
        etas: the factors of the step size where the gradient has changed its sign, and where it has not.
        step_sizes: the minimum and the maximum step size.
        foreach, capturable: accepted for compatibility with PyTorch; steps are always fused.
        maximize: True to ascend the gradient instead of descending it.
        differentiable: must be False.

    Raises:
        ValueError: an option is out of range.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> optimizer = numgrad.optim.Rprop([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.9000], requires_grad=True)
    """

    _kernel = "rprop"
    _tensors = "prev", "step_size"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, hyperparameters(locals(), lr=RATE))
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")

    def _initial_values(self, group: dict[str, Any]) -> dict[str, float]:
        return {"step_size": float(group["lr"])}

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        return (-1.0 if group["maximize"] else 1.0, *map(float, group["etas"]), *map(float, group["step_sizes"]))
