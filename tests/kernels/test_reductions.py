"""Reductions and softmax, compiled and as plain Python, against NumPy."""

import math

import numba
import numpy as np
import pytest

from numgrad_kernels.cpu import reductions, softmax
from numgrad_kernels.source import module_text
from numgrad_kernels.store import compile_kernel

LENGTHS = [0, 1, 63, 64, 65, 4095, 4096, 4097, 3 * 4096 + 5]
INNER = [1, 2, 255, 257]
SUMMED = {"float32": "float32", "float64": "float64", "int64": "int64", "bool": "int64"}


def compiled(function, dtype, *arguments):
    """Run the kernel as the store compiles it for these arguments."""
    types = [numba.typeof(argument) for argument in arguments]
    compile_kernel(function.__name__, module_text(function, np.dtype(dtype)), types).entry(*arguments)


@pytest.fixture
def in_python(monkeypatch):
    """Run the same function as plain Python."""

    def run(function, dtype, *arguments):
        for module in (reductions, softmax):
            monkeypatch.setattr(module, "T", np.dtype(dtype).type)
        function(*arguments)

    return run


def numbers(dtype, *shape):
    rng = np.random.default_rng(sum(shape))
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype == "int64":
        return rng.integers(-(10**6), 10**6, shape)
    return rng.normal(size=shape).astype(dtype)


def garbage(dtype, *shape):
    """An output that a kernel must overwrite."""
    return np.full(shape, 77, dtype)


def check_sums(found, x):
    """Compare with the sums over the middle axis of ``x``: rounding may hardly grow with the length."""
    exact = x.sum(1, dtype=np.int64 if x.dtype.kind in "bi" else np.longdouble)
    unit = 0 if found.dtype.kind == "i" else np.finfo(found.dtype).eps
    assert np.all(np.abs(found.reshape(exact.shape) - exact) <= 8 * unit * np.abs(x).sum(1, dtype="f8"))


# -- sums -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SUMMED)
@pytest.mark.parametrize("length", LENGTHS)
def test_sums_of_rows(length, dtype):
    x, out = numbers(dtype, 3, length, 1), garbage(SUMMED[dtype], 3)
    compiled(reductions.sum_rows, SUMMED[dtype], x.ravel(), length, out)
    check_sums(out, x)


@pytest.mark.parametrize("dtype", SUMMED)
@pytest.mark.parametrize("length", [*LENGTHS[1:], 23 * 4096 + 17])
def test_sums_in_two_steps_are_those_in_one(length, dtype):
    x, whole, parts = numbers(dtype, length), garbage(SUMMED[dtype], 1), garbage(SUMMED[dtype], 1)
    leaves = garbage(SUMMED[dtype], -(-length // reductions.LEAF))
    compiled(reductions.sum_rows, SUMMED[dtype], x, length, whole)
    compiled(reductions.sum_leaves, SUMMED[dtype], x, leaves)
    compiled(reductions.combine_leaves, SUMMED[dtype], leaves, parts)
    assert whole == parts


@pytest.mark.parametrize("dtype", ["float32", "float64", "bool"])
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("length", LENGTHS)
def test_sums_of_columns(length, inner, dtype):
    x, out = numbers(dtype, 2, length, inner), garbage(SUMMED[dtype], 2 * inner)
    compiled(reductions.sum_columns, SUMMED[dtype], x.ravel(), length, inner, out)
    check_sums(out, x)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 62, 64, 4096, 4099])
def test_sums_with_infinity_and_nan(place, value):
    x = np.ones(4100, np.float32)
    x[place] = value
    rows, columns = garbage("float32", 1), garbage("float32", 2)
    compiled(reductions.sum_rows, "float32", x, 4100, rows)
    compiled(reductions.sum_columns, "float32", x, 2050, 2, columns)
    np.testing.assert_array_equal(rows, [value])
    np.testing.assert_array_equal(columns, [value, 2050] if place % 2 == 0 else [2050, value])


def test_sums_wrap_around_as_integers_do():
    x, out = np.array([2**63 - 1, 1, 5]), garbage("int64", 1)
    compiled(reductions.sum_rows, "int64", x, 3, out)
    assert out[0] == -(2**63) + 5


# -- largest and smallest ---------------------------------------------------------------------------------------------

EXTREMES = {reductions.max_axis: (np.max, np.argmax), reductions.min_axis: (np.min, np.argmin)}
each_extreme = pytest.mark.parametrize("function", EXTREMES, ids=lambda function: function.__name__)


