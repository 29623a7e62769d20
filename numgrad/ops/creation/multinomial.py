"""Indices drawn with given probabilities."""

from __future__ import annotations

import math
from typing import Any

from ... import devices, random
from ...core.tensor import Tensor, fresh
from ...core.types import float64, tensor_type
from ..batching.examples import drawn
from ..memory.copying import contiguous
from ..reductions.extremes import max as largest
from ..reductions.extremes import min as smallest
from ..reductions.searching import searchsorted
from ..table.op import public


@public
@drawn
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn with probabilities proportional to the rows of ``input`` (1-D or 2-D), as int64.

    Without replacement, or for one sample, each probability is divided by an exponential random number and the
    largest win (Efraimidis and Spirakis 2006); with it, uniform numbers are looked up in the cumulative sums.
    The weights are checked at once, also on a GPU, for which this waits.

    Raises:
        RuntimeError: the weights are no probabilities, or too few for so many samples without replacement.
    """
    if not input.is_floating_point():
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype}")
    layout = input._layout
    if len(layout.shape) not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, not shape {list(input.shape)}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > layout.shape[-1]:
        raise RuntimeError(
            f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: {num_samples} of shape "
            f"{list(input.shape)}"
        )
    weights = contiguous(input.detach()).reshape(-1, layout.shape[-1])
    count, size = weights._layout.shape
    if weights._layout.size:
        if not (float(smallest(weights)) >= 0 and float(largest(weights)) < math.inf):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if not float(smallest(weights.sum(1))) > 0:
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    source = random.given_or_default(generator, layout.type.device)
    if replacement and num_samples > 1:
        sums = weights.cumsum(1)
        devices.check_countable((*layout.shape[:-1], num_samples), float64.numpy)
        drawn = source.uniform(count * num_samples, float64.numpy)
        wanted = fresh(drawn, (count, num_samples), tensor_type(float64, layout.type.device))
        picked = searchsorted((sums / sums[:, -1:]).double(), wanted)
    else:
        rates = fresh(source.exponential(count * size, layout.type.numpy), (count, size), layout.type)
        scores = weights / rates
        picked = scores.argmax(1, True) if num_samples == 1 else scores.sort(1, True, stable=True)[1][:, :num_samples]
    return contiguous(picked.reshape(*layout.shape[:-1], num_samples))
