"""Samplers: in which order samples are read; the random ones as PyTorch's for the same seed."""

import pytest

import numgrad
from numgrad.utils.data import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

TEN = range(10)


def drawn(sampler, seed=3):
    numgrad.manual_seed(seed)
    return list(sampler)


def test_sequential():
    sampler = SequentialSampler("abc")
    assert list(sampler) == [0, 1, 2]
    assert len(sampler) == 3
    with pytest.raises(NotImplementedError):
        iter(Sampler())


def test_random_order():
    first = [7, 0, 9, 1, 6, 4, 5, 3, 2, 8]
    assert drawn(RandomSampler(TEN)) == first
    assert drawn(RandomSampler(TEN, num_samples=5)) == first[:5]
    longer = drawn(RandomSampler(TEN, num_samples=25))
    assert longer[:10] == first
    assert longer[10:] == [9, 5, 6, 8, 7, 1, 3, 2, 0, 4, 8, 2, 5, 4, 9]
    assert len(RandomSampler(TEN, num_samples=25)) == 25


def test_random_with_replacement():
    expected = [
        7, 8, 5, 1, 8, 6, 2, 2, 3, 9, 8, 6, 2, 5, 5, 4, 2, 5, 8, 4, 1, 8, 5, 1, 3, 1, 7, 4, 2, 1, 1, 5, 3, 3, 7, 4, 3,
        6, 0, 9,
    ]  # fmt: skip
    assert drawn(RandomSampler(TEN, replacement=True)) == expected[:10]
    assert drawn(RandomSampler(TEN, replacement=True, num_samples=40)) == expected


def test_a_generator_of_ones_own_leaves_the_default_one_alone():
    generator = numgrad.Generator().manual_seed(5)
    sampler = RandomSampler(TEN, generator=generator)
    numgrad.manual_seed(1)
    assert list(sampler) == [1, 4, 9, 6, 3, 5, 0, 2, 8, 7]
    assert list(sampler) != [1, 4, 9, 6, 3, 5, 0, 2, 8, 7]  # the generator went on
    assert numgrad.default_generator.uniform(1, numgrad.float32.numpy) == pytest.approx(0.75763, abs=1e-4)


def test_subset():
    sampler = SubsetRandomSampler([3, 1, 4, 5])
    assert drawn(sampler) == [4, 5, 1, 3]
    assert len(sampler) == 4


def test_weighted():
    sampler = WeightedRandomSampler([0.1, 0.9, 0.3], 5)
    assert sampler.weights.dtype is numgrad.float64
    assert drawn(sampler) == [0, 1, 2, 1, 1]
    assert len(sampler) == 5
    assert drawn(WeightedRandomSampler([0.1, 0.9, 0.3], 2, replacement=False)) == [0, 1]
    assert set(drawn(WeightedRandomSampler([0.0, 1.0], 20))) == {1}


def test_batches():
    assert list(BatchSampler(SequentialSampler(range(7)), 3, False)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(BatchSampler("abcdefg", 3, True)) == [["a", "b", "c"], ["d", "e", "f"]]
    assert [len(BatchSampler(range(n), 3, False)) for n in (0, 1, 3, 4)] == [0, 1, 1, 2]
    assert [len(BatchSampler(range(n), 3, True)) for n in (0, 1, 3, 4)] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RandomSampler(TEN, replacement=1), TypeError, "replacement should be a boolean value, but got .*=1"),
        (lambda: RandomSampler(TEN, num_samples=0), ValueError, "num_samples should be a positive integer value"),
        (lambda: RandomSampler(TEN, num_samples=1.5), ValueError, "num_samples=1.5"),
        (lambda: RandomSampler([]), ValueError, "num_samples should be a positive integer value, but got .*=0"),
        (lambda: WeightedRandomSampler([1.0], 0), ValueError, "num_samples should be a positive integer value"),
        (lambda: WeightedRandomSampler([1.0], 1, replacement=1), ValueError, "replacement should be a boolean"),
        (lambda: WeightedRandomSampler([[1.0]], 1), ValueError, r"weights should be a 1d sequence .* shape \(1, 1\)"),
        (lambda: BatchSampler(TEN, 0, False), ValueError, "batch_size should be a positive integer value"),
        (lambda: BatchSampler(TEN, True, False), ValueError, "batch_size=True"),
        (lambda: BatchSampler(TEN, 2, 1), ValueError, "drop_last should be a boolean value, but got drop_last=1"),
    ],
)
def test_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
