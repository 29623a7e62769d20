"""Pointwise operations of a user's own."""

import gc
import weakref

import numpy as np
import pytest

import numgrad
from numgrad.autograd import gradcheck, gradgradcheck


def softclip_with(*names):
    """``x / (1 + |x| / limit) + max(y, 0)``, with rules for the operands ``names``."""

    @numgrad.vectorize
    def softclip(x, y, *, limit=1.0):
        return x / (1 + numgrad.abs(x) / limit) + numgrad.maximum(y, 0)

    def of_x(grad, x, limit):
        scale = 1 + numgrad.abs(x) / limit
        return grad / (scale * scale)

    def of_y(grad, y):
        return numgrad.where(y > 0, grad, 0)

    for name in names:
        softclip.gradient(name)({"x": of_x, "y": of_y}[name])
    return softclip


X, Y = [-1.5, 0.25, 3.0], [0.5, -2.0, 1.0]


def leaves():
    return [numgrad.tensor(values, dtype=numgrad.float64, requires_grad=True) for values in (X, Y)]


def test_values_and_the_node():
    softclip = softclip_with("x", "y")
    out = softclip(*leaves(), limit=2.0)
    np.testing.assert_allclose(out.detach(), np.array(X) / (1 + np.abs(X) / 2) + np.maximum(Y, 0), rtol=1e-15)
    assert out.grad_fn.name() == "SoftclipBackward0"
    assert softclip(numgrad.ones(2, 1), 1).shape == (2, 1)
    assert softclip(numgrad.ones(2), numgrad.ones(2, dtype=numgrad.float64)).dtype == numgrad.float64
    assert softclip(numgrad.ones(2), -1, out=numgrad.empty(2)).tolist() == [0.5, 0.5]


