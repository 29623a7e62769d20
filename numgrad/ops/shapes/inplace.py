"""Views in place: a tensor takes on the shape and strides of a view of itself; its elements stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._layout import normal_dim
from ..._tensor import Tensor
from ...autograd.grad_mode import TRANSFORMED, state
from ...autograd.views import check_writable, reshaped_in_place
from ..table import attach
from ..transforms import ShapeCall, transformed
from .views import how_transposed, squeeze, squeeze_all, squeeze_dim, squeeze_dims, t_op, transpose_op, unsqueeze_op
from .windows import as_strided_op, strided_arguments

__all__: list[str] = []


def _in_place(op: Any, node: str) -> Callable[..., Tensor]:
    """The view operation ``op`` in place, recorded by nodes called ``node``."""
    recorded = op.recorded_as(node)

    def change(input: Tensor, *args: Any) -> Tensor:
        if state.mode & TRANSFORMED:
            return transformed(ShapeCall(op, change, (input, *args)))
        check_writable(input)
        seen = recorded(input, *args)
        input._layout, input._offset = seen._layout, seen._offset
        input._counter[0] += 1
        reshaped_in_place(input, seen._edge and seen._edge[0], (op, args))
        return input

    return change


_t = _in_place(t_op, "TBackward1")
_transpose = _in_place(transpose_op, "TransposeBackward1")
_squeezes = {
    squeeze_all: _in_place(squeeze_all, "SqueezeBackward3"),
    squeeze_dim: _in_place(squeeze_dim, "SqueezeBackward4"),
    squeeze_dims: _in_place(squeeze_dims, "SqueezeBackward5"),
}
_as_strided = _in_place(as_strided_op, "AsStridedBackward1")
_unsqueeze = _in_place(unsqueeze_op, "UnsqueezeBackward1")


def t_(input: Tensor) -> Tensor:
    """Exchange the two dimensions of a matrix in place; a tensor of fewer dimensions stays as it is.

    Raises:
        RuntimeError: the tensor has more than two dimensions.
    """
    if len(input._layout.shape) > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {len(input._layout.shape)}D")
    return _t(input)


def transpose_(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions in place.

    Raises:
        IndexError: there is no such dimension.
    """
    return _transpose(input, *how_transposed(input._layout, dim0, dim1)[1])


def squeeze_(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Remove in place the dimensions of size 1, or those of ``dim`` that have it.

    Raises:
        IndexError: there is no such dimension.
    """
    op, dims = squeeze.__wrapped__(input._layout, dim)
    return _squeezes[op](input, *dims)


def unsqueeze_(input: Tensor, dim: int) -> Tensor:
    """Insert in place a dimension of size 1 at ``dim``.

    Raises:
        IndexError: ``dim`` is beyond the dimensions that the result has.
    """
    return _unsqueeze(input, normal_dim(dim, len(input._layout.shape) + 1))


def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Show another part of the tensor's storage, in place; see :func:`numgrad.as_strided`."""
    return _as_strided(input, *strided_arguments(input, size, stride, storage_offset))


for _name, _function in {
    "as_strided_": as_strided_, "t_": t_, "transpose_": transpose_, "swapaxes_": transpose_,
    "swapdims_": transpose_, "squeeze_": squeeze_, "unsqueeze_": unsqueeze_,
}.items():
    attach(_name, _function)
