"""Samples of attention in one kernel."""

import functools

import numpy as np
from ops.sampling import FLOATS, sample, without

from numgrad.ops.network.attention import attention_op

without("attention_op", "0-d")


def _attention(query, key, value, is_causal, scale):
    scores = query @ key.swapaxes(-1, -2) * scale
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    powers = np.exp(scores)
    return powers / powers.sum(-1, keepdims=True) @ value


def _call(query, key, value, is_causal, scale):
    return attention_op(query, key, value, is_causal, scale)[0]


for _causal, _scale in ((False, 0.5), (True, -0.3)):
    for _query, _key in (((2, 3, 4, 2), (2, 3, 5, 2)), ((0, 1, 2, 2), (0, 1, 2, 2))):
        sample("attention_op", functools.partial(_attention, is_causal=_causal, scale=_scale), _query, _key, _key,
               call=functools.partial(_call, is_causal=_causal, scale=_scale), dtypes=FLOATS)
