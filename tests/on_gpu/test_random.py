"""Random numbers on a GPU: the generator's published vectors, seeds and offsets, and distributions."""

import math

import numpy as np
import pytest

import numgrad
from numgrad.ops.creation.sampling import numbers_of

FLOAT32, FLOAT64, INT64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)

#: From Random123's known answers: a counter, a key, and the words that they make.
KNOWN_ANSWERS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def signed(number):
    return number - (number >> 63 << 64)


def words_of(call, offset, seed):
    """Return the generator's words, computed in plain Python."""
    from numgrad_kernels.cuda.random import philox

    with np.errstate(over="ignore"):
        return [int(word) for word in philox(call, signed(offset), signed(seed))]


@pytest.fixture
def fill(cuda):
    """Return the function ``fill(count, dtype, distribution, first, second)``, which returns random numbers."""

    def filled(count, dtype, distribution, first, second, seed=12345, offset=0):
        buffer = cuda.empty_buffer(count, np.dtype(dtype), 0)
        return cuda.fill_random(buffer, distribution, seed, offset, first, second).host()

    return filled


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_known_answers(cuda, counter, key, expected):
    call, offset, seed = (low | high << 32 for low, high in (counter[:2], counter[2:], key))
    assert tuple(words_of(signed(call), offset, seed)) == expected


@pytest.mark.parametrize(("seed", "offset"), [(0, 0), (2**64 - 1, 2**64 - 2), (0x123456789ABCDEF0, 2**40 + 1)])
def test_words_go_to_their_places(fill, seed, offset):
    """Integers of 64 bits are pairs of words, and integers below 2**16 are the upper halves of words."""
    wide = fill(130, INT64, "integers", -(2**63), 2**64, seed, offset)
    narrow = fill(260, INT64, "integers", 0, 2**16, seed, offset)
    for call in (0, 31, 32):
        words = words_of(call, offset, seed)
        first = call // 32 * 64 + call % 32
        pairs = [words[0] | words[1] << 32, words[2] | words[3] << 32]
        assert wide[[first, first + 32]].tolist() == [pair - 2**63 for pair in pairs]
        places = call // 32 * 128 + call % 32 + np.arange(0, 128, 32)
        assert narrow[places].tolist() == [word >> 16 for word in words]


@pytest.mark.parametrize(("dtype", "distribution", "first", "second"), [
    (FLOAT32, "normal", 0, 1),
    (FLOAT64, "uniform", -1, 1),
    (INT64, "integers", -3, 2**40),
    (np.int8, "integers", -3, 6),
])
def test_numbers_depend_on_seed_offset_and_place_alone(fill, monkeypatch, dtype, distribution, first, second):
    """Draws do not depend on the number of threads."""
    from numgrad.devices.cuda import random

    draw = (dtype, distribution, first, second)
    expected = fill(200, *draw)
    assert (fill(70, *draw) == expected[:70]).all()
    monkeypatch.setattr(random, "blocks_for", lambda size: 1)
    assert (fill(200, *draw) == expected).all()
    for other in (fill(200, *draw, seed=12346), fill(200, *draw, seed=12345 + 2**32), fill(200, *draw, offset=1)):
        assert (other != expected).mean() > 0.7


def normal_below(x):
    return np.array([math.erfc(-value / math.sqrt(2)) / 2 for value in x.tolist()])


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
@pytest.mark.parametrize(("distribution", "first", "second", "below"), [
    ("uniform", -1, 3, lambda x: (x + 1) / 4),
    ("normal", 0.5, 2, lambda x: normal_below((x - 0.5) / 2)),
    ("exponential", 2, 0, lambda x: 1 - np.exp(-x / 2)),
    ("log_normal", 0.5, 2, lambda x: normal_below((np.log(x) - 0.5) / 2)),
    ("cauchy", -1, 2, lambda x: 0.5 + np.arctan((x + 1) / 2) / np.pi),
])
def test_distributions(fill, size, dtype, distribution, first, second, below):
    """Kolmogorov-Smirnov test of the distributions, at 1 in 1000."""
    count = size(2000, 100_000)
    numbers = np.sort(fill(count, dtype, distribution, first, second).astype(np.float64))
    expected = below(numbers)
    steps = np.arange(count + 1) / count
    assert max(np.abs(expected - steps[:-1]).max(), np.abs(expected - steps[1:]).max()) < 1.95 / math.sqrt(count)
    assert distribution != "uniform" or (numbers[0] >= first and numbers[-1] < second)
    assert distribution != "exponential" or numbers[0] > 0


def test_neighbours_do_not_depend_on_each_other(fill, size):
    count = size(2048, 1 << 17)
    numbers = fill(count, FLOAT32, "normal", 0, 1).astype(np.float64)
    for distance in (1, 32, 64, 96, 128):  # from 32 on they come from one call
        assert abs((numbers[distance:] * numbers[:-distance]).mean()) < 4 / math.sqrt(count - distance)
        squares = numbers**2 - 1
        assert abs((squares[distance:] * squares[:-distance]).mean()) < 12 / math.sqrt(count - distance)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float32, np.float64])
