"""BLAS's products by their addresses: plain Python and compiled calls agree."""

import itertools

import numba
import numpy as np
import pytest

from numgrad.devices.cpu.blas import blas_addresses
from numgrad_kernels import overloads
from numgrad_kernels.foreign import dot, gemm, gemv


def padded(matrix, start, step, transposed):
    """A row of elements with the matrix from ``start``, ``step`` elements from row to row, ones in the gaps."""
    lines = matrix.T if transposed else matrix
    row = np.ones(start + len(lines) * step, matrix.dtype)
    for number, line in enumerate(lines):
        row[start + number * step : start + number * step + line.size] = line
    return row


def forms(function, address):
    """The function as it is in Python, and compiled if there is such a BLAS."""
    if address is None:
        return [function]
    overloads.register()
    return [function, numba.njit(lambda *arguments: function(*arguments))]


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("add", [0, 1])
@pytest.mark.parametrize("transposed", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_products_of_parts_of_rows(kind, add, transposed):
    random = np.random.default_rng(0)
    x, y, out = (random.integers(-4, 5, shape).astype(kind) for shape in ((3, 4), (4, 5), (3, 5)))
    if np.dtype(kind).kind == "c":
        x, y, out = (array * kind(1 - 2j) for array in (x, y, out))
    address = (blas_addresses() | blas_addresses("complex gemm")).get(np.dtype(kind))
    for call in forms(gemm, address):
        result = padded(out, 2, 6, False)
        call(
            address or 0, 3, 5, 4, padded(x, 1, 7, transposed[0]), 1, 7, transposed[0], padded(y, 3, 8, transposed[1]),
            3, 8, transposed[1], add, result, 2, 6,
        )  # fmt: skip
        assert np.array_equal(result, padded(add * out + x @ y, 2, 6, False))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products_with_vectors(kind):
    random = np.random.default_rng(0)
    x, y, z = (random.integers(-4, 5, shape).astype(kind) for shape in ((3, 4), (4, 1), (4, 1)))
    address = blas_addresses("gemv").get(np.dtype(kind))
    for call, transposed in itertools.product(forms(gemv, address), (0, 1)):
        result = np.empty(3, kind)
        call(address or 0, 3, 4, padded(x, 1, 7, transposed), 1, 7, transposed, padded(y, 2, 3, False), 2, 3, result)
        assert np.array_equal(result, (x @ y)[:, 0])
    address = blas_addresses("dot").get(np.dtype(kind))
    for call in forms(dot, address):
        found = call(address or 0, 4, padded(y, 2, 3, False), 2, 3, padded(z, 1, 2, False), 1, 2)
        assert found == (y * z).sum()
