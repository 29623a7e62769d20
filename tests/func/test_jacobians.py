"""``jacrev``, ``jacfwd`` and ``hessian``."""

import pytest
from snapshots import refused

import numgrad
from numgrad import arange, complex64, ones
from numgrad.func import hessian, jacfwd, jacrev

BOTH = pytest.mark.parametrize("jacobian", [jacrev, jacfwd])


def powers(x, w):
    return stack_of(x * w, x**2)


def stack_of(*rows):
    return numgrad.stack(rows)


@BOTH
def test_rows_are_outputs_and_columns_are_inputs(jacobian, x):
    found = jacobian(powers)(x, x)
    assert found.shape == (2, 3, 3)
    assert found.tolist() == [x.diag().tolist(), (2 * x).diag().tolist()]
    assert x.grad is None


@BOTH
def test_several_arguments(jacobian, x):
    at_x, at_w = jacobian(powers, argnums=(0, 1))(x, x[:1])
    assert (at_x.shape, at_w.shape) == ((2, 3, 3), (2, 3, 1))
    assert jacobian(powers, argnums=(-1,))(x, x)[0][0].tolist() == x.diag().tolist()


@BOTH
def test_nested_inputs_and_outputs(jacobian, x):
    def parts(given):
        a, b = given["pair"]
        return {"product": [a * b], "sum": (a.sum(),)}

    found = jacobian(parts)({"pair": (x, x[:1])})
    assert found["product"][0]["pair"][0].tolist() == ones(3).diag().tolist()
    assert found["product"][0]["pair"][1].tolist() == [[1], [2], [3]]
    assert found["sum"][0]["pair"][1].tolist() == [0]


@BOTH
def test_auxiliary_outputs(jacobian, x):
    found, (shape, total) = jacobian(lambda x: (x**2, (x, x.sum())), has_aux=True)(x)
    assert found.tolist() == (2 * x).diag().tolist()
    assert (shape.tolist(), total.tolist()) == (x.tolist(), 6)


@pytest.mark.parametrize("size", [1, 2, 6, 7])
def test_rows_in_chunks(x, size):
    assert jacrev(powers, chunk_size=size)(x, x).tolist() == jacrev(powers)(x, x).tolist()


@BOTH
def test_the_graph_around(jacobian, x):
    leaf = x.clone().requires_grad_()
    jacobian(lambda x: x**3)(leaf).sum().backward()
    assert leaf.grad.tolist() == (6 * x).tolist()
    with numgrad.no_grad():
        assert not jacobian(lambda x: x**3)(leaf).requires_grad
    assert not jacobian(lambda x: x**3)(x).requires_grad


def test_second_derivatives(x):
    assert hessian(lambda x: x.prod())(x).tolist() == [[0, 3, 2], [3, 0, 1], [2, 1, 0]]
    blocks = hessian(lambda x, w: (x * w).sum(), argnums=(0, 1))(x, x)
    assert blocks[0][1].tolist() == ones(3).diag().tolist()
    assert not blocks[0][0].any()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: jacrev(abs, chunk_size=0), ValueError, "jacrev: `chunk_size` should be greater than 0."),
        (lambda x: jacfwd(abs, randomness="any"), RuntimeError, "Only allowed values for randomness"),
        (lambda x: jacrev(abs, 1)(x), RuntimeError, "Got argnum=1, but only 1 positional inputs"),
        (lambda x: jacfwd(abs, "x")(x), RuntimeError, "argnums must be int or Tuple[int, ...], got: <class 'str'>"),
        (lambda x: jacrev(abs)(3.0), ValueError, "Thing passed to transform API must be Tensor"),
        (lambda x: jacfwd(abs)(3.0), ValueError, "Thing passed to transform API must be Tensor"),
        (lambda x: jacfwd(abs)(arange(3)), ValueError, "Expected primal to be floating point or complex"),
        (lambda x: jacrev(lambda x: 1)(x), RuntimeError, "expected f(*primals) to return only tensors"),
        (lambda x: jacrev(lambda x: x * 1j)(x), RuntimeError, "jacrev: Expected all outputs to be real"),
        (lambda x: jacfwd(lambda x: x * 1j)(x), RuntimeError, "jacfwd: Expected all outputs to be real"),
        (lambda x: jacrev(abs)(x.to(complex64)), RuntimeError, "jacrev: Expected all inputs to be real"),
    ],
)
def test_arguments_that_do_not_fit(x, call, error, words):
    with refused(error, [], words):
        call(x)
