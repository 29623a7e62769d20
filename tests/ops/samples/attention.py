"""Samples of attention in one kernel."""

import functools

import numpy as np
from ops.sampling import FLOATS, sample, without

from numgrad.ops.network.attention import attention_backward, attention_op

without("attention_op attention_backward", "0-d")


def _weights(query, key, is_causal, scale):
    scores = query @ key.swapaxes(-1, -2) * scale
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    powers = np.exp(scores)
    return powers / powers.sum(-1, keepdims=True)


def _attention(query, key, value, is_causal, scale):
    return _weights(query, key, is_causal, scale) @ value


def _gradients(grad, query, key, value, is_causal, scale):
    weights = _weights(query, key, is_causal, scale)
    of_weights = grad @ value.swapaxes(-1, -2)
    slopes = scale * weights * (of_weights - (of_weights * weights).sum(-1, keepdims=True))
    return slopes @ key, slopes.swapaxes(-1, -2) @ query, weights.swapaxes(-1, -2) @ grad


def _call(query, key, value, is_causal, scale):
    return attention_op(query, key, value, is_causal, scale)[0]


def _call_backward(grad, query, key, value, is_causal, scale):
    """The gradients, given the result that belongs to the inputs."""
    out, statistics = attention_op(query.detach(), key.detach(), value.detach(), is_causal, scale)
    return attention_backward(grad, query, key, value, out, statistics, is_causal, scale)


for _causal, _scale in ((False, 0.5), (True, -0.3)):
    for _query, _key in (((2, 3, 4, 2), (2, 3, 5, 2)), ((0, 1, 2, 2), (0, 1, 2, 2))):
        sample("attention_op", functools.partial(_attention, is_causal=_causal, scale=_scale), _query, _key, _key,
               call=functools.partial(_call, is_causal=_causal, scale=_scale), dtypes=FLOATS)
        sample("attention_backward", functools.partial(_gradients, is_causal=_causal, scale=_scale),
               _query, _query, _key, _key,
               call=functools.partial(_call_backward, is_causal=_causal, scale=_scale), dtypes=FLOATS)
