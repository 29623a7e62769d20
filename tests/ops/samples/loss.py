"""Samples of softmax and the losses."""

import numpy as np
from ops.sampling import ANY, FLOATS, POSITIVE, UNIT, index, sample, without

import numgrad

without("pick nll_loss_op", "0-d")
without("put", "0-d", "transposed")

def _softmax(x, dim):
    powers = np.exp(x - x.max(dim, keepdims=True)) if x.size else x
    return powers / powers.sum(dim, keepdims=True)


def _over_rows(function):
    """A function along a dimension: a 0-d array counts as one of one element."""
    return lambda *given: function(*[np.atleast_1d(x) for x in given[:-1]], given[-1]).reshape(given[0].shape)


_softmax_reference = _over_rows(_softmax)
_log_softmax_reference = _over_rows(lambda x, dim: np.log(_softmax(x, dim)))
_softmax_backward = _over_rows(lambda g, y, dim: y * (g - (g * y).sum(dim, keepdims=True)))
_log_softmax_backward = _over_rows(lambda g, y, dim: g - np.exp(y) * g.sum(dim, keepdims=True))

for _shape, _dim in (((2, 3), 1), ((2, 3, 4), 0), ((2, 3, 4), 1), ((0, 3), 1), ((3, 0), 1), ((), 0)):
    sample("softmax_op", _softmax_reference, _shape, args=(_dim,), call=numgrad.softmax, dtypes=FLOATS)
    sample("log_softmax_op", _log_softmax_reference, _shape, args=(_dim,), call=numgrad.log_softmax, dtypes=FLOATS)
    sample("softmax_backward", _softmax_backward, _shape, _shape, args=(_dim,), dtypes=FLOATS)
    sample("log_softmax_backward", _log_softmax_backward, _shape, _shape, args=(_dim,), dtypes=FLOATS)


def _pick(x, target, ignored):
    return np.where(target == ignored, 0, -np.take_along_axis(x, target[:, None], 1)[:, 0])


def _put(x, target, classes, ignored):
    return np.where(target == ignored, 0, -x)[:, None] * (target[:, None] == np.arange(classes))


def _nll_loss(x, target, ignored, count, reduction):
    losses = _pick(x, target, ignored)
    return losses if reduction == "none" else losses.sum() / (count if reduction == "mean" else 1)


_TARGETS = (ANY, index(3))
for _count in (4, 0):
    for _ignored in (-100, 1):
        sample("pick", _pick, (_count, 3), (_count,), args=(_ignored,), domain=_TARGETS, dtypes=FLOATS)
        sample("put", _put, (_count,), (_count,), args=(3, _ignored), domain=_TARGETS, dtypes=FLOATS)
    for _reduction in ("none", "sum"):
        sample("nll_loss_op", _nll_loss, (_count, 3), (_count,), args=(1, 3.0, _reduction), domain=_TARGETS,
               dtypes=FLOATS)
sample("nll_loss_op", _nll_loss, (4, 3), (4,), args=(-100, 4.0, "mean"), domain=_TARGETS, dtypes=FLOATS)


def _logit_loss(x, target, positive):
    return positive * target * np.logaddexp(0, -x) + (1 - target) * np.logaddexp(0, x)


def _logit_loss_gradient(grad, x, target, positive):
    return grad * ((1 - target) / (1 + np.exp(-x)) - positive * target / (1 + np.exp(x)))


def _bce_with_logits(x, target, weight, positive, reduction):
    losses = _logit_loss(x, target, 1 if positive is None else positive) * (1 if weight is None else weight)
    return losses if reduction == "none" else getattr(losses, reduction)()


sample("logit_loss", _logit_loss, domain=(ANY, UNIT, POSITIVE), dtypes=FLOATS)
sample("logit_loss_gradient", _logit_loss_gradient, domain=(ANY, ANY, UNIT, POSITIVE), dtypes=FLOATS)
for _shape in ((2, 3), (0, 3), ()):
    for _reduction in ("none", "mean", "sum"):
        for _weight, _positive in ((None, None), (_shape, None), (_shape[-1:], _shape[-1:])):
            sample("bce_with_logits_op", _bce_with_logits, _shape, _shape, _weight, _positive, args=(_reduction,),
                   domain=(ANY, UNIT, POSITIVE, POSITIVE), dtypes=FLOATS,
                   memory="kept" if _reduction == "none" else "contiguous")
