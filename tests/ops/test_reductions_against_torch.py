"""Reductions, scans and sorting against PyTorch: values, dtypes, shapes, strides, gradients, nodes and errors."""

import numpy as np
import pytest
from ops.torch_comparison import assert_same, randoms

import numgrad

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning")]

INF, NAN = float("inf"), float("nan")
DTYPES = ("uint8", "int8", "int16", "int32", "int64", "bool", "float32", "float64")
LAYOUTS = ("contiguous", "transposed", "stepped")


def program(expression):
    def run(m, x, y=None):
        return eval(expression, {"m": m, "x": x, "y": y, "inf": INF, "nan": NAN})

    return run


def split(text):
    return [line.strip() for line in text.split(";")]


REDUCTIONS = split(
    "x.sum(D); x.sum(D, True); x.mean(D); x.mean(D, keepdim=True); x.nansum(D); x.nanmean(D, True); x.any(D);"
    "x.all(D, keepdim=True); x.amax(D); x.amin(D, True); x.var(D); x.std(D, keepdim=True); x.var(D, correction=0);"
    "m.var_mean(x, D); m.std_mean(x, D, correction=2, keepdim=True); x.count_nonzero(D); x.logsumexp(D);"
    "m.logsumexp(x, D, True); x.norm(2, D); x.norm(1, D, True); x.norm(inf, D); x.norm(3, D); x.norm(0.5, D);"
    "x.norm(-inf, D); x.norm(-2, D); x.norm(1.5, D, keepdim=True); x.norm('fro', D)"
)
OVER_ONE = split(
    "x.prod(D); x.prod(D, True); x.max(D); x.min(D, keepdim=True); x.argmax(D); x.argmin(D, True); x.median(D);"
    "x.nanmedian(D, True); x.kthvalue(2, D); x.kthvalue(1, dim=D, keepdim=True); x.mode(D); x.cumsum(D);"
    "x.cumprod(D); x.cummax(D); x.cummin(D); x.logcumsumexp(D); x.sort(D); x.sort(D, True);"
    "x.sort(dim=D, stable=True); m.sort(x, dim=D, descending=True, stable=True); x.argsort(D); x.argsort(D, True);"
    "x.aminmax(dim=D); x.aminmax(dim=D, keepdim=True); x.topk(2, D); x.topk(1, D, False); x.topk(0, D)"
)
OF_ALL = split(
    "x.sum(); x.mean(); x.prod(); x.any(); x.all(); x.amax(); x.amin(); x.max(); x.min(); x.var(); x.std();"
    "x.var(False); x.std(unbiased=True); x.var(unbiased=False); m.var_mean(x); m.std_mean(x, correction=0); x.norm();"
    "x.norm(1); x.norm(inf); x.norm(-inf); x.norm(4); x.norm('fro'); x.norm(None); x.median();"
    "x.nanmedian(); x.nansum(); x.nanmean(); x.count_nonzero(); x.aminmax(); x.argmax(); x.argmin(keepdim=True);"
    "x.argmax(); x.any(keepdim=True); x.amax(keepdim=True);"
    "x.sum([]); x.mean([]); x.any([]); x.all(()); x.amax([]); x.nansum([]); x.norm(dim=[]);"
    "x.sort(); x.argsort(); x.msort(); x.unique(); x.unique(return_inverse=True, return_counts=True);"
    "x.unique_consecutive(); x.unique_consecutive(True, True); x.mode(); x.kthvalue(1); x.median(-1)"
)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dims", ["0", "1", "-1", "(0, 1)", "(0, 2)", "[1, 2]", "(0, 1, 2)", "None"])
@pytest.mark.parametrize("expression", REDUCTIONS)
def test_over_dimensions(expression, dims, layout):
    if dims == "None" and any(name in expression for name in ("logsumexp", "sum(D)", "mean(D)")):
        return  # which PyTorch refuses, or records as if the dimensions had been listed
    assert_same(program(expression.replace("D", dims)), *randoms((3, 4, 5), layout=layout))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dim", ["0", "1", "-1"])
