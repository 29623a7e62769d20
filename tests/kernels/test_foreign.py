"""BLAS's product by its address: the call in plain Python does what the compiled one does."""

import numba
import numpy as np
import pytest

from numgrad.devices.cpu.blas import gemm_addresses
from numgrad_kernels import overloads
from numgrad_kernels.foreign import gemm


def padded(matrix, start, step, turned):
    """A row of elements with the matrix from ``start``, ``step`` elements from row to row, ones in the gaps."""
    lines = matrix.T if turned else matrix
    row = np.ones(start + len(lines) * step, matrix.dtype)
    for number, line in enumerate(lines):
        row[start + number * step : start + number * step + line.size] = line
    return row


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("add", [0, 1])
@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_products_of_parts_of_rows(kind, add, turned):
    random = np.random.default_rng(0)
    x, y, out = (random.integers(-4, 5, shape).astype(kind) for shape in ((3, 4), (4, 5), (3, 5)))
    address = gemm_addresses().get(np.dtype(kind))
    calls = [gemm]
    if address is not None:
        overloads.register()

        @numba.njit
        def compiled(*arguments):
            gemm(*arguments)

        calls.append(compiled)
    for call in calls:
        result = padded(out, 2, 6, False)
        call(
            address or 0, 3, 5, 4, padded(x, 1, 7, turned[0]), 1, 7, turned[0], padded(y, 3, 8, turned[1]), 3, 8,
            turned[1], add, result, 2, 6,
        )  # fmt: skip
        assert np.array_equal(result, padded(add * out + x @ y, 2, 6, False))
