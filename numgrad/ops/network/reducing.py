"""How a loss of each element becomes the loss of all: kept, summed up or averaged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._layout import Layout, numel
from ..._tensor import Tensor, tensor_of
from ...autograd.grad_mode import GRAD, state
from ...autograd.levels import tensors_in
from ..batches import aligned, mapped_to
from ..pointwise.arithmetic import div, mul
from ..reductions.axes import Prepared
from ..reductions.sums import mean_all, mean_dims, sum_all, sum_dims
from ..shapes.views import expand

__all__ = ["loss_of_examples", "reduced", "reduced_loss", "refuse_gradient", "spread"]


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The losses themselves ("none"), their mean or their sum."""
    if reduction == "none":
        return losses
    return sum_all(losses) if reduction == "sum" else mean_all(losses)


def reduced_loss(
    losses: Any, reduction: str, input: Layout, target: Layout, weight: Layout | None = None,
    *factors: Layout | None, **numbers: float,
) -> Prepared:
    """What a pointwise operation makes of operands of these layouts, each times its weight, :func:`reduced`.

    It is launched with as many tensors.  The operation takes the ``factors`` after the target, 1 for None.
    """
    layout, compute = losses.op.decided((input, target, *[_or_one(one) for one in factors]), **numbers)
    weighted, times = (layout, None) if weight is None else mul.op.decided((layout, weight))
    if reduction == "none":
        out, reduce = weighted, lambda tensor: tensor._storage
    else:
        out, reduce = (sum_all if reduction == "sum" else mean_all).prepare(weighted)

    def launch(input: Tensor, target: Tensor, weight: Any = None, *factors: Any) -> Any:
        each = tensor_of(layout, compute(input, target, *[_or_one(one) for one in factors]))
        return reduce(each if times is None else tensor_of(weighted, times(each, weight)))

    return out, launch


def _or_one(factor: Any) -> Any:
    return 1.0 if factor is None else factor


def loss_of_examples(op: Any) -> Callable[..., Tensor]:
    """The rule of a loss under ``vmap``, ``op`` having a parameter ``reduction``."""
    position = op.parameters.index("reduction")

    def rule(*args: Any) -> Tensor:
        rank = max([len(one._layout.shape) for one in tensors_in(args)])
        values, reduction = mapped_to(args, lambda one: aligned(one, rank)), args[position]
        losses = op(*values[:position], "none", *values[position + 1 :])
        if reduction == "none":
            return losses
        return (sum_dims if reduction == "sum" else mean_dims)(losses, tuple(range(1, rank + 1)), False)

    return rule


def spread(grad: Tensor, shape: tuple[int, ...], reduction: str, weight: Tensor | None = None) -> Tensor:
    """The gradient of each of the losses, of ``shape``, from that of :func:`reduced`."""
    if reduction != "none":
        grad = expand(div(grad, float(numel(shape))) if reduction == "mean" else grad, shape)
    return grad if weight is None else mul(grad, weight)


def refuse_gradient(function: str, name: str, argument: Tensor | None) -> None:
    """Raise if an argument that has no derivative wants one.

    Raises:
        RuntimeError: it requires a gradient, and operations are being recorded.
    """
    if argument is not None and state.mode & GRAD and argument.requires_grad:
        raise RuntimeError(
            f"The function '{function}' is not differentiable with respect to argument '{name}' (shape "
            f"{list(argument.shape)}). This input cannot have requires_grad True."
        )
