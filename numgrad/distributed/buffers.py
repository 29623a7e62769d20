"""Memory of tensors as MPI sees it: contiguous arrays in the memory of the CPU.

A contiguous tensor on the CPU is sent from, and received into, its own memory.  The elements of others are copied to
contiguous memory of the CPU before they are sent, and from it after they are received.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd.function import Function
from ..autograd.grad_mode import GRAD, LEVELS, no_grad, state
from ..autograd.locations import count_change
from ..core.device import CPU
from ..devices.recording import values_read
from ..ops.creation.factories import empty
from ..tensors.tensor import Tensor, check_in_place

__all__ = ["Received", "check_tensors", "elements_of", "joined", "overwritten"]


def check_tensors(name: str, *tensors: Any) -> None:
    """Raise unless the values are tensors of one dtype with memory of their own; end the recording of a program.

    Raises:
        TypeError: a value is not a tensor.
        ValueError: the dtypes differ.
        NotImplementedError: a tensor is under ``vmap``.
    """
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name}() expects tensors, not {type(tensor).__name__}")
        if hasattr(tensor, "_mapped"):
            raise NotImplementedError(f"{name}() under vmap: use numgrad.distributed.nn.functional")
    values_read(f"distributed.{name}()")
    dtypes = dict.fromkeys([tensor.dtype for tensor in tensors])
    if len(dtypes) > 1:
        raise ValueError(f"{name}() expects tensors of one dtype, not of {', '.join(map(str, dtypes))}")


def elements_of(tensor: Tensor, received: Received | None = None) -> np.ndarray:
    """Return the elements as a contiguous array, on the tensor's own memory if possible.

    It does not overlap with memory to receive elements, if that is given: MPI forbids it.
    """
    if tensor.is_cuda:
        tensor = _pinned(tensor)
    array = np.ascontiguousarray(tensor._host_array())
    return array.copy() if received is not None and np.may_share_memory(array, received.array) else array


def _pinned(tensor: Tensor) -> Tensor:
    """Return a copy of a tensor on a GPU in pinned memory."""
    with no_grad():
        return tensor.new_empty(tensor.shape, device="cpu", pin_memory=True).copy_(tensor)


def joined(tensors: Sequence[Tensor]) -> np.ndarray:
    """Return the elements of tensors of one dtype, one after the other, as a new array."""
    return np.concatenate([tensor._host_array().reshape(-1) for tensor in tensors])


class Received:
    """Contiguous memory for elements to be received into a tensor, or into several tensors, one after the other.

    Args:
        name: the function that receives, for messages.
        tensors: the tensors.
        send: True if their present elements are to be sent.

    Attributes:
        array: the memory.

    Raises:
        RuntimeError: a tensor must not be written in place.
    """

    def __init__(self, name: str, *tensors: Tensor, send: bool = False):
        self._targets = [overwritten(name, tensor) for tensor in tensors]
        self._parts: list[Tensor] = []  # what is received for each tensor that does not receive it itself
        first = tensors[0]
        if len(tensors) == 1 and first._layout.type.device is CPU and first.is_contiguous():
            self.array = first._array()
            return
        with no_grad():
            size = sum([tensor.numel() for tensor in tensors])
            whole = empty([size], dtype=first.dtype, device="cpu", pin_memory=first.is_cuda)
            self._parts = [
                part.view(tensor.shape)
                for part, tensor in zip(whole.split([tensor.numel() for tensor in tensors]), tensors, strict=True)
            ]
            if send:
                for part, tensor in zip(self._parts, tensors, strict=True):
                    part.copy_(tensor)
        self.array = whole._array()

    def divide(self, number: int) -> None:
        """Divide the received elements, before ``finish``."""
        whole = self._parts or self._targets
        with no_grad():
            for part in whole:
                part.div_(number)

    def finish(self) -> None:
        """Put the received elements into the tensors."""
        if not self._parts:
            count_change(self._targets[0])
            return
        with no_grad():
            for tensor, part in zip(self._targets, self._parts, strict=True):
                tensor.copy_(part, non_blocking=True)


def overwritten(name: str, tensor: Tensor) -> Tensor:
    """Return a detached alias of a tensor whose elements are about to be overwritten, after recording that."""
    in_graph = bool(state.mode & GRAD) and tensor.requires_grad and not tensor.is_leaf
    if in_graph or (state.mode & LEVELS and hasattr(tensor, "_duals")):
        _Overwritten.apply(tensor, name)
    else:
        with no_grad():
            check_in_place(tensor)
        count_change(tensor)
    return tensor.detach()


class _Overwritten(Function):
    """Change of a tensor in the graph by communication; its derivatives are errors."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, name: str) -> Tensor:
        ctx.name = name
        ctx.mark_dirty(tensor)
        return tensor

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        raise _not_differentiable(ctx.name)

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, name: Any) -> Any:
        raise _not_differentiable(ctx.name)


def _not_differentiable(name: str) -> RuntimeError:
    return RuntimeError(
        f"distributed.{name}() changes a tensor in place and is not differentiable: use the function of this name in "
        "numgrad.distributed.nn.functional"
    )
