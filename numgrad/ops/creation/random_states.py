"""The states of random generators, as tensors of bytes."""

from __future__ import annotations

import numpy as np

from ... import random
from ...core.tensor import Tensor, fresh
from ...core.types import tensor_type, uint8
from ..table.op import public


def get_state(self: random.Generator) -> Tensor:
    """The state in a uint8 tensor on the CPU: the 5056 bytes that PyTorch would give, or a GPU's 16."""
    data = np.frombuffer(self.state_bytes(), np.uint8).copy()
    return fresh(data, data.shape, tensor_type(uint8))


def set_state(self: random.Generator, new_state: Tensor) -> random.Generator:
    """Go on from a state that ``get_state``, or PyTorch's on the CPU, gave.

    Raises:
        TypeError, RuntimeError: it is no such state.
    """
    if not isinstance(new_state, Tensor) or new_state.dtype is not uint8:
        raise TypeError("RNG state must be a torch.ByteTensor")
    self.set_state_bytes(new_state._array().tobytes())
    return self


@public(method=False)
def get_rng_state() -> Tensor:
    """The state of the CPU's default generator, a uint8 tensor."""
    return get_state(random.default_generator)


@public(method=False)
def set_rng_state(new_state: Tensor) -> None:
    """Have the CPU's default generator go on from a state."""
    set_state(random.default_generator, new_state)


random.Generator.get_state = get_state  # type: ignore[attr-defined]
random.Generator.set_state = set_state  # type: ignore[attr-defined]
random.get_rng_state, random.set_rng_state = get_rng_state, set_rng_state  # type: ignore[attr-defined]
