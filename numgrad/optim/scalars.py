"""Numbers in the state of optimizers, each a 0-d tensor on the CPU, and numbers for the kernels."""

from __future__ import annotations

from typing import Any

from ..core.types import CPU, float32, float64, get_default_dtype
from ..ops.creation.from_data import tensor
from ..tensors.tensor import Tensor


def new_number(value: float = 0.0) -> Tensor:
    """Return a number in the form of an optimizer's state, in float32 unless the default dtype is float64."""
    dtype = float64 if get_default_dtype() is float64 else float32
    return tensor(float(value), dtype=dtype, device="cpu")


def number_in(scalar: Tensor) -> float:
    """Return the number in such a tensor."""
    return scalar._storage.item(scalar._offset)


def add_one(scalar: Tensor) -> float:
    """Add 1 to the number in such a tensor; return the sum, rounded to the tensor's dtype."""
    memory, first = scalar._storage, scalar._offset
    memory[first] = memory.item(first) + 1
    scalar._counter[0] += 1
    return memory.item(first)


def set_number(scalar: Tensor, value: float) -> float:
    """Store a number in such a tensor; return it rounded to the tensor's dtype."""
    scalar._storage[scalar._offset] = value
    scalar._counter[0] += 1
    return number_in(scalar)


def loaded_number(value: Any) -> Tensor:
    """Return a number in a loaded state as such a tensor."""
    return value.cpu() if isinstance(value, Tensor) else new_number(float(value))


def plain_rate(group: dict[str, Any]) -> dict[str, Any]:
    """Return the group with a learning rate that is a tensor on the CPU replaced by its value.

    Recorded programs do not depend on the value: each replay reads it again.
    """
    rate = group["lr"]
    if isinstance(rate, Tensor) and rate._layout.type.device is CPU and rate._layout.size == 1:
        return {**group, "lr": number_in(rate)}
    return group


def slope_numbers(group: dict[str, Any]) -> tuple[float, ...]:
    """Return the kernel's numbers for the gradient: its sign and the factor of the L2 penalty."""
    return -1.0 if group["maximize"] else 1.0, float(group["weight_decay"])


def moment_numbers(group: dict[str, Any]) -> tuple[float, ...]:
    """Return the kernel's numbers for gradient, decay and moments of Adam and its relatives."""
    sign, decay = slope_numbers(group)
    beta1, beta2 = map(float, group["betas"])
    if group["decoupled_weight_decay"]:
        decay, keep = 0.0, 1.0 - float(group["lr"]) * decay
    else:
        keep = 1.0
    return sign, decay, keep, 1.0 - beta1, beta2, 1.0 - beta2