def test_bernoulli(fill, size, dtype):
    count = size(1000, 100_000)
    numbers = fill(count, dtype, "bernoulli", 0.3, 1)
    assert set(numbers.tolist()) == {0, 1}
    assert abs(numbers.mean() - 0.3) < 3.5 * math.sqrt(0.21 / count)
    assert fill(50, dtype, "bernoulli", 1, 1).all()
    assert not fill(50, dtype, "bernoulli", 0, 1).any()


def test_bernoulli_of_another_value(fill):
    numbers = fill(100, np.float32, "bernoulli", 0.7, 1 / 0.7)
    assert set(numbers.tolist()) == {0.0, float(np.float32(1 / 0.7))}


@pytest.mark.parametrize("dtype", [numgrad.float32, numgrad.float64], ids=str)
def test_probabilities_of_their_own(cuda, dtype):
    probabilities = numgrad.tensor([0, 0.5, 1], dtype=dtype, device="cuda").repeat(40)
    draw = {"device": "cuda", "generator": numgrad.Generator("cuda").manual_seed(5), "dtype": dtype}
    draws, drawn = numgrad.rand(120, **draw), numgrad.Generator("cuda").manual_seed(5)
    assert numgrad.bernoulli(probabilities, generator=drawn).tolist() == (draws < probabilities).tolist()


@pytest.mark.parametrize(("dtype", "low", "count"), [
    (np.uint8, 0, 256),
    (np.int8, -128, 256),
    (np.float32, 0, 2**24 + 1),
    (INT64, -5, 3),
    (INT64, -(2**62), 2**63),
])
def test_integers_cover_their_range_evenly(fill, size, dtype, low, count):
    numbers = [int(number) for number in fill(size(1000, 100_000), dtype, "integers", low, count).tolist()]
    assert min(numbers) >= low
    assert max(numbers) < low + count
    parts = min(count, 4)
    shares = np.bincount([(number - low) * parts // count for number in numbers], minlength=parts) / len(numbers)
    assert np.abs(shares - 1 / parts).max() < 4 * math.sqrt(1 / parts / len(numbers))


def test_numbers_of_trials(fill, size):
    count = size(1000, 100_000)
    shares = np.bincount(fill(count, INT64, "geometric", 0.3, 0), minlength=5)[:5] / count
    assert np.abs(shares - [0, 0.3, 0.21, 0.147, 0.1029]).max() < 4 * math.sqrt(0.21 / count)


#: Draws with parameters of their own; the mean, the variance and the fourth central moment.
SAMPLERS = {
    "gamma": (lambda full: numgrad._standard_gamma(full(3.0)), 3, 3, 45),
    "small gamma": (lambda full: numgrad._standard_gamma(full(0.4)), 0.4, 0.4, 2.88),
    "poisson": (lambda full: numbers_of("poisson", None, full(2.5)), 2.5, 2.5, 21.25),
    "large poisson": (lambda full: numbers_of("poisson", None, full(50.0)), 50, 50, 7550),
    "binomial": (lambda full: numgrad.binomial(full(8.0), full(0.75)), 6, 1.5, 6.375),
    "large binomial": (lambda full: numgrad.binomial(full(100.0), full(0.4)), 40, 24, 1709.76),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers(cuda, size, name):
    draw, mean, variance, fourth = SAMPLERS[name]
    count = size(600, 100_000)

    def numbers(count):
        numgrad.cuda.manual_seed(7)
        return draw(lambda value: numgrad.full((count,), value, device="cuda")).cpu().double().numpy()

    found = numbers(count)
    assert (numbers(100) == found[:100]).all()
    assert abs(found.mean() - mean) < 4 * math.sqrt(variance / count)
    assert abs(((found - mean) ** 2).mean() - variance) < 4 * math.sqrt((fourth - variance**2) / count)


def test_samplers_at_the_edges(cuda):
    special = numgrad.tensor([0.0, math.inf, math.nan, -1.0], device="cuda")
    found = numgrad._standard_gamma(special).tolist()
    assert found[:2] == [np.finfo(np.float32).tiny, math.inf]
    assert np.isnan(found[2:]).all()
    assert numgrad.poisson(special[:2]).tolist() == [0, math.inf]
    counts, chances = numgrad.tensor([5.0, 5.0, -1.0, 5.0]), numgrad.tensor([1.5, -1.0, 0.5, math.nan])
    assert str(numgrad.binomial(counts.cuda(), chances.cuda()).tolist()) == "[5.0, 0.0, 0.0, nan]"
    shares = numgrad._sample_dirichlet(numgrad.full((20, 2), 1e-4, device="cuda"))
    assert shares.sum(-1).isfinite().all()


def test_a_part_of_a_row_leaves_the_rest(cuda):
    buffer = cuda.buffer_from(np.full(300, 7, np.float32))
    cuda.fill_random(buffer[3:190], "uniform", 1, 0, 0, 1)
    numbers = buffer.host()
    assert (numbers[:3] == 7).all()
    assert (numbers[3:190] < 1).all()
    assert (numbers[190:] == 7).all()


def test_no_numbers(fill):
    assert fill(0, np.float32, "normal", 0, 1).size == 0
