"""Data sets: samples by index or one after another, put together and split."""

import numpy as np
import pytest

import numgrad
from numgrad import arange, tensor
from numgrad.utils.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)


class Counting(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))

    def __len__(self):
        return self.count


def test_tensors():
    data = TensorDataset(arange(10.0), arange(20).reshape(10, 2))
    assert len(data) == 10
    x, y = data[3]
    assert x.item() == 3
    assert y.tolist() == [6, 7]
    assert [part.tolist() for part in data[8:]] == [[8, 9], [[16, 17], [18, 19]]]
    assert [part.tolist() for part in data[-1]] == [9, [18, 19]]
    with pytest.raises(IndexError):
        data[10]
    with pytest.raises(AssertionError, match=r"Size mismatch between tensors \(shapes \[3\], \[4, 2\]\)"):
        TensorDataset(numgrad.ones(3), numgrad.ones(4, 2))


def test_what_a_subclass_must_define():
    with pytest.raises(NotImplementedError, match="Dataset: subclasses of Dataset should implement __getitem__"):
        Dataset()[0]
    with pytest.raises(NotImplementedError, match="should implement __iter__"):
        iter(IterableDataset())
    with pytest.raises(TypeError, match="has no len"):
        len(Dataset())
    assert Dataset[int] is not None  # usable in annotations


def test_concatenation():
    first, second = TensorDataset(arange(3)), TensorDataset(arange(3, 7))
    both = first + second
    assert isinstance(both, ConcatDataset)
    assert len(both) == 7
    assert both.cumulative_sizes == [3, 7]
    assert [both[i][0].item() for i in range(7)] == list(range(7))
    assert both[-1][0].item() == 6
    assert both[-7][0].item() == 0
    with pytest.raises(IndexError):
        both[7]
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        both[-8]
    with pytest.raises(AssertionError, match="datasets should not be an empty iterable"):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        ConcatDataset([first, Counting(2)])


def test_chain():
    chained = Counting(2) + Counting(3)
    assert isinstance(chained, ChainDataset)
    assert list(chained) == [0, 1, 0, 1, 2]
    assert len(chained) == 5
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        ChainDataset([TensorDataset(arange(2))])


def test_stack():
    assert StackDataset([1, 2], "ab")[1] == (2, "b")
    named = StackDataset(number=[1, 2], letter="ab")
    assert named[0] == {"number": 1, "letter": "a"}
    assert len(named) == 2
    with pytest.raises(ValueError, match="At least one dataset"):
        StackDataset()
    with pytest.raises(ValueError, match=r"Size mismatch between datasets \(lengths \[2, 1\]\)"):
        StackDataset([1, 2], "a")
    with pytest.raises(ValueError, match="not both"):
        StackDataset([1], x=[1])


def test_subset():
    part = Subset(TensorDataset(arange(10)), [1, 3, 5])
    assert len(part) == 3
    assert part[2][0].item() == 5
    assert part[-1][0].item() == 5
    assert [x.item() for (x,) in part.__getitems__([0, 2])] == [1, 5]
    nested = Subset(part, [2, 0])
    assert [nested[i][0].item() for i in range(2)] == [5, 1]
    with pytest.raises(IndexError):
        part[3]


def test_split_is_that_of_pytorch():
    generator = numgrad.Generator().manual_seed(0)
    parts = random_split(range(10), [0.33, 0.33, 0.34], generator=generator)
    assert [part.indices for part in parts] == [[4, 1, 7, 5], [3, 9, 0], [8, 6, 2]]
    parts = random_split(range(10), [2, 8], generator=numgrad.Generator().manual_seed(0))
    assert [part.indices for part in parts] == [[4, 1], [7, 5, 3, 9, 0, 8, 6, 2]]
    numgrad.manual_seed(0)
    assert random_split(range(10), [2, 8])[0].indices == [4, 1]


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [([10, 0], [10, 0]), ([1], [10]), ([1 / 3, 1 / 3, 1 / 3], [4, 3, 3]), ([0.05, 0.95], [1, 9])],
)
def test_lengths_of_a_split(lengths, expected):
    assert [len(part) for part in random_split(range(10), lengths)] == expected


@pytest.mark.parametrize("lengths", [[3, 3], [0.3, 0.3], [0.8, 0.3], [20, -10], [np.nan]])
def test_lengths_that_do_not_fit(lengths):
    with pytest.raises(ValueError, match=r"Sum of input lengths|should not be negative"):
        random_split(range(10), lengths)


def test_fractions_out_of_range():
    with pytest.raises(ValueError, match=r"Fraction at index 0 is not between 0 and 1 \(1.5\)"):
        random_split(range(10), [1.5, -0.5])
    with pytest.warns(UserWarning, match="Length of split at index 0 is 0"):
        parts = random_split(range(10), [0.0, 1.0])
    assert [len(part) for part in parts] == [0, 10]


def test_a_split_shares_the_tensors():
    x = tensor([[1.0, 2.0], [3.0, 4.0]])
    part, _ = random_split(TensorDataset(x), [1, 1])
    part[0][0].zero_()
    assert x.sum().item() in (3, 7)
