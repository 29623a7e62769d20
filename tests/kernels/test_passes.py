"""Products that are fused with sums: those of one function, and no others."""

from fractions import Fraction

import numpy as np
from numba.np.numpy_support import from_dtype

from numgrad_kernels.buffer_types import BufferType
from numgrad_kernels.facts import Facts
from numgrad_kernels.store import compile_kernel


def run(body, *, dtype):
    """The elements that a kernel computes from three arrays, with these statements for an element."""
    text = "\n".join([
        "from numba import njit", "from numgrad_kernels.scalar import rounded", "",
        "@njit(forceinline=True)", "def product(x, y):", "    return x * y", "",
        "def kernel(a, b, c, out):", "    for i in range(out.size):", *[f"        {line}" for line in body], "",
    ])
    buffer = BufferType(from_dtype(np.dtype(dtype)))
    kernel = compile_kernel("fused", text, [buffer] * 4, Facts(np.dtype(dtype)))
    choose = np.random.default_rng(0)
    a, b, c = (choose.standard_normal(103).astype(dtype) for _ in range(3))
    out = np.empty_like(a)
    kernel.entry(a, b, c, out)
    return a, b, c, out


def fused(a, b, c, dtype):
    """``a * b + c``, rounded once."""
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
    return np.array([float(number) for number in exact]).astype(dtype)


def test_within_a_function():
    a, b, c, out = run(["out[i] = a[i] * b[i] + c[i]"], dtype=np.float64)
    assert np.array_equal(out, fused(a, b, c, np.float64))
    a, b, c, out = run(["out[i] = c[i] - a[i] * b[i]"], dtype=np.float64)
    assert np.array_equal(out, fused(-a, b, c, np.float64))
    a, b, c, out = run(["out[i] = a[i] * b[i] - c[i]"], dtype=np.float64)
    assert np.array_equal(out, fused(a, b, -c, np.float64))


def test_not_if_the_product_is_used_twice_or_comes_from_another_function():
    bodies = [
        ["p = a[i] * b[i]", "out[i] = (p + c[i]) if p > 0 else (p + c[i])"],
        ["out[i] = product(a[i], b[i]) + c[i]"],
        ["out[i] = rounded(a[i] * b[i]) + c[i]"],
    ]
    for body in bodies:
        for dtype in (np.float32, np.float64):
            a, b, c, out = run(body, dtype=dtype)
            assert np.array_equal(out, a * b + c)
            assert not np.array_equal(out, fused(a, b, c, dtype))
