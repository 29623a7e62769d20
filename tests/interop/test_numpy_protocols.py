"""NumPy's functions on tensors: those that are operations here, with gradients, and those that NumPy computes."""

import operator

import numpy as np
import pytest

import numgrad
from numgrad import Tensor, arange, tensor
from numgrad.interop import numpy_functions

A = np.array([[0.5, 1.5, 0.25], [0.75, 0.125, 2.0]])


def leaf(array=A):
    return tensor(array, requires_grad=True)


# -- operations ------------------------------------------------------------------------------------------

UFUNCS = sorted({getattr(np, name) for name in numpy_functions._UFUNCS}, key=lambda ufunc: ufunc.__name__)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
def test_ufuncs(ufunc):
    integers = {"gcd", "lcm", "left_shift", "right_shift", "invert", "bitwise_and", "bitwise_or", "bitwise_xor"}
    x = np.array([[1, 2], [3, 4]]) if ufunc.__name__ in integers else np.array([[0.5, 0.75], [0.25, 0.125]])
    if ufunc.__name__ == "arccosh":
        x = x + 2
    others = [x[::-1].copy()] if ufunc.nin == 2 else []
    if ufunc is np.ldexp:
        others = [np.array([[1, 2], [-3, 0]])]
    expected = ufunc(x, *others)
    result = ufunc(tensor(x), *map(tensor, others))
    for output, array in zip(result, expected, strict=True) if ufunc.nout > 1 else [(result, expected)]:
        assert isinstance(output, Tensor)
        np.testing.assert_allclose(output, array, 1e-12)
    if others:
        np.testing.assert_allclose(ufunc(x, tensor(others[0])), expected, 1e-12)
        np.testing.assert_allclose(ufunc(tensor(x), others[0]), expected, 1e-12)


