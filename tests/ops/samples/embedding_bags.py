"""Samples of bags of an embedding."""

import itertools

import numpy as np
from ops.sampling import ANY, FLOATS, index, sample, without

import numgrad

without("embedding_bag_op embedding_bag_max_op", "0-d")

_ROWS = 4

#: Where bags begin in five indices; the second is empty.
_STARTS = [0, 2, 2, 5]


def _bags(indices, padding):
    """The positions of the indices in each bag that count."""
    return [[k for k in range(*ends) if indices[k] != padding] for ends in itertools.pairwise(_STARTS)]


def _sums(weight, indices, starts, factors, mean, scaled, padding):
    bags = _bags(indices, padding)
    factors = np.ones(indices.size) if factors is None else factors
    totals = np.array([(weight[indices[places]] * factors[places][:, None]).sum(0) for places in bags])
    return totals / np.array([max(len(places), 1) if mean else 1 for places in bags])[:, None]


def _largest(weight, indices, starts, padding):
    bags = _bags(indices, padding)
    none = np.zeros(weight.shape[1])
    return np.array([weight[indices[places]].max(0) if places else none for places in bags])


def _call(weight, indices, starts, *rest):
    """The public function, given the arguments of either operation."""
    *factors, padding = rest
    mode = "max" if not factors else "mean" if factors[1] else "sum"
    offsets = numgrad.tensor(_STARTS, device=weight.device)
    return numgrad.nn.functional.embedding_bag(
        indices, weight, offsets, mode=mode, per_sample_weights=factors[0] if factors else None,
        include_last_offset=True, padding_idx=padding,
    )


for _padding in (None, 2):
    for _factors, _mean in (((5,), False), (None, True)):
        sample("embedding_bag_op", _sums, (_ROWS, 3), (5,), None, _factors, args=(_mean, False, _padding),
               domain=(ANY, index(_ROWS), ANY, ANY), dtypes=FLOATS, call=_call)
    sample("embedding_bag_max_op", _largest, (_ROWS, 3), (5,), None, args=(_padding,),
           domain=(ANY, index(_ROWS), ANY), dtypes=FLOATS, call=_call)
sample("embedding_bag_op", _sums, (_ROWS, 0), (5,), None, None, args=(True, False, None),
       domain=(ANY, index(_ROWS), ANY, ANY), dtypes=FLOATS, call=_call)
sample("embedding_bag_max_op", _largest, (_ROWS, 0), (5,), None, args=(None,), domain=(ANY, index(_ROWS), ANY),
       dtypes=FLOATS, call=_call)
