"""Functions of scalars with control flow, whose derivatives are derived."""

import math
import re

import numba
import numpy as np
import pytest

import numgrad
from numgrad import vectorize
from numgrad.autograd import grad, gradcheck, gradgradcheck

COEFFICIENTS = (0.5, -1.0, 0.25, 2.0)


@numba.njit
def clipped(x, most=1.0):
    if x > most:
        return most
    return x


@numba.njit
def polar(x, y):
    return math.hypot(x, y), np.arctan2(y, x)


@vectorize
def squared_sine(x):
    return numgrad.sin(x) ** 2


def branches(x, y):
    if x > y:
        if y > 0:
            return x * y
        z = x / y
    else:
        z = math.exp(x) - y
    return z * z


def for_loop(x, y):
    s = 0  # an integer that becomes a number
    for i in range(6):
        if i == 1:
            continue
        if i == 4:
            break
        s += x**i * COEFFICIENTS[i] / (i + 1)
    return s * y


def while_loop(x, y):
    n = 0
    z = abs(x) + 0.1
    while z < 3 + y * y:
        z = z * (1.5 + 0.1 * y)
        n += 1
        if n > 20:
            return x
    return z + n


def newton(x, y):
    z = 1.0
    for _ in range(60):
        step = (z**3 + z - x * x - y * y) / (3 * z**2 + 1)
        z -= step
        if abs(step) < 1e-14:
            break
    return z


def nested_loops(x, y):
    total = 0.0
    for i in range(3):
        for j in range(i + 1):
            if i * j == 2:
                break
            total += x * (i + 1) * y**j
        else_part = total * 0.5
        total -= else_part * y
    return total


def tuples(x, y):
    pair = (x * y, x - y)
    first, second = pair
    for each in (first, second, first + y, 2.0):
        y = y * 0.5 + each
        for _ in range(2):
            for last in range(3):  # noqa: B007
                pass
        if each > pair[1]:
            pair = (pair[1], each)
    return pair[0] * pair[-1] + len(pair) * y * last


def named_in_expressions(x, y):
    if (z := x * y) > 0.5:
        first, second = (x, z) if x > y else (y * y, x)
        return first * second
    total = 0.0
    while (z := z + 0.5) < 1.0:
        total += z * x
    pair = (x, y) if total > 1 else (z, x)
    return total + pair[0] * pair[1] + (0.0 if x > 0 else (z := z * y)) + z


def calls(x, y):
    r, angle = polar(x, y)
    return clipped(r, 2.0) + angle * squared_sine(x) + numgrad.nn.functional.softplus(y) + clipped(y)


def of_libraries(x, y):
    return np.logaddexp(x, y) + max(x, y, 0.1) * np.where(x > 0, x, np.tanh(y)) + numgrad.erf(x) + math.floor(x) * y


def names(grad, out):
    i, kernel, exp, result, float64 = grad * out, grad + 1, math.exp(out), out, 2.0
    return i * kernel + exp * result * float64


FUNCTIONS = [
    branches, for_loop, while_loop, newton, nested_loops, tuples, named_in_expressions, calls, of_libraries, names,
]
X, Y = np.array([-1.3, 0.4, 0.7, 1.9, 2.3]), np.array([0.6, -0.8, 1.1, 1.4, 0.35])