def test_derivatives_are_those_of_the_rules():
    softclip = softclip_with("x", "y")
    assert gradcheck(lambda x, y: softclip(x, y, limit=0.5), leaves(), check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(softclip, leaves())


def test_a_gradient_without_a_rule_is_refused():
    softclip = softclip_with("x")
    x, y = leaves()
    softclip(x, y.detach()).sum().backward()
    with pytest.raises(RuntimeError, match=r"softclip has no rule for .* 'y': .* declare nondifferentiable=\['y'\]"):
        softclip(x.detach(), y)
    with pytest.raises(RuntimeError, match="has no rule"):
        numgrad.func.jvp(softclip, (x.detach(), y.detach()), (x.detach(), y.detach()))


def test_operands_without_a_gradient():
    @numgrad.vectorize(nondifferentiable=["count"])
    def scaled(x, count):
        return x * count

    @scaled.gradient("x")
    def _(grad, count):
        return grad * count

    x, count = leaves()
    scaled(x, count).sum().backward()
    assert x.grad.tolist() == Y
    assert count.grad is None


def test_the_dtype_of_the_result():
    @numgrad.vectorize(result="bool")
    def near(a, b):
        return numgrad.abs(a - b) < 0.5

    @numgrad.vectorize(result="float", dtypes="if")
    def half(a):
        return a / 2

    x, _ = leaves()
    assert near(x, 0).tolist() == [False, True, False]
    assert half(numgrad.tensor([1, 2])).tolist() == [0.5, 1]
    with pytest.raises(RuntimeError, match="Bool"):
        half(numgrad.tensor([True]))


def test_an_operation_may_be_made_of_others_and_defined_again():
    def shifted_by(factor):
        @numgrad.vectorize
        def times(x):
            return factor * x

        @numgrad.vectorize
        def shifted(x):
            return times(x) + 1

        return shifted

    assert shifted_by(2.0)(numgrad.ones(2)).tolist() == [3, 3]
    assert shifted_by(3.0)(numgrad.ones(2)).tolist() == [4, 4]
    assert "shifted" not in numgrad.ops.ops


def test_code_without_meaning_in_a_kernel_is_refused():
    @numgrad.vectorize
    def loud(x):
        return print(x)

    with pytest.raises(TypeError, match=r"loud, line \d+: 'print' cannot be called in a kernel"):
        loud(numgrad.ones(2))


def test_invalid_declarations_are_refused_immediately():
    def with_default(x, y=2.0):
        return x * y

    def of_any_number(*operands):
        return operands[0]

    def without_default(x, *, factor):
        return x * factor

    def of_nothing():
        return 1.0

    def identity(x):
        return x

    for function in (with_default, of_any_number, without_default, of_nothing):
        with pytest.raises(TypeError, match=f"{function.__name__}: "):
            numgrad.vectorize(function)
    for options in ({"result": "int"}, {"dtypes": "float"}, {"nondifferentiable": ["y"]}):
        with pytest.raises(ValueError, match=f"identity: {next(iter(options))}"):
            numgrad.vectorize(**options)(identity)


def test_a_rule_that_is_declared_again_is_used_from_then_on():
    @numgrad.vectorize
    def double(x):
        return 2 * x

    def wrong(grad):
        return grad * 3

    def right(grad):
        return grad * 2

    x, _ = leaves()
    for rule, slope in ((wrong, 3), (right, 2)):
        double.gradient("x")(rule)
        for _ in range(3):
            (found,) = numgrad.autograd.grad(double(x).sum(), x)
            assert found.tolist() == [slope] * 3


def test_a_rule_with_an_unknown_parameter_is_refused():
    softclip = softclip_with("x", "y")
    softclip.gradient("y")(lambda grad, z: grad * z)
    with pytest.raises(TypeError, match="softclip: a rule has the parameter 'z'"):
        softclip(*leaves())


def test_an_operation_that_is_no_longer_used_is_freed():
    @numgrad.vectorize
    def double(x):
        return 2 * x

    for _ in range(3):  # the entries of these calls are cached by then
        double(numgrad.ones(2))
    alive = weakref.ref(double.op)
    del double
    gc.collect()
    assert alive() is None


def in_single_precision(x):
    return np.float32(x) * np.float32(0.1)


def in_one_branch(x):
    if x > 1:
        root = x * x
    return root + 1


def large_integers(x):
    return x * 10**20 + 100000000000000000000


def of_input(input):
    return input * 2


@pytest.mark.parametrize(("function", "expected", "slope"), [
    (in_single_precision, np.float32(1.7) * np.float32(0.1), np.float64(np.float32(0.1))),
    (in_one_branch, 1.7 * 1.7 + 1, 3.4),
    (large_integers, 1.7 * 1e20 + 1e20, 1e20),
    (of_input, 3.4, 2),
])
def test_values_and_slopes(function, expected, slope):
    x = numgrad.tensor([1.7, 0.0], dtype=numgrad.float64, requires_grad=True)
    out = numgrad.vectorize(function)(x)
    out.sum().backward()
    assert (out[0].item(), x.grad[0].item()) == pytest.approx((expected, slope), rel=1e-15)
    assert out.isfinite().all()


def test_names_of_modules_and_loop_bounds_are_refused_with_their_line():
    def named(np):
        return np * np

    def times(x):
        total = 0.0
        for _ in range(int(x)):
            total += x
        return total

    x, _ = leaves()
    with pytest.raises(TypeError, match=r"named, line \d+: a parameter cannot be called 'np'"):
        numgrad.vectorize(named)(x)
    with pytest.raises(TypeError, match=r"times, line \d+: a differentiated value becomes a loop bound"):
        numgrad.vectorize(times)(x).sum().backward()


def test_a_result_that_is_not_used_does_not_spoil_the_gradient():
    @numgrad.vectorize
    def both(x):
        return 2 * x, numgrad.log(x)

    x = numgrad.zeros(1, dtype=numgrad.float64, requires_grad=True)
    both(x)[0].backward()
    assert x.grad.item() == 2
