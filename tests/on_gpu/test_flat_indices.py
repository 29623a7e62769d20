"""Flat indices on a GPU: combined from several dimensions, split, and found for nonzero elements."""

import numpy as np
import pytest
from on_gpu.comparison import run_steps

import numgrad
from numgrad.devices import cpu


@pytest.fixture
def generator():
    return np.random.default_rng(5)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "complex64"])
@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_flatnonzero(cuda, generator, size, dtype, share):
    count = size(100, 100_000)
    x = (generator.random(count) < share).astype(dtype)
    np.testing.assert_array_equal(run_steps(cuda, "flatnonzero", cuda.memory.buffer_from(x)).host(), np.flatnonzero(x))


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 257])
def test_flatnonzero_of_any_number_of_elements(cuda, count):
    x = np.ones(count, np.float32)
    assert run_steps(cuda, "flatnonzero", cuda.memory.buffer_from(x)).host().tolist() == list(range(count))


def test_nan_and_negative_zero(cuda):
    x = np.array([np.nan, -0.0, 0.0, 1e-40], np.float32)
    assert run_steps(cuda, "flatnonzero", cuda.memory.buffer_from(x)).host().tolist() == [0, 3]


@pytest.mark.parametrize("shape", [(4, 5, 6), (120,), (), (0, 3)])
def test_nonzero_rows(cuda, generator, shape):
    x = generator.integers(0, 2, int(np.prod(shape)))
    rows = run_steps(cuda, "nonzero_indices", cuda.memory.buffer_from(x), shape)
    assert rows.host().tolist() == run_steps(cpu, "nonzero_indices", x, shape).tolist()


def test_fold_indices(cuda, generator):
    x = numgrad.from_numpy(generator.normal(size=(3, 4, 5)))
    index = tuple([numgrad.from_numpy(generator.integers(-size, size, 12)) for size in (3, 4, 5)])
    assert x.to("cuda")[tuple([one.to("cuda") for one in index])].tolist() == x[index].tolist()


def test_counts(cuda, generator):
    places = generator.integers(0, 9, 20)
    buffer = cuda.memory.buffer_from(places)
    assert run_steps(cuda, "counts", buffer, 12).host().tolist() == run_steps(cpu, "counts", places, 12).tolist()


@pytest.mark.parametrize("counts", [[2, 0, 3, 1], [0, 0], [], [1] * 50, [70, 0, 1]])
def test_repeated_indices(cuda, counts):
    buffer = np.array(counts, np.int32)
    found = run_steps(cuda, "repeated_indices", cuda.memory.buffer_from(buffer))
    assert found.host().tolist() == run_steps(cpu, "repeated_indices", buffer).tolist()


def test_negative_counts(cuda):
    with pytest.raises(RuntimeError, match=r"repeats can not be negative \(shape \[3\]\)"):
        run_steps(cuda, "repeated_indices", cuda.memory.buffer_from(np.array([1, -1, 2])))


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (0, 3), (3, 0)])
def test_triangle_rows(cuda, upper, shape):
    from numgrad.core.types import device, int64, tensor_type

    for offset in range(-7, 8):
        rows, count = cuda.triangle_indices(*shape, offset, upper, tensor_type(int64, device("cuda", 0)))
        expected, number = cpu.triangle_indices(*shape, offset, upper, tensor_type(int64))
        assert (count, rows.host().tolist()) == (number, expected.tolist()), offset


@pytest.mark.parametrize("dims", [(0, 1), (1, 0), ((3, 100), 0, 1), (0, (2, -7), 1, (3, 1))])
def test_offsets(cuda, generator, dims):
    places = generator.integers(-12, 12, 6)
    rest = (2, 3), (3, 4), (50, 2), dims
    found = run_steps(cuda, "offsets", cuda.memory.buffer_from(places), *rest)
    assert found.host().tolist() == run_steps(cpu, "offsets", places, *rest).tolist()
