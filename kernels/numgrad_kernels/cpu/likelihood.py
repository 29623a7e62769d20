"""Negative log-likelihood: what is picked at each target from an array seen as (outer, classes, inner).

A target that is neither a class nor ``ignored`` is not followed: ``wrong[0]`` becomes true.
"""

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


def _is_class(index, classes):
    return (index >= 0) & (index < classes)


def target_weights(weight, target, ignored, out, wrong):
    """The weight of each target's class, 0 where the target is ``ignored``."""
    for i in prange(target.size):
        index = target[i]
        out[i] = T(0)
        if index != ignored:
            if _is_class(index, weight.size):
                out[i] = weight[index]
            else:
                wrong[0] = True


def pick_negative(x, classes, inner, target, weight, ignored, out, wrong):
    """Minus the element at each target, times the weight of the class (if ``weight`` has any); 0 where ignored."""
    for i in prange(target.size):
        index = target[i]
        out[i] = T(0)
        if index != ignored:
            if _is_class(index, classes):
                value = -x[(i // inner * classes + index) * inner + i % inner]
                out[i] = value * weight[index] if weight.size else value
            else:
                wrong[0] = True


def put_negative(grad, classes, inner, target, weight, ignored, out, wrong):
    """``out`` (zeros) gets minus the gradient at each target, times the weight of the class, unless ignored."""
    for i in prange(target.size):
        index = target[i]
        if index != ignored:
            if _is_class(index, classes):
                value = -grad[i] * weight[index] if weight.size else -grad[i]
                out[(i // inner * classes + index) * inner + i % inner] = value
            else:
                wrong[0] = True
