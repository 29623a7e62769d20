"""NumPy's names of arguments, which calls of operations may use."""

import pytest

import numgrad
from numgrad import Tensor

X = numgrad.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(("function", "arguments"), [
    (numgrad.sum, ()), (numgrad.quantile, (0.5,)), (Tensor.nanquantile, (0.5,)), (numgrad.linalg.norm, ()),
    (Tensor.norm, ()), (numgrad.linalg.vector_norm, ()), (numgrad.std_mean, ()),
])  # fmt: skip
def test_axis_and_keepdims(function, arguments):
    ours, numpys = function(X, *arguments, dim=1, keepdim=True), function(X, *arguments, axis=1, keepdims=True)
    assert str(ours) == str(numpys)


def test_names_of_tensors():
    assert numgrad.equal(numgrad.matmul(x1=X, x2=X.T), X @ X.T)
    assert numgrad.equal(numgrad.reshape(a=X, shape=(3, 2)), X.reshape(3, 2))
    assert numgrad.equal(numgrad.diff(x=X, axis=0), X.diff(dim=0))


@pytest.mark.parametrize("name", ["A", "input", "a", "x"])
def test_names_of_the_matrix_in_linalg(name):
    assert numgrad.linalg.norm(**{name: X}, ord="fro") == numgrad.linalg.norm(X)
    assert numgrad.linalg.det(**{name: X @ X.T}) == numgrad.linalg.det(X @ X.T)


def test_names_of_the_vector_in_linalg():
    assert numgrad.linalg.vector_norm(x=X) == numgrad.linalg.vector_norm(input=X) == X.norm()


@pytest.mark.parametrize(("name", "a", "b", "expected"), [
    ("add", 1, 2.5, 3.5), ("sub", True, 2, None), ("mul", True, 2, 2), ("div", 1, 2, 0.5), ("add", 1j, 2, 2 + 1j),
    ("floor_divide", -7, 2, -4), ("maximum", 1, 2, None),
])  # fmt: skip
def test_basic_arithmetic_takes_two_numbers(name, a, b, expected):
    function = getattr(numgrad, name)
    if expected is None:
        with pytest.raises((RuntimeError, TypeError)):
            function(a, b)
    else:
        result = function(a, b)
        assert (result.shape, result.item()) == ((), expected)
        assert result.dtype is (numgrad.tensor(a) + b if name != "div" else numgrad.tensor(0.5)).dtype


def test_an_argument_is_given_once():
    with pytest.raises(TypeError, match=r"quantile\(\) got multiple values for argument 'dim'"):
        numgrad.quantile(X, 0.5, axis=0, dim=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
        numgrad.flip(X, axis=1)


def test_the_class_of_tensors_is_a_type_of_the_default_dtype():
    assert (X > 2).type(Tensor).dtype is numgrad.get_default_dtype()