def check_extremes(function, x, run=compiled):
    outer, length, inner = x.shape
    values, indices = garbage(x.dtype, outer, inner), garbage("int64", outer, inner)
    run(function, x.dtype, x.ravel(), length, inner, values.reshape(-1), indices.reshape(-1))
    extreme, place = EXTREMES[function]
    np.testing.assert_array_equal(values, extreme(x, 1))
    np.testing.assert_array_equal(indices, place(x, 1))


@each_extreme
@pytest.mark.parametrize("dtype", SUMMED)
@pytest.mark.parametrize(("length", "inner"), [(1, 1), (1, 257), (64, 1), (65, 2), (4097, 2), (3, 255), (4095, 1)])
def test_extremes(length, inner, dtype, function):
    x = numbers(dtype, 2, length, inner)
    check_extremes(function, x)
    check_extremes(function, (x.astype("f8") * 2 % 3).round().astype(dtype))  # with many ties: the first counts


@each_extreme
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_is_the_extreme_and_the_first_one_counts(dtype, function):
    x = numbers(dtype, 2, 70, 3)
    for places in ([0], [69], [5, 40], [0, 1], range(70)):
        spoiled = x.copy()
        spoiled[1, list(places), 2] = np.nan
        check_extremes(function, spoiled)
    x[:, ::3], x[:, 1::3] = np.inf, -np.inf
    check_extremes(function, x)


@each_extreme
def test_zeros_of_both_signs_are_equal(function):
    x = np.array([[0.0, -0.0], [-0.0, 0.0], [0.0, 0.0]]).reshape(1, 3, 2)
    check_extremes(function, x)
    indices = garbage("int64", 2)
    compiled(function, "float64", x.ravel(), 3, 2, garbage("float64", 2), indices)
    assert indices.tolist() == [0, 0]


# -- putting and taking -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize(("length", "inner"), [(1, 1), (65, 2), (7, 257), (4097, 1)])
def test_putting_and_taking_along_an_axis(length, inner, dtype, in_python):
    x = numbers(dtype, 3, length, inner)
    indices = np.random.default_rng(0).integers(0, length, (3, inner))
    taken = np.take_along_axis(x, indices[:, None], 1)[:, 0]
    put = np.zeros_like(x)
    np.put_along_axis(put, indices[:, None], taken[:, None], 1)
    for run in (compiled, in_python):
        out = garbage(dtype, 3 * inner)
        run(reductions.take_axis, dtype, x.ravel(), indices.ravel(), length, inner, out)
        np.testing.assert_array_equal(out, taken.ravel())
        zeros = np.zeros(x.size, dtype)
        run(reductions.put_axis, dtype, taken.ravel(), indices.ravel(), length, inner, zeros)
        np.testing.assert_array_equal(zeros, put.ravel())


# -- softmax ----------------------------------------------------------------------------------------------------------

ROWS = [1, 2, 15, 16, 17, 63, 64, 65, 255, 4097]
each_float = pytest.mark.parametrize("dtype", ["float32", "float64"])


def exactly(x, logarithm):
    shifted = x.astype(np.longdouble) - x.max(1, keepdims=True)
    total = np.exp(shifted).sum(1, keepdims=True)
    return shifted - np.log(total) if logarithm else np.exp(shifted) / total


@each_float
@pytest.mark.parametrize("length", ROWS)
def test_softmax_and_its_logarithm(length, dtype):
    unit = np.finfo(dtype).eps
    for scale in (1, 30, 1000):
        x = numbers(dtype, 3, length) * np.dtype(dtype).type(scale)
        out = garbage(dtype, 3, length)
        compiled(softmax.softmax_rows, dtype, x.ravel(), length, out.reshape(-1))
        steps = 8 + np.abs(x - x.max(1, keepdims=True))  # the exponent is rounded, too
        bound = steps * unit * exactly(x, False) + np.finfo(dtype).tiny
        assert np.all(np.abs(out - exactly(x, False)) <= bound)
        np.testing.assert_allclose(out.sum(1, dtype="f8"), 1, rtol=16 * unit)
        compiled(softmax.log_softmax_rows, dtype, x.ravel(), length, out.reshape(-1))
        largest = np.abs(x).max(1, keepdims=True)
        assert np.all(np.abs(out - exactly(x, True)) <= 8 * unit * (largest + 1))


