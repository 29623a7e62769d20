"""The Mersenne Twister, and PyTorch's uniform and normal numbers made of its draws, bit for bit.

``draws`` are uint64 arrays of 32-bit numbers. Each function serves the dtype in its name, because PyTorch treats the
two differently; numbers are passed as Python's.

PyTorch computes float32 normals with the single-precision logarithm, sine and cosine of Moshier's Cephes library, with
each product fused with the sum it feeds, and so do the functions here. A fused multiply-add of float32 is
``T(wide * y + z)`` with ``wide`` a float64: in float64 the product is exact, on any processor. Another logarithm would
serve as well, but its last bits would differ from PyTorch's.
"""

import math

import numpy as np

from ..facts import InOut, Out

T = np.float32  # placeholder: the compiler substitutes the dtype of the computation


def draw(state: InOut, out: Out):
    """Fill ``out`` (uint64) with the next 32-bit numbers of the Mersenne Twister in this state, and advance the state.

    ``state`` (uint64, 625) holds the twister's 624 words and the number of them that have been used.
    """
    used = np.int64(state[624])
    for i in range(out.size):
        if used == 624:
            for j in range(624):
                y = (state[j] & np.uint64(0x80000000)) | (state[(j + 1) % 624] & np.uint64(0x7FFFFFFF))
                word = state[(j + 397) % 624] ^ (y >> np.uint64(1))
                state[j] = word ^ np.uint64(0x9908B0DF) if y & np.uint64(1) else word
            used = np.int64(0)
        y = state[used]
        y ^= y >> np.uint64(11)
        y ^= (y << np.uint64(7)) & np.uint64(0x9D2C5680)
        y ^= (y << np.uint64(15)) & np.uint64(0xEFC60000)
        out[i] = y ^ (y >> np.uint64(18))
        used += 1
    state[624] = np.uint64(used)


def uniform_float32(draws, low, high, out):
    """Fill ``out`` (float32, n) with uniform numbers in [low, high), one draw each."""
    low, high = T(low), T(high)
    wide = np.float64(high - low)
    for i in range(out.size):
        unit = T(np.int32(draws[i] & np.uint64(0xFFFFFF))) * T(2.0**-24)
        value = T(wide * unit + low)
        out[i] = low if value == high else value  # rounding may have reached the excluded end


def uniform_float64(draws, low, high, out):
    """Fill ``out`` (float64, n) with uniform numbers in [low, high), two draws each, high word first."""
    low, high = T(low), T(high)
    for i in range(out.size):
        word = (draws[2 * i] << np.uint64(32)) | draws[2 * i + 1]
        unit = T(np.int64(word & np.uint64(0x1FFFFFFFFFFFFF))) * T(2.0**-53)
        value = unit * (high - low) + low
        out[i] = low if value == high else value


convert = uniform_float32  # also a placeholder, for the function of the dtype


def uniform(state: InOut, draws: Out, each, low, high, out: Out):
    """Fill ``out`` with uniform numbers in [low, high); a number takes ``each`` draws, for which ``draws`` is space."""
    room = draws.size // each
    for start in range(0, out.size, room):
        count = min(room, out.size - start)
        draw(state, draws[: count * each])
        convert(draws, T(low), T(high), out[start : start + count])


def bernoulli(state: InOut, draws: Out, units: Out, probability, probabilities, out: Out):
    """Fill ``out`` with True where uniform numbers in [0, 1) are below the ``probability``, otherwise with False.

    If ``probabilities`` is not empty, it holds the probability of each element instead.  ``units`` is space for some of
    the uniform numbers, which are made from new ``draws`` as in ``uniform``.
    """
    each = draws.size // units.size
    for start in range(0, out.size, units.size):
        count = min(units.size, out.size - start)
        draw(state, draws[: count * each])
        convert(draws, T(0), T(1), units[:count])
        if probabilities.size:
            for i in range(count):
                out[start + i] = units[i] < probabilities[start + i]
        else:
            for i in range(count):
                out[start + i] = units[i] < T(probability)


