"""Products computed on a GPU and on the CPU."""

import numpy as np

import numgrad
from numgrad.devices import cpu


def tensor(shape, dtype=np.float32, seed=0):
    """Whole numbers, so that every order of summation has one result."""
    numbers = np.random.default_rng(seed).integers(-9, 10, (*shape, 2) if np.dtype(dtype).kind == "c" else shape)
    return numgrad.from_numpy(
        (numbers[..., 0] + 1j * numbers[..., 1]).astype(dtype) if np.dtype(dtype).kind == "c" else numbers.astype(dtype)
    )


def check(cuda, left, right, turned=(False, False), bias=None):
    """The product of tensors on the CPU, computed on either device; views are taken of moved bases."""
    launch = cpu.product_launcher(left._layout, right._layout, turned)
    expected = launch(left, right) if bias is None else launch(left, right, bias._flat)
    there = [on_gpu(operand) for operand in (left, right)]
    launch = cuda.product_launcher(there[0]._layout, there[1]._layout, turned)
    result = launch(*there, None if bias is None else bias.to("cuda")._flat)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result.host(), expected)


def vector_product(backend, left, right):
    """The product of a vector, or a matrix, and a vector, as a row."""
    return backend.vector_product_launcher(left._layout, right._layout)(left, right)


def on_gpu(view):
    """The tensor on a GPU with the same strides in a copy of the same storage."""
    whole = numgrad.from_numpy(view._storage).to("cuda")
    return whole.as_strided(view.shape, view.stride(), view.storage_offset())
