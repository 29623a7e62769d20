"""``gradcheck``: accepted and refused derivatives, and its messages."""

import importlib
import re

import numpy as np
import pytest
from derivative_checks import both_modes, double, drifting, function, message, real_input, times
from snapshots import unchanged

import numgrad
from numgrad import float64, tensor
from numgrad.autograd import gradcheck, gradgradcheck


@pytest.fixture
def x():
    return real_input()


# --- names ----------------------------------------------------------------------------------------------


def test_the_name_is_the_function_and_the_module_is_found_by_its_path():
    module = importlib.import_module("numgrad.autograd.gradcheck")
    assert numgrad.autograd.gradcheck is module.gradcheck is gradcheck
    assert numgrad.autograd.gradgradcheck is module.gradgradcheck
    assert issubclass(module.GradcheckError, RuntimeError)
    assert [getattr(module, name) for name in module.__all__]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


# --- right derivatives ----------------------------------------------------------------------------------


@both_modes
def test_right_derivatives_are_accepted(x, fast_mode):
    w = tensor([2.0, -3.0], dtype=float64, requires_grad=True)

    def program(a, exponent, b):
        return (a**exponent * b).sum(1), a.t() * 2, (a > 1).any()

    options = {"check_forward_ad": True, "check_batched_grad": True, "check_grad_dtypes": True}
    assert gradcheck(program, (x, 3, w), fast_mode=fast_mode, **options) is True
    assert gradgradcheck(program, (x, 3, w), fast_mode=fast_mode, check_batched_grad=True) is True


def test_inputs_are_left_as_they_were(x):
    (x * x).sum().backward()
    y = x.detach().clone().requires_grad_() * 1
    with unchanged(x, y):
        assert gradcheck(lambda a, b: a * b, (x, y))
    seen = []

    def fails(a):
        seen.append(a.tolist())
        if len(seen) == 2:
            raise KeyError("in the middle of a step")
        return a * 2

    with unchanged(x), pytest.raises(KeyError):
        gradcheck(fails, x)
    assert seen[1] != seen[0]


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x.view(4), lambda x: x.unbind(), lambda x: x.clone().mul_(3)])
def test_views_and_results_of_in_place_operations(x, make):
    assert gradcheck(make, x, check_forward_ad=True)


@pytest.mark.parametrize(
    "array", [np.ones((3, 2)).T, np.ones((2, 6))[:, ::2], np.ones(()), np.ones((0, 2)), np.ones(1)]
)
@both_modes
def test_inputs_of_every_layout(array, fast_mode):
    x = numgrad.from_numpy(array).requires_grad_()
    assert gradcheck(lambda a: (a * a, a[:0] if a.dim() else a), x, fast_mode=fast_mode, check_forward_ad=True)


def test_an_input_that_does_not_matter(x):
    assert gradcheck(lambda a, b: b * 2, (x, x.detach().clone().requires_grad_()), check_forward_ad=True)


# --- errors ---------------------------------------------------------------------------------------------


def test_both_jacobians_are_shown(x):
    assert message(function(double, times(3)), x).startswith(
        """\
Jacobian mismatch for output 0 with respect to input 0,
numerical:tensor([[2.0000, 0.0000, 0.0000, 0.0000],
        [0.0000, 2.0000, 0.0000, 0.0000],
        [0.0000, 0.0000, 2.0000, 0.0000],
        [0.0000, 0.0000, 0.0000, 2.0000]], dtype=torch.float64)
analytical:tensor([[3., 0., 0., 0.],
        [0., 3., 0., 0.],
        [0., 0., 3., 0.],
        [0., 0., 0., 3.]], dtype=torch.float64)
"""
    )


