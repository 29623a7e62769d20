"""Physical tensors of tensors under ``vmap``, in the shape that an operation on all examples needs."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import LEVELS, no_grad, state
from ...tensors.tensor import Tensor
from ..memory.overwriting import copy_
from ..shapes.broadcasting import expand_op
from ..shapes.dimensions import unsqueeze_op
from ..shapes.views import reshape
from .batches import is_batched, is_mapped, zeros_with


def expanded(tensor: Any) -> Tensor:
    """Return the physical tensor with a batch dimension in any case; the examples may share memory.

    To be called below the tensor's level.
    """
    mapping = tensor._mapped
    if mapping.batched:
        return mapping.tensor
    return expand_op(unsqueeze_op(mapping.tensor, 0), (mapping.level.size, *mapping.tensor._layout.shape))


def aligned(tensor: Tensor, rank: int) -> Tensor:
    """Return the physical tensor with sizes of 1 inserted, so that its examples broadcast to ``rank`` dimensions."""
    mapping = tensor._mapped
    missing = rank - len(tensor._layout.shape)
    if not mapping.batched or missing <= 0:
        return mapping.tensor
    return reshape(mapping.tensor, (mapping.level.size, *(1,) * missing, *tensor._layout.shape))


def like_examples(input: Any, new: Tensor) -> Tensor:
    """Return a new tensor made like ``input``: batched if ``input`` is, so that examples may differ."""
    if not (state.mode & LEVELS and is_batched(input)) or is_mapped(new):
        return new
    out = zeros_with((input,), new._layout.shape, new._layout.type, new._layout.strides)
    with no_grad():
        copy_(out, new)
    out._counter[0] = 0
    return out
