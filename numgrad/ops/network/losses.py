"""Losses of each element: of a choice between two, and of the difference of two tensors."""

from __future__ import annotations

from numgrad_kernels import scalar

from ..pointwise.arithmetic import abs, log, log_one_plus_exp, mul, neg, sigmoid, sub
from ..pointwise.comparison import where
from .reducing import loss, spread

# -- of probabilities -------------------------------------------------------------------------------------------


@loss("BinaryCrossEntropyBackward0", name="bce_op", weighted=True, nondifferentiable=["weight"])
def bce(input, target):
    """``-(target * log(input) + (1 - target) * log(1 - input))``, no logarithm counting for less than -100."""
    yes = scalar.maximum(scalar.log(input), -100)
    no = scalar.maximum(scalar.log1p(-input), -100)
    return (target - 1) * no - target * yes


@bce.derivative("BinaryCrossEntropyBackwardBackward0")
def bce_backward(grad_output, input, target):
    """``grad_output * (input - target) / (input * (1 - input))``, the divisor being at least 1e-12."""
    return grad_output * (input - target) / scalar.maximum((1 - input) * input, 1e-12)


@bce_backward.gradient("grad_output")
def _(grad, input, target):
    return bce_backward(grad, input, target)


@bce_backward.gradient("input")
def _(grad, grad_output, input, target):
    product = where((1 - input) * input > 1e-12, (1 - input) * input, 1e-12)
    return grad * grad_output * ((input * input - 2 * input * target + target) / product / product)


@bce_backward.gradient("target")
def _(grad, grad_output, input):
    return -grad * grad_output / where((1 - input) * input > 1e-12, (1 - input) * input, 1e-12)


@bce.gradient("target")
def _(grad, input, weight, reduction):
    """``grad * weight * (log(1 - input) - log(input))``."""
    return mul(spread(grad, input._layout.shape, reduction, weight), sub(log(sub(1, input)), log(input)))


# -- of logits --------------------------------------------------------------------------------------------------


@loss(
    "BinaryCrossEntropyWithLogitsBackward0", name="bce_with_logits_op", weighted=True,
    nondifferentiable=["weight", "pos_weight"],
)
def logit_loss(input, target, pos_weight):
    """``-(pos_weight * target * log(sigmoid(input)) + (1 - target) * log(1 - sigmoid(input)))``."""
    weight = 1 + (pos_weight - 1) * target
    return (1 - target) * input + weight * log_one_plus_exp(-input)


@logit_loss.derivative("LogitLossGradientBackward0")
def logit_loss_gradient(grad_output, input, target, positive):
    """The gradient of :func:`logit_loss` for its input."""
    return grad_output * ((1 - target) - (1 + (positive - 1) * target) * sigmoid(-input))


@logit_loss_gradient.gradient("grad_output")
def _(grad, input, target, positive):
    return logit_loss_gradient(grad, input, target, positive)


@logit_loss_gradient.gradient("input")
def _(grad, grad_output, input, target, positive):
    return grad * grad_output * ((1 + (positive - 1) * target) * sigmoid(input) * sigmoid(-input))


@logit_loss_gradient.gradient("target")
def _(grad, grad_output, input, positive):
    return grad * grad_output * (-1 - (positive - 1) * sigmoid(-input))


@logit_loss_gradient.gradient("positive")
def _(grad, grad_output, input, target):
    return -grad * grad_output * (target * sigmoid(-input))


@logit_loss.gradient("target")
def _(grad, input, weight, pos_weight, reduction):
    """``grad * weight * ((pos_weight - 1) * log(1 + exp(-input)) - input)``."""
    each = spread(grad, input._layout.shape, reduction, weight)
    if pos_weight is None:
        return neg(mul(each, input))
    return mul(each, sub(mul(sub(pos_weight, 1), log_one_plus_exp(neg(input))), input))


# -- of scores of either sign -----------------------------------------------------------------------------------


@loss("SoftMarginLossBackward0", nondifferentiable=["target"])
def soft_margin(input, target):
    """``log(1 + exp(-target * input))``."""
    return log_one_plus_exp(-target * input)


@soft_margin.derivative("SoftMarginLossBackwardBackward0")
def soft_margin_backward(grad_output, input, target):
    """``-grad_output * target / (1 + exp(target * input))``."""
    return -grad_output * target * sigmoid(-target * input)


@soft_margin_backward.gradient("grad_output")
def _(grad, input, target):
    return soft_margin_backward(grad, input, target)


@soft_margin_backward.gradient("input")
def _(grad, grad_output, input, target):
    return grad * grad_output * (target * target * sigmoid(target * input) * sigmoid(-target * input))


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
