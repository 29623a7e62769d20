"""Checks of the tensors that a step uses."""

from __future__ import annotations

from typing import Any

from ..tensors.tensor import Tensor


def check_gradient(param: Tensor) -> None:
    """Raise unless the gradient matches the parameter in shape, dtype and device.

    Raises:
        RuntimeError: the gradient has another shape or type.
    """
    grad: Any = param._grad
    if grad._layout.shape != param._layout.shape or grad._layout.type is not param._layout.type:
        raise mismatch("gradient", grad, param)


def mismatch(role: str, tensor: Tensor, param: Tensor, advice: str = "") -> RuntimeError:
    """Return the error for a tensor whose shape or dtype differs from its parameter's."""
    return RuntimeError(
        f"the {role} of a parameter of shape {list(param.shape)} and type {param._layout.type.name} has shape "
        f"{list(tensor.shape)} and type {tensor._layout.type.name}{advice}"
    )
