"""Tests of the functions through which Python calls kernels."""

import numpy as np
import pytest
from numba import types

from numgrad_kernels import entries, store

TEXT = """
def kernel(input, number, output):
    for index in range(output.size):
        output[index] = input[index] + number
"""


def added(dtype):
    buffer = types.Array(dtype, 1, "C")
    return store.compile_text("added", TEXT, (buffer, types.int64, buffer))


def test_kernels_whose_arguments_are_converted_alike_share_the_conversion():
    added(types.float64)
    compiled = entries._shared.cache_info().misses
    output = np.zeros(3, np.int64)
    added(types.int64).entry(np.arange(3), 5, output)
    assert entries._shared.cache_info().misses == compiled
    assert output.tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a kernel takes 3 arguments"),
        ((np.zeros(2), 1, np.zeros(2), 4), "a kernel takes 3 arguments"),
        ((np.zeros(2, np.float32), 1, np.zeros(2)), "can't unbox array"),
        ((np.zeros(2), None, np.zeros(2)), r"int\(\) argument must be a string"),
    ],
)
def test_arguments_that_cannot_be_converted_raise(arguments, message):
    with pytest.raises(TypeError, match=message):
        added(types.float64).entry(*arguments)
