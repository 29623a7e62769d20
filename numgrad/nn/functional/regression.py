"""Losses of regression, which measure the distance of predictions from observations."""

from __future__ import annotations

import math

from ...autograd.grad_mode import GRAD, ORDINARY, no_grad, state
from ...ops.network.loss_reduction import reduced
from ...ops.network.losses import huber, l1, mse, smooth_l1
from ...ops.shapes.broadcasting import broadcast_tensors
from ...ops.table.arguments import tensors_checked
from ...ops.table.checks import check_value
from ...ops.table.op import check_tensors
from ...tensors.tensor import Tensor, check_one_device
from .reduction import check_sizes, loss_function, reduction_of

__all__ = ["gaussian_nll_loss", "huber_loss", "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss"]


def _alike(input: Tensor, target: Tensor) -> tuple[Tensor, ...]:
    """Return both tensors in one shape."""
    return (input, target) if input._layout.shape == target._layout.shape else broadcast_tensors(input, target)


def _check_loss_weight(weight: Tensor, input: Tensor) -> None:
    check_value(
        weight._layout.shape == input._layout.shape,
        "Weights and input must have the same size. They have shapes {} and {}.", weight, input,
    )


def _weighted(losses: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """Return the losses multiplied by their weights; a mean is divided by the sum of the weights."""
    losses = losses * weight
    return losses.sum() / weight.sum() if reduction == "mean" else reduced(losses, reduction)


@loss_function
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """Return ``(input - target) ** 2``.

    Args:
        input, target: floating-point numbers, of shapes that broadcast; a warning is issued if the shapes differ.
        reduction: "mean", "sum" or "none".
        weight: the weight of each element's loss, of the input's shape; the mean is divided by the sum of the weights.
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        NotImplementedError: both are integers.
        RuntimeError, ValueError: the shapes do not fit.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.mse_loss(numgrad.tensor([1.0, 2.0]), numgrad.tensor([1.0, 4.0]))
        tensor(2.)
    """
    check_sizes(input, target)
    pair = _alike(input, target)
    if weight is None:
        return mse(*pair, reduction)
    _check_loss_weight(weight, input)
    return _weighted((pair[0] - pair[1]) ** 2, weight, reduction)


@loss_function
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """Return ``abs(input - target)``; arguments and errors are those of :func:`mse_loss`.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.l1_loss(numgrad.tensor([1.0, 2.0]), numgrad.tensor([1.0, 4.0]))
        tensor(1.)
    """
    check_sizes(input, target)
    pair = _alike(input, target)
    if weight is None:
        return _l1(pair, reduction)
    _check_loss_weight(weight, input)
    return _weighted((pair[0] - pair[1]).abs(), weight, reduction)


def _l1(pair: tuple[Tensor, ...], reduction: str) -> Tensor:
    """Return the absolute loss of two tensors of one shape, in one pass if nothing is recorded."""
    is_recorded = state.mode & GRAD and any(each.requires_grad for each in pair)
    if state.mode <= ORDINARY and not is_recorded and all(each.is_floating_point() for each in pair):
        return l1(*pair, reduction)
    losses = (pair[0] - pair[1]).abs()
    return losses.mean() if reduction == "mean" else reduced(losses, reduction)  # integers have no mean


@loss_function
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Return ``d ** 2 / (2 * beta)`` where ``d < beta``, else ``d - beta / 2``, with ``d = abs(input - target)``.

    Args:
        input, target: floating-point numbers, of shapes that broadcast; a warning is issued if the shapes differ.
        reduction: "mean", "sum" or "none".
        beta: the difference at which the parabola becomes a straight line; with 0 this is :func:`l1_loss`.
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        NotImplementedError: both are integers.
        RuntimeError: ``beta`` is negative, or the shapes do not broadcast.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.smooth_l1_loss(numgrad.tensor([1.0, 2.0]), numgrad.tensor([1.0, 4.0]))
        tensor(0.7500)
    """
    check_sizes(input, target)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta. Got: {beta}")
    pair = _alike(input, target)
    if beta == 0:
        return _l1(pair, reduction)
    return smooth_l1(*pair, reduction, float(beta))


@tensors_checked
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Return ``d ** 2 / 2`` where ``d <= delta``, else ``delta * (d - delta / 2)``, with ``d = abs(input - target)``.

    Args:
        input, target: floating-point numbers, of shapes that broadcast; a warning is issued if the shapes differ.
        reduction: "mean", "sum" or "none".
        delta: the difference at which the parabola becomes a straight line.
        weight: the weight of each element's loss, of the input's shape.

    Raises:
        NotImplementedError: the tensors are integers.
        RuntimeError, ValueError: ``delta`` is not positive, the dtypes differ, or the shapes do not fit.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.huber_loss(numgrad.tensor([1.0, 2.0]), numgrad.tensor([1.0, 4.0]))
        tensor(0.7500)
    """
    check_sizes(input, target)
    reduction = reduction_of(reduction)
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta. Got: {delta}")
    if target._layout.type is not input._layout.type:
        check_one_device(input, target)
        raise RuntimeError(f"Found dtype {target.dtype.legacy} but expected {input.dtype.legacy}")
    pair = _alike(input, target)
    if weight is not None:
        _check_loss_weight(weight, input)
        return reduced(huber(*pair, "none", float(delta)) * weight, reduction)
    return huber(*pair, reduction, float(delta))


@tensors_checked
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor | float,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-06,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood of a normal distribution, ``(log(var) + (input - target) ** 2 / var) / 2``.

    Args:
        input: the means.
        target: the observations.
        var: the variances: of the input's shape, of that shape without its last dimension or with size 1 there, or one
            number.
        full: True to add the constant ``log(2 * pi) / 2``.
        eps: the lower bound of the variances.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: a variance is negative, or the shapes do not fit.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.gaussian_nll_loss(numgrad.zeros(2), numgrad.ones(2), var=numgrad.ones(2))
        tensor(0.5000)
    """
    check_value(reduction in ("none", "mean", "sum"), "{} is not valid", reduction)
    variance = _variance(input, var).clone()
    with no_grad():  # a variance raised to eps still has a gradient
        variance.clamp_(min=eps)
    loss = 0.5 * (variance.log() + (input - target) ** 2 / variance)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


def _variance(input: Tensor, var: Tensor | float) -> Tensor:
    """Return the variances in a shape that broadcasts to the input's.

    Raises:
        ValueError: a variance is negative, or the shape does not fit.
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError(f"var has negative entry/entries: {var}")
        return input.new_ones(input._layout.shape) * var
    check_value(not bool((var.detach() < 0).any()), "var has negative entry/entries")
    shape, input_shape = var._layout.shape, input._layout.shape
    if shape == input_shape[:-1] != input_shape:
        return var.unsqueeze(-1)
    if shape not in (input_shape, *[(*input_shape[:d], 1, *input_shape[d + 1 :]) for d in range(len(input_shape))]):
        raise ValueError(f"var is of incorrect size: {list(shape)}, for input of shape {list(input_shape)}")
    return var


@tensors_checked
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-08,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood of a Poisson distribution, ``exp(input) - target * input``.

    Args:
        input: the logarithms of the means, or the means themselves unless ``log_input``.
        target: the observed counts.
        full: True to add Stirling's approximation of ``log(target!)`` where the target is more than 1.
        eps: a number added to a mean before taking its logarithm.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.poisson_nll_loss(numgrad.tensor([0.5, 2.0]), numgrad.tensor([1.0, 1.0]))
        tensor(3.2689)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensors("poisson_nll_loss", target=target)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)
