"""Reductions, compiled and as plain Python, against NumPy."""

import math
import re

import numba
import numpy as np
import pytest

from numgrad_kernels import store
from numgrad_kernels.buffer_types import BufferType, type_given
from numgrad_kernels.cpu import extremes, reductions
from numgrad_kernels.facts import facts_of
from numgrad_kernels.source import module_text
from numgrad_kernels.store import compile_kernel

LENGTHS = [0, 1, 63, 64, 65, 4095, 4096, 4097, 3 * 4096 + 5]
INNER = [1, 2, 255, 257]
IDENTITY, ADDITION = reductions.term, reductions.fold
SUMMED = {"float32": "float32", "float64": "float64", "int64": "int64", "bool": "int64"}


def compiled(function, dtype, *arguments, **parts):
    """Run the kernel as the store compiles it for these arguments."""
    types = list(map(type_given, arguments))
    kind = np.dtype(dtype)
    text, facts = module_text(function, kind, parts), facts_of(function, kind)
    compile_kernel(function.__name__, text, types, facts).entry(*arguments)


@pytest.fixture
def in_python(monkeypatch):
    """Run the same function as plain Python."""

    def run(function, dtype, *arguments, **parts):
        for module in (reductions, extremes):
            monkeypatch.setattr(module, "T", np.dtype(dtype).type)
        for name, part in {"term": IDENTITY, "fold": ADDITION, **parts}.items():
            for module in (reductions, extremes):
                monkeypatch.setattr(module, name, part, raising=False)
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


def zero(dtype):
    """The parameter of a sum, which has none."""
    return np.zeros(1, dtype)


def check_sums(found, x):
    """Compare with the sums over the middle axis of ``x``: rounding may hardly grow with the length."""
    exact = x.sum(1, dtype=np.int64 if x.dtype.kind in "bi" else np.longdouble)
    unit = 0 if found.dtype.kind == "i" else np.finfo(found.dtype).eps
    assert np.all(np.abs(found.reshape(exact.shape) - exact) <= 8 * unit * np.abs(x).sum(1, dtype="f8"))


