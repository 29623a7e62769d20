"""Classes as rows of zeros with one 1: ``one_hot``."""

from __future__ import annotations

import functools

from ... import devices
from ...core.layout import Layout
from ...core.types import int64
from ...devices import Plan
from ...tensors.tensor import Tensor, tensor_of
from ..batching.batches import is_batched
from ..batching.examples import each
from ..table.op import public
from .gathering import scatter_new
from .scattering import filled


@public(export=False)
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return, for each class, a row of ``num_classes`` zeros with a 1 at its index.

    Args:
        tensor: int64 classes, of any shape.
        num_classes: the number of classes; -1 for one more than the largest.

    Returns:
        An int64 tensor of shape (*tensor.shape, num_classes).

    Raises:
        RuntimeError: if the dtype is not int64, a class is not in [0, num_classes), or ``num_classes`` is -1 and there
            are no classes.
        IndexError: if a class is not in [0, num_classes) on a GPU, which raises it at the next read of a value.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.one_hot(numgrad.tensor([0, 2]), 3)
        tensor([[1, 0, 0],
                [0, 0, 1]])
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
    layout = tensor._layout
    if layout.size and num_classes <= 0:
        low, high = [end.item() for end in tensor.aminmax()]
        if low < 0 or num_classes < -1 or not num_classes:
            raise _no_class(low if low < 0 else high, num_classes)
        num_classes = high + 1
    plan = _one_hot_plan(layout, num_classes)
    try:
        return tensor_of(plan.layout, plan(tensor))
    except devices.OutOfBoundsError as error:
        raise _no_class(error.index, num_classes) from None


@functools.lru_cache(maxsize=2048)
def _one_hot_plan(layout: Layout, num_classes: int) -> Plan:
    type = layout.type
    p = Plan(type.backend, type.device.index)
    index = p.tensor(p.contiguous(p.operand(layout)), type, (layout.size, 1))
    out = scatter_new(p, filled(p, 1, type), index, (layout.size, num_classes), 1, "set")
    return p.returns(p.tensor(p.contiguous(out), type, (*layout.shape, num_classes)))


def _no_class(value: int, num_classes: int) -> RuntimeError:
    if value < 0:
        return RuntimeError(f"Class values must be non-negative, but one is {value}.")
    return RuntimeError(f"Class values must be smaller than num_classes: {value} is not below {num_classes}.")