CALLS = {
    "sum": lambda a: np.sum(a),
    "sum over an axis": lambda a: np.sum(a, axis=0),
    "sum over axes": lambda a: np.sum(a, axis=(0, 1), keepdims=True),
    "sum, positions": lambda a: np.sum(a, 1, None),
    "sum, out": lambda a: np.sum(a, 1, out=None),
    "sum in a dtype": lambda a: np.sum(a, dtype=np.float64),
    "mean": lambda a: np.mean(a, axis=-1, keepdims=True),
    "prod": lambda a: np.prod(a),
    "prod over an axis": lambda a: np.prod(a, axis=1),
    "max": lambda a: np.max(a, axis=0),
    "amax": lambda a: np.amax(a),
    "min": lambda a: np.min(a),
    "argmax": lambda a: np.argmax(a, axis=1),
    "argmin": lambda a: np.argmin(a),
    "any": lambda a: np.any(a > 1, axis=0),
    "all": lambda a: np.all(a > 0),
    "std": lambda a: np.std(a),
    "std, unbiased": lambda a: np.std(a, axis=1, ddof=1),
    "var": lambda a: np.var(a, axis=0, keepdims=True),
    "cumsum": lambda a: np.cumsum(a),
    "cumprod": lambda a: np.cumprod(a, axis=1),
    "norm": lambda a: np.linalg.norm(a),
    "norm over an axis": lambda a: np.linalg.norm(a, axis=1, keepdims=True),
    "norm of another order": lambda a: np.linalg.norm(a[0], 1) + np.linalg.norm(a, np.inf, axis=0),
    "reshape": lambda a: np.reshape(a, (3, -1)),
    "reshape to a row": lambda a: np.reshape(a, -1),
    "ravel": lambda a: np.ravel(a),
    "transpose": lambda a: np.transpose(a),
    "permute": lambda a: np.transpose(a[None], (2, 0, 1)),
    "swapaxes": lambda a: np.swapaxes(a, 0, -1),
    "moveaxis": lambda a: np.moveaxis(a[None], 0, -1),
    "expand_dims": lambda a: np.expand_dims(a, (0, -1)),
    "expand_dims, last": lambda a: np.expand_dims(a, -1),
    "squeeze": lambda a: np.squeeze(a[None]),
    "squeeze an axis": lambda a: np.squeeze(a[None], axis=0),
    "broadcast_to": lambda a: np.broadcast_to(a, (2, 2, 3)),
    "flip": lambda a: np.flip(a),
    "flip an axis": lambda a: np.flip(a, axis=1),
    "roll": lambda a: np.roll(a, 1, axis=1),
    "roll all": lambda a: np.roll(a, 2),
    "tile": lambda a: np.tile(a, 2),
    "repeat": lambda a: np.repeat(a, 2, axis=0),
    "diagonal": lambda a: np.diagonal(a, offset=1),
    "diag": lambda a: np.diag(a[0]),
    "tril": lambda a: np.tril(a, -1),
    "triu": lambda a: np.triu(a),
    "concatenate": lambda a: np.concatenate([a, A], axis=1),
    "concatenate rows": lambda a: np.concatenate((a, A), axis=None),
    "stack": lambda a: np.stack([a, a], axis=-1),
    "vstack": lambda a: np.vstack([a, A]),
    "hstack": lambda a: np.hstack([a, A]),
    "dstack": lambda a: np.dstack([a, A]),
    "column_stack": lambda a: np.column_stack([a[0], A[1]]),
    "split": lambda a: np.split(a, 3, axis=1)[2],
    "array_split": lambda a: np.array_split(a, 2, axis=1)[0],
    "take": lambda a: np.take(a, [0, 0, 4]),
    "take along an axis": lambda a: np.take(a, np.array([2, 0]), axis=1),
    "take_along_axis": lambda a: np.take_along_axis(a, np.array([[2, 0], [1, 1]]), axis=1),
    "where": lambda a: np.where(A > 0.6, a, 0.0),
    "where, both": lambda a: np.where(a > 0.6, A, a),
    "where it is": lambda a: np.where(a > 0.6)[1],
    "nonzero": lambda a: np.nonzero(a)[0],
    "sort": lambda a: np.sort(a),
    "sort all": lambda a: np.sort(a, axis=None),
    "argsort": lambda a: np.argsort(a, axis=0),
    "dot": lambda a: np.dot(a, A.T),
    "dot of rows": lambda a: np.dot(a[0], A[1]),
    "dot with a scalar": lambda a: np.dot(a, np.array(2.0)),
    "outer": lambda a: np.outer(a, A[0]),
    "tensordot": lambda a: np.tensordot(a, A, axes=([1], [1])),
    "einsum": lambda a: np.einsum("ij,kj->ik", a, A),
    "clip": lambda a: np.clip(a, 0.3, 1),
    "clip above": lambda a: np.clip(a, None, 1.0),
    "clip by name": lambda a: np.clip(a, max=1.0),
    "round": lambda a: np.round(a, 1),
    "copy": lambda a: np.copy(a),
    "zeros_like": lambda a: np.zeros_like(a),
    "ones_like": lambda a: np.ones_like(a, dtype=np.float32),
    "full_like": lambda a: np.full_like(a, 3),
    "real": lambda a: np.real(a),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions(name):
    expected = CALLS[name](A)
    x = leaf()
    result = CALLS[name](x)
    assert isinstance(result, Tensor)
    np.testing.assert_allclose(result.detach(), expected, 1e-12)
    assert result.shape == expected.shape


def test_every_function_of_the_table_is_numpys():
    for name in numpy_functions._FUNCTIONS:
        found = operator.attrgetter(name)(np)
        assert f"{found.__module__}.{found.__name__}" == f"numpy.{name}" or found.__name__ in ("amax", "amin")


def test_gradients_flow():
    x = leaf()
    y = np.mean(np.exp(np.concatenate([x, A])) * A[0] / np.float64(2), axis=0)
    y.sum().backward()
    np.testing.assert_allclose(x.grad, np.exp(A) * A[0] / 2 / 4, 1e-12)
    x = leaf()
    (2 * np.sum(np.where(A > 0.6, np.square(x), 0.0))).backward()
    np.testing.assert_allclose(x.grad, np.where(A > 0.6, 4 * A, 0), 1e-12)


def test_the_share_of_what_is_true():
    assert np.mean(tensor([1, 2, 3]) > 1).item() == pytest.approx(2 / 3)
    assert np.mean(arange(4), axis=0).dtype is numgrad.float32


def test_numbers_and_lists_are_operands():
    x = tensor([1.0, 2.0])
    assert np.add(x, 1).dtype is numgrad.float32
    assert np.add(x, np.float64(1)).dtype is numgrad.float32  # a number does not widen
    assert np.add(x, [1.0, 2.0]).tolist() == [2, 4]
    assert np.power(2, x).tolist() == [2, 4]
    y = tensor(3.0, requires_grad=True)
    np.multiply(x, [y, 2.0]).sum().backward()
    assert y.grad.item() == 1
    assert np.maximum(x, 1.5).tolist() == [1.5, 2]
    assert np.maximum(x, 1.5).dtype is numgrad.float32
    wide = tensor([1.0], dtype=numgrad.float64)
    assert np.maximum(1.1, wide).item() == 1.1  # in float64 throughout
    assert np.minimum(arange(3), 1.5).tolist() == [0, 1, 1.5]


# -- operators -------------------------------------------------------------------------------------------

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operators_with_arrays(function):
    array, other = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 0.5])
    for left, right in (array, tensor(other)), (tensor(array), other), (array[::-1], tensor(other[::-1].copy())):
        result = function(left, right)
        assert isinstance(result, Tensor)
        expected = function(np.asarray(left), np.asarray(right))
        np.testing.assert_allclose(result, expected, 1e-15)
        assert result.dtype.numpy == expected.dtype


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_operators_with_scalars(function, kind):
    x = tensor([1.0, 2.0, 3.0])
    for left, right in (kind(2), x), (x, kind(2)):
        result = function(left, right)
        plain = function(*[side if isinstance(side, Tensor) else side.item() for side in (left, right)])
        assert isinstance(result, Tensor)
        assert result.tolist() == plain.tolist()
        assert result.dtype is plain.dtype
    assert (np.float64(2) * arange(3)).dtype is numgrad.float32
    assert (kind(2) * tensor([1.0], requires_grad=True)).grad_fn.name() == "MulBackward0"


