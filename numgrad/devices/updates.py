"""Tables of addresses and numbers that the kernels of optimizers read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.updates import BLOCK, UPDATES

__all__ = ["UpdateTable"]


class UpdateTable:
    """Addresses and numbers of an update of parameters of one dtype and device, a line for each parameter.

    A table is kept from step to step, because little more than the gradients changes between two steps.  Addresses and
    numbers are side by side in ``memory``, for one copy to a GPU.

    Args:
        update: the name of the update in ``numgrad_kernels.updates``.
        type: the dtype and device of the parameters.
        sizes: the number of elements of each parameter.

    Attributes:
        addresses: the addresses of the operands, (parameters, operands), int64; 0 for missing operands.
        numbers: the numbers of the update, (parameters, numbers), float64.
        blocks: the pieces that kernels process: three numbers each, see ``numgrad_kernels.cpu.optimizers``.
        compute: the real dtype of the elements; a complex element counts as two.
        work: the number of elements of all parameters.
    """

    def __init__(self, update: str, type: Any, sizes: Sequence[int]):
        rule, count = UPDATES[update], len(sizes)
        self.update = update
        self.compute = type.numpy.type(0).real.dtype
        parts = type.numpy.itemsize // self.compute.itemsize
        self.work = sum(sizes) * parts
        self.blocks = _blocks(np.array(sizes, np.int64) * parts)
        self.split = count * len(rule.operands)
        self.memory = np.zeros(self.split + count * len(rule.numbers), np.int64)
        self.addresses = self.memory[: self.split].reshape(count, -1)
        self.numbers = self.memory[self.split :].view(np.float64).reshape(count, -1)


def _blocks(sizes: np.ndarray) -> np.ndarray:
    """Return the parameter, the first element and the number of elements of each block of parameters of these sizes."""
    counts = -(-sizes // BLOCK)
    which = np.repeat(np.arange(sizes.size), counts)
    first = np.repeat(counts.cumsum() - counts, counts)
    start = (np.arange(which.size) - first) * BLOCK
    return np.stack([which, start, np.minimum(sizes[which] - start, BLOCK)], axis=1).ravel()
