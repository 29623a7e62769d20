"""The physical tensors that tensors under ``vmap`` stand for, in the shape that an operation on all examples needs."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import LEVELS, no_grad, state
from ...core.tensor import Tensor
from ..memory.overwriting import copy_
from ..shapes.broadcasting import expand_op
from ..shapes.dimensions import unsqueeze_op
from ..shapes.views import reshape
from .batches import is_batched, is_mapped, zeros_beside


def expanded(tensor: Any) -> Tensor:
    """The physical tensor of one of a level, with a batch dimension in any case, in which examples may share memory.

    To be called below that level.
    """
    own = tensor._mapped
    if own.batched:
        return own.tensor
    return expand_op(unsqueeze_op(own.tensor, 0), (own.level.size, *own.tensor._layout.shape))


def aligned(tensor: Tensor, rank: int) -> Tensor:
    """The physical tensor with dimensions of size 1 put in, so that its examples broadcast to ``rank`` dimensions."""
    own = tensor._mapped
    missing = rank - len(tensor._layout.shape)
    if not own.batched or missing <= 0:
        return own.tensor
    return reshape(own.tensor, (own.level.size, *(1,) * missing, *tensor._layout.shape))


def like_examples(input: Any, made: Tensor) -> Tensor:
    """A new tensor that was made like ``input``: one that may differ from example to example, if that may."""
    if not (state.mode & LEVELS and is_batched(input)) or is_mapped(made):
        return made
    out = zeros_beside((input,), made._layout.shape, made._layout.type, made._layout.strides)
    with no_grad():
        copy_(out, made)
    out._counter[0] = 0
    return out