@both_modes
def test_the_worst_entry_is_shown(fast_mode):
    def backward(ctx, gradient):
        result = (gradient * 2).unsqueeze(1).repeat(1, 3)
        result[0, 1] += 0.002 * gradient[0]  # this is within atol + rtol * 2
        result[1, 0] += 0.004 * gradient[1]
        result[1, 2] -= 0.02 * gradient[1]
        return result

    row_sums = function(lambda ctx, x: x.sum(1) * 2, backward)
    x = numgrad.ones(2, 3, dtype=float64, requires_grad=True)
    text = message(lambda number, y, x: (y + number, row_sums(x)), (3, x[0].detach(), x), fast_mode=fast_mode)
    worst = text[text.index("The worst entry") :]
    numerical = re.search(r"numerical value is ([\d.]+) ", worst)[1]
    assert float(numerical) == pytest.approx(2, abs=1e-8)
    assert worst.replace(numerical, "NUMBER").splitlines() == [
        "The worst entry, of 2 out of tolerance among 12: output[1] with respect to input[1, 2].",
        "There the numerical value is NUMBER and the analytical one 1.98. The difference 0.02 exceeds",
        "atol + rtol * |numerical| = 0.00201 by 0.01799.",
        "Output 0 has the shape [2] and the dtype torch.float64, input 0 (argument 2 of the function)",
        "the shape [2, 3] and the dtype torch.float64.",
    ]


def test_the_worst_entry_may_be_nan_or_a_scalar():
    x = tensor(2.0, dtype=float64, requires_grad=True)
    text = message(function(double, times(float("nan"))), x)
    assert "of 1 out of tolerance among 1: output with respect to input.\n" in text
    assert "and the analytical one nan. The difference nan exceeds" in text


def test_fast_mode_shows_the_products_and_the_jacobians(x):
    text = message(function(double, times(3)), x, fast_mode=True)
    numerical, analytical = re.search(r"numerical:([\d.]+)\nanalytical:([\d.]+)\n", text).groups()
    assert float(analytical) == pytest.approx(1.5 * float(numerical))
    assert "Numerical:\n tensor([[2.0000, 0.0000, 0.0000, 0.0000]," in text
    assert "Analytical:\ntensor([[3., 0., 0., 0.]," in text
    assert "computed \nin fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background" in text
    assert "The max per-element difference (slow mode) is: 1.0000000" in text
    assert "Fast gradcheck failed but" not in text


def test_fast_mode_says_when_slow_mode_would_pass():
    from numgrad import Generator

    u = Generator().uniform(2, np.dtype("float32")).tolist()  # the product with it is 0, and its tolerance small
    scale = tensor([[1000 / u[0], -1000 / u[1]]], dtype=float64)
    wrong = scale * tensor([1.0005, 1.0], dtype=float64)
    f = function(lambda ctx, x: (scale * x).sum(1), lambda ctx, gradient: (wrong * gradient).sum(0))
    x = numgrad.ones(2, dtype=float64, requires_grad=True)
    assert gradcheck(f, x)
    text = message(f, x, fast_mode=True)
    assert "Fast gradcheck failed but element-wise differences are small. This means that the\ntest might've" in text
    assert "The worst entry, of 0 out of tolerance among 2: " in text
    assert " is within\natol + rtol" in text


def test_the_tolerances(x):
    off = function(double, times(2.001))
    assert gradcheck(off, x)
    assert gradcheck(off, x, atol=0.0011, rtol=0.0)
    assert "mismatch" in message(off, x, rtol=1e-4)
    assert "mismatch" in message(off, x, atol=0.0009, rtol=0.0)
    bent = function(lambda ctx, x: x * x * x, lambda ctx, gradient: gradient * 3)  # exact at 1 up to eps**2
    one = tensor(1.0, dtype=float64, requires_grad=True)
    assert gradcheck(bent, one)
    assert "numerical:tensor([[3.0100]]" in message(bent, one, eps=0.1)


@both_modes
@pytest.mark.parametrize("mode", ["check_backward_ad", "check_forward_ad"])
def test_the_tolerance_is_that_of_an_element(mode, fast_mode):
    options = {"check_backward_ad": False, mode: True, "rtol": 0.0, "fast_mode": fast_mode}
    x = numgrad.ones(30, dtype=float64, requires_grad=True)

    def total(ctx, x):
        return x.sum().expand(20).clone()

    for error, within in [(0.9e-5, True), (1.1e-5, False)]:  # of each element; a product sums 600 of them
        f = function(
            total,
            lambda ctx, gradient, factor=1 + error: (gradient.sum() * factor).expand(30).clone(),
            lambda ctx, tangent, factor=1 + error: (tangent.sum() * factor).expand(20).clone(),
        )
        assert gradcheck(f, x, raise_exception=False, **options) is within


