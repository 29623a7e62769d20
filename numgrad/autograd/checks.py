"""What is a tensor, and what is a gradient of one."""

from __future__ import annotations

from typing import Any


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor: what has a version counter."""
    return hasattr(value, "_counter")


def check_gradient(gradient: Any) -> Any:
    """The gradient, if it is a tensor."""
    if not is_tensor(gradient):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    return gradient


def mismatch(index: int, given: Any, expected: Any) -> RuntimeError:
    """The error for a gradient that does not have its output's shape."""
    return RuntimeError(
        f"Mismatch in shape: grad_output[{index}] has a shape of torch.Size({list(given)}) and output[{index}] has "
        f"a shape of torch.Size({list(expected)})."
    )
