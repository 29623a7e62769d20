"""Checks of values: tensors, gradients, inference tensors."""

from __future__ import annotations

from typing import Any

from .grad_mode import INFERENCE, may_use_inference_tensors, state


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor: only tensors have a version counter."""
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


# -- inference tensors ---------------------------------------------------------------------------------------
#
# They are known by their version counter, which counts nothing.  All tensors on one memory share a counter, so views of
# an inference tensor are inference tensors, and views of a normal tensor normal ones, wherever they are made.


class InferenceCounter(list[int]):
    """The version counter of inference tensors: outside of inference mode there is no version to save them at."""

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
    """The version counter of a new tensor, some thread being in inference mode."""
    return InferenceCounter((0,)) if state.mode & INFERENCE else [0]


def is_inference(tensor: Any) -> bool:
    """Whether ``tensor`` is an inference tensor."""
    return tensor._counter.__class__ is InferenceCounter


def check_updatable(tensor: Any) -> None:
    """Raise if ``tensor`` may not be changed in place.

    Raises:
        RuntimeError: it is an inference tensor, and this is not inference mode.
    """
    if is_inference(tensor) and not may_use_inference_tensors():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def check_may_require_grad(tensor: Any) -> None:
    """Raise if ``tensor`` may not be told to require a gradient.

    Raises:
        RuntimeError: it is an inference tensor, and this is not inference mode.
    """
    if is_inference(tensor) and not may_use_inference_tensors():
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