@each_float
@pytest.mark.parametrize("length", ROWS)
def test_gradients_of_softmax_and_its_logarithm(length, dtype):
    grad, x = numbers(dtype, 3, length), numbers(dtype, 4, length)[1:]
    wide = grad.astype(np.longdouble)
    y, out = exactly(x, False).astype(dtype), garbage(dtype, 3, length)
    compiled(softmax.softmax_backward_rows, dtype, grad.ravel(), y.ravel(), length, out.reshape(-1))
    expected = y * (wide - (wide * y).sum(1, keepdims=True))
    assert np.all(np.abs(out - expected) <= 16 * np.finfo(dtype).eps * y * (np.abs(grad).max() + 1))
    y = exactly(x, True).astype(dtype)
    compiled(softmax.log_softmax_backward_rows, dtype, grad.ravel(), y.ravel(), length, out.reshape(-1))
    expected = wide - np.exp(y.astype(np.longdouble)) * wide.sum(1, keepdims=True)
    bound = np.abs(grad) + np.exp(y) * np.abs(grad).sum(1, keepdims=True) * (1 + np.abs(y))
    assert np.all(np.abs(out - expected) <= 4 * np.finfo(dtype).eps * bound)


@each_float
def test_softmax_with_infinity_and_nan(dtype, in_python):
    inf, nan = np.inf, np.nan
    x = np.array([[-inf, 0, 0, -inf], [inf, 0, 1, 2], [0, nan, 1, 2], [-inf] * 4, [3e38, 3e38, -3e38, 0]], dtype)
    expected = np.array([[0, 0.5, 0.5, 0], [nan] * 4, [nan] * 4, [nan] * 4, [0.5, 0.5, 0, 0]])
    half = np.log(0.5)
    logarithms = np.array([[-inf, half, half, -inf], [nan] * 4, [nan] * 4, [nan] * 4])
    for run in (compiled, in_python):
        out = garbage(dtype, *x.shape)
        with np.errstate(all="ignore"):
            run(softmax.softmax_rows, dtype, x.ravel(), 4, out.reshape(-1))
            np.testing.assert_array_equal(out, expected.astype(dtype))
            run(softmax.log_softmax_rows, dtype, x.ravel(), 4, out.reshape(-1))
        np.testing.assert_allclose(out[:4], logarithms, rtol=2e-7)


@each_float
def test_picking_and_putting_targets(dtype, in_python):
    x, target = numbers(dtype, 5, 7), np.array([6, -100, 0, 3, -100])
    counted = target != -100
    for run in (compiled, in_python):
        out = garbage(dtype, 5)
        run(softmax.pick_rows, dtype, x.ravel(), 7, target, -100, out)
        np.testing.assert_array_equal(out, np.where(counted, -x[range(5), target % 7], 0))
        rows = np.zeros((5, 7), dtype)
        run(softmax.put_rows, dtype, x[:, 0].copy(), 7, target, -100, rows.reshape(-1))
        expected = np.zeros((5, 7), dtype)
        expected[counted, target[counted]] = -x[counted, 0]
        np.testing.assert_array_equal(rows, expected)


# -- the same functions as plain Python -------------------------------------------------------------------------------


def test_sums_in_python_are_the_compiled_ones(in_python):
    x = numbers("float32", 2 * 4133)
    for function, arguments, size in [
        (reductions.sum_rows, (4133,), 2),
        (reductions.sum_leaves, (), 3),
        (reductions.combine_leaves, (), 1),
        (reductions.sum_columns, (4133, 1), 2),
    ]:
        found, expected = garbage("float32", size), garbage("float32", size)
        in_python(function, "float32", x, *arguments, found)
        compiled(function, "float32", x, *arguments, expected)
        assert np.array_equal(found, expected), function.__name__


def test_sums_of_other_dtypes_in_python(in_python):
    for dtype, total in SUMMED.items():
        x, out = numbers(dtype, 2, 70, 3), garbage(total, 6)
        in_python(reductions.sum_columns, total, x.ravel(), 70, 3, out)
        check_sums(out, x)


@each_extreme
def test_extremes_in_python(function, in_python):
    x = numbers("float32", 2, 9, 3)
    x[0, 4:6, 1] = np.nan
    check_extremes(function, x, in_python)


@each_float
def test_softmax_in_python(dtype, in_python):
    grad, x = numbers(dtype, 2, 35), numbers(dtype, 3, 35)[1:]
    close = {"rtol": 8 * np.finfo(dtype).eps, "atol": 8 * np.finfo(dtype).eps}
    for forward, backward in [
        (softmax.softmax_rows, softmax.softmax_backward_rows),
        (softmax.log_softmax_rows, softmax.log_softmax_backward_rows),
    ]:
        found, expected = garbage(dtype, 70), garbage(dtype, 70)
        in_python(forward, dtype, x.ravel(), 35, found)
        compiled(forward, dtype, x.ravel(), 35, expected)
        np.testing.assert_allclose(found, expected, **close)
        result = expected.copy()
        in_python(backward, dtype, grad.ravel(), result, 35, found)
        compiled(backward, dtype, grad.ravel(), result, 35, expected)
        np.testing.assert_allclose(found, expected, **close)
