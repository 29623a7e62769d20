"""Small programs on which derivatives of loops go wrong, with their right values."""

import math

import numba
import numpy as np
import pytest
from adjoints.in_python import gradients


def product(x):
    result = 1.0
    for i in range(x.shape[0]):
        result *= x[i]
    return result


def overwritten(a):
    b = a * a
    a = 1.0
    out = b
    return out * a


def nested_dynamic(x, n):
    total = 0.0
    for i in range(n):
        m = i + 1
        for _j in range(m):
            total += x
    return total


def added_to(p):
    q = 0.0
    for _ in range(5):
        q += p
    return q


def double_loop(x, y):
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            x[i] += y[j]
    return x.sum()


def two_inner_loops(x):
    s = 1.0
    for i in range(x.shape[0]):
        for _ in range(2):
            s = s * x[i]
        for _ in range(3):
            s = s + x[i]
    return s


def triangle(x):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            s += x[i] * x[j]
    return s


def carried(x, t):
    for _ in range(3):
        x = math.cos(t) * x
    return x


def rebuilt(x):
    for _ in range(2):
        a, b = x[0], x[1]
        x = np.array([a * b, a + b])
    return x[0]


def jumps(x):
    s = 0.0
    for i in range(3):
        j = 0
        while True:
            j += 1
            if j == 2:
                continue
            if j > i + 2:
                break
            s += x * j
    return s


def loop_variable(x):
    i = 0
    for i in range(x.shape[0]):  # noqa: B007
        pass
    return x[i] * x[i]


def from_integer(x):
    u = 0
    for i in range(x.shape[0]):
        u = u + x[i] * x[i]
    return u


def swapped(x):
    a, b = x.copy(), np.zeros(x.shape[0])
    for _ in range(3):
        for i in range(x.shape[0]):
            b[i] = a[i] * a[i]
        a, b = b, a
    return a[0] + a[1]


def root(x):
    return math.sqrt(x) if x > 0.0 else 0.0


def branch_not_taken(a):
    return np.where(a <= 0, np.exp(a), 1 + a).sum()


def reciprocal_not_taken(a):
    return 1.0 / a if a != 0.0 else 3.0 * a


def in_one_branch(x, flag):
    if flag > 0:
        y = x * x
    s = 0.0
    if flag > 0:
        s = y * 2.0
    return s + x


def colliding(x, t):
    x_b = x * t
    tape = x_b * x
    result = tape
    push = result * 2.0
    return push


def two_halves(x):
    scratch = np.empty(x.shape[0])  # written, therefore active
    for i in range(x.shape[0]):
        scratch[i] = x[i] * x[i]
    return scratch.sum()


def overlapping(x):
    x[1:] = x[:-1] * x[1:]
    return x[1] + x[2]


def in_place_of_itself(x):
    x[0] = x[0] * x[1]
    return x[0] * x[1]


def inverse_by_newton(a):
    x = 0.1
    while abs(a * x - 1.0) > 1e-14:
        x = x * (2.0 - a * x)
    return x


def element_times_a_longer_array(x, y):
    return (x[0] * y).sum()


def parameters_named_like_modules(np, min, tape):
    return np[0] * min * tape


TRACED = False


@numba.njit
def scaled_by(x, weight=None):
    return x if weight is None or weight < 0 else weight * x


def branches_that_numba_drops(x):
    if TRACED:
        y = x[::2].copy()
        x = y * y
    return scaled_by(x[0]) + scaled_by(x[1], 3.0) + (0.0 if not TRACED else y[0])


def conditional_parts(x):
    total = np.where(x > 2.5, x, 0.0).sum() + (x[0] if x[1] > 0 else 1.0) ** (2.0 if x[0] > 0 else 3.0)
    for i in range(0 if x[0] > 0 else 1, 2 if x[0] > 0 else 1):
        total += (x[i] + 5.5) % x[1]
    return total


def flattened(x):
    return x.reshape(2, 1).flatten()[1] * x[0]