@both_modes
def test_which_output_and_which_input(x, fast_mode):
    wrong = function(double, times(3))
    y = x.detach().clone().requires_grad_()
    text = message(lambda a, b: (a.detach(), a * b, a + wrong(b)), (x, y), fast_mode=fast_mode)
    assert text.startswith("Jacobian mismatch for output 1 with respect to input 1,")  # among the checked ones


@both_modes
def test_a_gradient_of_none_is_one_of_zeros(x, fast_mode):
    assert "mismatch" in message(function(double, lambda ctx, gradient: None), x, fast_mode=fast_mode)
    constant = function(lambda ctx, x: x.new_ones(2), lambda ctx, gradient: None)
    assert gradcheck(constant, x, fast_mode=fast_mode)


@both_modes
def test_a_backward_that_is_not_reentrant(x, fast_mode):
    text = message(function(double, drifting(1e-7)), x, fast_mode=fast_mode)
    assert text.startswith("Backward is not reentrant, i.e., running backward with same input and grad_output multiple")
    assert "The tolerance for nondeterminism was 0.0. The largest difference was " in text
    assert gradcheck(function(double, drifting(1e-7)), x, nondet_tol=1e-3, fast_mode=fast_mode)


@both_modes
def test_a_backward_that_ignores_its_gradient(x, fast_mode):
    ones = x.new_ones(2, 2)
    f = function(lambda ctx, x: x.sum(), lambda ctx, gradient: ones)
    assert message(f, x, fast_mode=fast_mode) == "backward not multiplied by grad_output"


def without_zeros(ctx, x):
    """Return twice ``x``; missing gradients stay None."""
    ctx.set_materialize_grads(False)
    return x * 2


@both_modes
def test_missing_gradients(x, fast_mode):
    def demanding(ctx, gradient):
        if gradient is None:
            raise RuntimeError("a gradient is needed")
        return gradient * 2

    def inventive(ctx, gradient):
        return x.new_ones(2, 2) if gradient is None else gradient * 2

    def graceful(ctx, gradient):
        return None if gradient is None else gradient * 2

    for backward, words in [
        (demanding, "Expected backward function to handle undefined output grads."),
        (inventive, "Expected all input grads to be undefined or zero when all output grads are undefined or zero."),
    ]:
        f = function(without_zeros, backward)
        with pytest.warns(UserWarning, match="New undefined gradient support checking feature"):
            assert message(f, x, fast_mode=fast_mode).startswith(words)
        assert gradcheck(f, x, fast_mode=fast_mode, check_undefined_grad=False)
    assert gradcheck(function(without_zeros, graceful), x, fast_mode=fast_mode)


def test_one_of_two_gradients_is_missing(x):
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    def backward(ctx, a, b):
        if b is None and a is not None and not a.any():
            return x.new_ones(2, 2)
        parts = [gradient * factor for gradient, factor in ((a, 2), (b, 3)) if gradient is not None]
        return sum(parts) if parts else None

    f = function(forward, backward)
    with pytest.warns(UserWarning, match="check_undefined_grad=False"):
        assert message(f, x).startswith("Expected all input grads to be undefined or zero")
    assert gradcheck(f, x, check_undefined_grad=False)


@both_modes
def test_outputs_without_a_graph(x, fast_mode):
    options = {"fast_mode": fast_mode, "check_forward_ad": True}
    text = message(lambda x: x.detach() * 2, x, **options)
    assert text == (
        "Numerical gradient for function expected to be zero: no output requires a gradient, but the outputs change "
        "with argument 0 of the function. Is something detached, or recording off (no_grad)?"
    )
    assert gradcheck(lambda x: (x.new_ones(2), x.argmax(), x > 0), x, **options)
    assert gradcheck(lambda x: (), x, **options)
    assert gradcheck(lambda x: (x.detach() * 2, x * 3), x, **options)  # only inputs that require a gradient are checked
