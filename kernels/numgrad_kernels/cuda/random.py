"""Counter-based random numbers: any thread of any GPU can compute any element of a draw by itself.

The generator is Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011):
ten rounds of multiplications turn a counter of 128 bits into four random words of 32 bits, by a key.  The key is the
seed.  The counter consists of the ``offset``, which is the number of the draw since the seeding, and the number of a
call within the draw.

A call serves elements that are 32 apart, so that neighbouring threads write neighbouring elements.  If an element takes
one word (``fill_narrow``), call ``n`` serves element ``128 * (n // 32) + n % 32`` and those 32, 64 and 96 further on;
if it takes two (``fill_wide``), element ``64 * (n // 32) + n % 32`` and that 32 further on.  A launch chooses
``numbers``, which makes numbers of two words, or pairs of words, by two parameters of the distribution.
"""

import numpy as np

from ..facts import Out
from ..scalar import ceil, exp, log, log1p, sqrt
from .adapter import cuda
from .language import cospi, high_product, sinpi

T = np.float32  # placeholder: the dtype computed in

#: Bits of a word, and the mask of the lower word of a number of 64 bits.
BITS, LOWER = 32, 0xFFFFFFFF


def _two_words(number):
    """The lower and the upper half of an integer of 64 bits, negative or not."""
    return np.uint32(number & LOWER), np.uint32(number >> BITS & LOWER)


def one_number(lower, upper):
    """The integer with these words as its halves."""
    return np.uint64(upper) << np.uint64(BITS) | np.uint64(lower)


def philox(call, offset, seed):
    """Four random words for three integers of 64 bits."""
    a, b = _two_words(call)
    c, d = _two_words(offset)
    first, second = _two_words(seed)
    for _ in range(10):
        left, right = high_product(a, np.uint32(0xD2511F53)), high_product(c, np.uint32(0xCD9E8D57))
        b, d = np.uint32(right ^ b ^ first), np.uint32(left ^ d ^ second)
        a, c = np.uint32(a * np.uint32(0xD2511F53)), np.uint32(c * np.uint32(0xCD9E8D57))
        a, b, c, d = b, c, d, a
        first, second = np.uint32(first + np.uint32(0x9E3779B9)), np.uint32(second + np.uint32(0xBB67AE85))
    return a, b, c, d


# -- distributions ------------------------------------------------------------------------------------------------


def unit_of_word(word):
    """A number in [0, 1), a multiple of 2**-24."""
    return T(np.int32(word >> np.uint32(8))) * T(2.0**-24)


def unit_of_words(word):
    """A number in [0, 1), a multiple of 2**-53."""
    return T(np.int64(word >> np.uint64(11))) * T(2.0**-53)


def positive_of_word(word):
    """A number in (0, 1), an odd multiple of 2**-24."""
    return T(np.int32(word >> np.uint32(8) | np.uint32(1))) * T(2.0**-24)


def positive_of_words(word):
    """A number in (0, 1), an odd multiple of 2**-53."""
    return T(np.int64(word >> np.uint64(11) | np.uint64(1))) * T(2.0**-53)


unit, positive = unit_of_word, positive_of_word


def _between(word, low, high):
    value = unit(word) * (high - low) + low
    return low if value == high else value  # rounding may have reached the excluded end


def uniform(first, second, low, high):
    """Numbers in [low, high)."""
    return _between(first, T(low), T(high)), _between(second, T(low), T(high))


def normal(first, second, mean, deviation):
    """Normal numbers, by Box and Muller."""
    radius = sqrt(T(-2.0) * log(positive(first))) * T(deviation)
    angle = T(2.0) * unit(second)
    return radius * cospi(angle) + T(mean), radius * sinpi(angle) + T(mean)


def exponential(first, second, scale, unused):
    """Exponential numbers of mean ``scale``, never 0."""
    return -log(positive(first)) * T(scale), -log(positive(second)) * T(scale)


