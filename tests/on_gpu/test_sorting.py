"""Sorting on a GPU, and operations that use it: in tiles, in runs of several tiles, many short lines at once."""

import math

import numpy as np
import pytest
from on_gpu.comparison import on_cpu, run_steps

import numgrad
from numgrad.devices import cpu

#: (outer, length, inner): several lines in a block; columns; one line of several tiles; columns of several tiles.
SHAPES = [(7, 5, 1), (2, 3, 4), (1, 37, 1), (2, 40, 3)]
LONG = SHAPES[2:]


@pytest.fixture
def elements(size):
    """``elements(shape, dtype)``: the shape, longer on a real GPU, and elements of which many are equal."""

    def make(shape, dtype):
        outer, length, inner = shape
        length = size(length, length * 211)
        count = outer * length * inner
        values = np.random.default_rng(count).integers(0, size(6, 60), count).astype(dtype)
        if values.dtype.kind == "f":
            values[:: size(7, 43)] = np.nan
            values[values == 0] *= np.where(np.arange((values == 0).sum()) % 2, 1.0, -1.0)
        return (outer, length, inner), values

    return make


def check(found, expected):
    """Raise unless rows on the GPU equal the arrays of the CPU, including the signs of zeros."""
    for row, array in zip(found, expected, strict=True):
        assert row.dtype == array.dtype
        np.testing.assert_array_equal(row.host(), array)
        if array.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(row.host()), np.signbit(array))


@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lines_are_sorted_and_equal_elements_stay_in_order(cuda, elements, shape, dtype, descending):
    shape, values = elements(shape, dtype)
    expected = on_cpu("sort_axis", values, shape, descending)
    check(run_steps(cuda, "sort_axis", cuda.buffer_from(values), *shape, descending), expected)


#: Lengths of lines that are sorted by digits, in a block's tiles of which the last is not full.
LONGEST = {"float32": (263, 70_001), "int32": (263, 70_001), "float64": (300, 300_001), "uint8": (90, 9001)}


@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("dtype", LONGEST)
def test_long_lines_are_sorted_by_digits(cuda, size, dtype, descending):
    length = size(*LONGEST[dtype])
    values = np.random.default_rng(length).normal(0, 100, 3 * length).astype(np.int64 if dtype == "uint8" else dtype)
    values = values.astype(dtype)
    if values.dtype.kind == "f":
        values[::5], values[1::7], values[2::9], values[3::9] = np.nan, np.inf, 0.0, -0.0
        values[::10] = -np.abs(values[::10])  # NaN of both signs
    for shape in ((1, length, 3), (3, length, 1)):
        expected = on_cpu("sort_axis", values, shape, descending)
        check(run_steps(cuda, "sort_axis", cuda.buffer_from(values), *shape, descending), expected)


@pytest.mark.parametrize("length", range(1, 18))
def test_lines_of_any_length_are_sorted(cuda, length):
    values = np.random.default_rng(length).normal(size=3 * length).astype("float32")
    shape = 3, length, 1
    on_gpu = run_steps(cuda, "sort_axis", cuda.buffer_from(values), *shape, False)
    check(on_gpu, on_cpu("sort_axis", values, shape, False))


@pytest.mark.parametrize("shape", [(2, 0, 3), (0, 4, 1)], ids=str)
def test_nothing_is_sorted(cuda, shape):
    nothing = np.empty(0, "float32")
    found = run_steps(cuda, "sort_axis", cuda.buffer_from(nothing), *shape, False)
    check(found, on_cpu("sort_axis", nothing, shape, False))


@pytest.mark.parametrize("share", [0, 0.02, 0.1, 0.3, 0.9])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_first_few_of_the_order(cuda, elements, shape, share):
    shape, values = elements(shape, "float32")
    count = int(np.ceil(share * shape[1]))
    expected = on_cpu("sort_axis", values, shape, True, count)
    check(run_steps(cuda, "sort_axis", cuda.buffer_from(values), *shape, True, count), expected)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_element_of_each_line(cuda, elements, shape):
    shape, values = elements(shape, "float32")
    row = cuda.buffer_from(values)
    for k in (0, 2, shape[1] - 1):
        check(run_steps(cuda, "kth_axis", row, *shape, k), on_cpu("kth_axis", values, shape, k))
    for past_nan in (False, True):
        check(run_steps(cuda, "median_axis", row, *shape, past_nan), on_cpu("median_axis", values, shape, past_nan))
    check(run_steps(cuda, "mode_axis", row, *shape), on_cpu("mode_axis", values, shape))


