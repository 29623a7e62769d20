"""Functions that are made of operations of the table: values beside NumPy's, derivatives and ``vmap``, for each."""

import functools

import numpy as np
import pytest
from ops.gradients import check_gradients
from ops.sampling import laid_out

import numgrad
from numgrad.ops import public_functions
from numgrad.ops.table import composites


def _cosine(x, y):
    return (x * y).sum(1) / (np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1))


def _cumulative_trapezoid(y):
    return np.cumsum((y[:, 1:] + y[:, :-1]) / 2, 1)


def _normalized(x, shape, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.finfo(x.dtype).eps) * weight


def _distances(x, y):
    return np.linalg.norm(x[:, None] - y, axis=-1)


#: For each function how NumPy computes it, the shapes of its tensors, and further arguments.
SAMPLES = [
    ("cdist", _distances, [(3, 2), (4, 2)], ()),
    ("chain_matmul", lambda *x: np.linalg.multi_dot(x), [(2, 3), (3, 4), (4, 2)], ()),
    ("cosine_similarity", _cosine, [(3, 4), (3, 4)], ()),
    ("cross", np.cross, [(2, 3), (2, 3)], ()),
    ("cumulative_trapezoid", _cumulative_trapezoid, [(2, 4)], ()),
    ("diff", np.diff, [(2, 4)], ()),
    ("dist", lambda x, y: np.linalg.norm(x - y), [(2, 3), (2, 3)], ()),
    ("inner", np.inner, [(2, 3), (4, 3)], ()),
    ("kron", np.kron, [(2, 2), (2, 3)], ()),
    ("ldexp", np.ldexp, [(2, 3)], (numgrad.tensor([1, 0, -2]),)),
    ("matrix_power", np.linalg.matrix_power, [(3, 3)], (3,)),
    ("pairwise_distance", lambda x, y: np.linalg.norm(x - y + 1e-6, axis=-1), [(3, 4), (3, 4)], ()),
    ("rms_norm", _normalized, [(3, 4)], ((4,), numgrad.arange(4.0, dtype=numgrad.float64))),
    ("tensordot", np.tensordot, [(2, 3), (3, 2)], (1,)),
    ("trapezoid", np.trapezoid, [(2, 4)], ()),
]


def test_each_has_a_sample():
    assert [name for name, *_ in SAMPLES] == sorted(composites)


@pytest.mark.parametrize(("name", "reference", "shapes", "args"), SAMPLES, ids=[name for name, *_ in SAMPLES])
def test_values_derivatives_and_vmap(name, reference, shapes, args):
    random, call = np.random.default_rng(3), functools.partial(_called, public_functions[name], args)
    arrays = [random.standard_normal(shape) for shape in shapes]
    plain = [np.asarray(arg) if isinstance(arg, numgrad.Tensor) else arg for arg in args]
    given = [laid_out(array, "transposed") for array in arrays]
    np.testing.assert_allclose(call(*given), reference(*arrays, *plain), 1e-12, 1e-12)
    check_gradients(call, *[laid_out(array, "transposed").requires_grad_() for array in arrays])
    pairs = [numgrad.from_numpy(np.stack([array, array[::-1].copy()])) for array in arrays]
    each = [call(*[pair[number] for pair in pairs]) for number in range(2)]
    np.testing.assert_allclose(numgrad.vmap(call)(*pairs), numgrad.stack(each), 1e-12, 1e-12)
    tangents = [numgrad.ones_like(tensor) for tensor in given]
    _, along = numgrad.func.jvp(call, (*given,), (*tangents,))
    ahead, behind = [call(*[x + h * t for x, t in zip(given, tangents, strict=True)]) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(along, (ahead - behind) / 2e-6, 1e-5, 1e-7)


def _called(function, args, *tensors):
    return function(*tensors, *args)
