"""Products in pieces: every layout, the same bits for any number of threads, and products computed by NumPy."""

import itertools

import numba
import numpy as np
import pytest

import numgrad
from numgrad.devices import Plan, cpu
from numgrad.devices.cpu import products
from numgrad.devices.cpu import threads as thread_rules


def matrix_product(left, right, transposed=(False, False), bias=None):
    p = Plan(cpu)
    x, y = p.operand(left._layout), p.operand(right._layout)
    row = None if bias is None else p.contiguous(p.operand(numgrad.from_numpy(bias)._layout))
    p.results = (cpu.product(p, x, y, transposed, row),)
    return p.launcher()(left, right, *() if bias is None else (numgrad.from_numpy(bias),))


def whole_numbers(shape, kind, seed):
    """Small whole numbers, of which products are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(kind)


def in_memory(array, layout):
    """A tensor of these elements whose matrices lie by rows, by columns, or with gaps."""
    if layout == "columns":
        return numgrad.from_numpy(array.swapaxes(-1, -2).copy()).transpose(-1, -2)
    if layout == "rows with gaps":
        return numgrad.from_numpy(np.concatenate([array, array + 1], -1))[..., : array.shape[-1]]
    if layout == "gaps":
        return numgrad.from_numpy(np.repeat(array, 2, -1))[..., ::2]
    return numgrad.from_numpy(array)


@pytest.fixture(params=["openblas", "numpy"])
def library(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(products, "blas_addresses", lambda function="gemm": {})


SIZES = [(3, 4, 5), (1, 1, 1), (1, 7, 3), (3, 7, 1), (97, 131, 53), (1, 700, 900), (130, 128, 257)]


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.complex64, np.int64])
@pytest.mark.parametrize("stack", [(), pytest.param((3,), marks=pytest.mark.long)], ids=["matrices", "stacks"])
def test_products_of_every_layout(library, kind, stack):
    layouts = "rows", "columns", "rows with gaps", "gaps"
    for (m, k, n), one, other in itertools.product(SIZES if kind == np.float32 else SIZES[:5], layouts, layouts):
        left, right = whole_numbers((*stack, m, k), kind, 0), whole_numbers((*stack, k, n), kind, 1)
        x, y = in_memory(left, one), in_memory(right, other)
        expected = left @ right
        assert np.array_equal(matrix_product(x, y).reshape(expected.shape), expected)
        bias = whole_numbers((n,), kind, 2)
        transposed = x.transpose(-1, -2), y.transpose(-1, -2)
        found = matrix_product(*transposed, (True, True), bias).reshape(expected.shape)
        assert np.array_equal(found, expected + bias)


def test_repeated_and_reversed_matrices_are_copied():
    row = numgrad.arange(6.0)
    repeated = row.expand(4, 6)
    assert (repeated @ repeated.t()).tolist() == np.full((4, 4), 55.0).tolist()
    stack = numgrad.ones(2, 3).expand(5, 2, 3)
    assert numgrad.bmm(stack, stack.transpose(1, 2)).tolist() == np.full((5, 2, 2), 3.0).tolist()
    backwards = numgrad.from_numpy(np.arange(6.0).reshape(2, 3)[::-1].copy()).flip(0)
    assert (backwards @ backwards.t()).tolist() == [[5.0, 14.0], [14.0, 50.0]]


@pytest.mark.parametrize("shape", [(0, 3, 2), (2, 0, 3), (2, 3, 0)])
def test_products_of_nothing(library, shape):
    m, k, n = shape
    bias = np.arange(n, dtype=np.float32)
    found = matrix_product(numgrad.ones(m, k), numgrad.ones(k, n), (False, False), bias).reshape(m, n)
    assert np.array_equal(found, np.broadcast_to(bias, (m, n)))


def test_earlier_contents_of_the_memory_do_not_matter(monkeypatch):
    monkeypatch.setattr(np, "empty", lambda count, kind: np.full(count, np.nan, kind))
    for n in (8, 150):
        assert np.array_equal(matrix_product(numgrad.ones(n, n), numgrad.ones(n, n)), np.full(n * n, n))


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("shape", [(150, 150), (3, 150, 150), (331, 331)])
def test_bits_do_not_depend_on_the_threads(monkeypatch, shape, transposed):
    random = np.random.default_rng(0)
    x, y = (numgrad.from_numpy(random.normal(size=shape).astype(np.float32)) for _ in range(2))
    before, found = numba.get_num_threads(), []
    try:
        for threads in (before, 1):
            numba.set_num_threads(threads)
            found.append(matrix_product(x, y, transposed))
    finally:
        numba.set_num_threads(before)
    monkeypatch.setattr(thread_rules, "_threads_allowed", False)  # as in a forked process
    found.append(matrix_product(x, y, transposed))
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


@pytest.mark.parametrize("transposed", [False, True])
def test_pieces_cover_the_product_and_grow_in_number_with_it(transposed):
    counts = []
    for n in (1, 5, 64, 100, 128, 331, 1024, 4096):
        rows, columns = products._piece(1, n, n, n, transposed)
        assert 1 <= rows <= n
        assert columns >= 1
        counts.append(-(-n // rows) * -(-n // columns))
    assert counts[:3] == [1, 1, 4 if transposed else 1]
    assert all(count >= 4 for count in counts[3:])
    assert counts[-1] >= 64
    rows, columns = products._piece(1, 10_000, 10, 64, transposed)  # a small layer and many inputs
    assert columns == 10
    assert rows < 10_000
    assert products._piece(100, 64, 64, 8, False) == (64, 64)  # the matrices of a large stack stay whole
