"""Functions that are made of operations of the table: values against NumPy's, derivatives and ``vmap``, for each."""

import functools
import itertools

import numpy as np
import pytest
from ops.gradients import check_gradients
from ops.sampling import laid_out

import numgrad
from numgrad.ops.table.op import composites


def _cosine(x, y):
    return (x * y).sum(1) / (np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1))


def _cumulative_trapezoid(y):
    return np.cumsum((y[:, 1:] + y[:, :-1]) / 2, 1)


def _normalized(x, shape, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.finfo(x.dtype).eps) * weight


def _distances(x, y):
    return np.linalg.norm(x[:, None] - y, axis=-1)


def _bilinear(x, y, weight, bias):
    return np.einsum("ni,kij,nj->nk", x, weight, y) + bias


def _block_diag(x, y):
    return np.block([[x, np.zeros((len(x), y.shape[1]))], [np.zeros((len(y), x.shape[1])), y]])


def _pairs(x, y):
    return np.array(list(itertools.product(x, y)))


def _combinations(x):
    return np.array(list(itertools.combinations(x, 2)))


def _like(x, other):
    return np.broadcast_to(x, other.shape)


def _lp_pool(x, *how):
    """Pool windows of two elements along each dimension."""
    sizes = [part for size in x.shape[2:] for part in (size // 2, 2)]
    dims = tuple(range(3, 3 + 2 * (x.ndim - 2), 2))
    return (np.abs(x.reshape(*x.shape[:2], *sizes)) ** 2).sum(dims) ** 0.5


def _local_response(x, size, alpha):
    squares = np.pad(x**2, [(0, 0), (size // 2, (size - 1) // 2), (0, 0)])
    means = sum(squares[:, at : at + x.shape[1]] for at in range(size)) / size
    return x / (1 + alpha * means) ** 0.75


def _scattered(x, src, size, strides, offset):
    out = np.array(x, order="C")
    np.lib.stride_tricks.as_strided(out.reshape(-1)[offset:], size, [8 * step for step in strides])[...] = src
    return out


def _slopes(x):
    return np.gradient(x, COORDINATES[:3].numpy(), COORDINATES.numpy(), edge_order=2)


def _shortened(x, p, dim, maxnorm):
    norms = (np.abs(x) ** p).sum(1, keepdims=True) ** (1 / p)
    return x * np.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1)


def _frames(x, size, hop, *how):
    spectra = np.stack([np.fft.rfft(x[start : start + size]) for start in range(0, len(x) - size + 1, hop)], 1)
    return np.stack([spectra.real, spectra.imag], -1)


def _overlapped(x, size, hop, *how):
    frames = np.fft.irfft(x[..., 0] + 1j * x[..., 1], size, 0).T
    total = np.zeros((2, size + hop * (len(frames) - 1)))
    for number, frame in enumerate(frames):
        total[:, number * hop : number * hop + size] += frame, np.ones(size)
    return total[0] / total[1]


#: Uneven coordinates.
COORDINATES = numgrad.tensor([0.0, 1.0, 1.5, 2.5], dtype=numgrad.float64)

#: For each function how NumPy computes it, the shapes of its tensors, and further arguments.
SAMPLES = [
    ("adjoint", np.transpose, [(2, 3)], ()),
    ("as_strided_scatter", _scattered, [(3, 4), (2, 2)], ((2, 2), (5, 2), 1)),
    ("atleast_1d", np.atleast_1d, [()], ()),
    ("atleast_2d", np.atleast_2d, [(3,)], ()),
    ("atleast_3d", np.atleast_3d, [(2, 3)], ()),
    ("bilinear", _bilinear, [(2, 3), (2, 4), (5, 3, 4)], (numgrad.arange(5.0, dtype=numgrad.float64),)),
    ("block_diag", _block_diag, [(2, 3), (3, 2)], ()),
    ("broadcast_tensors", np.broadcast_arrays, [(2, 1), (3,)], ()),
    ("broadcast_to", np.broadcast_to, [(3,)], ((2, 3),)),
    ("cartesian_prod", _pairs, [(2,), (3,)], ()),
    ("cdist", lambda x, y, *how: _distances(x, y), [(3, 2), (4, 2)], (2.0, "use_mm_for_euclid_dist")),
    ("chain_matmul", lambda *x: np.linalg.multi_dot(x), [(2, 3), (3, 4), (4, 2)], ()),
    ("cholesky_inverse", lambda x: np.linalg.inv(np.tril(x) @ np.tril(x).T), [(2, 2)], ()),
    ("cholesky_solve", lambda b, x: np.linalg.solve(np.tril(x) @ np.tril(x).T, b), [(2, 1), (2, 2)], ()),
    ("column_stack", lambda *x: np.column_stack(x), [(2,), (2, 3)], ()),
    ("combinations", _combinations, [(3,)], ()),
    ("corrcoef", np.corrcoef, [(2, 5)], ()),
    ("cosine_similarity", _cosine, [(3, 4), (3, 4)], ()),
    ("cov", np.cov, [(2, 5)], ()),
    ("cross", np.cross, [(2, 3), (2, 3)], ()),
    ("cumulative_trapezoid", _cumulative_trapezoid, [(2, 4)], ()),
    ("diagflat", np.diagflat, [(2, 2)], (1,)),
    ("diff", np.diff, [(2, 4)], ()),
    ("dist", lambda x, y: np.linalg.norm(x - y), [(2, 3), (2, 3)], ()),
    ("dsplit", np.dsplit, [(1, 2, 4)], (2,)),
    ("dstack", lambda *x: np.dstack(x), [(2, 3), (2, 3)], ()),
    ("einsum", lambda x, y: np.einsum("ij,ik->jk", x, y), [(2, 3), (2, 3)], ()),
    ("expand_as", _like, [(1, 3)], (numgrad.ones(2, 3),)),
    ("fill", lambda x, value: np.full_like(x, value), [(2, 3), ()], ()),
    ("float_power", np.float_power, [(2, 3)], (3,)),
    ("gradient", _slopes, [(3, 4)], ()),
    ("hsplit", np.hsplit, [(2, 4)], (2,)),
    ("hstack", lambda *x: np.hstack(x), [(2, 3), (2, 1)], ()),
    ("inner", np.inner, [(2, 3), (4, 3)], ()),
    ("istft", _overlapped, [(3, 5, 2)], (4, 2, None, None, False)),
    ("kron", np.kron, [(2, 2), (2, 3)], ()),
    ("ldexp", np.ldexp, [(2, 3)], (numgrad.tensor([1, 0, -2]),)),
    ("linear", lambda x, weight: x @ weight.T, [(2, 3), (4, 3)], ()),
    ("local_response_norm", _local_response, [(2, 4, 3)], (3, 0.5)),
    ("logdet", lambda x: np.linalg.slogdet(x)[1], [(3, 3)], ()),
    ("lp_pool1d", _lp_pool, [(1, 2, 4)], (2, 2)),
    ("lp_pool2d", _lp_pool, [(1, 2, 4, 2)], (2, 2)),
    ("lp_pool3d", _lp_pool, [(1, 1, 2, 4, 2)], (2, 2)),
    ("matmul", np.matmul, [(2, 2, 3), (3, 2)], ()),
    ("matrix_power", np.linalg.matrix_power, [(3, 3)], (3,)),
    ("meshgrid", lambda *x: np.meshgrid(*x, indexing="ij"), [(2,), (3,)], ()),
    ("msort", lambda x: np.sort(x, 0), [(3, 2)], ()),
    ("nanquantile", np.nanquantile, [(2, 5)], (0.3, 1)),
    ("norm_except_dim", lambda x, *how: np.linalg.norm(x, axis=0, keepdims=True), [(3, 4)], (2, 1)),
    ("pairwise_distance", lambda x, y: np.linalg.norm(x - y + 1e-6, axis=-1), [(3, 4), (3, 4)], ()),
    ("pdist", lambda x: _distances(x, x)[np.triu_indices(4, 1)], [(4, 3)], ()),
    ("pinverse", np.linalg.pinv, [(3, 2)], ()),
    ("quantile", np.quantile, [(2, 5)], (0.3, 1)),
    ("renorm", _shortened, [(3, 4)], (3, 0, 1.5)),
    ("repeat_interleave", np.repeat, [(2, 3)], (2, 1)),
    ("reshape_as", lambda x, other: x.reshape(other.shape), [(2, 3)], (numgrad.ones(3, 2),)),
    ("rms_norm", _normalized, [(3, 4)], ((4,), numgrad.arange(4.0, dtype=numgrad.float64))),
    ("square", np.square, [(2, 3)], ()),
    ("stft", _frames, [(12,)], (4, 2, None, None, False, "reflect", False, True, False)),
    ("tensor_split", np.array_split, [(5, 2)], (2,)),
    ("tensordot", np.tensordot, [(2, 3), (3, 2)], (1,)),
    ("trapezoid", np.trapezoid, [(2, 4)], ()),
    ("vander", np.vander, [(3,)], ()),
    ("vsplit", np.vsplit, [(4, 2)], ([1, 3],)),
    ("vstack", lambda *x: np.vstack(x), [(3,), (2, 3)], ()),
]

#: Calls of functions that do not take their tensors as separate arguments.
CALLS = {
    "as_strided_scatter": lambda scatter, x, *others: scatter(x.contiguous().clone(), *others),
    "gradient": lambda gradient, x: gradient(x, spacing=[COORDINATES[:3], COORDINATES], edge_order=2),
    "einsum": lambda einsum, *tensors: einsum("ij,ik->jk", *tensors),
    "istft": lambda istft, x, *how: istft(numgrad.view_as_complex(x.contiguous()), *how),
    **dict.fromkeys(("column_stack", "dstack", "hstack", "vstack"), lambda stack, *tensors: stack(tensors)),
}


#: Functions that return vectors of either sign, computed from random ones; ``test_low_rank`` checks them.
ITERATIONS = {"lobpcg", "pca_lowrank", "svd_lowrank"}


def test_each_has_a_sample():
    assert [name for name, *_ in SAMPLES] == sorted({*composites} - ITERATIONS)


@pytest.mark.parametrize(("name", "reference", "shapes", "args"), SAMPLES, ids=[name for name, *_ in SAMPLES])
def test_values_derivatives_and_vmap(name, reference, shapes, args):
    random, call = np.random.default_rng(3), functools.partial(_called, name, args)
    arrays = [random.standard_normal(shape) for shape in shapes]
    plain = [np.asarray(arg) if isinstance(arg, numgrad.Tensor) else arg for arg in args]
    given = [laid_out(array, "transposed") for array in arrays]
    expected = _as_one(reference(*arrays, *plain), np.concatenate)
    np.testing.assert_allclose(call(*given), expected, 1e-12, 1e-12)
    check_gradients(call, *[laid_out(array, "transposed").requires_grad_() for array in arrays])
    pairs = [numgrad.from_numpy(np.stack([array, -array])) for array in arrays]
    each = [call(*[pair[number] for pair in pairs]) for number in range(2)]
    np.testing.assert_allclose(numgrad.vmap(call)(*pairs), numgrad.stack(each), 1e-12, 1e-12)
    tangents = [numgrad.ones_like(tensor) for tensor in given]
    _, along = numgrad.func.jvp(call, (*given,), (*tangents,))
    ahead, behind = [call(*[x + h * t for x, t in zip(given, tangents, strict=True)]) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(along, (ahead - behind) / 2e-6, 1e-5, 1e-7)


def _called(name, args, *tensors):
    function = functools.partial(CALLS[name], composites[name]) if name in CALLS else composites[name]
    return _as_one(function(*tensors, *args), numgrad.cat)


def _as_one(result, join):
    """The elements of several results as one."""
    return join([part.reshape(-1) for part in result]) if isinstance(result, tuple | list) else result