def test_matrix_products_with_arrays():
    x = leaf()
    (A.T @ x).sum().backward()
    np.testing.assert_allclose(x.grad, A.sum(1)[:, None].repeat(3, 1))


def test_arrays_changed_in_place():
    array = np.array([1.0, 2.0])
    array += tensor([1.0, 2.0])
    assert array.tolist() == [2, 4]
    with pytest.raises(TypeError, match=r"numpy.add\(\) cannot pass on the gradient"):
        array += tensor([1.0, 2.0], requires_grad=True)
    assert array.tolist() == [2, 4]


# -- computations of NumPy -------------------------------------------------------------------------------


def test_arrays_from_tensors():
    x = tensor([1.0, 2.0])
    assert np.asarray(x).base is not None
    assert np.array([x, x]).tolist() == [[1, 2], [1, 2]]
    assert np.array(x, dtype=np.int64).tolist() == [1, 2]
    assert np.linspace(x[0], x[1], 3).tolist() == [1, 1.5, 2]
    np.testing.assert_allclose(x, [1, 2])
    np.testing.assert_array_equal(x, np.array([1.0, 2.0]))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        np.testing.assert_allclose(x, [1, 3])


def test_answers_without_a_derivative():
    x = leaf()
    assert np.shape(x) == (2, 3)
    assert np.ndim(x) == 2
    assert np.size(x) == 6
    assert np.size(x, 1) == 3
    assert np.allclose(x, A)
    assert np.isclose(x, A + np.array([0, 0, 1])).tolist() == [[True, True, False]] * 2
    assert np.array_equal(x, x)
    assert np.count_nonzero(x) == 6
    assert np.result_type(x, np.float32) == np.float64


