"""Reduction of the learning rate when a measure stops improving."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..optimizer import Optimizer
from .base import EPOCH_WARNING, LRScheduler, check_optimizer, current, set_value

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """A schedule that multiplies the learning rate by ``factor`` after more than ``patience`` epochs without
    improvement.

    ``scheduler.step(measure)`` passes the measure of the epoch.

    Args:
        mode: "min" if the measure should decrease, "max" if it should increase.
        factor: the factor of the learning rates.
        patience: the number of epochs without improvement that are tolerated.
        threshold: the minimum difference to the best measure that counts as an improvement.
        threshold_mode: "rel" for a difference relative to the best, "abs" for an absolute one.
        cooldown: the number of epochs after a change in which none is counted as bad.
        min_lr: the lowest learning rate, or one for each parameter group.
        eps: smaller changes of the learning rate are skipped.

    Raises:
        ValueError: ``factor`` is 1 or more, a mode is unknown, or the number of ``min_lr`` does not fit.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        >>> for loss in [3.0, 2.0, 2.0, 2.0]:
        ...     scheduler.step(loss)
        >>> optimizer.param_groups[0]["lr"]
        0.1
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        count = len(optimizer.param_groups)
        if isinstance(min_lr, list | tuple):
            if len(min_lr) != count:
                raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * count
        self.factor = factor
        self.optimizer = optimizer
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = current(optimizer, "lr")
        self._set_modes(mode, threshold, threshold_mode)
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def _set_modes(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode = mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    @property
    def in_cooldown(self) -> bool:
        """True if epochs without improvement are not counted at present."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Process the measure of an epoch, and lower the learning rates if it is time."""
        measure = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = epoch
        if self._is_better(measure):
            self.best = measure
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._lower()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = current(self.optimizer, "lr")

    def _is_better(self, measure: float) -> bool:
        margin = -self.threshold if self.mode == "min" else self.threshold
        bound = self.best * (1.0 + margin) if self.threshold_mode == "rel" else self.best + margin
        return measure < bound if self.mode == "min" else measure > bound

    def _lower(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, lowest in zip(groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            after = max(before * self.factor, lowest)
            if before - after > self.eps:
                set_value(group, "lr", after)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._set_modes(self.mode, self.threshold, self.threshold_mode)
