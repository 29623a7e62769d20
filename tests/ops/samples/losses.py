"""Samples of losses of each element, their gradients, and their means and sums."""

import numpy as np
from ops.sampling import ANY, FLOATS, POSITIVE, UNIT, Domain, sample

SIGN = Domain(lambda u: np.where(u > 0.5, 1.0, -1.0))


def _reduced(function, argument_count=2):
    """The loss with a reduction after its tensors, followed by its further arguments."""

    def reference(*given):
        tensors, (reduction, *numbers) = given[:argument_count], given[argument_count:]
        losses = function(*tensors, *numbers)
        return losses if reduction == "none" else getattr(losses, reduction)()

    return reference


# -- of a difference ------------------------------------------------------------------------------------------


def _smooth_l1(x, target, beta=1.0):
    d = np.abs(x - target)
    return np.where(d < beta, d * d / (2 * beta), d - beta / 2)


def _huber(x, target, delta=1.0):
    return delta * _smooth_l1(x, target, delta)


def _slope(grad, x, target, beta=1.0):
    return grad * np.clip((x - target) / beta, -1, 1)


sample("l1", lambda x, target: np.abs(x - target), dtypes=FLOATS)
sample("mse", lambda x, target: (x - target) ** 2, dtypes=FLOATS)
sample("mse_backward", lambda grad, x, target: 2 * grad * (x - target), dtypes=FLOATS)
for _beta in (0.3, 3.1):  # differences are not so near to these that a finite difference would reach across
    sample("smooth_l1", _smooth_l1, beta=_beta, dtypes=FLOATS)
    sample("smooth_l1_backward", _slope, beta=_beta, dtypes=FLOATS)
    sample("huber", _huber, delta=_beta, dtypes=FLOATS)
    sample("huber_backward", lambda *given, delta: delta * _slope(*given, delta), delta=_beta, dtypes=FLOATS)

# -- of a choice between two ----------------------------------------------------------------------------------


def _bce(x, target):
    return -target * np.log(x) - (1 - target) * np.log(1 - x)


def _logit_loss(x, target, positive):
    return positive * target * np.logaddexp(0, -x) + (1 - target) * np.logaddexp(0, x)


def _logit_loss_gradient(grad, x, target, positive):
    return grad * ((1 - target) / (1 + np.exp(-x)) - positive * target / (1 + np.exp(x)))


def _weighted_bce(x, target, weight):
    return _bce(x, target) * (1 if weight is None else weight)


def _weighted_logit_loss(x, target, weight, positive):
    return _logit_loss(x, target, 1 if positive is None else positive) * (1 if weight is None else weight)


def _soft_margin(x, target):
    return np.logaddexp(0, -target * x)


sample("bce", _bce, domain=UNIT, dtypes=FLOATS)
sample("bce_backward", lambda grad, x, target: grad * (x - target) / (x * (1 - x)), domain=(ANY, UNIT, UNIT),
       dtypes=FLOATS)
sample("logit_loss", _logit_loss, domain=(ANY, UNIT, POSITIVE), dtypes=FLOATS)
sample("logit_loss_gradient", _logit_loss_gradient, domain=(ANY, ANY, UNIT, POSITIVE), dtypes=FLOATS)
sample("soft_margin", _soft_margin, domain=(ANY, SIGN), dtypes=FLOATS)
sample("soft_margin_backward", lambda grad, x, target: -grad * target / (1 + np.exp(target * x)),
       domain=(ANY, ANY, SIGN), dtypes=FLOATS)

# -- reduced --------------------------------------------------------------------------------------------------

for _shape in ((2, 3), (0, 3), ()):
    for _reduction in ("mean", "sum"):
        for _name, _function, _numbers in (
            ("l1_loss_op", lambda x, target: np.abs(x - target), ()),
            ("mse_loss_op", lambda x, target: (x - target) ** 2, ()),
            ("smooth_l1_loss_op", _smooth_l1, (0.3,)),
            ("huber_loss_op", _huber, (0.3,)),
        ):
            sample(_name, _reduced(_function), _shape, _shape, args=(_reduction, *_numbers), dtypes=FLOATS)
        sample("soft_margin_loss_op", _reduced(_soft_margin), _shape, _shape, args=(_reduction,), domain=(ANY, SIGN),
               dtypes=FLOATS)
    for _reduction in ("none", "mean", "sum"):
        _memory = "kept" if _reduction == "none" else "contiguous"
        _first = 0 if (_shape, _reduction) == ((2, 3), "mean") else -1  # all reductions take weights alike
        for _weight, _positive in ((None, None), (_shape, None), (_shape[-1:], _shape[-1:]))[_first:]:
            sample("bce_with_logits_op", _reduced(_weighted_logit_loss, 4), _shape, _shape, _weight, _positive,
                   args=(_reduction,), domain=(ANY, UNIT, POSITIVE, POSITIVE), dtypes=FLOATS, memory=_memory)
        for _weight in (None, _shape)[_first:]:
            sample("bce_op", _reduced(_weighted_bce, 3), _shape, _shape, _weight, args=(_reduction,),
                   domain=(UNIT, UNIT, POSITIVE), dtypes=FLOATS, memory=_memory)
