"""The namespace of the array API standard: the results of NumPy's, promotion, gradients, and functions of SciPy."""

import os
import subprocess
import sys

import numpy as np
import pytest

import numgrad
from numgrad import array_api

#: Expressions in the namespace ``xp``, a matrix ``x``, a vector ``v``, integers ``i`` and a 0-d array ``s``.
EXPRESSIONS = """
    xp.add(x, 1); xp.add(i, s); xp.multiply(v, s); xp.pow(2.0, v); xp.atan2(v, 1.0); xp.sign(xp.asarray([xp.nan, -2.0]))
    xp.floor_divide(xp.asarray([7.0, -7.0]), 2.0); xp.remainder(xp.asarray([0.0, -0.0]), xp.asarray([-3.0, 3.0]))
    xp.round(xp.asarray(1.5 + 2.5j)); xp.clip(x, 0.5, 2.0); xp.clip(i, 1, None); xp.bitwise_invert(i); xp.square(i)
    xp.equal(i, 2); xp.logical_and(x > 1, x < 3); xp.abs(-x); xp.reciprocal(v); xp.nextafter(v, s); xp.conj(v)
    xp.arange(5, 0); xp.arange(1, 6, 2); xp.linspace(0, 1, 4, endpoint=False); xp.eye(3, 4, k=1); xp.full((2,), 3)
    xp.zeros(2, dtype=xp.int8); xp.asarray([[1, 2], [3, 4]]); xp.tril(x, k=-1); xp.triu(x, k=1); xp.ones_like(i)
    xp.meshgrid(v, v)[0]; xp.broadcast_arrays(v, x)[0]; xp.concat([x, x], axis=None)
    xp.concat([i, v]); xp.stack([v, v], axis=1); xp.unstack(x)[1]; xp.flip(x); xp.flip(x, axis=0); xp.repeat(v, 2)
    xp.repeat(x, 2, axis=0); xp.reshape(x, (3, 2)); xp.roll(x, 1); xp.roll(x, 1, axis=(0, 1)); xp.tile(v, (2, 1))
    xp.squeeze(x[None], axis=0); xp.expand_dims(v, axis=0); xp.permute_dims(x, (1, 0)); xp.moveaxis(x, 0, 1)
    xp.broadcast_to(v, (2, 3)); xp.sum(i); xp.sum(x, axis=()); xp.sum(x, axis=(0, 1), keepdims=True); xp.prod(x, axis=0)
    xp.prod(x, axis=(0, 1)); xp.prod(x, axis=(), keepdims=True); xp.max(x); xp.min(x, axis=1); xp.mean(x, axis=(0,))
    xp.var(x); xp.std(x, axis=1, correction=1); xp.all(x > 0, axis=(0, 1)); xp.any(x > 2, axis=1); xp.count_nonzero(x)
    xp.cumulative_sum(v); xp.cumulative_sum(x, axis=1, include_initial=True)
    xp.cumulative_prod(v, include_initial=True); xp.diff(v, append=v); xp.argmax(x)
    xp.argmin(x, axis=1, keepdims=True); xp.nonzero(i - 1)[0]
    xp.where(x > 1, x, 0.0); xp.searchsorted(xp.sort(v), v, side="right"); xp.sort(x); xp.argsort(v); xp.take(v, i)
    xp.take_along_axis(x, xp.argsort(x, axis=1), axis=1); xp.unique_all(i).indices; xp.unique_counts(i).counts
    xp.unique_inverse(i).inverse_indices; xp.unique_values(i); xp.unique_inverse(i * 1j).inverse_indices
    xp.matmul(x, v); xp.matrix_transpose(x)
    xp.tensordot(x, v, axes=1); xp.vecdot(i, i); xp.linalg.trace(x, offset=1); xp.linalg.diagonal(x)
    xp.linalg.matrix_norm(x); xp.linalg.vector_norm(x); xp.linalg.vector_norm(x, axis=0, ord=1); xp.linalg.outer(v, v)
    xp.linalg.cross(v, xp.flip(v)); xp.linalg.matrix_rank(x); xp.linalg.pinv(x); xp.linalg.svdvals(x)
    xp.linalg.solve(x[:, :2], v[:2]); xp.linalg.qr(x[:, :2]).R ** 2; xp.linalg.cholesky(x @ xp.matrix_transpose(x))
    xp.fft.fft(v); xp.fft.irfft(xp.fft.rfft(v), n=3); xp.fft.fftn(x); xp.fft.fftshift(v); xp.fft.fftfreq(4, d=0.5)
    xp.astype(x, xp.int64); xp.isdtype(xp.int8, ("integral", "bool")); xp.can_cast(xp.int8, xp.float64)
    xp.iinfo(xp.int16).max; xp.finfo(xp.float32).eps
"""