@pytest.mark.parametrize("expression", OVER_ONE)
def test_over_one_dimension(expression, dim, layout):
    assert_same(program(expression.replace("D", dim)), *randoms((3, 4, 5), layout=layout))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("expression", OF_ALL)
def test_of_all(expression, layout):
    graph = "unique" not in expression  # PyTorch records it, but has no derivative
    assert_same(program(expression), *randoms((3, 4), layout=layout), requires_grad=graph)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (3, 0), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("expression", OF_ALL + [e.replace("D", "0") for e in REDUCTIONS + OVER_ONE])
def test_of_few_elements(expression, shape):
    if shape == () and "kthvalue(2" in expression:
        expression = expression.replace("(2", "(1")
    graph = "unique" not in expression
    assert_same(program(expression), np.ones(shape), requires_grad=graph and 0 not in shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("expression", OF_ALL + [e.replace("D", d) for e in REDUCTIONS + OVER_ONE for d in "01"])
def test_dtypes(expression, dtype):
    (x,) = randoms((3, 4), low=0 if dtype == "uint8" else -3, high=3)
    x = x > 0 if dtype == "bool" else np.rint(x * 3).astype(dtype) if "int" in dtype else x.astype(dtype)
    if "topk" in expression or ("kthvalue" in expression or "median" in expression) or "sort" in expression:
        x = np.argsort(x.ravel()).reshape(x.shape).astype(dtype)  # the choice among equal elements is undefined
    if any(name in expression for name in ("norm(3", "norm(4", "prod")):
        x = np.clip(x, -2, 2) if dtype not in ("bool", "uint8") else x
    assert_same(program(expression), x, requires_grad=False)


@pytest.mark.parametrize("expression", split(
    "x.sum(); x.sum(0); x.mean(); x.mean(1); x.prod(); x.prod(0); x.cumsum(0); x.cumprod(1); x.any(); x.all(0);"
    "x.count_nonzero(); x.max(); x.max(0); x.amax(); x.argmax(); x.sort(); x.topk(1); x.median(); x.median(0);"
    "x.nansum(); x.kthvalue(1); x.mode(); x.unique(); x.aminmax(); x.cummax(0); x.var(); x.var(0); x.std(); x.norm();"
    "x.norm(1, 0); m.var_mean(x, 0); m.std_mean(x)"
))
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(expression, dtype):
    x, y = randoms((3, 4), (3, 4))
    import torch

    tensor, same = [module.from_numpy((x + 1j * y).astype(dtype)) for module in (numgrad, torch)]
    try:
        expected = program(expression)(torch, same)
    except (RuntimeError, NotImplementedError) as error:
        with pytest.raises(type(error)):
            program(expression)(numgrad, tensor)
        return
    found = program(expression)(numgrad, tensor)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for one, other in pairs:
        assert str(one.dtype) == str(other.dtype)
        assert tuple(one.shape) == tuple(other.shape)
        np.testing.assert_allclose(one.numpy(), other.numpy(), 3e-6 if dtype == "complex64" else 1e-14)


@pytest.mark.parametrize("expression", split(
    "x.sum(dtype=m.float64); x.sum(0, dtype=m.float64); x.sum(dtype=m.int32); x.sum(1, True, dtype=m.bool);"
    "x.mean(dtype=m.float64); x.mean(0, dtype=m.float64); x.prod(dtype=m.float64); x.prod(0, dtype=m.int64);"
    "x.cumsum(0, dtype=m.float64); x.cumprod(1, dtype=m.float64); x.nansum(dtype=m.float64); x.norm(dtype=m.float64);"
    "x.nanmean(0, dtype=m.float64); x.norm(1, 0, dtype=m.float64); x.mean(dtype=m.int64); x.cumsum(0, dtype=m.int8);"
    "x.norm(3, 1, True, m.float64); x.prod(dtype=m.bool); x.sum(dtype=m.uint8)"
))
def test_dtype_arguments(expression):
    (x,) = randoms((3, 4), low=0.2, high=3, dtype="float32")
    assert_same(program(expression), x, requires_grad="float" in expression)  # PyTorch records nothing in integers


SPECIAL = [
    [1.0, NAN, 2, NAN], [NAN, NAN], [1.0, 2, 2, 1], [2.0, 1, 2, 2], [INF, 1, -INF], [INF, INF], [-INF, -INF],
    [0.0, -0.0, 0.0], [0.0, 0, 0, 0], [3.0, NAN, INF, -INF], [-1.0, 1, 0], [2.0, 0, 3], [2.0, 0, 0, 3], [5.0], [0.0],
    [1.0, 1, 1], [1.0, INF], [0.0, 1.0, 2.0, 0.0],
]


@pytest.mark.parametrize("values", SPECIAL, ids=str)
@pytest.mark.parametrize("expression", split(
    "x.sum(); x.mean(); x.prod(); x.prod(0); x.any(); x.all(); x.amax(); x.amin(0); x.max(); x.max(0); x.min();"
    "x.min(0); x.aminmax(); x.aminmax(dim=0); x.argmax(); x.argmin(0); x.median(); x.median(0); x.nanmedian();"
    "x.nanmedian(0); x.var(); x.std(); x.std(0); x.var(correction=1); x.var(0, correction=0); x.logsumexp(0);"
    "x.norm(); x.norm(1); x.norm(0);"
    "x.norm(3); x.norm(1.5); x.norm(0.5); x.norm(inf); x.norm(-inf); x.norm(inf, 0); x.norm(-1); x.nansum();"
    "x.nanmean(); x.cumsum(0); x.cumprod(0); x.cummax(0); x.cummin(0); x.logcumsumexp(0); x.sort(stable=True);"
    "x.sort(stable=True, descending=True); x.count_nonzero(); x.kthvalue(1)"
))
def test_special_values(expression, values):
    if len(set(values)) < len(values) and any(name in expression for name in ("median(0)", "kthvalue")):
        expression += "[0]"  # the choice among equal elements is undefined
    # PyTorch divides by elements or infinities where numgrad does not.
    finer = "prod" in expression and not np.isfinite(values).all()
    finer = finer or ("logcumsumexp" in expression and np.isinf(values).any())
    known = "norm(0)" not in expression and "[0]" not in expression and not finer
    assert_same(program(expression), np.array(values), requires_grad=known)


@pytest.mark.parametrize("expression", split(
    "x.sum(axis=0); x.sum(axis=(0, 1), keepdims=True); m.sum(x, axis=1); x.mean(axis=0, keepdims=True);"
    "x.prod(axis=0); x.max(axis=1); x.min(axis=0, keepdims=True); x.amax(axis=(0, 1)); x.argmax(axis=0);"
    "x.any(axis=0); x.all(axis=1, keepdims=True); x.var(axis=0); x.std(axis=1, keepdims=True); x.cumsum(axis=0);"
    "x.cumprod(axis=1); x.logsumexp(axis=0); x.nansum(axis=0); x.sort(axis=0); x.argsort(axis=0); x.topk(1, axis=0);"
    "x.median(axis=0); x.mode(axis=0); x.cummax(axis=0); x.kthvalue(1, axis=0); x.count_nonzero(axis=0);"
    "m.var_mean(x, axis=0); x.nanmedian(axis=1, keepdims=True); x.aminmax(dim=0, keepdims=True);"
    "x.nanmean(axis=0, keepdims=True); x.unsqueeze(axis=1); x.gather(axis=1, index=x.argsort(0)); x[0].unbind(axis=0)"
))
def test_numpy_spellings(expression):
    assert_same(program(expression), *randoms((3, 4)))


@pytest.mark.parametrize("expression", split(
    "x.sum(2); x.sum((0, 0)); x.sum((0, -2)); x.mean(5); x.prod(2); x.prod((0, 1)); x.max(2); x.max((0, 1));"
    "x.cumsum(2);"
    "x.cumsum((0,)); x.cumprod(-3); x.sort(2); x.topk(5); x.topk(-1); x.kthvalue(0); x.kthvalue(5); x.argmax((0,));"
    "x.norm('abc'); x.norm('inf'); x.histc(0); x.histc(4, 2, 1); x.histc(4, 0, inf); (x * nan).histc(); x.bincount();"
    "x.sum(axes=0); x.logsumexp(); x.cumsum(); x.unique(dim=4); m.searchsorted(x, 1.0); x.median(2); x.mode(2);"
    "m.searchsorted(x[0], x, side='foo'); m.searchsorted(x[0], 1.0, right=True, side='left'); x.sum(0, axis=0);"
    "m.searchsorted(x[:, :2], x[:2]); m.bucketize(x, x); x.long().var(); x.long().std(0); x.long().norm();"
    "x.long().mean(); x.long().nanmean(); x.bool().argmax(); x.bool().topk(1); x.long().histc(); x.bool().median();"
    "(-x.abs() - 1).long()[0].bincount(); x.long().abs()[0].bincount(weights=x[0, :2]); x.long().logcumsumexp(0);"
    "x.cumsum(axis=0, keepdims=True); x.sum(dim=1, axis=0); x.sum(None, axis=0);"
    "x.gather(axis=1, index=x.argsort() + 4)"
))
def test_errors(expression):
    assert_same(program(expression), *randoms((3, 4)))


COUNTS = np.array([3, 0, 1, 3, 3, 0])


@pytest.mark.parametrize("expression", split(
    "x.bincount(); x.bincount(minlength=7); x.bincount(y); x.bincount(y.float()); x[:0].bincount();"
    "x[:0].bincount(y[:0], 2); x[:0].bincount(minlength=2);"
    "y.histc(4); y.histc(5, 0, 1); y.histc(bins=3, min=-1, max=1); (y * 0).histc(3); y.float().histc(7);"
    "y[:0].histc(3);"
    "m.searchsorted(y.sort()[0], y); m.searchsorted(y.sort()[0], y, right=True);"
    "m.searchsorted(x.sort()[0], x, side='right');"
    "m.searchsorted(x.sort()[0], y); m.searchsorted(x.sort()[0], 2); m.searchsorted(x.sort()[0], 2.5, out_int32=True);"
    "m.searchsorted(y, y, sorter=y.argsort()); m.searchsorted(x.sort()[0], m.tensor([nan, inf, -inf]));"
    "m.searchsorted(y.sort()[0].reshape(1, 6), y.reshape(1, 6)); m.bucketize(y, m.tensor([-1.0, 0.0, 1.0]));"
    "m.searchsorted(y.reshape(2, 3).sort()[0], y.reshape(2, 3)); m.bucketize(1, x.sort()[0]);"
    "x.unique(return_counts=True); x.unique_consecutive(return_counts=True); x.reshape(3, 2).unique(dim=0);"
    "x.reshape(2, 3).unique(dim=1).contiguous(); x[[0, 0, 2]].unique_consecutive(True);"
    "x.reshape(3, 2)[[0, 0, 1]].unique_consecutive(True, True, dim=0); x.mode()[0]; x.reshape(2, 3).mode(1);"
    "x.sort(stable=True); x.sort(stable=True, descending=True); x.argsort(stable=True); (x > 0).sort(stable=True);"
    "m.tensor([3.0, nan, 1.0, nan]).unique(return_inverse=True, return_counts=True);"
    "m.isin(x, m.tensor([0, 3])); m.isin(x.reshape(2, 3), m.tensor([[0.0], [2.5]]), invert=True); m.isin(y, 2);"
    "m.isin(x, 3, assume_unique=True); m.isin(x, 3, invert=True); m.isin(3, x); m.isin(2.5, x); m.isin(0.1, y);"
    "m.isin(m.tensor([1.0, nan, 9.0]), m.tensor([nan, 1.0])); m.isin(x, x[:0]); m.isin(x[:0], x); m.isin(x[0], x);"
    "m.isin(m.arange(200) % 17, m.arange(40) * 3); m.isin(x > 0, x); m.isin(x, x * 1j)"
))
def test_counting_and_searching(expression):
    assert_same(program(expression), COUNTS, *randoms((6,)), requires_grad=False)


@pytest.mark.parametrize("expression", split(
    "m.linalg.vector_norm(x); m.linalg.vector_norm(x, 3, 1); m.linalg.vector_norm(x, inf, (0, 1), True);"
    "m.linalg.norm(x); m.linalg.norm(x, 'fro'); m.linalg.norm(x, 1); m.linalg.norm(x, -1); m.linalg.norm(x, inf);"
    "m.linalg.norm(x, -inf, keepdim=True); m.linalg.norm(x, 1, 0); m.linalg.norm(x, dim=(0, 1));"
    "m.linalg.norm(x[0], 3);"
    "m.linalg.matrix_norm(x); m.linalg.matrix_norm(x, inf, (0, 1)); m.linalg.matrix_norm(x, 1, (1, 0));"
    "m.linalg.norm(x[None], 'fro'); m.linalg.norm(x, 3); m.linalg.vector_norm(x, 'inf');"
    "m.linalg.norm(x[None], 1, (0, 2))"
))
def test_linalg(expression):
    from numgrad import linalg  # noqa: F401 - so that it is an attribute

    assert_same(program(expression), *randoms((3, 4)), graph="vector" in expression)


@pytest.mark.parametrize("name", [
    "sort", "max", "min", "median", "nanmedian", "mode", "kthvalue", "topk", "cummax", "cummin", "aminmax",
])
def test_named_tuples_print_as_pytorchs(name):
    import torch

    arguments = {"topk": (2,), "kthvalue": (1,), "sort": (), "aminmax": ()}.get(name, (0,))
    rows = [[1.0, 2.0, 3.0], [6.0, 5.0, 4.0]]
    found, expected = [getattr(module.tensor(rows), name)(*arguments) for module in (numgrad, torch)]
    assert repr(found) == repr(expected)
    assert type(found).__name__ == type(expected).__name__


@pytest.mark.parametrize("length", [1, 63, 64, 65, 4096, 4097, 100_000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("expression", split(
    "x.sum(); x.mean(0); x.var(); x.std(); x.logsumexp(0); x.norm(); x.norm(1); x.norm(3); x.max(); x.max(0);"
    "x.argmin();"
    "x.cumsum(0); x.cumprod(0); x.logcumsumexp(0); x.prod(); x.cummax(0); x.amax(); x.nansum(); x.count_nonzero()"
))
def test_long_rows_and_columns(expression, dtype, length):
    (x,) = randoms((length,), dtype=dtype)
    if "prod" in expression:
        x = 1 + x / length
    elif "cumsum" in expression or "sum" in expression or "mean" in expression:
        x = np.abs(x) + x.dtype.type(0.01)
    import torch

    for shape in ((length,), (length, 1), (length, 3)):
        values = np.broadcast_to(x.reshape(-1, *[1] * (len(shape) - 1)), shape).copy()
        found = program(expression)(numgrad, numgrad.from_numpy(values))
        expected = program(expression)(torch, torch.from_numpy(values.astype("f8")))
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for one, other in pairs:
            rounded = 5e-3 if "prod" in expression else 2e-5  # 100 000 factors near 1 are rounded alike
            np.testing.assert_allclose(one.numpy(), other.numpy(), rounded if dtype == "float32" else 1e-13)
