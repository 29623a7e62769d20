"""Changes of shape and order, and joins, of the array API standard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numgrad as ng

from ..core.layout import normal_dims
from ..ops import public_functions
from ..tensors.tensor import Tensor
from .elementwise import together

moveaxis = public_functions["moveaxis"]
tile = public_functions["tile"]


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """Return the tensor expanded to a shape, without a copy."""
    return ng.broadcast_to(x, shape)


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """Return the tensor with a new dimension of size 1."""
    return ng.unsqueeze(x, axis)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Return the tensor with its dimensions in another order."""
    return ng.permute(x, axes)


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Return the tensors expanded to their common shape."""
    return list(ng.broadcast_tensors(*arrays))


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Return the tensors joined along a dimension, or all their elements if ``axis`` is None, in their common dtype."""
    parts = together(*arrays)
    return ng.cat(parts, axis) if axis is not None else ng.cat([part.reshape(-1) for part in parts])


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Return the tensors joined along a new dimension, in their common dtype."""
    return ng.stack(together(*arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the parts of a tensor at the indices of one dimension."""
    return ng.unbind(x, axis)


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """Return a copy with the indices of some dimensions, or of all, in reverse order."""
    return ng.flip(x, tuple(range(x.ndim)) if axis is None else axis)


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Return each element, or each index of a dimension, as often as ``repeats`` says."""
    counts = repeats.to(ng.int64) if isinstance(repeats, Tensor) else repeats
    return ng.repeat_interleave(x, counts, axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """Return the tensor in another shape; a copy if ``copy`` is True, and never one if it is False.

    Raises:
        ValueError: a copy is needed, but ``copy`` is False.
    """
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ValueError(f"a copy is needed: {error}") from None
    result = ng.reshape(x, shape)
    return result.clone() if copy else result


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Return the elements moved by ``shift`` positions along some dimensions, or in order; the last ones come first."""
    if isinstance(shift, int) and isinstance(axis, tuple):
        shift = (shift,) * len(axis)
    return ng.roll(x, shift) if axis is None else ng.roll(x, shift, axis)


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """Return the tensor without some dimensions, whose sizes must be 1.

    Raises:
        ValueError: a size is not 1.
    """
    dims = () if axis == () else normal_dims(axis, x.ndim)
    if any(x.shape[dim] != 1 for dim in dims):
        raise ValueError(f"cannot remove dimensions {axis} of a tensor of shape {list(x.shape)}")
    return ng.squeeze(x, dims) if dims else x