def normal_float32(mean, std, out: InOut):
    """Turn ``out`` (float32) from uniforms in [0, 1) into normals, in place, by Box and Muller.

    Only whole blocks of 16 are transformed. The first eight uniforms of a block give radii and the last
    eight angles; the cosines become the first eight elements and the sines the last.
    """
    wide_std = np.float64(T(std))
    mean = T(mean)
    for block in range(out.size // 16):
        for j in range(8):  # this loop vectorises: only 32-bit integers, and no branches except selections
            i = 16 * block + j

            # The logarithm of u, which is in (0, 1] and never subnormal: u = (1 + x) 2^exponent, x near 0.
            u = T(1.0) - out[i]
            bits = T(u).view(np.int32)
            exponent = T(np.int32((bits >> 23) - 126))
            mantissa = np.int32((bits & 0x7FFFFF) | 0x3F000000).view(T)  # in [0.5, 1)
            if mantissa < T(0.707106781186547524):
                exponent -= T(1.0)
                x = mantissa + mantissa - T(1.0)
            else:
                x = mantissa - T(1.0)
            wide = np.float64(x)
            y = T(wide * T(7.0376836292e-2) + T(-1.1514610310e-1))
            y = T(wide * y + T(1.1676998740e-1))
            y = T(wide * y + T(-1.2420140846e-1))
            y = T(wide * y + T(1.4249322787e-1))
            y = T(wide * y + T(-1.6668057665e-1))
            y = T(wide * y + T(2.0000714765e-1))
            y = T(wide * y + T(-2.4999993993e-1))
            y = T(wide * y + T(3.3333331174e-1))
            square = x * x
            wide_square = np.float64(square)
            y = T(wide_square * (y * x) + exponent * T(-2.12194440e-4))
            y = T(wide_square * T(-0.5) + y)
            log = T(np.float64(exponent) * T(0.693359375) + (x + y))
            radius = T(math.sqrt(T(-2.0) * log))

            # Sine and cosine of theta, in [0, 2 pi): x is its distance from the nearest multiple of pi / 2.
            theta = T(6.283185307179586) * out[i + 8]
            octant = np.int32((np.int32(theta * T(1.27323954473516)) + 1) & ~1)
            wide = np.float64(octant)
            x = T(wide * T(-0.78515625) + theta)
            x = T(wide * T(-2.4187564849853515625e-4) + x)
            x = T(wide * T(-3.77489497744594108e-8) + x)
            square = x * x
            wide_square = np.float64(square)
            even = T(wide_square * T(2.443315711809948e-5) + T(-1.388731625493765e-3))
            even = T(wide_square * even + T(4.166664568298827e-2))
            even = T(wide_square * (even * square) - square * T(0.5)) + T(1.0)
            odd = T(wide_square * T(-1.9515295891e-4) + T(8.3321608736e-3))
            odd = T(wide_square * odd + T(-1.6666654611e-1))
            odd = T(np.float64(x) * (odd * square) + x)
            if octant & 2:
                sine, cosine = even, odd
            else:
                sine, cosine = odd, even
            if octant & 4:
                sine = -sine
            if (octant + 2) & 4:
                cosine = -cosine

            out[i] = T(wide_std * (radius * cosine) + mean)
            out[i + 8] = T(wide_std * (radius * sine) + mean)


def normal_float64(mean, std, out: InOut):
    """The float64 form of ``normal_float32``, with the C library's logarithm, sine and cosine."""
    for block in range(out.size // 16):
        for j in range(8):
            i = 16 * block + j
            radius = math.sqrt(T(-2.0) * math.log(T(1.0) - out[i]))
            theta = T(6.283185307179586) * out[i + 8]
            out[i] = radius * math.cos(theta) * std + mean
            out[i + 8] = radius * math.sin(theta) * std + mean


transform = normal_float32  # also a placeholder, for the function of the dtype


def normal(state: InOut, draws: Out, each, mean, std, out: InOut):
    """Fill ``out`` with normals as PyTorch computes them in blocks of 16, of which there is at least one.

    Each number takes ``each`` new draws; ``draws`` is space for the draws of all numbers, or of some whole blocks.
    """
    room = draws.size // each
    for start in range(0, out.size, room):
        part = out[start : min(start + room, out.size)]
        draw(state, draws[: part.size * each])
        convert(draws, T(0), T(1), part)
        transform(T(mean), T(std), part)
    if out.size % 16:  # the last block is then drawn again, overlapping the one before
        part = out[out.size - 16 :]
        draw(state, draws[: 16 * each])
        convert(draws, T(0), T(1), part)
        transform(T(mean), T(std), part)


def normal_pairs(state: InOut, draws: Out, kept: InOut, mean, std, out: Out):
    """Fill ``out`` with normal numbers, computed in pairs from four ``draws`` each; draw as often as needed.

    A remaining number is kept for the next call in ``kept`` (float64, 2): its value, and 1 if there is one, else 0.
    """
    filled = 0
    if out.size and kept[1]:
        out[0] = T(kept[0] * std + mean)
        kept[1] = 0.0
        filled = 1
    count = (out.size - filled + 1) // 2 * 4
    draw(state, draws[:count])
    for i in range(0, count, 4):
        first = (draws[i] << np.uint64(32)) | draws[i + 1]
        second = (draws[i + 2] << np.uint64(32)) | draws[i + 3]
        angle = 2.0 * math.pi * (np.float64(np.int64(first & np.uint64(0x1FFFFFFFFFFFFF))) * 2.0**-53)
        unit = np.float64(np.int64(second & np.uint64(0x1FFFFFFFFFFFFF))) * 2.0**-53
        radius = math.sqrt(-2.0 * math.log1p(-unit))
        out[filled] = T(radius * math.cos(angle) * std + mean)
        sine = radius * math.sin(angle)
        if filled + 1 < out.size:
            out[filled + 1] = T(sine * std + mean)
        else:
            kept[0], kept[1] = sine, 1.0
        filled += 2


def shuffle(draws, order: Out):
    """The numbers from 0 on, shuffled: each is exchanged with the number at a random index not before its own."""
    for i in range(order.size):
        order[i] = i
    for i in range(draws.size):
        other = i + np.int64(draws[i] % np.uint64(order.size - i))
        value = order[i]
        order[i] = order[other]
        order[other] = value
