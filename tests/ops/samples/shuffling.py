"""Samples of channels that become pixels, and the other way round."""

import itertools

import numpy as np
from ops.sampling import ALL, sample, without

without("pixel_shuffle_op pixel_unshuffle_op channel_shuffle_op", "0-d")


def _pixel_shuffle(x, r):
    *outer, c, h, w = x.shape
    split = x.reshape(*outer, c // r**2, r, r, h, w)
    n = len(outer)
    return split.transpose(*range(n + 1), n + 3, n + 1, n + 4, n + 2).reshape(*outer, c // r**2, h * r, w * r)


def _pixel_unshuffle(x, r):
    places = itertools.product(range(x.shape[-3]), range(r), range(r))
    return np.stack([x[..., channel, row::r, column::r] for channel, row, column in places], -3)


def _channel_shuffle(x, groups, dim):
    order = np.arange(x.shape[dim]).reshape(groups, -1).T.reshape(-1)
    return np.take(x, order, dim)


for _shape, _factor in (((2, 8, 2, 3), 2), ((9, 1, 2), 3), ((0, 4, 1, 1), 2)):
    sample("pixel_shuffle_op", _pixel_shuffle, _shape, args=(_factor,), dtypes=ALL)
for _shape, _factor in (((2, 2, 4, 6), 2), ((1, 3, 6), 3), ((0, 1, 2, 2), 2)):
    sample("pixel_unshuffle_op", _pixel_unshuffle, _shape, args=(_factor,), dtypes=ALL)
for _shape, _groups in (((2, 6, 2, 3), 2), ((2, 6, 2), 3), ((0, 4, 1), 2)):
    sample("channel_shuffle_op", _channel_shuffle, _shape, args=(_groups, 1), dtypes=ALL)