def evaluated(expression, xp, convert):
    names = {
        "x": convert(np.array([[1.5, 0.25, 3.0], [2.0, 1.0, 0.5]])), "v": convert(np.array([2.0, 1.0, 3.0])),
        "i": convert(np.array([2, 1, 2])), "s": convert(np.array(2)), "xp": xp,
    }
    return eval(expression, names)


def test_results_are_numpys():
    for expression in [part.strip() for line in EXPRESSIONS.splitlines() for part in line.split(";") if part.strip()]:
        with np.errstate(all="ignore"):
            wanted = evaluated(expression, np, lambda array: array)
        found = evaluated(expression, array_api, numgrad.from_numpy)
        assert np.shape(found) == np.shape(wanted), expression
        np.testing.assert_allclose(found, wanted, 2e-7, 1e-12, err_msg=expression)
        kind = np.asarray(wanted).dtype.kind
        assert np.asarray(found).dtype.kind == kind, expression


def test_tensors_without_dimensions_count_in_promotion():
    wide, narrow = numgrad.ones((), dtype=numgrad.float64), numgrad.ones(2)
    assert (narrow + wide).dtype is numgrad.float32
    assert array_api.add(narrow, wide).dtype is array_api.result_type(narrow, wide) is numgrad.float64
    assert array_api.where(narrow > 0, narrow, wide).dtype is numgrad.float64
    assert array_api.add(narrow, 1.0).dtype is numgrad.float32


def test_the_namespace_describes_itself():
    x = numgrad.ones(2)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12") is array_api
    with pytest.raises(ValueError, match=r"2024\.12"):
        x.__array_namespace__(api_version="1999.12")
    info = array_api.__array_namespace_info__()
    assert info.dtypes(kind="real floating") == {"float32": numgrad.float32, "float64": numgrad.float64}
    assert array_api.isdtype(numgrad.bfloat16, "real floating")
    assert info.default_dtypes()["integral"] is numgrad.int64
    assert info.default_device() in info.devices()
    assert x.to_device("cpu") is x
    assert all(hasattr(array_api, name) for name in array_api.__all__)


@pytest.mark.parametrize("call", [
    lambda xp, x: xp.squeeze(x, axis=0), lambda xp, x: xp.reshape(x.T, (4,), copy=False),
    lambda xp, x: xp.isdtype(x.dtype, "odd"),
    lambda xp, x: xp.nonzero(x[0, 0]), lambda xp, x: xp.cumulative_sum(x), lambda xp, x: xp.result_type(1, 2.0),
    lambda xp, x: xp.vecdot(x, x[:, :1]), lambda xp, x: x.to_device("cpu", stream=1),
])
def test_refusals(call):
    with pytest.raises(ValueError, match=r"."):
        call(array_api, numgrad.ones(2, 2))


def test_gradients_flow():
    x = numgrad.tensor([0.5, 2.0], dtype=numgrad.float64, requires_grad=True)
    xp = x.__array_namespace__()
    (slope,) = numgrad.autograd.grad(xp.sum(xp.multiply(xp.clip(x, 1, 3), xp.cumulative_sum(x))), x)
    np.testing.assert_allclose(slope, [3.0, 4.5])


def test_functions_of_scipy_take_tensors():
    # SciPy reads the variable when it is imported.
    program = (
        "import numgrad, scipy.special, scipy.stats, scipy.integrate\n"
        "x = numgrad.linspace(0.5, 2, 5, dtype=numgrad.float64).requires_grad_()\n"
        "total = scipy.special.logsumexp(x) + scipy.stats.skew(x) + scipy.integrate.trapezoid(x)\n"
        "assert isinstance(total, numgrad.Tensor)\n"
        "exact, = numgrad.autograd.grad(scipy.special.logsumexp(x), x)\n"
        "numgrad.testing.assert_close(exact, numgrad.softmax(x, 0))\n"
        "assert numgrad.autograd.gradcheck(scipy.stats.skew, x)\n"
    )
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_edges_of_the_standard():
    xp = array_api
    x = xp.asarray([[1, 2, 3]])
    assert xp.squeeze(x, ()).shape == (1, 3)
    assert xp.take(x, xp.asarray([-1, 0]), axis=1).tolist() == [[3, 1]]
    assert xp.all(xp.astype(x, xp.uint8)).dtype is xp.any(xp.astype(x, xp.uint8), axis=0).dtype is xp.bool
    assert xp.linalg.cross(x, xp.asarray([0, 0, 1])).tolist() == [[2, -1, 0]]
    assert xp.linalg.solve(xp.ones((1, 1, 1)), xp.zeros(1)).shape == (1, 1)
