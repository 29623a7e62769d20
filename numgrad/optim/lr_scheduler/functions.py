"""Schedulers that call user-defined functions."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, current

__all__ = ["LambdaLR", "MultiplicativeLR", "load_function", "saved_function"]


def saved_function(function: Any) -> dict[str, Any] | None:
    """Return the attributes of a user's function for a scheduler's state if it is an object, otherwise None."""
    return None if function is None or isinstance(function, types.FunctionType) else function.__dict__.copy()


def load_function(function: Any, saved: dict[str, Any] | None) -> None:
    """Restore the attributes saved by :func:`saved_function`."""
    if saved is not None:
        function.__dict__.update(saved)


class _OfFunctions(LRScheduler):
    """A scheduler with a function for each parameter group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ):
        count = len(optimizer.param_groups)
        if isinstance(lr_lambda, list | tuple):
            if len(lr_lambda) != count:
                raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * count
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the scheduler's state; of the functions, only the attributes of those that are objects."""
        return {**super().state_dict(), "lr_lambdas": [saved_function(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            load_function(function, saved)


class LambdaLR(_OfFunctions):
    """A schedule that multiplies the initial learning rate by a function of the epoch.

    Args:
        lr_lambda: the function, or one for each parameter group.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=lambda epoch: 1 / (epoch + 1))
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 3) for rate in rates]
        [1.0, 0.5, 0.333, 0.25]
    """

    def get_lr(self) -> list[Any]:
        self._warn_unless_in_step()
        return [
            base * function(self.last_epoch) for function, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(_OfFunctions):
    """A schedule that multiplies the present learning rate by a function of the epoch at every step.

    Args:
        lr_lambda: the function, or one for each parameter group.

    Raises:
        TypeError: a function is not callable.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.lr_scheduler.MultiplicativeLR(optimizer, lr_lambda=lambda epoch: 0.5)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 3) for rate in rates]
        [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ):
        for function in lr_lambda if isinstance(lr_lambda, list | tuple) else [lr_lambda]:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_unless_in_step()
        rates = current(self.optimizer, "lr")
        if self._is_initial:
            return rates
        return [rate * function(self.last_epoch) for function, rate in zip(self.lr_lambdas, rates, strict=True)]
