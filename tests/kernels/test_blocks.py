"""Blocks and sums of blocks: compiled functions give the results of plain Python."""

import numba
import numpy as np
import pytest

from numgrad_kernels.blocks import between, block, every_other, fill, larger, put, repeated, tree_largest, tree_total
from numgrad_kernels.scalar import exp


def values(dtype):
    numbers = np.random.default_rng(0).standard_normal(64) * 100
    return (numbers + 1j * numbers[::-1] if np.dtype(dtype).kind == "c" else numbers).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
def test_sums_are_of_halves(dtype):
    total = numba.njit(lambda x: tree_total(x, 64))
    x = values(dtype)
    assert total(x) == tree_total(x, 64)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int64"])
def test_filling_changes_as_many_elements_as_it_says(dtype):
    x = values(dtype)
    expected = x.copy()
    fill(expected, x[3], 16)
    numba.njit(lambda x, value: fill(x, value, 16))(x, x[3])
    assert np.array_equal(x, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_largest_is_found_wherever_it_is(dtype):
    largest = numba.njit(lambda x: tree_largest(x, 64))
    x = values(dtype)
    for _ in range(64):
        x = np.roll(x, 1)
        assert largest(x) == tree_largest(x, 64) == x.max()


def blocks(x, y, out):
    """Apply the operations of kernels on blocks, one after another; in plain Python the blocks are arrays."""
    left, right = block(x, 3, 32), block(y, 5, 32)
    put(out, 0, left + right * left - x[0])
    put(out, 32, x[1] * left)
    put(out, 64, exp(left))
    put(out, 96, larger(left, right))
    put(out, 128, between(left, 3, 30, y[0]))
    put(out, 160, repeated(x[2], 32))
    put(out, 192, every_other(x, 1, 32))
    out[224] = tree_total(left, 32)
    out[225] = tree_largest(left, 32)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blocks_are_computed_with_element_by_element(dtype):
    x = np.random.default_rng(0).standard_normal(64).astype(dtype)
    y = np.roll(x, 7)
    compiled, plain = np.zeros((2, 226), dtype)
    numba.njit(blocks)(x, y, compiled)
    blocks(x, y, plain)
    exact = np.ones(226, bool)
    exact[64:96] = False  # the exponential in plain Python is NumPy's
    assert (compiled == plain)[exact].all()
    scalar = numba.njit(lambda numbers: [exp(number) for number in numbers])
    assert (compiled[64:96] == scalar(x[3:35])).all()