def leaves(kind=numgrad.float64):
    return [numgrad.tensor(values, dtype=kind, requires_grad=True) for values in (X, Y)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_and_derivatives(function):
    op = vectorize(function)
    if function not in (calls, of_libraries):  # numgrad's functions take tensors
        expected = [function(*pair) for pair in zip(X.tolist(), Y.tolist(), strict=True)]
        np.testing.assert_allclose(op(*leaves()).detach(), np.array(expected, float), rtol=1e-14)
    assert gradcheck(op, leaves(), check_forward_ad=True, check_batched_grad=True)


@pytest.mark.long
@pytest.mark.parametrize("function", [branches, for_loop, calls])
def test_second_derivatives(function):
    assert gradgradcheck(vectorize(function), leaves(), check_fwd_over_rev=True)


@pytest.mark.parametrize("function", [for_loop, newton, calls])
def test_float32_is_computed_in_float32(function):
    op = vectorize(function)
    x, y = leaves(numgrad.float32)
    out = op(x, y)
    gradients = grad(out.sum(), (x, y), retain_graph=True)
    wide = vectorize(function)(*leaves())
    np.testing.assert_allclose(out.detach(), wide.detach(), rtol=2e-5)
    assert {each.dtype for each in (out, *gradients)} == {numgrad.float32}
    kernels = numgrad.inspect(out.grad_fn).kernels
    assert len(kernels) == 2
    assert not any(re.search(r"fpext (<\d+ x )?float", kernel.llvm) for kernel in kernels)


@vectorize
def spiral(r, angle, *, turns=1.0):
    return r * math.cos(turns * angle), r * math.sin(turns * angle), r


def test_several_outputs_are_one_node_with_one_kernel_each_way():
    x, y = leaves()
    outs = spiral(x, y, turns=2.0)
    assert len({out.grad_fn for out in outs}) == 1
    assert outs[0].grad_fn.name() == "SpiralBackward0"
    (alone,) = grad(outs[2].sum(), x, retain_graph=True)
    assert alone.tolist() == [1] * 5
    with numgrad.profiler.profile() as profile:
        (outs[0] * 2).sum().backward()
    assert [event.key for event in profile.key_averages() if "spiral" in event.key] == ["aten::spiral_gradient"]
    np.testing.assert_allclose(x.grad, 2 * np.cos(2 * Y), rtol=1e-14)
    np.testing.assert_allclose(y.grad, -4 * X * np.sin(2 * Y), rtol=1e-14)
    assert gradcheck(spiral, leaves(), check_forward_ad=True, check_batched_grad=True)


def test_operands_of_any_shape_dtype_and_number():
    x, y = leaves()
    low = X[:, None].astype(np.float32)
    a = numgrad.tensor(low, requires_grad=True)
    out = spiral(a, y)[0]
    out.sum().backward()
    assert (out.shape, out.dtype, a.grad.shape, a.grad.dtype) == ((5, 5), numgrad.float64, (5, 1), numgrad.float32)
    np.testing.assert_allclose(y.grad, -np.sin(Y) * low.sum(), rtol=1e-6)
    assert grad(spiral(x, 0)[0].sum(), x)[0].tolist() == [1] * 5
    empty = numgrad.zeros(0, dtype=numgrad.float64, requires_grad=True)
    assert grad(spiral(empty, 1.0)[1].sum(), empty)[0].shape == (0,)


def test_derivatives_of_any_order():
    @vectorize
    def fifth(x):
        product = 1
        for _ in range(5):
            product *= x
        return product

    x = numgrad.tensor([2.0, 0.0], dtype=numgrad.float64, requires_grad=True)
    value = fifth(x)
    for expected in ([80, 0], [160, 0], [240, 0], [240, 0], [120, 120], [0, 0]):
        (value,) = grad(value.sum(), x, create_graph=True)
        assert value.tolist() == expected


def test_transforms_and_compiled_programs():
    def length(a):
        return spiral(a[0], a[1])[0] * spiral(a[0], a[1])[1]

    point = numgrad.tensor([1.5, 0.3], dtype=numgrad.float64)
    r, angle = point.tolist()
    s, c = math.sin(2 * angle), math.cos(2 * angle)
    np.testing.assert_allclose(numgrad.func.hessian(length)(point), [[s, 2 * r * c], [2 * r * c, -2 * r * r * s]])
    np.testing.assert_allclose(numgrad.func.jacrev(length)(point), [r * s, r * r * c])
    x, y = leaves()
    mapped = numgrad.vmap(spiral, in_dims=(0, None))(x, y[0])
    assert all(one.tolist() == other.tolist() for one, other in zip(mapped, spiral(x, y[0]), strict=True))

    def step(x, y):
        out = spiral(x, y)[0] * vectorized(x, y)
        return (out, *grad(out.sum(), (x, y)))

    vectorized, compiled = vectorize(while_loop), numgrad.compile(step)
    for _ in range(3):
        for one, other in zip(compiled(*leaves()), step(*leaves()), strict=True):
            assert one.tolist() == other.tolist()


def test_the_source_of_a_gradient():
    @vectorize
    def grown(x, y, *, by=1.5):
        z = x
        while z < y:
            z = z * by
        return math.exp(z)

    assert grown.source("x") == (
        "def grown_gradient(grad, x, y, *, by=1.5):\n    z_x = 1.0\n    z = x\n    while z < y:\n"
        "        z_x = z_x * by\n        z = z * by\n    result = exp(z)\n    result_x = z_x * result\n"
        "    grad_x = grad * result_x\n    return grad_x\n"
    )
    with pytest.raises(ValueError, match=re.escape("grown has no operand ['z']")):
        grown.source("z")


def test_traps():
    @vectorize
    def piecewise(a):
        return np.exp(a) if a <= 0 else 1 + a

    @vectorize
    def partly(a):
        if a > 1:
            b = a * a
        return b

    @vectorize
    def carried(x, t):
        for _ in range(2):
            x, t = math.cos(t) * x, t + x
        return x

    @vectorize
    @numba.njit
    def powers(x):
        return x**0 + x**1 + x**2 + 2**-1

    @vectorize
    def rounds(x):
        n = 0
        while n < x:
            n += 1
        return n * x

    x = numgrad.tensor([100.0, 2.0, 0.5], requires_grad=True)
    assert grad(piecewise(x).sum(), x)[0].tolist() == pytest.approx([1, 1, 1])  # exp(100) overflows
    assert grad(piecewise(-x).sum(), x)[0].tolist() == pytest.approx([-math.exp(-100), -math.exp(-2), -math.exp(-0.5)])
    assert partly(x).tolist() == [10_000, 4, 0]  # not the value of the element before
    assert grad(rounds(x).sum(), x)[0].tolist() == [100, 2, 1]
    assert grad(powers(0 * x).sum(), x)[0].tolist() == [0, 0, 0]
    assert [each.tolist() for each in (powers(0 * x), grad(powers(x * 1).sum(), x)[0])] == [[1.5] * 3, [201, 5, 2]]
    assert gradcheck(carried, leaves())


def test_whole_numbers():
    @vectorize
    def divisor(a, b):
        while b != 0:
            a, b = b, a % b
        return a

    @vectorize
    def halved(n):
        return n / 2

    found = divisor(numgrad.tensor([12, 18, 7], dtype=numgrad.int16), 8)
    assert (found.tolist(), found.dtype) == ([4, 2, 1], numgrad.int16)
    with pytest.raises(TypeError, match="not an integer: declare result='float'"):
        halved(numgrad.arange(3))
    count = numgrad.tensor([1, 2, 3, 4, 5])
    x, _ = leaves()
    assert grad(vectorize(for_loop)(x, count).sum(), x)[0].dtype == numgrad.float64


def test_a_declared_rule_for_a_loop():
    @vectorize
    def root(a):
        x = a
        while abs(x * x - a) > 1e-12 * a:
            x = 0.5 * (x + a / x)
        return x

    @root.gradient("a")
    def _(grad, out):
        return grad / (2 * out)

    a = numgrad.tensor([4.0, 9.0], dtype=numgrad.float64, requires_grad=True)
    assert grad(root(a).sum(), a)[0].tolist() == pytest.approx([1 / 4, 1 / 6], rel=1e-15)
    with pytest.raises(ValueError, match="its rules are declared"):
        root.source("a")
    with pytest.raises(ValueError, match="rules are for functions with one result"):
        spiral.gradient("r")


def raises(x):
    if x < 0:
        raise ValueError("negative")
    return x


def reads(x):
    return x[0]


def lists(x):
    parts = [x]
    return parts


def unknown(x):
    return math.remainder(x, 2)


def bound(x):
    s = 0.0
    for _ in range(x):
        s += x
    return s


def itself(x):
    return vectorize(itself)(x)


def words(x):
    return x * "a"


def printed(x):
    print(x)
    return x


def mixed(x):
    if x > 0:
        return x, x
    return x


def nothing(x):
    x + 1


def written(x):
    COEFFICIENTS[0] = x
    return x


@pytest.mark.parametrize(("function", "line", "reason"), [
    (raises, 2, "'raise' is not supported"),
    (reads, 1, "scalars have no elements"),
    (lists, 1, "a list is not supported"),
    (unknown, 1, "'math.remainder' cannot be called in a kernel"),
    (bound, 2, "the bounds of a loop must be integers: write int(...)"),
    (words, 1, "'a' cannot be part of a kernel"),
    (printed, 1, "has no effect in a kernel"),
    (itself, 1, "cannot be called in a kernel"),
    (mixed, 0, "every 'return' must have the same number of values"),
    (nothing, 0, "every 'return' must have"),
    (written, 1, "is not supported"),
])
def test_unsupported_code_is_refused_with_its_line(function, line, reason):
    where = f"{function.__name__}, line {function.__code__.co_firstlineno + line}"
    with pytest.raises(TypeError, match=f"{re.escape(where)}.*{re.escape(reason)}"):
        vectorize(function)(numgrad.ones(2))
