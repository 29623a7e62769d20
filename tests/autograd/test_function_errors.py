"""Errors of users' Functions: results of a wrong number, shape or type."""

import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import Function


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def returning(make):
    """A Function of two inputs whose backward returns ``make(gradient)``."""

    class Odd(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * 1

        @staticmethod
        def backward(ctx, g):
            return make(g)

    return Odd


@pytest.mark.parametrize(("make", "message"), [
    (lambda g: g, r"function OddBackward returned an incorrect number of gradients \(expected 2, got 1\)"),
    (lambda g: (g, g, g), r"function OddBackward returned an incorrect number of gradients \(expected 2, got 3\)"),
    (lambda g: (ones(3), None), r"Function OddBackward returned an invalid gradient at index 0 - got \[3\] but "
                                r"expected shape compatible with \[2\]"),
    (lambda g: (ones(3, 3), None), r"returned an invalid gradient at index 0 - got \[3, 3\]"),
    (lambda g: (ones(()), None), r"returned an invalid gradient at index 0 - got \[\]"),
    (lambda g: (3.0, None), r"expected Variable or None \(got float\)"),
    (lambda g: ([g], None), r"expected Variable or None \(got list\)"),
    (lambda g: (g, g), "function OddBackward returned a gradient different than None at position 2, but the "
                       "corresponding forward input was not a Variable"),
], ids=["too few", "too many", "shape", "rank", "0-d", "number", "list", "of a number"])
def test_invalid_results_of_backward(x, make, message):
    with pytest.raises(RuntimeError, match=message):
        returning(make).apply(x, 5).sum().backward()
    assert x.grad is None
    assert numgrad.is_grad_enabled()


def test_further_nones_are_allowed(x):
    returning(lambda g: (g, None, None, None)).apply(x, 5).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_both_methods_must_be_defined(x):
    class Empty(Function):
        pass

    class OneWay(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        Empty.apply(x)
    y = OneWay.apply(x)
    assert y.tolist() == [2.0, 4.0]
    with pytest.raises(NotImplementedError, match=r"You must implement .* backward"):
        y.sum().backward()


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_errors_come_through_and_leave_recording_on(x, where):
    class Fails(Function):
        @staticmethod
        def forward(ctx, x):
            if where == "forward":
                raise KeyError("my own")
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("my own")

    with pytest.raises(KeyError, match="my own"):
        Fails.apply(x).sum().backward()
    assert numgrad.is_grad_enabled()
    assert x.grad is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_gradients_handed_in_must_fit_the_output(x):
    y = returning(lambda g: (g, None)).apply(x, 1)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        numgrad.autograd.backward(y, ones(3))
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        y.backward()
