"""Checks of values: tensors, gradients, inference tensors."""

from __future__ import annotations

from typing import Any

from .grad_mode import INFERENCE, may_use_inference_tensors, state


def is_tensor(value: Any) -> bool:
    """Return True if a value is a tensor: only tensors have a version counter."""
    return hasattr(value, "_counter")


def check_gradient(gradient: Any) -> Any:
    """Return the gradient if it is a tensor; raise a TypeError otherwise."""
    if not is_tensor(gradient):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    return gradient


def mismatch(index: int, shape: Any, expected: Any) -> RuntimeError:
    """Return the error for a gradient that does not have its output's shape."""
    return RuntimeError(
        f"Mismatch in shape: grad_output[{index}] has a shape of torch.Size({list(shape)}) and output[{index}] has "
        f"a shape of torch.Size({list(expected)})."
    )


# -- inference tensors ---------------------------------------------------------------------------------------
#
# Inference tensors are identified by their version counter, which does not count.  All tensors on one memory share a
# counter, so views of an inference tensor are inference tensors, and views of a normal tensor are normal tensors,
# regardless of the mode in which they are made.


class InferenceCounter(list[int]):
    """Version counter of inference tensors; reading it outside inference mode raises an error."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        if not may_use_inference_tensors():
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode "
                "in computation tracked by autograd. To work around this, you can make a clone to get a normal tensor "
                "and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
            )
        return list.__getitem__(self, index)


def new_counter() -> list[int]:
    """Return the version counter for a new tensor while some thread is in inference mode."""
    return InferenceCounter((0,)) if state.mode & INFERENCE else [0]


def is_inference(tensor: Any) -> bool:
    """Return True if ``tensor`` is an inference tensor."""
    return tensor._counter.__class__ is InferenceCounter


def check_updatable(tensor: Any) -> None:
    """Raise if ``tensor`` may not be modified in place.

    Raises:
        RuntimeError: it is an inference tensor outside inference mode.
    """
    if is_inference(tensor) and not may_use_inference_tensors():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def check_may_require_grad(tensor: Any) -> None:
    """Raise if ``requires_grad`` may not be set on ``tensor``.

    Raises:
        RuntimeError: it is an inference tensor outside inference mode.
    """
    if is_inference(tensor) and not may_use_inference_tensors():
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
