"""Schedulers that multiply the present learning rate at every step, so that several can be combined."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler

__all__ = ["ConstantLR", "ExponentialLR", "LinearLR", "MultiStepLR", "PolynomialLR", "StepLR"]


class _Multiplied(LRScheduler):
    """A scheduler that multiplies the rates of all groups by the same factor."""

    def _factor(self) -> float:
        """Return the factor by which this step multiplies the present rates."""
        raise NotImplementedError

    def _factor_since_start(self) -> float:
        """Return the factor between the initial rates and the present ones, in closed form."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        self._warn_unless_in_step()
        factor = self._factor()
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self._factor_since_start()
        return [base * factor for base in self.base_lrs]


class StepLR(_Multiplied):
    """A schedule that multiplies the learning rate by ``gamma`` every ``step_size`` epochs.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.lr_scheduler.StepLR(optimizer, step_size=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 3) for rate in rates]
        [1.0, 1.0, 0.1, 0.1]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1 if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma

    def _factor_since_start(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(_Multiplied):
    """A schedule that multiplies the learning rate by ``gamma`` at each of the ``milestones``.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3])
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 3) for rate in rates]
        [1.0, 0.1, 0.1, 0.01]
    """

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma ** self.milestones[self.last_epoch] if self.last_epoch in self.milestones else 1

    def _factor_since_start(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(_Multiplied):
    """A schedule that multiplies the learning rate by ``factor`` until epoch ``total_iters``, then restores it.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 3) for rate in rates]
        [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ):
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1

    def _factor_since_start(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(_Multiplied):
    """A schedule with a factor that goes linearly from ``start_factor`` to ``end_factor`` in ``total_iters`` epochs.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 3) for rate in rates]
        [0.25, 0.5, 0.75, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _factor_since_start(self) -> float:
        rise = (self.end_factor - self.start_factor) * min(self.total_iters, self.last_epoch) / self.total_iters
        return self.start_factor + rise


class ExponentialLR(_Multiplied):
    """A schedule that multiplies the learning rate by ``gamma`` every epoch.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 3) for rate in rates]
        [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1 if self._is_initial else self.gamma  # also true when training is resumed

    def _factor_since_start(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(_Multiplied):
    """A schedule with the factor ``(1 - epoch / total_iters) ** power`` until epoch ``total_iters``, then 0.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 3) for rate in rates]
        [1.0, 0.75, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        left, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return (left / before) ** self.power

    def _factor_since_start(self) -> float:
        return (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power
