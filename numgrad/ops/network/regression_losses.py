"""Losses of the difference of two tensors: squared, and squared near 0 but linear beyond."""

from __future__ import annotations

from numgrad_kernels import scalar

from ..pointwise.arithmetic import abs
from ..pointwise.comparison import where
from .reducing import loss

__all__ = ["huber", "mse", "smooth_l1"]

# -- squared ----------------------------------------------------------------------------------------------------


@loss("MseLossBackward0", symmetric=True)
def mse(input, target):
    """``(input - target) ** 2``."""
    return (input - target) * (input - target)


@mse.derivative("MseLossBackwardBackward0")
def mse_backward(grad_output, input, target):
    """``2 * grad_output * (input - target)``."""
    return 2 * grad_output * (input - target)


@mse_backward.gradient("grad_output")
def _(grad, input, target):
    return mse_backward(grad, input, target)


@mse_backward.gradient("input")
def _(grad, grad_output):
    return 2 * grad * grad_output


@mse_backward.gradient("target")
def _(grad, grad_output):
    return -2 * grad * grad_output


# -- squared up to beta, and parallel to the absolute value beyond ------------------------------------------------


@loss("SmoothL1LossBackward0", symmetric=True)
def smooth_l1(input, target, *, beta=1.0):
    """``d ** 2 / (2 * beta)`` where ``d = abs(input - target)`` is less than ``beta``, ``d - beta / 2`` elsewhere."""
    distance = scalar.abs(input - target)
    return scalar.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)


@smooth_l1.derivative("SmoothL1LossBackwardBackward0")
def smooth_l1_backward(grad_output, input, target, *, beta=1.0):
    """``grad_output`` times ``(input - target) / beta``, held between -1 and 1."""
    slope = (input - target) / beta
    return grad_output * scalar.where(slope <= -1, -1, scalar.where(slope >= 1, 1, slope))


@smooth_l1_backward.gradient("grad_output")
def _(grad, input, target, beta):
    return smooth_l1_backward(grad, input, target, beta=beta)


@smooth_l1_backward.gradient("input")
def _(grad, grad_output, input, target, beta):
    return where(abs(input - target) < beta, grad * grad_output / beta, 0)


@smooth_l1_backward.gradient("target")
def _(grad, grad_output, input, target, beta):
    return where(abs(input - target) < beta, -grad * grad_output / beta, 0)


# -- squared up to delta, and linear with that slope beyond -------------------------------------------------------


@loss("HuberLossBackward0", symmetric=True)
def huber(input, target, *, delta=1.0):
    """``d ** 2 / 2`` where ``d = abs(input - target)`` is at most ``delta``, ``delta * (d - delta / 2)`` elsewhere."""
    distance = scalar.abs(input - target)
    return scalar.where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))


@huber.derivative("HuberLossBackwardBackward0")
def huber_backward(grad_output, input, target, *, delta=1.0):
    """``grad_output`` times ``input - target``, held between ``-delta`` and ``delta``."""
    slope = input - target
    return grad_output * scalar.where(slope <= -delta, -delta, scalar.where(slope >= delta, delta, slope))


@huber_backward.gradient("grad_output")
def _(grad, input, target, delta):
    return huber_backward(grad, input, target, delta=delta)


@huber_backward.gradient("input")
def _(grad, grad_output, input, target, delta):
    return where(abs(input - target) < delta, grad * grad_output, 0)


@huber_backward.gradient("target")
def _(grad, grad_output, input, target, delta):
    return where(abs(input - target) < delta, -grad * grad_output, 0)
