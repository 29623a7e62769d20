"""Cosine schedules of learning rates (Loshchilov and Hutter, 2017)."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, current
from .repeated import repeated

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    """A half cosine wave from the initial learning rate to ``eta_min`` in ``T_max`` epochs, and back.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 3) for rate in rates]
        [1.0, 0.75, 0.25, 0.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        """Return one plus the cosine at an epoch."""
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list[Any]:
        self._warn_unless_in_step()
        if self._is_initial:
            return current(self.optimizer, "lr")
        groups = self.optimizer.param_groups
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the last height was 0 and cannot be multiplied
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                group["lr"] + (base - self.eta_min) * rise for base, group in zip(self.base_lrs, groups, strict=True)
            ]
        factor = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [factor * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:
        return [self.eta_min + (base - self.eta_min) * self._height(self.last_epoch) / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Successive half cosine waves, each from the initial learning rate to ``eta_min``.

    ``step`` also accepts a position within an epoch, as ``step(epoch + batch / batches)``.

    Args:
        T_0: the number of epochs of the first wave.
        T_mult: the factor by which each wave is longer than the previous one.
        eta_min: the lowest learning rate.

    Raises:
        ValueError: ``T_0`` or ``T_mult`` is not an integer of at least 1, ``eta_min`` is not a number, or an epoch is
            negative.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 3) for rate in rates]
        [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0  # epochs of the present wave
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch  # epochs since it began
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_unless_in_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    @repeated
    def step(self, epoch: float | None = None) -> None:
        """Advance to the next epoch, or to ``epoch``, which may be a fraction, and set its learning rates."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self.T_cur, self.T_i = self._cycle_at(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_rates(self.get_lr)

    def _cycle_at(self, epoch: float) -> tuple[float, int]:
        """Return the position of an epoch in its wave, and the number of epochs of that wave."""
        if epoch < self.T_0:
            return epoch, self.T_0
        if self.T_mult == 1:
            return epoch % self.T_0, self.T_i
        waves = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        begun = self.T_0 * (self.T_mult**waves - 1) / (self.T_mult - 1)
        return epoch - begun, self.T_0 * self.T_mult**waves
