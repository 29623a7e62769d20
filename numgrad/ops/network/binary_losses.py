"""Losses of a choice between two: of probabilities, of logits, and the soft margin."""

from __future__ import annotations

from numgrad_kernels import scalar

from ..._layout import Layout
from ..elementwise import pointwise
from ..planned import planned
from ..pointwise.arithmetic import log, log_one_plus_exp, mul, neg, sigmoid, sub
from ..pointwise.comparison import where
from ..reductions.axes import Prepared
from .reducing import loss_of_examples, reduced_loss, spread

__all__ = ["bce_op", "bce_with_logits_op", "soft_margin_loss_op"]

# -- of probabilities -------------------------------------------------------------------------------------------


@pointwise(
    "BinaryCrossEntropyBackward0", dtypes="f", nondifferentiable=["input", "target"], export=False, inplace=False
)
def bce(input, target):
    """``-(target * log(input) + (1 - target) * log(1 - input))``, no logarithm counting for less than -100."""
    yes = scalar.maximum(scalar.log(input), -100)
    no = scalar.maximum(scalar.log1p(-input), -100)
    return (target - 1) * no - target * yes


@pointwise("BinaryCrossEntropyBackwardBackward0", dtypes="f", export=False, inplace=False)
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


@planned("BinaryCrossEntropyBackward0", inputs=["input", "target", "weight"], nondifferentiable=["weight"])
def bce_op(input: Layout, target: Layout, weight: Layout | None, reduction: str) -> Prepared:
    return reduced_loss(bce, reduction, input, target, weight)


@bce_op.gradient("input")
def _(grad, input, target, weight, reduction):
    """``bce_backward(grad * weight, input, target)``."""
    return bce_backward(spread(grad, input._layout.shape, reduction, weight), input, target)


@bce_op.gradient("target")
def _(grad, input, weight, reduction):
    """``grad * weight * (log(1 - input) - log(input))``."""
    return mul(spread(grad, input._layout.shape, reduction, weight), sub(log(sub(1, input)), log(input)))


# -- of logits --------------------------------------------------------------------------------------------------


@pointwise(
    "LogitLossBackward0", dtypes="f", nondifferentiable=["input", "target", "positive"],
    export=False, inplace=False,
)
def logit_loss(input, target, positive):
    """``-(positive * target * log(sigmoid(input)) + (1 - target) * log(1 - sigmoid(input)))``."""
    weight = 1 + (positive - 1) * target
    return (1 - target) * input + weight * log_one_plus_exp(-input)


@planned(
    "BinaryCrossEntropyWithLogitsBackward0",
    inputs=["input", "target", "weight", "pos_weight"],
    nondifferentiable=["weight", "pos_weight"],
)
def bce_with_logits_op(
    input: Layout, target: Layout, weight: Layout | None, pos_weight: Layout | None, reduction: str
) -> Prepared:
    return reduced_loss(logit_loss, reduction, input, target, weight, pos_weight)


@bce_with_logits_op.gradient("input")
def _(grad, input, target, weight, pos_weight, reduction):
    """``grad * weight * ((pos_weight * target + 1 - target) * sigmoid(input) - pos_weight * target)``."""
    each = spread(grad, input._layout.shape, reduction, weight)
    return logit_loss_gradient(each, input, target, 1.0 if pos_weight is None else pos_weight)


@bce_with_logits_op.gradient("target")
def _(grad, input, weight, pos_weight, reduction):
    """``grad * weight * ((pos_weight - 1) * log(1 + exp(-input)) - input)``."""
    each = spread(grad, input._layout.shape, reduction, weight)
    if pos_weight is None:
        return neg(mul(each, input))
    return mul(each, sub(mul(sub(pos_weight, 1), log_one_plus_exp(neg(input))), input))


@pointwise("LogitLossGradientBackward0", dtypes="f", export=False, inplace=False)
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


# -- of scores of either sign -----------------------------------------------------------------------------------


@pointwise("SoftMarginLossBackward0", dtypes="f", nondifferentiable=["input", "target"], export=False, inplace=False)
def soft_margin(input, target):
    """``log(1 + exp(-target * input))``."""
    return log_one_plus_exp(-target * input)


@pointwise("SoftMarginLossBackwardBackward0", dtypes="f", nondifferentiable=["target"], export=False, inplace=False)
def soft_margin_backward(grad_output, input, target):
    """``-grad_output * target / (1 + exp(target * input))``."""
    return -grad_output * target * sigmoid(-target * input)


@soft_margin_backward.gradient("grad_output")
def _(grad, input, target):
    return soft_margin_backward(grad, input, target)


@soft_margin_backward.gradient("input")
def _(grad, grad_output, input, target):
    return grad * grad_output * (target * target * sigmoid(target * input) * sigmoid(-target * input))


@planned("SoftMarginLossBackward0", inputs=["input", "target"], nondifferentiable=["target"])
def soft_margin_loss_op(input: Layout, target: Layout, reduction: str) -> Prepared:
    """The mean or sum of :func:`soft_margin`."""
    return reduced_loss(soft_margin, reduction, input, target)


@soft_margin_loss_op.gradient("input")
def _(grad, input, target, reduction):
    """``soft_margin_backward(grad, input, target)``, over the number of elements for a mean."""
    return soft_margin_backward(spread(grad, input._layout.shape, reduction), input, target)


for _op in (bce_op, bce_with_logits_op, soft_margin_loss_op):
    _op.batched(loss_of_examples(_op))