def sums_of_columns(run, dtype, x, length, inner):
    """The sums over the middle axis, block by block until one is left."""
    while True:
        blocks = max(1, -(-length // (reductions.ROWS * reductions.side_by_side(inner))))
        out = garbage(dtype, x.size // max(length * inner, 1) * blocks * inner if length else 2 * inner)
        run(reductions.fold_columns, dtype, x, length, inner, zero(dtype), 0, 1.0, out)
        if blocks == 1:
            return out
        x, length = out, blocks


# -- sums -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SUMMED)
@pytest.mark.parametrize("length", LENGTHS)
def test_sums_of_rows(length, dtype):
    x, out = numbers(dtype, 3, length, 1), garbage(SUMMED[dtype], 3)
    compiled(reductions.fold_rows, SUMMED[dtype], x.ravel(), length, zero(SUMMED[dtype]), 0, 1.0, out)
    check_sums(out, x)


@pytest.mark.parametrize("dtype", SUMMED)
@pytest.mark.parametrize("length", [*LENGTHS[1:], 23 * 4096 + 17])
def test_sums_in_two_steps_are_those_in_one(length, dtype):
    x, whole, parts = numbers(dtype, length), garbage(SUMMED[dtype], 1), garbage(SUMMED[dtype], 1)
    leaves = garbage(SUMMED[dtype], -(-length // reductions.LEAF))
    compiled(reductions.fold_rows, SUMMED[dtype], x, length, zero(SUMMED[dtype]), 0, 1.0, whole)
    compiled(reductions.fold_leaves, SUMMED[dtype], x, zero(SUMMED[dtype]), 0, leaves)
    compiled(reductions.combine_leaves, SUMMED[dtype], leaves, zero(SUMMED[dtype]), 1.0, parts)
    assert whole == parts


@pytest.mark.parametrize("dtype", ["float32", "float64", "bool"])
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("length", LENGTHS)
def test_sums_of_columns(length, inner, dtype):
    x = numbers(dtype, 2, length, inner)
    check_sums(sums_of_columns(compiled, SUMMED[dtype], x.ravel(), length, inner), x)


@pytest.mark.parametrize(("length", "inner"), [(70, 3), (1300, 2), (130, 33), (5, 1030)])
def test_means_of_columns_in_python(length, inner, in_python):
    x, out = numbers("float32", 2, length, inner), garbage("float32", 2 * inner)
    in_python(reductions.fold_columns, "float32", x.ravel(), length, inner, zero("float32"), 0, float(length), out)
    check_sums(out * np.float32(length), x)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 62, 64, 4096, 4099])
def test_sums_with_infinity_and_nan(place, value):
    x = np.ones(4100, np.float32)
    x[place] = value
    rows, columns = garbage("float32", 1), garbage("float32", 2)
    compiled(reductions.fold_rows, "float32", x, 4100, zero("float32"), 0, 1.0, rows)
    compiled(reductions.fold_columns, "float32", x, 2050, 2, zero("float32"), 0, 1.0, columns)
    np.testing.assert_array_equal(rows, [value])
    np.testing.assert_array_equal(columns, [value, 2050] if place % 2 == 0 else [2050, value])


def test_sums_wrap_around_as_integers_do():
    x, out = np.array([2**63 - 1, 1, 5]), garbage("int64", 1)
    compiled(reductions.fold_rows, "int64", x, 3, zero("int64"), 0, 1.0, out)
    assert out[0] == -(2**63) + 5


# -- other terms and folds --------------------------------------------------------------------------------------------

FOLDS = {
    "squares": (reductions.square, ADDITION, lambda x, c: ((x - c) ** 2).sum(1)),
    "exponentials": (reductions.exponential, ADDITION, lambda x, c: np.exp(x - c).sum(1)),
    "magnitudes": (reductions.magnitude, ADDITION, lambda x, c: np.abs(x).sum(1)),
    "powers": (reductions.power, ADDITION, lambda x, c: (np.abs(x) ** c).sum(1)),
    "nonzeros": (reductions.nonzero, ADDITION, lambda x, c: (x != 0).sum(1)),
    "sums past NaN": (reductions.number_or_zero, ADDITION, lambda x, c: np.nansum(x, 1)),
    "products": (IDENTITY, reductions.product, lambda x, c: x.prod(1)),
    "largest": (IDENTITY, reductions.larger, lambda x, c: x.max(1)),
    "smallest": (IDENTITY, reductions.smaller, lambda x, c: x.min(1)),
}
NOTHING = {"products": 1, "largest": -np.inf, "smallest": np.inf}


@pytest.mark.parametrize("inner", [1, 3])
@pytest.mark.parametrize("name", FOLDS)
def test_other_folds(name, inner, in_python):
    term, fold, expected = FOLDS[name]
    for length in (5, 200):
        x = numbers("float64", 2, length, inner)
        x[:, 3] = 0 if name != "products" else 1
        if "NaN" in name or name == "largest":
            x[1, 2, 0] = np.nan
        parameters = np.linspace(0.5, 1.5, 2 * inner)
        exact = expected(x, parameters.reshape(2, 1, inner)).ravel()
        for run in (compiled, in_python):
            out = garbage("float64", 2 * inner)
            sizes = (length,) if inner == 1 else (length, inner)
            function = reductions.fold_rows if inner == 1 else reductions.fold_columns
            arguments = x.ravel(), *sizes, parameters, NOTHING.get(name, 0), 1.0, out
            run(function, "float64", *arguments, term=term, fold=fold)
            np.testing.assert_allclose(out, exact, 1e-12)


@pytest.mark.parametrize("name", ["exponentials", "largest"])
@pytest.mark.parametrize("function", [reductions.fold_rows, reductions.fold_columns], ids=lambda f: f.__name__)
def test_float32_is_computed_in_float32_and_vectorises(function, name, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(store, "_kernels", {})  # only who compiles a kernel has its code
    row, whole = BufferType(numba.types.float32), numba.types.int64
    sizes = [whole] if function is reductions.fold_rows else [whole, whole]
    parts = {"term": FOLDS[name][0], "fold": FOLDS[name][1]}
    text = module_text(function, np.dtype("float32"), parts)
    types, facts = [row, *sizes, row, whole, numba.types.float64, row], facts_of(function, np.dtype("float32"))
    code = compile_kernel(function.__name__, text, types, facts).llvm()
    assert not re.search(r"fpext (<\d+ x )?float", code)
    assert re.search(r"<\d+ x float>", code)


# -- largest and smallest ---------------------------------------------------------------------------------------------

EXTREMES = {reductions.larger: (np.max, np.argmax), reductions.smaller: (np.min, np.argmin)}
each_extreme = pytest.mark.parametrize("fold", EXTREMES, ids=lambda fold: fold.__name__)


def check_extremes(fold, x, run=compiled):
    outer, length, inner = x.shape
    values, indices = garbage(x.dtype, outer * inner), garbage("int64", outer * inner)
    extreme, place = EXTREMES[fold]
    if inner == 1:
        run(extremes.extreme_rows, x.dtype, x.ravel(), length, values, indices, fold=fold)
    else:
        run(extremes.extreme_columns, x.dtype, x.ravel(), length, inner, values, indices, fold=fold)
    np.testing.assert_array_equal(values, extreme(x, 1).ravel())
    np.testing.assert_array_equal(indices, place(x, 1).ravel())
    row = x[0, :, 0].copy()
    leaves = garbage("int64", -(-length // extremes.LEAF))
    run(extremes.extreme_leaves, x.dtype, row, leaves, fold=fold)
    run(extremes.combine_extremes, x.dtype, row, leaves, values, indices, fold=fold)
    np.testing.assert_array_equal([values[0], indices[0]], [extreme(row), place(row)])


@each_extreme
@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize(("length", "inner"), [(1, 1), (1, 257), (64, 1), (65, 2), (4097, 2), (3, 255), (9095, 1)])
def test_extremes(length, inner, dtype, fold):
    x = numbers(dtype, 2, length, inner)
    check_extremes(fold, x)
    check_extremes(fold, (x.astype("f8") * 2 % 3).round().astype(dtype))  # with many ties: the first counts


@each_extreme
def test_nan_is_the_extreme_and_the_first_one_counts(fold):
    for inner in (1, 3):
        x = numbers("float32", 2, 70, inner)
        for places in ([0], [69], [5, 40], [0, 1], range(70)):
            spoiled = x.copy()
            spoiled[1, list(places), -1] = np.nan
            check_extremes(fold, spoiled)
        x[:, ::3], x[:, 1::3] = np.inf, -np.inf
        check_extremes(fold, x)


@each_extreme
def test_zeros_of_both_signs_are_equal(fold):
    check_extremes(fold, np.array([[0.0, -0.0], [-0.0, 0.0], [0.0, 0.0]], np.float32).reshape(1, 3, 2))


# -- the same functions as plain Python -------------------------------------------------------------------------------


def test_sums_in_python_are_the_compiled_ones(in_python):
    x, none = numbers("float32", 2 * 4133), zero("float32")
    for function, arguments, size in [
        (reductions.fold_rows, (4133, none, 0, 3.0), 2),
        (reductions.fold_leaves, (none, 0), 3),
        (reductions.combine_leaves, (none, 3.0), 1),
        (reductions.fold_columns, (4133, 1, none, 0, 3.0), 2),
    ]:
        found, expected = garbage("float32", size), garbage("float32", size)
        in_python(function, "float32", x, *arguments, found)
        compiled(function, "float32", x, *arguments, expected)
        assert np.array_equal(found, expected), function.__name__


def test_sums_of_other_dtypes_in_python(in_python):
    for dtype, total in SUMMED.items():
        x, out = numbers(dtype, 2, 70, 3), garbage(total, 6)
        in_python(reductions.fold_columns, total, x.ravel(), 70, 3, zero(total), 0, 1.0, out)
        check_sums(out, x)


@each_extreme
def test_extremes_in_python(fold, in_python):
    for inner in (1, 3):
        x = numbers("float32", 2, 9, inner)
        x[0, 4:6, 0] = np.nan
        check_extremes(fold, x, in_python)
