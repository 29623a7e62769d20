"""The kernels over rows: softmax, layer normalization, negative log-likelihood, against extended precision."""

import numpy as np
import pytest

from numgrad_kernels.buffer_types import type_given
from numgrad_kernels.cpu import likelihood, normalization, segments, softmax
from numgrad_kernels.facts import facts_of
from numgrad_kernels.source import module_text
from numgrad_kernels.store import compile_kernel

LENGTHS = [1, 2, 3, 15, 63, 64, 65, 127, 255, 1000, 4099, 8192]
EPS = 1e-5
LOGARITHM = {"factor": softmax.logarithm, "share": softmax.logarithm_of_share}
each_float = pytest.mark.parametrize("dtype", ["float32", "float64"])
each_length = pytest.mark.parametrize("length", LENGTHS)


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
        with monkeypatch.context() as patch:
            for module in (softmax, segments, normalization, likelihood):
                patch.setattr(module, "T", np.dtype(dtype).type)
            for name, part in parts.items():
                patch.setattr(softmax, name, part)
            function(*arguments)

    return run


def numbers(dtype, *shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(dtype)


def garbage(dtype, *shape):
    """An output that a kernel must overwrite."""
    return np.full(shape, 77, dtype)


def wide(x):
    return x.astype(np.longdouble)


# -- softmax ----------------------------------------------------------------------------------------------------------


def exactly(x, logarithm):
    shifted = wide(x) - x.max(1, keepdims=True)
    total = np.exp(shifted).sum(1, keepdims=True)
    return shifted - np.log(total) if logarithm else np.exp(shifted) / total


@each_float
@each_length
def test_softmax_and_its_logarithm(length, dtype):
    unit = np.finfo(dtype).eps
    for scale in (1, 30, 1000):
        x = numbers(dtype, 3, length) * np.dtype(dtype).type(scale)
        out = garbage(dtype, 3, length)
        compiled(softmax.softmax_rows, dtype, x.ravel(), length, -np.inf, out.reshape(-1))
        steps = 8 + np.abs(x - x.max(1, keepdims=True))  # the exponent is rounded, too
        bound = steps * unit * exactly(x, False) + np.finfo(dtype).tiny
        assert np.all(np.abs(out - exactly(x, False)) <= bound)
        np.testing.assert_allclose(out.sum(1, dtype="f8"), 1, rtol=16 * unit)
        compiled(softmax.softmax_rows, dtype, x.ravel(), length, -np.inf, out.reshape(-1), **LOGARITHM)
        largest = np.abs(x).max(1, keepdims=True)
        assert np.all(np.abs(out - exactly(x, True)) <= 8 * unit * (largest + 1))


@each_float
@each_length
def test_gradients_of_softmax_and_its_logarithm(length, dtype):
    grad, x = numbers(dtype, 3, length), numbers(dtype, 4, length)[1:]
    y, out = exactly(x, False).astype(dtype), garbage(dtype, 3, length)
    compiled(softmax.softmax_backward_rows, dtype, grad.ravel(), y.ravel(), length, out.reshape(-1))
    expected = y * (wide(grad) - (wide(grad) * y).sum(1, keepdims=True))
    assert np.all(np.abs(out - expected) <= 16 * np.finfo(dtype).eps * y * (np.abs(grad).max() + 1))
    y = exactly(x, True).astype(dtype)
    compiled(softmax.log_softmax_backward_rows, dtype, grad.ravel(), y.ravel(), length, out.reshape(-1))
    expected = wide(grad) - np.exp(wide(y)) * wide(grad).sum(1, keepdims=True)
    bound = np.abs(grad) + np.exp(y) * np.abs(grad).sum(1, keepdims=True) * (1 + np.abs(y))
    assert np.all(np.abs(out - expected) <= 4 * np.finfo(dtype).eps * bound)


@pytest.mark.parametrize("columns", [1, 2])
def test_rounding_does_not_grow_with_the_length_of_equal_scores(columns):
    length = 2_000_003
    x, out = np.full((length, columns), 0.1, np.float32), garbage("float32", length, columns)
    if columns == 1:
        compiled(softmax.softmax_rows, "float32", x.ravel(), length, -np.inf, out.reshape(-1), **LOGARITHM)
    else:
        compiled(softmax.softmax_columns, "float32", x.ravel(), length, columns, -np.inf, out.reshape(-1), **LOGARITHM)
    np.testing.assert_allclose(out, -np.log(length), rtol=1e-6)


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
            run(softmax.softmax_rows, dtype, x.ravel(), 4, -inf, out.reshape(-1))
            np.testing.assert_array_equal(out, expected.astype(dtype))
            run(softmax.softmax_rows, dtype, x.ravel(), 4, -inf, out.reshape(-1), **LOGARITHM)
        np.testing.assert_allclose(out[:4], logarithms, rtol=2e-7)


@pytest.mark.parametrize("length", [3, 70])
def test_rows_masked_as_a_whole_are_zero_if_the_floor_is(length):
    x = numbers("float32", 4, length)
    x[1:] = -np.inf
    x[2, -1] = np.nan
    x[3, 0] = 5
    rows, columns = garbage("float32", 4, length), garbage("float32", length, 4)
    compiled(softmax.softmax_rows, "float32", x.ravel(), length, 0.0, rows.reshape(-1))
    compiled(softmax.softmax_columns, "float32", x.T.ravel(), length, 4, 0.0, columns.reshape(-1))
    for out in (rows, columns.T):
        np.testing.assert_allclose(out[0].sum(), 1, rtol=1e-6)
        assert not out[1].any()
        assert np.isnan(out[2]).all()
        assert out[3].tolist() == [1.0] + [0.0] * (length - 1)


@each_float
@pytest.mark.parametrize("length", [7, 69])
def test_softmax_in_python(length, dtype, in_python):
    grad, x = numbers(dtype, 2, length), numbers(dtype, 3, length)[1:]
    close = {"rtol": 8 * np.finfo(dtype).eps, "atol": 8 * np.finfo(dtype).eps}
    for parts, backward in [({}, softmax.softmax_backward_rows), (LOGARITHM, softmax.log_softmax_backward_rows)]:
        found, expected = garbage(dtype, 2 * length), garbage(dtype, 2 * length)
        in_python(softmax.softmax_rows, dtype, x.ravel(), length, -np.inf, found, **parts)
        compiled(softmax.softmax_rows, dtype, x.ravel(), length, -np.inf, expected, **parts)
        np.testing.assert_allclose(found, expected, **close)
        result = expected.copy()
        in_python(backward, dtype, grad.ravel(), result, length, found)
        compiled(backward, dtype, grad.ravel(), result, length, expected)
        np.testing.assert_allclose(found, expected, **close)


# -- layer normalization ----------------------------------------------------------------------------------------------


@each_float
@each_length
def test_layer_norm_and_its_gradients(length, dtype):
    count, unit = 9, np.finfo(dtype).eps
    x, grad = numbers(dtype, count, length), numbers(dtype, count, length, seed=1)
    weight, bias = numbers(dtype, length, seed=2), numbers(dtype, length, seed=3)
    out, means, scales = garbage(dtype, count, length), garbage(dtype, count), garbage(dtype, count)
    compiled(
        normalization.layer_norm_rows, dtype, x.ravel(), length, weight, bias, EPS, out.reshape(-1), means, scales
    )
    mean = wide(x).mean(1, keepdims=True)
    scale = 1 / np.sqrt(wide(x).var(1, keepdims=True) + np.dtype(dtype).type(EPS))
    normal = (wide(x) - mean) * scale
    largest = np.abs(x).max(1, keepdims=True)
    slack = 1 if length > 2 else np.sqrt(1 / EPS)  # rounding of close numbers, over sqrt(eps)
    assert np.all(np.abs(means[:, None] - mean) <= 4 * unit * largest)
    np.testing.assert_allclose(scales[:, None], scale.astype(dtype), rtol=8 * unit * slack)
    expected = normal * weight + bias
    bound = 16 * unit * slack * (largest * scale * np.abs(weight) + np.abs(bias) + 1)
    assert np.all(np.abs(out - expected) <= bound)

    g = wide(grad) * weight
    of_x = scale * (g - g.mean(1, keepdims=True) - normal * (g * normal).mean(1, keepdims=True))
    bound = 32 * unit * slack * (scale * np.abs(g).max(1, keepdims=True) * (1 + np.abs(normal).max()) + 1)
    rows = x.ravel(), means, scales, length, weight
    again, parts = garbage(dtype, count, length), garbage(dtype, 3, 2, length)
    compiled(normalization.layer_norm_gradients, dtype, grad.ravel(), *rows, 4, again.reshape(-1), parts.reshape(-1))
    assert np.all(np.abs(again - of_x) <= bound)
    for place, part in enumerate((slice(0, 4), slice(4, 8), slice(8, 9))):
        for found, terms in zip(parts[place], (wide(grad) * normal, wide(grad)), strict=True):
            assert np.all(np.abs(found - terms[part].sum(0)) <= 32 * unit * slack * (np.abs(terms[part]).sum(0) + 1))


# -- negative log-likelihood ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outer", "classes", "inner"), [(1, 3, 1), (2500, 7, 1), (2, 5, 1100), (1, 2, 5000), (3, 4, 6)]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_negative_likelihood_of_images_of_any_size(outer, classes, inner, weighted):
    rng = np.random.default_rng(3)
    x = numbers("float32", outer, classes, inner)
    target = rng.integers(0, classes, (outer, inner))
    target[rng.random(target.shape) < 0.2] = -1
    weight = rng.uniform(0.5, 2, classes).astype("f4") if weighted else np.empty(0, "f4")
    pieces = -(-target.size // likelihood.PIECE)
    losses, parts, wrong = garbage("float32", target.size), garbage("float32", 2 * pieces), garbage("int64", pieces)
    out, total_weight = garbage("float32", 1), garbage("float32", 1)
    arguments = classes, inner, target.ravel(), weight, -1
    sums = parts, out, total_weight
    compiled(likelihood.negative_likelihood, "float32", x.ravel(), *arguments, True, losses, *sums, wrong)
    each = np.where(target < 0, 0, weight[target] if weighted else 1)
    expected = -np.take_along_axis(x, np.maximum(target, 0)[:, None], 1)[:, 0] * each
    np.testing.assert_allclose(losses.reshape(target.shape), expected, rtol=1e-6)
    assert wrong[0] == -1
    np.testing.assert_allclose(total_weight[0], each.sum(), rtol=1e-6)
    np.testing.assert_allclose(out[0], expected.sum() / each.sum(), rtol=1e-5, atol=1e-7)

    slopes, report = garbage("float32", outer, classes, inner), np.zeros(1, bool)
    for grad in (np.ones(1, "f4"), losses):
        compiled(likelihood.put_negative, "float32", grad, *arguments, total_weight, slopes.reshape(-1), report)
        shares = -np.broadcast_to(grad.reshape(-1, inner if grad.size > 1 else 1), target.shape) * each / total_weight
        expected = np.zeros_like(x)
        np.put_along_axis(expected, np.maximum(target, 0)[:, None], shares[:, None], 1)
        np.testing.assert_allclose(slopes, expected, rtol=1e-6)
    assert not report[0]


@pytest.mark.parametrize("place", [0, 1023, 1024, 2999])
def test_the_first_wrong_target_is_reported(place):
    target = np.zeros(3000, np.int64)
    target[[place, -1]] = 2
    x, nothing = numbers("float32", 3000, 2), np.empty(0, "f4")
    wrong, report = garbage("int64", 3), np.zeros(1, bool)
    compiled(
        likelihood.negative_likelihood, "float32", x.ravel(), 2, 1, target, nothing, -100, False, nothing,
        garbage("float32", 6), garbage("float32", 1), garbage("float32", 1), wrong,
    )
    assert wrong[0] == place
    compiled(
        likelihood.put_negative, "float32", np.ones(1, "f4"), 2, 1, target, nothing, -100, nothing,
        garbage("float32", 6000), report,
    )
    assert report[0]
