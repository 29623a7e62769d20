"""Counting on a GPU, and places in sorted rows."""

import numpy as np
import pytest
from on_gpu.comparison import run_steps

import numgrad
from numgrad.devices import cpu


@pytest.fixture
def numbers(size):
    """Small numbers, in disorder, so many that several blocks add to each count."""
    return np.random.default_rng(1).integers(0, 7, size(50, 50_000))


@pytest.fixture
def deterministic():
    """Results that are the same every time."""
    numgrad.use_deterministic_algorithms(True)
    yield
    numgrad.use_deterministic_algorithms(False)


def counted(device, buffer, *others):
    """Return the ``bincount`` of a device; the last argument is the least number of bins."""
    if len(others) == 1:
        return run_steps(device, "bincount", buffer, None, *others)
    return run_steps(device, "bincount", buffer, *others)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_numbers_are_counted(cuda, numbers, dtype):
    numbers = numbers.astype(dtype)
    buffer = cuda.buffer_from(numbers)
    for bins in (7, 10, 2049):  # in memory of the block, and not
        np.testing.assert_array_equal(counted(cuda, buffer, bins).host(), counted(cpu, numbers, bins))
    assert counted(cuda, buffer[:0], 3).host().tolist() == [0, 0, 0]


def weighted(cuda, numbers, dtype):
    """Return the counted weights of the GPU and of the CPU, and the greatest allowed difference."""
    weights = np.random.default_rng(2).uniform(1, 2, numbers.size).astype(dtype)
    found = counted(cuda, cuda.buffer_from(numbers), cuda.buffer_from(weights), 9).host()
    expected = counted(cpu, numbers, weights, 9)
    assert found.dtype == expected.dtype
    return found, expected, 1e-4 if dtype == "float32" else 1e-11


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_are_counted(cuda, numbers, dtype):
    np.testing.assert_allclose(*weighted(cuda, numbers, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_are_counted_in_one_order(cuda, numbers, deterministic, dtype):
    found, expected, tolerance = weighted(cuda, numbers, dtype)
    np.testing.assert_allclose(found, expected, tolerance)
    np.testing.assert_array_equal(found, weighted(cuda, numbers, dtype)[0])


def test_the_public_function_counts(cuda):
    x = numgrad.tensor([3, 0, 3], device="cuda")
    assert numgrad.bincount(x).tolist() == [1, 0, 0, 2]
    assert numgrad.bincount(x, minlength=6).tolist() == [1, 0, 0, 2, 0, 0]
    assert numgrad.bincount(x, numgrad.tensor([1.0, 2.0, 4.0], device="cuda")).tolist() == [2.0, 0.0, 0.0, 5.0]
    assert numgrad.bincount(x[:0]).tolist() == []
    with pytest.raises(RuntimeError, match="non-negative integral inputs"):
        numgrad.bincount(x - 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elements_are_counted_in_bins(cuda, size, dtype):
    values = np.random.default_rng(3).normal(size=size(60, 60_000)).astype(dtype)
    values[:4] = np.nan, 1.0, -1.0, np.inf
    found = run_steps(cuda, "histogram", cuda.buffer_from(values), 7, -1.0, 1.0)
    expected = run_steps(cpu, "histogram", values, 7, -1.0, 1.0)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.host(), expected)


def test_bins_between_the_extremes(cuda):
    x = numgrad.tensor([1.0, 2.0, 2.5, 5.0], device="cuda")
    assert x.histc(4).tolist() == [1.0, 2.0, 0.0, 1.0]
    with pytest.raises(RuntimeError, match=r"range of \[nan, nan\] is not finite"):
        (x * float("nan")).histc()


@pytest.mark.parametrize("right", [False, True], ids=["left", "right"])
@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("float32", "int64"), ("int64", "uint8")], ids=str)
def test_places_in_sorted_rows(cuda, size, dtypes, right):
    length, count = size(9, 900), size(5, 3000)
    random = np.random.default_rng(4)
    rows, values = (
        random.integers(-4, 40, (3, extent)).astype(kind) for extent, kind in zip((length, count), dtypes, strict=True)
    )
    rows.sort(-1)
    if values.dtype.kind == "f":
        values[1, 1] = np.nan
    compute = np.promote_types(*dtypes) if dtypes[1] != "int64" else np.dtype("float32")
    how = length, count, right, compute
    found = run_steps(cuda, "search_rows", cuda.buffer_from(rows), cuda.buffer_from(values), *how)
    np.testing.assert_array_equal(found.host(), run_steps(cpu, "search_rows", rows.ravel(), values.ravel(), *how))


def test_the_place_of_a_number(cuda):
    bounds = numgrad.tensor([1.0, 3.0, 5.0], device="cuda")
    place = numgrad.searchsorted(bounds, 3.0)
    assert place.is_cuda
    assert place.item() == 1
    assert numgrad.bucketize(numgrad.tensor([3.0, 9.0], device="cuda"), bounds, right=True).tolist() == [2, 3]
