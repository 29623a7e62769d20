"""PyTorch's older interface: ``Variable``, and gradients of other shapes passed to ``backward``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..core.layout import broadcasts
from .checks import check_gradient, is_tensor, mismatch
from .grad_mode import state

__all__ = ["Variable", "reshaped_gradient"]


class _ExecutionEngine:
    """Methods of PyTorch's engine that libraries written for PyTorch call."""

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call ``callback()`` when the backward pass running in this thread ends.

        Raises:
            RuntimeError: no backward pass is running.
        """
        if state.current_pass is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        state.current_pass.callbacks.append(callback)


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return is_tensor(instance)


class Variable(metaclass=_VariableMeta):
    """Return a tensor on the same memory; since PyTorch 0.4, variables and tensors are the same."""

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        if not is_tensor(data):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        tensor = data.detach()
        tensor.requires_grad = requires_grad
        return tensor

    _execution_engine = _ExecutionEngine()


def reshaped_gradient(output: Any, gradient: Any) -> Any:
    """Return the gradient in the output's shape, if an older program passes it in another shape.

    Raises:
        TypeError: the gradient is not a tensor.
        RuntimeError: it has another number of elements and cannot be broadcast.
    """
    shape, gradient_shape = output._layout.shape, check_gradient(gradient)._layout.shape
    if gradient_shape == shape:
        return gradient
    same_count = gradient.numel() == output.numel()
    if not (same_count or broadcasts(gradient_shape, shape)):
        raise mismatch(0, gradient_shape, shape)
    warnings.warn(
        f"backward() was given a gradient of shape {list(gradient_shape)} for an output of shape {list(shape)}; "
        "use the output's shape",
        DeprecationWarning,
        stacklevel=3,
    )
    return gradient.reshape(shape) if same_count else gradient.expand(shape)
