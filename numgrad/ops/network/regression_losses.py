"""Losses of the difference of two tensors: squared, and squared near 0 but linear beyond.

Each is a pointwise operation, which is the unreduced loss, its gradient, which is another one, and a mean or sum.
"""

from __future__ import annotations

from numgrad_kernels import scalar

from ..._layout import Layout
from ..elementwise import pointwise
from ..planned import planned
from ..pointwise.arithmetic import abs
from ..pointwise.comparison import where
from ..reductions.axes import Prepared
from .reducing import loss_of_examples, reduced_loss, spread

__all__ = ["huber_loss_op", "mse_loss_op", "smooth_l1_loss_op"]

# -- squared ----------------------------------------------------------------------------------------------------


@pointwise("MseLossBackward0", dtypes="f", nondifferentiable=["input", "target"], export=False, inplace=False)
def mse(input, target):
    """``(input - target) ** 2``."""
    return (input - target) * (input - target)


@pointwise("MseLossBackwardBackward0", dtypes="f", export=False, inplace=False)
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


@planned("MseLossBackward0", inputs=["input", "target"])
def mse_loss_op(input: Layout, target: Layout, reduction: str) -> Prepared:
    """The mean or sum of :func:`mse`."""
    return reduced_loss(mse, reduction, input, target)


@mse_loss_op.gradient("input")
def _(grad, input, target, reduction):
    """``mse_backward(grad, input, target)``, over the number of elements for a mean."""
    return mse_backward(spread(grad, input._layout.shape, reduction), input, target)


@mse_loss_op.gradient("target")
def _(grad, input, target, reduction):
    """``mse_backward(grad, target, input)``, over the number of elements for a mean."""
    return mse_backward(spread(grad, input._layout.shape, reduction), target, input)


# -- squared up to beta, and parallel to the absolute value beyond ------------------------------------------------


@pointwise("SmoothL1LossBackward0", dtypes="f", nondifferentiable=["input", "target"], export=False, inplace=False)
def smooth_l1(input, target, *, beta=1.0):
    """``d ** 2 / (2 * beta)`` where ``d = abs(input - target)`` is less than ``beta``, ``d - beta / 2`` elsewhere."""
    distance = scalar.abs(input - target)
    return scalar.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)


@pointwise("SmoothL1LossBackwardBackward0", dtypes="f", export=False, inplace=False)
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


@planned("SmoothL1LossBackward0", inputs=["input", "target"])
def smooth_l1_loss_op(input: Layout, target: Layout, reduction: str, beta: float) -> Prepared:
    """The mean or sum of :func:`smooth_l1`."""
    return reduced_loss(smooth_l1, reduction, input, target, beta=beta)


@smooth_l1_loss_op.gradient("input")
def _(grad, input, target, reduction, beta):
    """``smooth_l1_backward(grad, input, target, beta=beta)``, over the number of elements for a mean."""
    return smooth_l1_backward(spread(grad, input._layout.shape, reduction), input, target, beta=beta)


@smooth_l1_loss_op.gradient("target")
def _(grad, input, target, reduction, beta):
    """``smooth_l1_backward(grad, target, input, beta=beta)``, over the number of elements for a mean."""
    return smooth_l1_backward(spread(grad, input._layout.shape, reduction), target, input, beta=beta)


# -- squared up to delta, and linear with that slope beyond -------------------------------------------------------


@pointwise("HuberLossBackward0", dtypes="f", nondifferentiable=["input", "target"], export=False, inplace=False)
def huber(input, target, *, delta=1.0):
    """``d ** 2 / 2`` where ``d = abs(input - target)`` is at most ``delta``, ``delta * (d - delta / 2)`` elsewhere."""
    distance = scalar.abs(input - target)
    return scalar.where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))


@pointwise("HuberLossBackwardBackward0", dtypes="f", export=False, inplace=False)
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


@planned("HuberLossBackward0", inputs=["input", "target"])
def huber_loss_op(input: Layout, target: Layout, reduction: str, delta: float) -> Prepared:
    """The mean or sum of :func:`huber`."""
    return reduced_loss(huber, reduction, input, target, delta=delta)


@huber_loss_op.gradient("input")
def _(grad, input, target, reduction, delta):
    """``huber_backward(grad, input, target, delta=delta)``, over the number of elements for a mean."""
    return huber_backward(spread(grad, input._layout.shape, reduction), input, target, delta=delta)


@huber_loss_op.gradient("target")
def _(grad, input, target, reduction, delta):
    """``huber_backward(grad, target, input, delta=delta)``, over the number of elements for a mean."""
    return huber_backward(spread(grad, input._layout.shape, reduction), target, input, delta=delta)


for _op in (mse_loss_op, smooth_l1_loss_op, huber_loss_op):
    _op.batched(loss_of_examples(_op))
