"""Classes as rows of zeros with a single one."""

from __future__ import annotations

from ..._tensor import Tensor, fresh
from ..._types import int64
from ..batches import is_batched
from ..copying import row_of
from ..examples import each
from ..table import public

__all__ = ["one_hot"]


@public(export=False)
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """For each class a row of ``num_classes`` zeros with a 1 at its place.

    Args:
        tensor: int64 classes, of any shape.
        num_classes: how many there are; -1 for one more than the largest.

    Returns:
        An int64 tensor of shape (*tensor.shape, num_classes).

    Raises:
        RuntimeError: the dtype is another, a class is not in [0, num_classes), or there is none to count.
        IndexError: a class is not in [0, num_classes), found by a GPU: it is raised when a value is next read.
    """
    if tensor.dtype is not int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, not {tensor._layout.type.name}."
        )
    empty = not tensor._layout.size
    if empty and num_classes <= 0:
        raise RuntimeError(
            f"Can not infer total number of classes from empty tensor (shape {list(tensor.shape)})."
        )
    if num_classes <= 0 and is_batched(tensor):
        raise RuntimeError(
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument."
        )
    return _one_hot(tensor, num_classes)


@each
def _one_hot(tensor: Tensor, num_classes: int) -> Tensor:
    row, type = row_of(tensor), tensor._layout.type
    if row.size and (num_classes <= 0 or not tensor.is_cuda):  # a GPU looks where it puts the ones
        low, high = [
            type.backend.axis_launcher("fold_axis", row_of, type, (1, row.size, 1), name, type.numpy)(tensor).item(0)
            for name in ("min", "max")
        ]
        if low < 0:
            raise RuntimeError(f"Class values must be non-negative, but one is {low}.")
        if num_classes == -1:
            num_classes = high + 1
        if high >= num_classes:
            raise RuntimeError(f"Class values must be smaller than num_classes: {high} is not below {num_classes}.")
    layout = tensor._layout
    one = type.backend.filled((), 1, type)
    flat = type.backend.zeros((layout.size, num_classes), type)
    scatter = type.backend.axis_scatterer(type, layout.size, flat.size, num_classes, 1, 1, "set", True)
    scatter(one, row, flat)
    return fresh(flat, (*layout.shape, num_classes), type)
