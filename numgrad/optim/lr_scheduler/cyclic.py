"""Learning rates that go up and down again and again."""

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
    """Triangles between two learning rates; call ``step`` after every batch (Smith, 2017).

    The momentum (or Adam's beta1) goes the other way, from ``max_momentum`` to ``base_momentum`` and back.

    Args:
        base_lr: the lowest learning rate, or one for each parameter group.
        max_lr: the highest, before it is scaled.
        step_size_up: how many steps lead up.
        step_size_down: how many lead down; as many if None.
        mode: "triangular" for triangles of the same height, "triangular2" for each half as high as the last,
            "exp_range" for heights times ``gamma`` at every step.
        gamma: see ``mode``.
        scale_fn: a function that gives the height, instead of ``mode``.
        scale_mode: what it is a function of: "cycle", the number of the triangle from 1, or "iterations", that of the
            step from 0.
        cycle_momentum: whether the momentum moves, too.

    Raises:
        ValueError: the mode is unknown, the optimizer has no momentum to cycle, or the number of values is not that of
            the parameter groups.
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
        """The height of the triangle ``x``, or at the step ``x``: see ``scale_mode``."""
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
        """As of every scheduler; of a function only its attributes if it is an object."""
        return {**super().state_dict(), "_scale_fn_custom": saved_function(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        load_function(self._scale_fn_custom, state_dict["_scale_fn_custom"])
