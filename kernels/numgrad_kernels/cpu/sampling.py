"""Gamma, Poisson and binomial numbers by rejection, in the order in which PyTorch takes uniform numbers for them.

``draws`` is space for the two draws of the Mersenne Twister of one uniform number, ``kept`` the normal number that
remains of a pair, as in ``random.normal_pairs``.  The samplers are in ``rejection.py``.
"""

import math

import numpy as np

from ..facts import InOut, Out
from ..rejection import (
    binomial_constants,
    binomial_is_accepted,
    gamma_is_accepted,
    hat_candidate,
    poisson_constants,
    poisson_is_accepted,
)
from .random import draw

T = np.float32  # placeholder: the compiler substitutes the dtype of the tensors

#: 1/3 in float32, PyTorch's constant for all dtypes.
_THIRD = 0.3333333432674408


def _unit(state: InOut, draws: Out):
    """The next uniform number in [0, 1)."""
    draw(state, draws)
    word = (draws[0] << np.uint64(32)) | draws[1]
    return np.float64(np.int64(word & np.uint64(0x1FFFFFFFFFFFFF))) * 2.0**-53


def _normal(state: InOut, draws: Out, kept: InOut):
    """The next normal number: the one kept, or the first of a new pair."""
    result = kept[0]
    if kept[1] == 0.0:
        angle = 2.0 * math.pi * _unit(state, draws)
        second = _unit(state, draws)
        radius = math.sqrt(-2.0 * math.log1p(-second))
        result = radius * math.cos(angle)
        kept[0] = radius * math.sin(angle)
    kept[1] = 1.0 - kept[1]
    return result


def gamma(state: InOut, draws: Out, kept: InOut, shapes, logarithms, least, out: Out):
    """Fill ``out`` with standard gamma numbers of given shapes, or their logarithms, and with at ``least`` a number.

    The result is NaN for shapes that are negative or NaN, and infinite for infinite ones.
    """
    for i in range(out.size):
        shape = T(shapes[i])
        boost = 0.0
        if shape > 0 and shape < 1:
            boost = math.log1p(-_unit(state, draws)) * np.float64(T(1) / shape)
        d = np.float64((shape + T(1) if shape < 1 else shape) - T(_THIRD))
        result = -math.inf if shape == 0 else math.inf if shape > 0 else math.nan
        waits = bool(shape > 0 and shape < math.inf)
        while waits:
            normal = _normal(state, draws, kept)
            side = 1.0 + normal * (1.0 / math.sqrt(9.0 * d))
            if side > 0:
                unit = 1.0 - _unit(state, draws)
                cube = side * side * side
                if gamma_is_accepted(normal, cube, unit, d):
                    waits = False
                    result = math.log(d * cube) + boost if logarithms else d * cube * math.exp(boost)
        out[i] = T(least if result < least else result)


def poisson(state: InOut, draws: Out, rates, out: Out):
    """Fill ``out`` with Poisson numbers of given rates, which are NaN for negative ones and infinite for infinite ones.

    Rates below 10 count the uniform numbers whose product stays above ``exp(-rate)``.
    """
    for i in range(out.size):
        rate = np.float64(rates[i])
        result = rate if rate >= 0 else math.nan
        if rate > 0 and rate < 10:
            limit, product, result = math.exp(-rate), 1.0, -1.0
            while product > limit:
                product *= _unit(state, draws)
                result += 1.0
        elif rate >= 10 and rate < math.inf:
            a, b, inverse, v = poisson_constants(rate)
            waits = True
            while waits:
                first = _unit(state, draws)
                second = _unit(state, draws)
                result, distance = hat_candidate(first, a, b, rate + 0.43)
                if distance >= 0.07 and second <= v:
                    waits = False
                elif result >= 0 and (distance >= 0.013 or second <= distance):
                    waits = not poisson_is_accepted(result, second, distance, rate, a, b, inverse)
        out[i] = T(result)


def binomial(state: InOut, draws: Out, counts, probabilities, out: Out):
    """Fill ``out`` with binomial numbers: 0 for negative counts, and NaN if the count or the probability is not finite.

    Probabilities count as 0 if they are negative, and as 1 if they are above 1.  If fewer than 10 successes, or
    failures, are expected, the geometric numbers between them are drawn.
    """
    for i in range(out.size):
        count, probability = np.float64(counts[i]), np.float64(probabilities[i])
        few = 1.0 - probability if probability > 0.5 else probability
        result = count * 0.0 + probability * 0.0  # NaN if one of them is not finite
        if count > 0 and few > 0 and count * few < 10:
            logarithm, trials = math.log1p(-few), 0.0
            while trials <= count:
                trials += math.ceil(math.log(_unit(state, draws)) / logarithm)
                result += 1.0
            result -= 1.0
        elif count > 0 and few > 0 and count < math.inf:
            a, b, alpha, v = binomial_constants(count, few)
            waits = True
            while waits:
                first = _unit(state, draws)
                second = _unit(state, draws)
                result, distance = hat_candidate(first, a, b, count * few + 0.5)
                if result >= 0 and result <= count:
                    waits = distance < 0.07 or second > v
                    if waits:
                        waits = not binomial_is_accepted(result, second, distance, count, few, a, b, alpha)
        out[i] = T(count - result if count > 0 and probability > 0.5 else result)
