"""Functions that cannot be differentiated raise, with the line and the reason."""

import random
import re

import numpy as np
import pytest
from adjoints.in_python import gradients

import numgrad as torch
from numgrad.adjoints.source import Refused


def drawn(x):
    return x[0] * np.random.rand()


def loop_bound(x):
    s = 0.0
    for _ in range(int(x[0])):
        s += 1.0
    return s


def listed(x):
    parts = [x[0]]
    return parts[0]


def unknown(x):
    return np.fft.fft(x)[0].real


def stepping(x):
    x[..., np.array([0, 1])] = 0.0
    return x[0]


def else_of_loop(x):
    for _ in range(3):
        pass
    else:
        return x[1]
    return x[0]


def flat(x):
    total = 0.0
    for each in x.flat:
        total += each
    return total


def real_part(x):
    return x[0].real


def all_places(x):
    total = 0.0
    for place in np.ndindex(x.shape):
        total += x[place]
    return total


def sum_of_absolutes(x):
    return np.linalg.norm(x, ord=1)


def indices_apart(x):
    A = np.ones((2, 3, 2)) * x
    return np.sum(A[0, :, np.array([0, 1])] * x[0])


@pytest.mark.parametrize(("function", "line", "reason"), [
    (sum_of_absolutes, "return np.linalg.norm(x, ord=1)", "the derivative of np.linalg.norm is not known"),
    (indices_apart, "return np.sum(A[0, :, np.array([0, 1])] * x[0])", "use a loop"),
    (flat, "for each in x.flat:", "only numbers and arrays of real numbers"),
    (real_part, "return x[0].real", "derivative of x[0].real"),
    (all_places, "for place in np.ndindex(x.shape):", "Numba cannot infer its types"),
    (drawn, "return x[0] * np.random.rand()", "random numbers would differ"),
    (loop_bound, "for _ in range(int(x[0])):", "a differentiated value becomes a loop bound"),
    (listed, "parts = [x[0]]", "a list is not supported"),
    (unknown, "return np.fft.fft(x)[0].real", ""),
    (stepping, "x[..., np.array([0, 1])] = 0.0", "use a loop"),
    (else_of_loop, "for _ in range(3):", "'else' of a loop"),
])
def test_line_and_reason(function, line, reason):
    with pytest.raises(Refused) as caught:
        gradients(function, [1.0, 2.0])
    assert reason in str(caught.value)
    assert line in str(caught.value)
    assert function.__name__ in str(caught.value)


def test_names_that_are_read_before_an_expression_binds_them_are_refused():
    def twice(x):
        z = x
        return z + (z := 2.0) * x

    with pytest.raises(TypeError, match="'z' occurs before ':=' in one statement"):
        torch.vectorize(twice)


def test_syntax_is_refused_by_the_decorator():
    with pytest.raises(TypeError, match="a list is not supported"):
        torch.differentiable(listed)


class Spring:
    def energy(self, x):
        return x * x


@pytest.mark.parametrize("decorate", [torch.differentiable, torch.vectorize, torch.derivative])
@pytest.mark.parametrize(("function", "reason"), [
    (Spring().energy, "energy is of type 'method': only functions that are defined by 'def'"),
    (max, "max is of type 'builtin_function_or_method'"),
    (lambda x: x * x, "a lambda cannot be differentiated: define the function by 'def'"),
])
def test_objects_that_are_not_functions_are_refused(decorate, function, reason):
    with pytest.raises(Refused, match=re.escape(reason)):
        decorate(function)


def test_a_function_without_source_may_be_called_without_derivatives():
    scope = {}
    exec("def square(x):\n    return x * x", scope)
    square = torch.differentiable(scope["square"])
    assert square(3.0) == 9
    with pytest.raises(Refused, match=r"square: its source cannot be read .*: define it in a file or a notebook"):
        square(torch.tensor(3.0, requires_grad=True))


def test_python_random_numbers_are_refused():
    def drawn(x):
        return x[0] * random.random()

    with pytest.raises(Refused):
        gradients(drawn, [1.0])


def test_a_numpy_array_that_is_written_cannot_lose_a_derivative():
    @torch.differentiable
    def filled(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] * x[i]

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    with pytest.raises(TypeError, match="writes into the NumPy array 'out'"):
        filled(x, np.zeros(2))
    out = torch.zeros(2, dtype=torch.float64)
    filled(x, out)
    out.sum().backward()
    assert x.grad.tolist() == [2, 4]


def test_views_that_overlap_in_part_are_refused_in_every_call():
    @torch.differentiable
    def moved(x, out):
        for i in range(x.shape[0]):
            out[i] = 2 * x[i]

    memory = torch.arange(4.0, dtype=torch.float64)
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    moved(x, memory[1:])
    for _ in range(2):
        with pytest.raises(TypeError, match="different views of the same memory"):
            moved((x * memory[1:]).detach().set_(memory[:3]).requires_grad_(), memory[1:])
    assert memory.tolist() == [0, 2, 2, 2]


def test_loops_without_checkpoints():
    def rebinds(x):
        y = x.copy()
        z = y
        for _ in range(3):
            z = y
            y = y * y
        return y.sum() + z.sum()

    def halves(x):
        while abs(x) > 1.0:
            x = 0.5 * x * x
        return x

    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    with pytest.raises(Refused, match=r"'[yz]' is another array after each iteration.*\n *[yz] = y"):
        torch.differentiable(rebinds, checkpoint=2)(x)
    with pytest.raises(Refused, match=r"line .*'while' does not provide"):
        torch.differentiable(halves, checkpoint="sqrt")(x[0])
    with pytest.raises(ValueError, match="not 0"):
        torch.differentiable(halves, checkpoint=0)
