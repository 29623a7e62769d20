"""Trees over small arrays: compiled, they put the same elements together as in plain Python."""

import numba
import numpy as np
import pytest

from numgrad_kernels.local import tree_largest, tree_total


def values(dtype):
    numbers = np.random.default_rng(0).standard_normal(64) * 100
    return (numbers + 1j * numbers[::-1] if np.dtype(dtype).kind == "c" else numbers).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
def test_sums_are_of_halves(dtype):
    total = numba.njit(lambda x: tree_total(x, 64))
    x = values(dtype)
    assert total(x) == tree_total(x, 64)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_largest_is_found_wherever_it_is(dtype):
    largest = numba.njit(lambda x: tree_largest(x, 64))
    x = values(dtype)
    for _ in range(64):
        x = np.roll(x, 1)
        assert largest(x) == tree_largest(x, 64) == x.max()
