"""Samples of normalization of batches and of groups of channels, and of its gradients."""

import math

import numpy as np
from ops.sampling import ANY, FLOATS, POSITIVE, sample, without

import numgrad
from numgrad.ops.network.batch_normalization import batch_norm_backward, batch_norm_op
from numgrad.ops.network.group_normalization import group_norm_backward, group_norm_op

without("batch_norm_op batch_norm_backward group_norm_op group_norm_backward", "0-d")

_EPS = 0.1
_DOMAINS = (ANY, ANY, ANY, ANY, POSITIVE)


def _wide(x, *rows):
    return [row.reshape(-1, *(1,) * (x.ndim - 2)) for row in rows]


def _moments(x):
    dims = (0, *range(2, x.ndim))
    return x.mean(dims), x.var(dims)


def _batch_norm(x, weight, bias, mean, variance, training, eps):
    if training:
        mean, variance = _moments(x)
    scale = 1 / np.sqrt(variance + eps)
    ones = np.ones_like(mean)
    mu, s, w, b = _wide(x, mean, scale, ones if weight is None else weight, 0 * ones if bias is None else bias)
    return (x - mu) * s * w + b


def _batch_norm_backward(grad, x, weight, mean, scale, training, eps):
    dims = (0, *range(2, x.ndim))
    if training:
        mean, variance = _moments(x)
        scale = 1 / np.sqrt(variance + eps)
    mu, s, w = _wide(x, mean, scale, np.ones_like(mean) if weight is None else weight)
    y, g = (x - mu) * s, grad * w
    centre = g.mean(dims, keepdims=True) + y * (g * y).mean(dims, keepdims=True) if training else 0
    return s * (g - centre), (grad * y).sum(dims), grad.sum(dims)


def _call(*arguments):
    return batch_norm_op(*arguments)[0]


def _call_backward(grad, x, weight, mean, scale, training, eps):
    """The gradients in training, given the mean and the scale of the input."""
    variance, mean = numgrad.var_mean(x.detach(), (0, *range(2, x.ndim)), correction=0)
    return batch_norm_backward(grad, x, weight, mean, (variance + eps).rsqrt(), training, eps)


for _given, _parameters, _training in (
    ((2, 3, 2), (3,), True), ((2, 2, 4, 5), (2,), True), ((4, 3), None, False), ((0, 3, 2), (3,), False),
):
    _statistics = (None, None) if _training else (_given[1:2],) * 2
    _args = {"args": (_training, _EPS), "domain": _DOMAINS, "dtypes": FLOATS}
    sample("batch_norm_op", _batch_norm, _given, _parameters, _parameters, *_statistics, call=_call, **_args)
    _args["call"] = _call_backward if _training else None
    sample("batch_norm_backward", _batch_norm_backward, _given, _given, _parameters, *_statistics, **_args)


# -- groups ---------------------------------------------------------------------------------------------------------


def _of_groups(x, groups, eps):
    """The input with mean 0 and variance 1 in each group, their scales, and a function that gives means over groups."""
    def mean(own):
        length = math.prod(x.shape[1:]) // groups
        return np.repeat(own.reshape(len(x), groups, length).mean(2, keepdims=True), length, 2).reshape(x.shape)

    centred = x - mean(x)
    scale = 1 / np.sqrt(mean(centred**2) + eps)
    return centred * scale, scale, mean


def _group_norm(x, weight, bias, groups, eps):
    y, _, _ = _of_groups(x, groups, eps)
    ones = np.ones(x.shape[1])
    w, b = _wide(x, ones if weight is None else weight, 0 * ones if bias is None else bias)
    return y * w + b


def _group_norm_backward(grad, x, weight, groups, eps):
    y, scale, mean = _of_groups(x, groups, eps)
    dims = (0, *range(2, x.ndim))
    g = grad if weight is None else grad * _wide(x, weight)[0]
    return scale * (g - mean(g) - y * mean(g * y)), (grad * y).sum(dims), grad.sum(dims)


def _call_groups(*arguments):
    return group_norm_op(*arguments)[0]


def _call_groups_backward(grad, x, weight, groups, eps):
    """The gradients, given the mean and the scale of the input."""
    _, *statistics = group_norm_op(x.detach(), None, None, groups, eps)
    return group_norm_backward(grad, x, weight, *statistics, groups, eps)


for _given, _parameters, _groups in (
    ((2, 4, 3), (4,), 2), ((3, 2, 4, 5), None, 1), ((2, 4, 4, 4), (4,), 2), ((0, 4, 3), (4,), 2),
):
    _args = {"args": (_groups, _EPS), "dtypes": FLOATS}
    sample("group_norm_op", _group_norm, _given, _parameters, _parameters, call=_call_groups, **_args)
    sample(
        "group_norm_backward", _group_norm_backward, _given, _given, _parameters, call=_call_groups_backward, **_args
    )
