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


def test_an_argument_is_given_once():
    with pytest.raises(TypeError, match=r"quantile\(\) got multiple values for argument 'dim'"):
        numgrad.quantile(X, 0.5, axis=0, dim=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
        numgrad.flip(X, axis=1)


def test_the_class_of_tensors_is_a_type_of_the_default_dtype():
    assert (X > 2).type(Tensor).dtype is numgrad.get_default_dtype()
