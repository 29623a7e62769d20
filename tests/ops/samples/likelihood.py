"""Samples of the negative log-likelihood."""

import numpy as np
from ops.sampling import ANY, FLOATS, POSITIVE, index, sample, without

import numgrad

without("nll_loss_op", "0-d")
without("nll_loss_backward", "0-d", "transposed")  # of a vector
without("nll_loss_2d_op nll_loss_2d_backward cross_entropy_backward", "0-d")

_CLASSES = 3


def _weighted_ones(target, weight, ignored, dtype):
    """Minus the weights of the classes at the targets, in an array with a dimension of classes, the last one."""
    places = (target[..., None] == np.arange(_CLASSES)) & (target != ignored)[..., None]
    return np.where(places, -1 if weight is None else -weight, 0).astype(dtype)


def _nll_loss(x, target, weight, ignored, reduction):
    ones = _weighted_ones(target, weight, ignored, x.dtype)
    losses = (np.moveaxis(x, 1, -1) * ones).sum(-1)
    with np.errstate(invalid="ignore"):  # the mean of nothing
        return losses if reduction == "none" else losses.sum() / (-ones.sum() if reduction == "mean" else 1)


def _nll_loss_backward(grad, target, weight, total_weight, shape, ignored, reduction):
    each = np.broadcast_to(grad / (total_weight if reduction == "mean" else 1), target.shape)
    return np.moveaxis(each[..., None] * _weighted_ones(target, weight, ignored, grad.dtype), -1, 1)


def _cross_entropy_backward(grad, target, weight, total_weight, logs, ignored, reduction):
    slopes = _nll_loss_backward(grad, target, weight, total_weight, logs.shape, ignored, reduction)
    return slopes - np.exp(logs) * slopes.sum(1, keepdims=True)


def _call(x, target, weight, ignored, reduction):
    return numgrad.nn.functional.nll_loss(x, target, weight, ignore_index=ignored, reduction=reduction)


for _name, _shape in (
    ("nll_loss", (4, _CLASSES)), ("nll_loss", (0, _CLASSES)), ("nll_loss_2d", (2, _CLASSES, 2, 2)),
    ("nll_loss_2d", (2, _CLASSES, 0, 2)),
):
    _target = _shape[:1] + _shape[2:]
    _domain = (ANY, index(_CLASSES), POSITIVE)
    for _weight, _ignored, _reduction in ((None, -100, "mean"), ((_CLASSES,), 1, "none"), ((_CLASSES,), 1, "sum")):
        _args = (_ignored, _reduction)
        sample(f"{_name}_op", _nll_loss, _shape, _target, _weight, args=_args, domain=_domain, dtypes=FLOATS,
               call=_call)
        sample(f"{_name}_backward", _nll_loss_backward, _target if _reduction == "none" else (), _target, _weight, (),
               args=(_shape, *_args), domain=(*_domain, POSITIVE), dtypes=FLOATS)
        sample("cross_entropy_backward", _cross_entropy_backward, _target if _reduction == "none" else (), _target,
               _weight, (), _shape, args=_args, domain=(*_domain, POSITIVE, ANY), dtypes=FLOATS)
