"""How a loss of each element becomes the loss of all: kept, summed up or averaged."""

from __future__ import annotations

from ..._layout import numel
from ..._tensor import Tensor
from ...autograd.grad_mode import GRAD, state
from ..pointwise.arithmetic import div
from ..reductions.sums import mean_all, sum_all
from ..shapes.views import expand

__all__ = ["reduced", "refuse_gradient", "spread"]


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The losses themselves ("none"), their mean or their sum."""
    if reduction == "none":
        return losses
    return sum_all(losses) if reduction == "sum" else mean_all(losses)


def spread(grad: Tensor, shape: tuple[int, ...], reduction: str) -> Tensor:
    """The gradient of each of the losses, of ``shape``, from that of :func:`reduced`."""
    if reduction == "none":
        return grad
    return expand(div(grad, float(numel(shape))) if reduction == "mean" else grad, shape)


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