def log_normal(first, second, mean, deviation):
    """Numbers whose logarithms are normal."""
    x, y = normal(first, second, mean, deviation)
    return exp(x), exp(y)


def cauchy(first, second, median, scale):
    """Numbers with the Cauchy distribution: scaled cotangents of an angle between 0 and pi."""
    x, y = positive(first), positive(second)
    return T(median) + T(scale) * cospi(x) / sinpi(x), T(median) + T(scale) * cospi(y) / sinpi(y)


def geometric(first, second, probability, unused):
    """Numbers of trials up to the first success."""
    logarithm = log1p(-T(probability))
    return ceil(log(positive(first)) / logarithm), ceil(log(positive(second)) / logarithm)


def bernoulli(first, second, probability, value):
    """``value`` with a given probability, else 0."""
    return (
        T(value) if unit(first) < T(probability) else T(0.0),
        T(value) if unit(second) < T(probability) else T(0.0),
    )


def _scaled(word, low, count):
    return low + np.int64(np.uint64(word) * np.uint64(count) >> np.uint64(BITS))


def integers(first, second, low, count):
    """Integers from ``low`` on, out of fewer than 2**32."""
    return _scaled(first, low, count), _scaled(second, low, count)


def _remainder(word, low, count):
    lower, upper = _two_words(count)
    divisor = one_number(lower, upper)
    return np.int64(low + np.int64(word % divisor if divisor else word))


def wide_integers(first, second, low, count):
    """Integers from ``low`` on, out of any number; ``count`` is that number modulo 2**64, as a signed integer."""
    return _remainder(first, low, count), _remainder(second, low, count)


# -- kernels ------------------------------------------------------------------------------------------------------

numbers = uniform


def fill_narrow(out: Out, size, seed, offset, first, second):
    """Fill a buffer with numbers that take one word each."""
    for call in range(cuda.grid(1), (size + 127) // 128 * 32, cuda.gridsize(1)):
        index = (call >> 5) * 128 + (call & 31)
        if index < size:
            a, b, c, d = philox(call, offset, seed)
            x, y = numbers(a, b, first, second)
            out[index] = x
            if index + 32 < size:
                out[index + 32] = y
            x, y = numbers(c, d, first, second)
            if index + 64 < size:
                out[index + 64] = x
            if index + 96 < size:
                out[index + 96] = y


def fill_wide(out: Out, size, seed, offset, first, second):
    """Fill a buffer with numbers that take two words each."""
    for call in range(cuda.grid(1), (size + 63) // 64 * 32, cuda.gridsize(1)):
        index = (call >> 5) * 64 + (call & 31)
        if index < size:
            a, b, c, d = philox(call, offset, seed)
            x, y = numbers(one_number(a, b), one_number(c, d), first, second)
            out[index] = x
            if index + 32 < size:
                out[index + 32] = y


def drop(x, size, seed, offset, probability, scale, out: Out, mask: Out):
    """Multiply elements by ``scale`` with a probability, by 0 otherwise; the mask is 1 or 0.

    The numbers are those that ``fill_narrow`` compares for :func:`bernoulli`.
    """
    for call in range(cuda.grid(1), (size + 127) // 128 * 32, cuda.gridsize(1)):
        index = (call >> 5) * 128 + (call & 31)
        if index < size:
            a, b, c, d = philox(call, offset, seed)
            _drop(x, index, size, a, probability, scale, out, mask)
            _drop(x, index + 32, size, b, probability, scale, out, mask)
            _drop(x, index + 64, size, c, probability, scale, out, mask)
            _drop(x, index + 96, size, d, probability, scale, out, mask)


def _drop(x, index, size, word, probability, scale, out, mask):
    if index < size:
        kept = unit(word) < T(probability)
        out[index] = x[index] * (T(scale) if kept else T(0))
        mask[index] = 1 if kept else 0


def below(out: Out, size, draws, probabilities):
    """True where draws from [0, 1) are below probabilities."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        out[i] = draws[i] < probabilities[i]
