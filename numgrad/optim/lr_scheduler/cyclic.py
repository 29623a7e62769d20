"""Learning rates that rise and fall periodically."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .base import MomentumScheduler, check_optimizer, for_each_group, set_value
from .functions import load_function, saved_function

__all__ = ["CyclicLR"]

_MODES = ("triangular", "triangular2", "exp_range")


class CyclicLR(MomentumScheduler):
    """A triangular wave between two learning rates; call ``step`` after every batch (Smith, 2017).

    The momentum (or Adam's beta1) moves in the opposite direction, from ``max_momentum`` to ``base_momentum`` and back.

    Args:
        base_lr: the lowest learning rate, or one for each parameter group.
        max_lr: the highest learning rate, before scaling.
        step_size_up: the number of rising steps.
        step_size_down: the number of falling steps; the same number if None.
        mode: "triangular" for triangles of the same height, "triangular2" for halving the height at each triangle,
            "exp_range" for multiplying the height by ``gamma`` at every step.
        gamma: the factor for "exp_range".
        scale_fn: a function that returns the height, used instead of ``mode``.
        scale_mode: the argument of that function: "cycle" for the number of the triangle, from 1, or "iterations" for
            that of the step, from 0.
        cycle_momentum: True to change the momentum, too.

    Raises:
        ValueError: the mode is unknown, the optimizer has no momentum to cycle, or the number of values differs from
            that of the parameter groups.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.lr_scheduler.CyclicLR(
        ...     optimizer, base_lr=0.0, max_lr=1.0, step_size_up=2, cycle_momentum=False
        ... )
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 3) for rate in rates]
        [0.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        lowest = for_each_group("base_lr", optimizer, base_lr)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in _MODES and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        if scale_fn is None:
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode = scale_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momenta(base_momentum, max_momentum, last_epoch)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, lowest, strict=True):
                set_value(group, "lr", rate)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def scale_fn(self, x: float) -> float:
        """Return the height of the triangle ``x``, or at the step ``x``, depending on ``scale_mode``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return self.gamma**x if self.mode == "exp_range" else 1 / 2.0 ** (x - 1)

    def get_lr(self) -> list[Any]:
        self._warn_unless_in_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        part = 1.0 + self.last_epoch / self.total_size - cycle
        rise = part / self.step_ratio if part <= self.step_ratio else (part - 1) / (self.step_ratio - 1)

        def height(low: Any, high: Any) -> Any:
            return (high - low) * rise * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)

        if self.cycle_momentum:
            momenta = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in momenta:
                self._set_momentum(group, high - height(low, high))
        return [low + height(low, high) for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return the scheduler's state; of a custom function, only the attributes if it is an object."""
        return {**super().state_dict(), "_scale_fn_custom": saved_function(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        load_function(self._scale_fn_custom, state_dict["_scale_fn_custom"])
