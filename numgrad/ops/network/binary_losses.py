"""Losses of a choice between two: of probabilities, of logits, and the soft margin."""

from __future__ import annotations

from numgrad_kernels import scalar

from ..pointwise.arithmetic import log, log_one_plus_exp, mul, neg, sigmoid, sub
from ..pointwise.comparison import where
from .reducing import loss, spread

__all__ = ["bce", "logit_loss", "soft_margin"]

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
