"""Negative log-likelihood: what is picked at each target from an array seen as (outer, classes, inner)."""

from __future__ import annotations

import numpy as np
from numba import prange

#: Placeholder: the dtype that the kernel computes in.
T = np.float32


def examine_targets(target, classes, ignored, found):
    """``found`` gets the place of the first target that is no class (-1 if there is none) and how many count."""
    found[0] = -1
    count = 0
    for i in range(target.size):
        index = target[i]
        if index != ignored:
            count += 1
            if (index < 0 or index >= classes) and found[0] < 0:
                found[0] = i
    found[1] = count


def target_weights(weight, target, ignored, out):
    """The weight of each target's class, 0 where the target is ``ignored``."""
    for i in prange(target.size):
        out[i] = T(0) if target[i] == ignored else weight[target[i]]


def pick_negative(x, classes, inner, target, weight, ignored, out):
    """Minus the element at each target, times the weight of the class (if ``weight`` has any); 0 where ignored."""
    for i in prange(target.size):
        index = target[i]
        if index == ignored:
            out[i] = T(0)
        else:
            value = -x[(i // inner * classes + index) * inner + i % inner]
            out[i] = value * weight[index] if weight.size else value


def put_negative(grad, classes, inner, target, weight, ignored, out):
    """``out`` (zeros) gets minus the gradient at each target, times the weight of the class, unless ignored."""
    for i in prange(target.size):
        index = target[i]
        if index != ignored:
            value = -grad[i]
            out[(i // inner * classes + index) * inner + i % inner] = value * weight[index] if weight.size else value
