"""Running sums, products and extremes, and bisection, compiled and as plain Python, against NumPy."""

import numpy as np
import pytest

from numgrad_kernels.buffer_types import type_given
from numgrad_kernels.cpu import reductions, scans, sorting
from numgrad_kernels.facts import facts_of
from numgrad_kernels.source import module_text
from numgrad_kernels.store import compile_kernel

LENGTHS = [1, 63, 65, 4095, 4096, 4097, 2 * 4096 + 5]


def compiled(function, dtype, *arguments, **parts):
    types = list(map(type_given, arguments))
    kind = np.dtype(dtype)
    text, facts = module_text(function, kind, parts), facts_of(function, kind)
    compile_kernel(function.__name__, text, types, facts).entry(*arguments)


@pytest.fixture
def in_python(monkeypatch):
    """Run the same function as plain Python."""

    def run(function, dtype, *arguments, **parts):
        for module in (scans, sorting):
            monkeypatch.setattr(module, "T", np.dtype(dtype).type)
        for name, part in parts.items():
            monkeypatch.setattr(scans, name, part)
        function(*arguments)

    return run


def numbers(dtype, *shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def running(function, x, backwards):
    return np.flip(function(np.flip(x, 1), 1), 1) if backwards else function(x, 1)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
def test_running_sums(length, backwards):
    for inner in (1, 3, 300):
        x = numbers("float32", 2, length, inner)
        exact = running(np.cumsum, x.astype("f8"), backwards)
        out = np.full(x.size, np.float32(77))
        if inner > 1:
            compiled(scans.cumsum_columns, "float32", x.ravel(), length, inner, backwards, out)
        else:
            compiled(scans.cumsum_rows, "float32", x.ravel(), length, backwards, out)
        bound = 64 * np.finfo("f4").eps * np.abs(x).sum(1, keepdims=True)
        assert np.all(np.abs(out.reshape(x.shape) - exact) <= bound)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
def test_sums_by_blocks_are_those_of_the_row(length, backwards):
    x = numbers("float32", length)
    row, blocks = np.zeros_like(x), np.zeros_like(x)
    totals = np.zeros(-(-length // scans.BLOCK), np.float32)
    compiled(scans.cumsum_rows, "float32", x, length, backwards, row)
    compiled(scans.cumsum_blocks, "float32", x, backwards, totals, blocks)
    compiled(scans.join_blocks, "float32", totals, backwards, blocks)
    assert np.array_equal(row, blocks)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("length", [1, 2, 63, 1000])
def test_sums_of_several_rows_at_once_are_those_of_each(length, backwards):
    for rows in (1, 7, 8, 19):
        x = numbers("float32", rows * length)
        each, several = np.zeros_like(x), np.zeros_like(x)
        compiled(scans.cumsum_rows, "float32", x, length, backwards, each)
        compiled(scans.cumsum_short_rows, "float32", x, length, backwards, several)
        assert np.array_equal(each, several)


@pytest.mark.parametrize("backwards", [False, True])
def test_other_scans(backwards, in_python):
    for run in (compiled, in_python):
        for inner in (1, 3):
            x = numbers("float64", 2, 9, inner)
            row, out = x.ravel(), np.full(x.size, 77.0)
            if inner > 1:
                run(scans.scan_columns, "float64", row, 9, inner, backwards, out, fold=reductions.product)
            else:
                run(scans.scan_rows, "float64", row, 9, backwards, out, fold=reductions.product)
            np.testing.assert_allclose(out.reshape(x.shape), running(np.cumprod, x, backwards), 1e-14)
            run(scans.logcumsumexp_axis, "float64", 300 * row, 9, inner, backwards, out)
            exact = running(np.logaddexp.accumulate, 300 * x, backwards)
            np.testing.assert_allclose(out.reshape(x.shape), exact, 1e-13)
            factors = numbers("float64", x.size)
            run(scans.recurrence_axis, "float64", row, factors, 9, inner, backwards, out)
            values, a = [np.flip(v, 1) if backwards else v for v in (x, factors.reshape(x.shape))]
            found = np.flip(out.reshape(x.shape), 1) if backwards else out.reshape(x.shape)
            np.testing.assert_allclose(found[:, 0], values[:, 0])
            np.testing.assert_allclose(found[:, 1:], values[:, 1:] + a[:, 1:] * found[:, :-1], 1e-13)


@pytest.mark.parametrize("inner", [1, 3])
def test_extremes_so_far(inner, in_python):
    x = numbers("float64", 2, 9, inner).round()  # with ties: the last one counts
    x[1, 6, 0] = np.nan
    for fold, extreme in ((scans.later_larger, np.maximum), (scans.later_smaller, np.minimum)):
        for run in (compiled, in_python):
            out, indices = np.zeros(x.size), np.full(x.size, 77)
            run(scans.scan_extremes, "float64", x.ravel(), 9, inner, out, indices, fold=fold)
            expected = extreme.accumulate(x, 1)
            np.testing.assert_array_equal(out.reshape(x.shape), expected)
            places = np.arange(9).reshape(9, 1)
            last = np.where((x == expected) | np.isnan(x), places, 0)
            np.testing.assert_array_equal(indices.reshape(x.shape), np.maximum.accumulate(last, 1))


@pytest.mark.parametrize("right", [False, True])
def test_places_in_sorted_rows(right, in_python):
    rows = np.sort(numbers("float32", 2, 20).round(1), 1)
    values = np.concatenate([rows[:, ::3], numbers("float32", 2, 5), [[np.nan, np.inf]] * 2], 1).astype("f4")
    for run in (compiled, in_python):
        out = np.full(values.size, 77)
        run(sorting.search_rows, "float32", rows.ravel(), 20, values.ravel(), values.shape[1], right, out)
        expected = [np.searchsorted(*pair, "right" if right else "left") for pair in zip(rows, values, strict=True)]
        np.testing.assert_array_equal(out.reshape(values.shape), expected)