def parameter_that_a_branch_assigns(x):
    if x > 1.0:
        x = x * 0.25
    return x * x


@pytest.mark.parametrize(("function", "arguments", "expected"), [
    (product, [[2, 2, 2]], [[4, 4, 4]]),
    (overwritten, [3.0], [6]),
    (nested_dynamic, [2.0, 3], [6]),
    (added_to, [2.0], [5]),
    (double_loop, [[1, 2], [3, 4, 5]], [[1, 1], [2, 2, 2]]),
    (two_inner_loops, [[2, 3]], [[(2 * 2 + 3) * 9, (2 * 2 + 3 * 2) * 2 * 3 + 3]]),
    (triangle, [[1, 2, 4]], [[6, 5, 3]]),
    (carried, [2.0, 0.5], [math.cos(0.5) ** 3, -6 * math.cos(0.5) ** 2 * math.sin(0.5)]),
    (rebuilt, [[2, 3]], [[2 * 2 * 3 + 9, 4 + 2 * 2 * 3]]),
    (jumps, [2.0], [1 + 1 + 3 + 1 + 3 + 4]),
    (loop_variable, [[2, 3]], [[0, 6]]),
    (from_integer, [[2, 3]], [[4, 6]]),
    (swapped, [[1.0, 0.5]], [[8, 8 * 0.5**7]]),
    (root, [0.0], [0]),
    (branch_not_taken, [[100.0, -1.0]], [[1, math.exp(-1)]]),
    (reciprocal_not_taken, [0.0], [3]),
    (in_one_branch, [3.0, 1], [13]),
    (in_one_branch, [3.0, 0], [1]),
    (colliding, [3.0, 2.0], [24, 18]),
    (two_halves, [[1, 2]], [[2, 4]]),
    (overlapping, [[2, 3, 5]], [[3, 2 + 5, 3]]),
    (in_place_of_itself, [[2, 3]], [[9, 12]]),
    (element_times_a_longer_array, [[2, 3], [1, 2, 3]], [[6, 0], [2, 2, 2]]),
    (parameters_named_like_modules, [[2, 3], 5.0, 7.0], [[35, 0], 14, 10]),
    (branches_that_numba_drops, [[2, 3]], [[1, 3]]),
    (conditional_parts, [[2, 3]], [[2 * 2 + 1, 1 - 2 + 1 - 2]]),
    (flattened, [[2, 3]], [[3, 2]]),
    (parameter_that_a_branch_assigns, [2.0], [2 * 0.5 * 0.25]),
    (inverse_by_newton, [4.0], [-1 / 16]),
])
def test_derivatives(function, arguments, expected):
    _, found = gradients(function, *arguments)
    for each, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(each, right, rtol=1e-12)


def test_one_array_passed_twice():
    def scaled(a, b):
        for i in range(a.shape[0]):
            a[i] = a[i] * 2.0
        s = 0.0
        for i in range(b.shape[0]):
            s += b[i] * b[i] * a[i]
        return s

    x = np.array([1.0, 2.0, 3.0])  # the sum of 8 x³
    value, found = gradients(scaled, x, x, same=[("a", "b")])
    assert value == 8 * (x**3).sum()
    np.testing.assert_allclose(found[0], 24 * x**2)


def test_root_at_zero_is_infinite_and_does_not_raise():
    import numgrad as torch

    @torch.differentiable
    def root_of(x):
        return math.sqrt(x)

    x = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
    root_of(x).backward()
    assert x.grad == math.inf


def test_float32_that_a_literal_widens():
    import numgrad as torch

    @torch.differentiable
    def widened(x):
        s = 0.0
        for i in range(x.shape[0]):
            s = s + 2.0 * x[i] * x[i]
        return s

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    result = widened(x)
    result.backward()
    assert (result.dtype, x.grad.dtype) == (torch.float64, torch.float32)
    assert x.grad.tolist() == [4, 8]
