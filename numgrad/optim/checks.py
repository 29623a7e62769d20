"""Checks of optimizers' options and gradients."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor


def check_rate(lr: Any) -> None:
    """Raise unless ``lr`` is a valid learning rate.

    Raises:
        ValueError: the rate is negative, or a tensor of several elements.
    """
    check_rate_is_one(lr)
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_rate_is_one(lr: Any) -> None:
    """Raise if ``lr`` is a tensor of several elements.

    Raises:
        ValueError: the rate is such a tensor.
    """
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_not_negative(**options: Any) -> None:
    """Raise unless every option is a number of at least 0.

    Raises:
        ValueError: an option is not.
    """
    for name, value in options.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {name} value: {value}")


def check_gradient(param: Tensor) -> None:
    """Raise unless the gradient matches the parameter in shape, dtype and device.

    Raises:
        RuntimeError: the gradient has another shape or type.
    """
    grad: Any = param._grad
    if grad._layout.shape != param._layout.shape or grad._layout.type is not param._layout.type:
        raise mismatch("gradient", grad, param)


def check_betas(betas: Any) -> None:
    """Raise unless each value is a valid decay rate of a running mean.

    Raises:
        ValueError: a value is not in [0, 1).
    """
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")


def mismatch(what: str, one: Tensor, param: Tensor, advice: str = "") -> RuntimeError:
    """Return the error for a tensor whose shape or dtype differs from its parameter's."""
    return RuntimeError(
        f"the {what} of a parameter of shape {list(param.shape)} and type {param._layout.type.name} has shape "
        f"{list(one.shape)} and type {one._layout.type.name}{advice}"
    )
