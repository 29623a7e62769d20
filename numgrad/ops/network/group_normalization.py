"""Normalization of groups of channels: a layer normalization of rows that are the groups."""

from __future__ import annotations

from ...core.tensor import Tensor
from ..memory.images import formatted_like
from ..pointwise.arithmetic import add, mul
from ..shapes.views import reshape
from ..table.op import composite
from ..table.operands import not_implemented
from .normalization import layer_norm_op


@composite(method=False)
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    """``(input - mean) / sqrt(variance + eps) * weight + bias``, mean and variance being those of groups of channels.

    Args:
        input: floating-point numbers, of shape (n, channels, ...).
        num_groups: into how many groups of as many neighbours each the channels are divided.
        weight, bias: of shape (channels,) and the input's dtype; none stands for 1 and 0.
        eps: keeps the divisor from 0.
        cudnn_enabled: taken because PyTorch takes it.

    Raises:
        RuntimeError: the channels cannot be divided so, or the shapes or dtypes do not fit.
        NotImplementedError: the input is not of floating-point numbers.
    """
    _check(input, num_groups, weight=weight, bias=bias)
    shape = input._layout.shape
    out = input
    if input._layout.size:
        rows = reshape(input, (shape[0] * num_groups, input._layout.size // (shape[0] * num_groups)))
        out = reshape(layer_norm_op(rows, None, None, rows._layout.shape[1:], float(eps))[0], shape)
    each = (-1, *(1,) * (len(shape) - 2)) if shape[1] else (0, *(1,) * (len(shape) - 2))
    out = mul(out, 1.0 if weight is None else reshape(weight, each))
    out = out if bias is None else add(out, reshape(bias, each))
    return formatted_like(out, input)


def _check(input: Tensor, num_groups: int, **arguments: Tensor | None) -> None:
    """Raise unless the input's channels can be divided into so many groups, and the arguments are of one each."""
    shape = input._layout.shape
    if len(shape) < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(shape)} and num_groups={num_groups}"
        )
    for name, own in arguments.items():
        if own is not None and own._layout.shape != shape[1:2]:
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(own.shape)} and input of shape {list(shape)}"
            )
    if not input.is_floating_point():
        raise not_implemented("GroupNormKernelImpl", input._layout)
    if any(own is not None and own._layout.type is not input._layout.type for own in arguments.values()):
        raise RuntimeError(
            f"mixed dtype (CPU): expect parameter to have scalar type of {input.dtype.legacy}: weight and bias must be "
            "of the input's"
        )
