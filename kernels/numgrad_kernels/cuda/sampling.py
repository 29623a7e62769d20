"""Gamma, Poisson and binomial numbers by rejection on a GPU; the samplers are in ``rejection.py``.

Each element takes as many pairs of uniform numbers as it needs.  The counter of Philox consists of the number of the
draw, as in ``random.py``, and of the element's index and the number of the pair.
"""

import math

import numpy as np

from ..facts import Out
from ..rejection import (
    binomial_constants,
    binomial_is_accepted,
    gamma_is_accepted,
    hat_candidate,
    poisson_constants,
    poisson_is_accepted,
)
from ..scalar import ceil, exp, log, log1p, sqrt
from .adapter import cuda
from .language import cospi
from .random import one_number, philox

#: The distance between the calls of the generator for one element: more than there are elements.
STRIDE = 1 << 40


def _pair(call, offset, seed):
    """Two uniform numbers in (0, 1), odd multiples of 2**-53."""
    a, b, c, d = philox(call, offset, seed)
    first = np.float64(np.int64(one_number(a, b) >> np.uint64(11) | np.uint64(1))) * 2.0**-53
    return first, np.float64(np.int64(one_number(c, d) >> np.uint64(11) | np.uint64(1))) * 2.0**-53


def gamma(out: Out, size, seed, offset, shapes, logarithms, least):
    """Fill ``out`` with standard gamma numbers of given shapes, or their logarithms; see the CPU's kernel."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        call = i
        shape = np.float64(shapes[i])
        d = (shape + 1.0 if shape < 1 else shape) - 1.0 / 3.0
        result = -math.inf if shape == 0 else math.inf if shape > 0 else math.nan
        waits = bool(shape > 0 and shape < math.inf)
        while waits:
            first, second = _pair(call, offset, seed)
            unit, other = _pair(call + STRIDE, offset, seed)
            call += 2 * STRIDE
            normal = sqrt(-2.0 * log(first)) * cospi(2.0 * second)
            side = 1.0 + normal / sqrt(9.0 * d)
            if side > 0:
                cube = side * side * side
                if gamma_is_accepted(normal, cube, unit, d):
                    waits = False
                    boost = log(other) / shape if shape < 1 else 0.0
                    result = log(d * cube) + boost if logarithms else d * cube * exp(boost)
        out[i] = least if result < least else result


def poisson(out: Out, size, seed, offset, rates):
    """Fill ``out`` with Poisson numbers of given rates; see the CPU's kernel."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        call = i
        rate = np.float64(rates[i])
        result = rate if rate >= 0 else math.nan
        if rate > 0 and rate < 10:
            limit, product, result = exp(-rate), 1.0, -1.0
            while product > limit:
                first, second = _pair(call, offset, seed)
                call += STRIDE
                product *= first
                result += 1.0
                if product > limit:
                    product *= second
                    result += 1.0
        elif rate >= 10 and rate < math.inf:
            a, b, inverse, v = poisson_constants(rate)
            waits = True
            while waits:
                first, second = _pair(call, offset, seed)
                call += STRIDE
                result, distance = hat_candidate(first, a, b, rate + 0.43)
                if distance >= 0.07 and second <= v:
                    waits = False
                elif result >= 0 and (distance >= 0.013 or second <= distance):
                    waits = not poisson_is_accepted(result, second, distance, rate, a, b, inverse)
        out[i] = result


def binomial(out: Out, size, seed, offset, counts, probabilities):
    """Fill ``out`` with binomial numbers; see the CPU's kernel."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        call = i
        count, probability = np.float64(counts[i]), np.float64(probabilities[i])
        few = 1.0 - probability if probability > 0.5 else probability
        result = count * 0.0 + probability * 0.0  # NaN if one of them is not finite
        if count > 0 and few > 0 and count * few < 10:
            logarithm, trials = log1p(-few), 0.0
            while trials <= count:
                first, second = _pair(call, offset, seed)
                call += STRIDE
                trials += ceil(log(first) / logarithm)
                result += 1.0
                if trials <= count:
                    trials += ceil(log(second) / logarithm)
                    result += 1.0
            result -= 1.0
        elif count > 0 and few > 0 and count < math.inf:
            a, b, alpha, v = binomial_constants(count, few)
            waits = True
            while waits:
                first, second = _pair(call, offset, seed)
                call += STRIDE
                result, distance = hat_candidate(first, a, b, count * few + 0.5)
                if result >= 0 and result <= count:
                    waits = distance < 0.07 or second > v
                    if waits:
                        waits = not binomial_is_accepted(result, second, distance, count, few, a, b, alpha)
        out[i] = count - result if count > 0 and probability > 0.5 else result
