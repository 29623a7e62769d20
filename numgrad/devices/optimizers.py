"""What one launch of an optimizer updates: where the operands of each parameter lie, and the numbers of its update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["UpdateTable", "blocks_of"]


class UpdateTable:
    """The operands and numbers of all parameters of a dtype on a device, a line for each parameter.

    Kept from step to step, since little more than the gradients moves between two steps.

    Attributes:
        numbers: those of the update, (parameters, numbers), float64.
    """

    numbers: np.ndarray

    def place(self, operand: int, rows: Sequence[Any]) -> None:
        """Say where one operand of every parameter lies (None: it has none).  The caller keeps the rows alive."""
        raise NotImplementedError

    def run(self) -> None:
        """Update the parameters."""
        raise NotImplementedError


def blocks_of(sizes: np.ndarray, most: int) -> np.ndarray:
    """Which row, from which element and how many, for each block of rows of these sizes, ``most`` elements at most."""
    counts = -(-sizes // most)
    which = np.repeat(np.arange(sizes.size), counts)
    first = np.repeat(counts.cumsum() - counts, counts)
    start = (np.arange(which.size) - first) * most
    return np.stack([which, start, np.minimum(sizes[which] - start, most)], axis=1).ravel()
