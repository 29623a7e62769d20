"""Hyperparameters of optimizers: their values in a constructor, and the checks of their ranges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..tensors.tensor import Tensor

#: A function of a hyperparameter's name and value, which raises ValueError if the value is out of range.
Check = Callable[[str, Any], None]


def hyperparameters(arguments: dict[str, Any], **checks: Check) -> dict[str, Any]:
    """Return the hyperparameters among ``locals()`` at the beginning of an optimizer's constructor.

    Raises:
        ValueError: a check of the hyperparameter of the same name fails.
    """
    for name, check in checks.items():
        check(name, arguments[name])
    return {name: value for name, value in arguments.items() if name not in ("self", "params", "__class__")}


def within(
    low: float, high: float = math.inf, message: str = "Invalid {name} value: {value}", nan: bool = False
) -> Check:
    """Return the check that a number is at least ``low`` and at most ``high``, or with ``nan``, that it is NaN."""

    def check(name: str, value: Any) -> None:
        if not (low <= value <= high or (nan and value != value)):
            raise ValueError(message.format(name=name, value=value))

    return check


def learning_rate(message: str = "Invalid learning rate: {value}", nan: bool = False) -> Check:
    """Return the check that a learning rate is one number that is not negative; see :func:`within`."""
    check_range = within(0.0, message=message, nan=nan)

    def check(name: str, value: Any) -> None:
        if isinstance(value, Tensor) and value.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check_range(name, value)

    return check


def check_betas(name: str, values: Any) -> None:
    """Raise ValueError unless each value is a valid decay rate of a running mean."""
    for index, beta in enumerate(values):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")


RATE = learning_rate()
NOT_NEGATIVE = within(0.0)
EPSILON = within(0.0, message="Invalid epsilon value: {value}")