@pytest.mark.parametrize("dtype", ["uint8", "bool"])
def test_one_element_of_each_line_of_integers_and_bools(cuda, elements, dtype):
    shape, values = elements(SHAPES[3], dtype)
    row = cuda.buffer_from(values)
    check(run_steps(cuda, "median_axis", row, *shape, False), on_cpu("median_axis", values, shape, False))
    check(run_steps(cuda, "mode_axis", row, *shape), on_cpu("mode_axis", values, shape))


def test_lines_of_nothing_but_nan(cuda):
    values = np.full(6, np.nan, "float32")
    row = cuda.buffer_from(values)
    for past_nan in (False, True):
        found = run_steps(cuda, "median_axis", row, 2, 3, 1, past_nan)
        check(found, on_cpu("median_axis", values, (2, 3, 1), past_nan))
    check(run_steps(cuda, "mode_axis", row, 2, 3, 1), on_cpu("mode_axis", values, (2, 3, 1)))


# -- different elements -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_different_elements(cuda, elements, dtype):
    _, values = elements(SHAPES[3], dtype)
    found, inverse, counts = run_steps(cuda, "unique_slices", cuda.buffer_from(values), 1, values.size, 1, False)
    expected, _, occurring = run_steps(cpu, "unique_slices", values, 1, values.size, 1, False)
    np.testing.assert_array_equal(found.host(), expected)
    np.testing.assert_array_equal(found.host()[inverse.host()], values)  # the order of NaN is undefined
    np.testing.assert_array_equal(counts.host(), occurring)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize("shape", [(7, 5, 1), (2, 9, 1), (1, 37, 1), (1, 9, 2)], ids=str)
def test_different_slices(cuda, shape, dtype):
    values = np.random.default_rng(3).integers(0, 2, np.prod(shape)).astype(dtype)
    if dtype == "float32":
        values[-1] = np.nan
    for consecutive in (False, True):
        found = run_steps(cuda, "unique_slices", cuda.buffer_from(values), *shape, consecutive)
        check(found, run_steps(cpu, "unique_slices", values, *shape, consecutive))


@pytest.mark.parametrize("consecutive", [False, True])
@pytest.mark.parametrize("shape", [(2, 0, 3), (0, 4, 1), (1, 0, 1)], ids=str)
def test_different_slices_of_nothing(cuda, shape, consecutive):
    nothing = np.empty(0, "float32")
    found = run_steps(cuda, "unique_slices", cuda.buffer_from(nothing), *shape, consecutive)
    check(found, run_steps(cpu, "unique_slices", nothing, *shape, consecutive))


def test_the_public_functions(cuda):
    x = numgrad.tensor([[2, 1], [0, 1], [2, 1]], dtype=numgrad.float32)
    moved = x.to("cuda")
    for function in (numgrad.unique, numgrad.unique_consecutive):
        for dim in (None, 0):
            options = {"dim": dim, "return_inverse": True, "return_counts": True}
            for found, expected in zip(function(moved, **options), function(x, **options), strict=True):
                assert found.is_cuda
                assert found.dtype == expected.dtype
                assert found.tolist() == expected.tolist()
    assert moved.argsort(0, descending=True).tolist() == x.argsort(0, descending=True).tolist()
    assert moved.T.msort().tolist() == x.T.msort().tolist()


def test_numbers_of_numpy_say_how_many(cuda):
    x = numgrad.tensor([3.0, 1.0, 2.0], device="cuda")
    assert x.topk(np.int64(2)).indices.tolist() == [0, 2]
    assert x.kthvalue(np.int64(2)).indices.item() == 2


@pytest.mark.parametrize("dtype", [numgrad.float16, numgrad.bfloat16])
def test_long_rows_of_half_precision_are_sorted_by_their_bits(size, dtype):
    x = (numgrad.randn(2, size(70, 4200)) * 4).round().to(dtype)
    x[0, 3:7] = numgrad.tensor([math.nan, -math.inf, math.inf, -0.0])
    for descending in (False, True):
        values, indices = x.sort(1, descending)
        on_gpu, places = x.to("cuda").sort(1, descending)
        assert numgrad.equal(places.cpu(), indices)
        assert numgrad.equal(on_gpu.cpu().view(numgrad.int16), values.view(numgrad.int16))