def test_functions_without_an_operation():
    x = tensor(A)
    assert np.median(x) == np.median(A)
    assert np.histogram(x, bins=2)[0].sum() == 6
    assert np.add.reduce(x, axis=1).tolist() == A.sum(1).tolist()
    assert np.modf(x)[0].tolist() == np.modf(A)[0].tolist()
    assert np.exp(x, dtype=np.float32).dtype == np.float32
    assert np.sum(x, where=A > 1) == 3.5
    out = np.empty((2, 3))
    assert np.exp(x, out=out) is out
    assert np.sum(x, axis=0, out=np.empty(3)).tolist() == A.sum(0).tolist()
    assert np.reshape(x, (3, 2), order="F").tolist() == A.reshape(3, 2, order="F").tolist()
    assert np.select([A > 1], [x]).tolist() == np.where(A > 1, A, 0).tolist()
    assert [part.tolist() for part in np.meshgrid(x[0], A[0])] == [part.tolist() for part in np.meshgrid(A[0], A[0])]


def test_norms_of_other_numbers():
    assert np.linalg.norm(tensor([3 + 4j, 0j])).tolist() == 5.0
    assert np.linalg.norm(tensor([3, 4])).tolist() == 5.0
    x = numgrad.zeros(3, requires_grad=True)
    np.linalg.norm(x).backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: np.median(x), "median"),
        (lambda x: np.histogram(x), "histogram"),
        (lambda x: np.modf(x), "modf"),
        (lambda x: np.add.reduce(x), "add.reduce"),
        (lambda x: np.add.accumulate(x), "add.accumulate"),
        (lambda x: np.add.outer(x, x), "add.outer"),
        (lambda x: np.exp(x, where=A > 1, out=np.zeros((2, 3))), "exp"),
        (lambda x: np.exp(x, out=np.empty((2, 3))), "exp"),
        (lambda x: np.sum(x, where=A > 1), "sum"),
        (lambda x: np.sum(x, axis=0, out=np.empty(3)), "sum"),
        (lambda x: np.reshape(x, (3, 2), order="F"), "reshape"),
        (lambda x: np.select([A > 1], [x]), "select"),
        (lambda x: np.linalg.norm(x, 1), "linalg.norm"),
    ],
)
def test_gradients_are_not_lost(call, name):
    x = leaf()
    message = rf"numpy.{name}\(\) cannot pass on the gradient of a tensor \(shape \[2, 3\]\).*tensor.detach\(\).numpy"
    with pytest.raises(TypeError, match=message):
        call(x)
    call(x.detach())


def test_tensors_are_not_written_to():
    x = tensor([1.0, 2.0])
    for call in (
        lambda: np.add(x, 1, out=x),
        lambda: np.exp(np.ones(2), out=x),
        lambda: np.sum(np.ones((2, 2)), axis=0, out=x),
        lambda: np.cumsum(x, out=x),
        lambda: np.add.at(x, 0, 1),
    ):
        with pytest.raises(TypeError, match=r"numpy.*\(\) cannot write to a tensor.*copy_"):
            call()
    for call in (
        lambda: np.copyto(x, 0),
        lambda: np.put(x, 0, 0),
        lambda: np.fill_diagonal(x[None].expand(2, 2), 0),
    ):
        with pytest.raises(ValueError, match="read-only"):
            call()
    assert x.tolist() == [1, 2]
    assert x._version == 0


def test_others_are_asked_too():
    class Quantity:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return "Quantity", ufunc.__name__

        def __array_function__(self, function, types, args, kwargs):
            return "Quantity", function.__name__

    assert np.add(tensor([1.0]), Quantity()) == ("Quantity", "add")
    assert np.concatenate([tensor([1.0]), Quantity()]) == ("Quantity", "concatenate")


def test_errors_of_operations_are_theirs():
    with pytest.raises(RuntimeError, match="must match the size"):
        np.add(tensor([1.0, 2.0]), np.ones(3))
    with pytest.raises(IndexError, match="Dimension out of range"):
        np.sum(tensor([1.0]), axis=3)
    with pytest.raises(ValueError, match="2 sections do not divide 3 rows equally"):
        np.split(arange(3), 2)
