"""Products computed on a GPU and on the CPU."""

import numpy as np

import numgrad
from numgrad.devices import Plan, cpu


def tensor(shape, dtype=np.float32, seed=0):
    """Return integers, so that the order of summation does not matter."""
    numbers = np.random.default_rng(seed).integers(-9, 10, (*shape, 2) if np.dtype(dtype).kind == "c" else shape)
    return numgrad.from_numpy(
        (numbers[..., 0] + 1j * numbers[..., 1]).astype(dtype) if np.dtype(dtype).kind == "c" else numbers.astype(dtype)
    )


def check(cuda, left, right, transposed=(False, False), bias=None):
    """The product of tensors on the CPU, computed on either device; views are taken of moved bases."""
    expected = product(cpu, left, right, transposed, bias)
    there = [on_gpu(operand) for operand in (left, right)]
    result = product(cuda, *there, transposed, None if bias is None else bias.to("cuda"))
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result.host(), expected)


def product(backend, left, right, transposed=(False, False), bias=None):
    """The product of two tensors, as a row."""
    p = Plan(backend, left._layout.type.device.index)
    x, y, row = [p.operand(None if one is None else one._layout) for one in (left, right, bias)]
    p.results = (backend.product(p, x, y, transposed, None if row is None else p.contiguous(row)),)
    return p.launcher()(left, right, bias)


def vector_product(backend, left, right):
    """The product of a vector, or a matrix, and a vector, as a row."""
    p = Plan(backend, left._layout.type.device.index)
    p.results = (backend.vector_product(p, p.operand(left._layout), p.operand(right._layout)),)
    return p.launcher()(left, right)


def on_gpu(view):
    """The tensor on a GPU with the same strides in a copy of the same storage."""
    whole = numgrad.from_numpy(view._storage).to("cuda")
    return whole.as_strided(view.shape, view.stride(), view.storage_offset())
