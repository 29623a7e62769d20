"""The mathematics of samplers by rejection: each draws candidates until one is accepted.

The kernels of both devices call these functions (``cpu/sampling.py`` and ``cuda/sampling.py``).  They compute in
float64 whatever the dtype of the tensors, since acceptance depends on small differences of large logarithms.

- Gamma variables: Marsaglia and Tsang, "A simple method for generating gamma variables", *ACM Transactions on
  Mathematical Software* 26, 2000.
- Poisson variables: the method PTRS of Hörmann, "The transformed rejection method for generating Poisson random
  variables", *Insurance: Mathematics and Economics* 12, 1993.
- Binomial variables: the method BTRS of Hörmann, "The generation of binomial random variates", *Journal of Statistical
  Computation and Simulation* 46, 1993.
"""

import math

from .scalar import floor, lgamma, log

#: log(sqrt(2 pi))
_HALF_LOG = 0.9189385332046727


def gamma_is_accepted(normal, cube, unit, d):
    """Accept the candidate ``d * cube`` with ``cube = (1 + normal / sqrt(9 d))**3``."""
    return log(unit) < 0.5 * normal * normal + d * (1.0 - cube + log(cube))


def poisson_constants(rate):
    """The parameters a, b, 1 / alpha and v of the hat function for a rate of at least 10."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    return -0.059 + 0.02483 * b, b, 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2.0)


def hat_candidate(first, a, b, shift):
    """The candidate made of a uniform number, and the distance of that number from the nearer of 0 and 1."""
    distance = 0.5 - abs(first - 0.5)
    return floor((2.0 * a / distance + b) * (first - 0.5) + shift), distance


def poisson_is_accepted(k, second, distance, rate, a, b, inverse):
    """Accept the candidate with the probability that its density is above the hat function."""
    height = log(second * inverse / (a / (distance * distance) + b))
    return height <= k * log(rate) - rate - lgamma(k + 1.0)


def binomial_constants(count, probability):
    """The parameters a, b, alpha and v of the hat function."""
    deviation = math.sqrt(count * probability * (1.0 - probability))
    b = 1.15 + 2.53 * deviation
    return -0.0873 + 0.0248 * b + 0.01 * probability, b, (2.83 + 5.1 / b) * deviation, 0.92 - 4.2 / b


def binomial_is_accepted(k, second, distance, count, probability, a, b, alpha):
    """Accept the candidate by the ratio of its probability to that of the mode."""
    odds = probability / (1.0 - probability)
    mode = floor((count + 1.0) * probability)
    height = log(second * alpha / (a / (distance * distance) + b))
    ratio = (mode + 0.5) * log((mode + 1.0) / (odds * (count - mode + 1.0)))
    ratio += (count + 1.0) * log((count - mode + 1.0) / (count - k + 1.0))
    ratio += (k + 0.5) * log(odds * (count - k + 1.0) / (k + 1.0))
    tails = stirling_tail(mode) + stirling_tail(count - mode) - stirling_tail(k) - stirling_tail(count - k)
    return height <= ratio + tails


def stirling_tail(k):
    """``log(k!)`` minus its approximation ``log(sqrt(2 pi)) + (k + 1 / 2) log(k + 1) - (k + 1)``."""
    z = 1.0 / (k + 1.0)
    series = z * (1.0 / 12.0 - z * z * (1.0 / 360.0 - z * z / 1260.0))
    exact = lgamma(k + 1.0) - ((k + 0.5) * log(k + 1.0) - (k + 1.0) + _HALF_LOG)
    return series if k > 9.0 else exact
