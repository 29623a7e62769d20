"""Bags of an embedding against PyTorch's."""

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

import numgrad

pytestmark = pytest.mark.torch

#: Row numbers, and where bags begin: the third is empty, and so is the last.
ROWS, OFFSETS = np.array([1, 4, 4, 2, 5, 3, 2]), np.array([0, 3, 5, 5, 7])


@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
@pytest.mark.parametrize("padding", [None, 4, -4])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_values_and_gradients(mode, padding, layout):
    def program(m, weight):
        rows, offsets = m.tensor(ROWS), m.tensor(OFFSETS)
        bag, options = m.nn.functional.embedding_bag, {"mode": mode, "padding_idx": padding}
        return (
            bag(rows, weight, offsets, **options),
            bag(rows.int(), weight, offsets.int(), include_last_offset=True, **options),
            bag(rows[:6].reshape(2, 3), weight, **options), bag(rows[:0], weight, offsets[:0], **options),
            bag(rows[:0], weight, m.tensor([0, 0]), **options),
            bag(rows[:0].reshape(0, 2), weight, **options),
        )  # fmt: skip

    assert_same(program, *randoms((6, 3), layout=layout))
    assert_same(program, *randoms((6, 3), layout=layout, dtype="float32"))


@pytest.mark.parametrize("padding", [None, 4])
def test_factors(padding):
    def program(m, weight, factors):
        rows, options = m.tensor(ROWS), {"mode": "sum", "padding_idx": padding}
        bag, matrix = m.nn.functional.embedding_bag, (rows[:6].reshape(2, 3), factors[:6].reshape(2, 3))
        return (
            bag(rows, weight, m.tensor(OFFSETS), per_sample_weights=factors, **options),
            bag(matrix[0], weight, per_sample_weights=matrix[1], **options),
            bag(rows, weight, m.tensor([0, 2, 7]), per_sample_weights=factors, include_last_offset=True, **options),
        )  # fmt: skip

    assert_same(program, *randoms((6, 3), (7,)), graph=False)


def test_indices_after_the_last_bag():
    """PyTorch counts it to the last bag where there are factors, or means are taken."""
    weight, factors = numgrad.rand(6, 2, requires_grad=True), numgrad.ones(4, requires_grad=True)
    out = numgrad.nn.functional.embedding_bag(
        numgrad.tensor([1, 2, 4, 5]), weight, numgrad.tensor([0, 1, 2]), mode="sum", per_sample_weights=factors,
        include_last_offset=True,
    )
    out.sum().backward()
    assert out.tolist() == weight[1:3].tolist()
    assert weight.grad.sum(1).tolist() == [0, 2, 2, 0, 0, 0]
    assert factors.grad[2:].tolist() == [0, 0]


def test_a_norm_that_is_too_large():
    def program(m, weight):
        table = weight.detach().clone()
        out = m.nn.functional.embedding_bag(m.tensor(ROWS), table, m.tensor(OFFSETS), 1.0, mode="sum")
        return out, table

    assert_same(program, *randoms((6, 3)))


def test_numbers_that_are_none():
    def program(m, weight):
        first, second = m.tensor([0, 1, 2, 3]), m.tensor([1, 0, 3, 2])
        return [m.nn.functional.embedding_bag(rows, weight, m.tensor([0, 2]), mode="max") for rows in (first, second)]

    assert_same(program, np.array([[1, np.nan], [2, 1], [np.nan, 5], [-1, -np.inf]]), requires_grad=False)


def test_scaled_by_frequency():
    """PyTorch on a CPU divides by the counts of other rows."""
    weight = numgrad.rand(6, 2, requires_grad=True)
    numgrad.nn.functional.embedding_bag(
        numgrad.from_numpy(ROWS), weight, numgrad.tensor([0]), scale_grad_by_freq=True, mode="sum"
    ).sum().backward()
    assert weight.grad.tolist() == [[0, 0], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1]]


def test_module():
    def program(m, x):
        m.manual_seed(3)
        made = m.nn.EmbeddingBag(6, 2, mode="sum", padding_idx=-2, include_last_offset=True)
        mean = m.nn.EmbeddingBag.from_pretrained(made.weight.detach() + 1, max_norm=1.0)
        assert (mean.weight.requires_grad, mean.mode) == (False, "mean")
        out = mean(m.tensor([[1, 2], [3, 1]])), made(m.tensor(ROWS), m.tensor([0, 2, 7]), m.ones(7))
        return *out, made.weight.detach(), mean.weight

    assert_same(program, *randoms(()), requires_grad=False)


def _bag(*given, **options):
    return lambda m: m.nn.functional.embedding_bag(
        *[m.tensor(x) if isinstance(x, list) else x for x in given[:1]], m.ones(*given[1]),
        *[m.tensor(x) for x in given[2:]], **{k: m.tensor(x) if isinstance(x, list) else x for k, x in options.items()},
    )


@pytest.mark.parametrize("program", [
    _bag([1, 2], (6, 2)), _bag([[1, 2]], (6, 2), [0]), _bag([[[1, 2]]], (6, 2)), _bag([1, 2], (6,), [0]),
    _bag([1, 2], (6, 2), [[0]]), _bag([1, 2], (6, 2), [0], mode="xx"), _bag([1, 2], (6, 2), [1]),
    _bag([1, 2], (6, 2), [0, 3]), _bag([1, 2], (6, 2), [0], padding_idx=6), _bag([1.0, 2.0], (6, 2), [0]),
    _bag([1, 2], (6, 2), [0], padding_idx=-7),
    _bag([1, 2], (6, 2), [0], mode="max", scale_grad_by_freq=True), _bag([1, 2], (6, 2), [0], mode="max", sparse=True),
    _bag([1, 2], (6, 2), [0], per_sample_weights=[1.0, 2.0]),
    _bag([1, 2], (6, 2), [0], mode="sum", per_sample_weights=[1.0]),
    lambda m: m.nn.functional.embedding_bag(m.tensor([1]), m.ones(2, 2, dtype=m.complex64), m.tensor([0])),
    lambda m: m.nn.functional.embedding_bag(m.tensor([1]), m.ones(2, 2), m.tensor([0]), mode="sum",
                                            per_sample_weights=m.ones(1).double()),
    lambda m: m.nn.EmbeddingBag(3, 2, padding_idx=3),
])  # fmt: skip
def test_refusals(program):
    expected, found = messages(program)
    assert type(found) is type(expected)
    assert str(found)[:25] == str(expected)[:25]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("row", [-1, 6])
def test_a_row_that_there_is_not(mode, row):
    expected, found = messages(_bag([1, row], (6, 2), [0], mode=mode))
    assert type(found) is type(expected)
    assert f"takes value {row} which is not in the valid range [0, 6)" in str(found)


def test_offsets_that_fall():
    expected, found = messages(_bag([1, 2, 3], (6, 2), [0, 2, 1], mode="sum"))
    assert type(found) is type(expected)
    assert "offsets[1] is 2 and offsets[2] is 1" in str(found)


def test_sparse_gradients_are_refused():
    with pytest.raises(NotImplementedError, match="no sparse gradients"):
        _bag([1, 2], (6, 2), [0], sparse=True)(numgrad)
