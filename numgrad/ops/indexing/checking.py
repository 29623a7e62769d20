"""Checks of elements that a recorded program repeats in each replay."""

from __future__ import annotations

from ...core.types import int64
from ...devices import recording
from ...tensors.tensor import Tensor
from ..creation.factories import zeros
from ..memory.copying import convert
from .selecting import index_select_op


def holds_everywhere(condition: Tensor) -> bool:
    """Return True if all elements of a bool tensor are true.

    In a recorded program, a kernel reads a buffer of one element: at index 0 if they are, and otherwise at index 1,
    which it reports as out of bounds. The replay then ends, and the uncompiled function raises the error of its check.
    """
    if recording.recorder is None:
        return bool(condition.all())
    holds = recording.unrecorded(lambda: bool(condition.all()))
    if holds:
        index_select_op(zeros(1, device=condition.device), convert(~condition.all(), int64).reshape(1), 0)
    return holds
