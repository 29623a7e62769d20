"""``gradcheck`` of tangents, batches, second derivatives and complex functions."""

import importlib

import pytest
from derivative_checks import both_modes, complex_input, double, drifting, function, message, real_input, times

import numgrad
from numgrad import float32
from numgrad.autograd import gradcheck, gradgradcheck
from numgrad.autograd.function import once_differentiable
from numgrad.autograd.gradcheck import GradcheckError


@pytest.fixture
def x():
    return real_input()


@pytest.fixture
def z():
    return complex_input()


# --- forward mode ---------------------------------------------------------------------------------------


@both_modes
def test_tangents(x, fast_mode):
    right, wrong = function(double, times(2), times(2)), function(double, times(2), times(3))
    only = {"check_forward_ad": True, "check_backward_ad": False, "fast_mode": fast_mode}
    for options in (only, {**only, "check_backward_ad": True}):
        assert gradcheck(right, x, **options)
        text = message(wrong, x, **options)
        assert text.startswith("Jacobian computed with forward mode mismatch for output 0 with respect to input 0,\n")
        assert ("Numerical:" in text) is fast_mode
    assert gradcheck(function(double, times(3), times(2)), x, **only)
    assert message(function(double, times(3), times(3)), x, **{**only, "check_backward_ad": True}).startswith(
        "Jacobian mismatch"  # backward comes first
    )


def test_a_function_without_forward_mode(x):
    with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        gradcheck(function(double, times(2)), x, check_forward_ad=True)


def two_inputs(ctx, a, b):
    ctx.set_materialize_grads(False)
    return a * 2 + b * 3


@both_modes
def test_missing_tangents(x, fast_mode):
    y = x.detach().clone().requires_grad_()
    options = {"check_forward_ad": True, "check_backward_ad": False, "fast_mode": fast_mode}

    def graceful(ctx, a, b):
        return (0 if a is None else a * 2) + (0 if b is None else b * 3)

    def inventive(ctx, a, b):
        return (x.new_ones(2, 2) if a is None else a * 2) + (0 if b is None else b * 3)

    assert gradcheck(function(two_inputs, None, graceful), (x, y), **options)
    f = function(two_inputs, None, inventive)
    text = message(lambda number, a, b: f(a, b), (1, x, y), **options)
    assert text.startswith("Mismatch in tangent values for output with index: 0 when input: tensor([[0.5000, 0.7500],")
    assert "(argument 1 of the function) has an undefined tangent value.  Got: tensor(" in text
    assert gradcheck(f, (x, y), check_undefined_grad=False, **options)


def test_dtypes_of_tangents(x):
    f = function(double, times(2), lambda ctx, tangent: (tangent * 2).to(float32))
    options = {"check_forward_ad": True, "check_backward_ad": False}
    assert gradcheck(f, x, **options)
    assert message(f, x, check_grad_dtypes=True, **options) == (
        "Gradient has dtype mismatch: it is torch.float32, but is to be torch.float64"
    )


# --- batches --------------------------------------------------------------------------------------------


@both_modes
def test_batched_gradients(x, fast_mode):
    options = {"nondet_tol": 1.0, "atol": 1.0, "fast_mode": fast_mode, "check_batched_grad": True}
    text = message(function(double, drifting(1e-2)), x, **options)
    assert text.startswith("For output 0 and input 0:\n\ngradcheck or gradgradcheck failed while testing batched")
    assert "\n\nGot:\ntensor([[[" in text
    assert "\n\nExpected:\ntensor([[[" in text
    assert gradcheck(function(double, drifting(1e-2)), x, **{**options, "check_batched_grad": False})


def test_a_backward_that_looks_at_values_has_no_batches(x):
    f = function(double, lambda ctx, gradient: gradient * (2 if gradient.sum().item() < 100 else 3))
    assert gradcheck(f, x)
    text = message(f, x, check_batched_grad=True)
    assert text.startswith("While computing batched gradients, got: vmap: It looks like you're calling .item()")
    assert "pass check_batched_grad=False" in text


def test_batched_gradients_that_cannot_be_computed(x):
    calls = iter(range(1000))

    def backward(ctx, gradient):
        if next(calls) == 10:  # two runs for each of four elements, two gradients alone; then comes the batch
            raise RuntimeError("not in a batch")
        return gradient * 2

    with pytest.raises(GradcheckError) as caught:
        gradcheck(function(double, backward), x, check_batched_grad=True)
    assert str(caught.value).startswith("While computing batched gradients, got: not in a batch\n\ngradcheck or")
    assert str(caught.value.__cause__) == "not in a batch"


@both_modes
def test_batched_tangents(x, fast_mode):
    options = {
        "check_forward_ad": True, "check_backward_ad": False, "check_batched_forward_grad": True, "fast_mode": fast_mode
    }  # fmt: skip
    assert gradcheck(lambda x: (x * x, x.sum(1)), x, **options)
    options |= {"atol": 1.0}
    text = message(function(double, None, drifting(1e-2)), x, **options)
    assert text.startswith("For output 0 and input 0:\n\ngradcheck failed while testing batched gradient computation")
    assert "\n\nGot:\ntensor([[[" in text
    assert gradcheck(function(double, None, drifting(1e-2)), x, **{**options, "check_batched_forward_grad": False})


def test_batched_tangents_that_cannot_be_computed(x):
    def jvp(ctx, tangent):
        if next(calls) == 8:  # four elements, a tangent of zeros, two tangents alone; then comes the batch
            raise RuntimeError("not in a batch")
        return tangent * 2

    calls = iter(range(1, 1000))
    options = {"check_forward_ad": True, "check_backward_ad": False, "check_batched_forward_grad": True}
    with pytest.raises(GradcheckError) as caught:
        gradcheck(function(double, None, jvp), x, **options)
    assert str(caught.value).startswith("While computing batched gradients, got: not in a batch\n\ngradcheck failed")


# --- second derivatives ---------------------------------------------------------------------------------


def cube(ctx, x):
    ctx.save_for_backward(x)
    return x * x * x


@both_modes
def test_second_derivatives(x, fast_mode):
    right = function(cube, lambda ctx, gradient: gradient * 3 * ctx.saved_tensors[0] ** 2)
    wrong = function(cube, lambda ctx, gradient: gradient * 3 * ctx.saved_tensors[0].detach() ** 2)
    assert gradcheck(wrong, x, fast_mode=fast_mode)
    assert gradgradcheck(right, x, fast_mode=fast_mode)
    text = message(wrong, x, gradgradcheck, fast_mode=fast_mode)
    assert text.startswith("Jacobian mismatch for output 0 with respect to input 0,")
    with pytest.raises(GradcheckError) as caught:
        gradgradcheck(wrong, x)
    assert caught.value.__notes__[0].startswith("The function that was checked is the gradient of func: its outputs")


def test_options_reach_the_check_of_the_gradient(x, monkeypatch):
    module = importlib.import_module("numgrad.autograd.gradcheck")
    monkeypatch.setattr(module, "gradcheck", lambda function, inputs, **options: options)
    same = {"eps": 1e-5, "atol": 1e-4, "rtol": 1e-2, "raise_exception": False, "nondet_tol": 1e-3, "masked": True}
    for on in (False, True):
        same |= dict.fromkeys(["check_undefined_grad", "check_grad_dtypes", "check_batched_grad", "fast_mode"], on)
        options = gradgradcheck(lambda x: x * x, x, check_fwd_over_rev=not on, check_rev_over_rev=True, **same)
        assert options == {**same, "check_forward_ad": not on, "check_backward_ad": True}


def test_second_derivatives_of_a_backward_that_has_none(x):
    square = function(cube, once_differentiable(lambda ctx, gradient: gradient * 3 * ctx.saved_tensors[0] ** 2))
    assert gradcheck(square, x)
    assert message(square, x, gradgradcheck).startswith("Jacobian mismatch for output 0 with respect to input")


def test_gradients_of_outputs_are_given_or_random(x):
    numgrad.manual_seed(3)
    seen = []

    def backward(ctx, gradient):
        seen.append(gradient.detach())
        return gradient * 2

    f = function(double, backward)
    assert gradgradcheck(f, x)
    low, high = min(g.min().item() for g in seen), max(g.max().item() for g in seen)
    assert -1 <= low < 0 < high < 1
    assert all(gradient.is_contiguous() for gradient in seen)
    seen.clear()
    assert gradgradcheck(f, x, gen_non_contig_grad_outputs=True)
    assert not any(gradient.is_contiguous() for gradient in seen)
    seen.clear()
    weight = x.new_ones(2, 2)
    assert gradgradcheck(f, x, weight)
    assert all(gradient.tolist() == weight.tolist() for gradient in seen)


def test_outputs_for_which_no_gradient_is_given(x):
    wrong = function(cube, lambda ctx, gradient: gradient * 3 * ctx.saved_tensors[0].detach() ** 2)
    weight = x.new_ones(2, 2)
    assert gradgradcheck(lambda x: (wrong(x), x * x), x, (None, weight))
    text = message(lambda x: (wrong(x), x * x), x, gradgradcheck, grad_outputs=(weight, None))
    assert text.startswith("Numerical gradient for function expected to be zero:")  # the first gradient has no graph


def test_gradients_that_do_not_fit_the_outputs(x):
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        gradgradcheck(lambda x: (x * 2, x * 3), x, x.new_ones(2, 2))
    for grad_outputs in (None, (None,)):
        with pytest.raises(ValueError, match="gradgradcheck expects a function with an output that requires a grad"):
            gradgradcheck(lambda x: x.detach() * 2, x, grad_outputs)


@both_modes
def test_forward_mode_through_backward(x, fast_mode):
    def square(tangent_factor):
        """Returns twice the saved value in backward; its tangent is right for the factor 2."""
        doubled = function(double, times(2), times(tangent_factor))

        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        return function(forward, lambda ctx, gradient: gradient * doubled(ctx.saved_tensors[0]), times(1))

    options = {"check_fwd_over_rev": True, "fast_mode": fast_mode}
    assert gradgradcheck(square(2), x, **options)
    assert gradgradcheck(square(3), x, fast_mode=fast_mode)
    for more in ({}, {"check_rev_over_rev": False, "check_undefined_grad": False}):
        text = message(square(3), x, gradgradcheck, **options, **more)
        assert text.startswith("Jacobian computed with forward mode mismatch for output 0 with respect to input 0")


# --- complex numbers ------------------------------------------------------------------------------------


@both_modes
def test_complex_functions(x, z, fast_mode):
    assert gradcheck(lambda z: z * z, z, fast_mode=fast_mode)
    assert gradcheck(lambda z: (z.real * z.imag, z.conj() * 2), z, fast_mode=fast_mode)
    assert gradcheck(lambda a, z: a[0] * z, (x, z), fast_mode=fast_mode)
    assert gradgradcheck(lambda z: z * z, z, fast_mode=fast_mode)


@both_modes
def test_the_convention_is_conjugate(z, fast_mode):
    wrong = function(lambda ctx, z: z * 2j, times(2j))
    assert gradcheck(function(lambda ctx, z: z * 2j, times(-2j)), z, fast_mode=fast_mode)
    text = message(wrong, z, fast_mode=fast_mode)
    assert text.startswith("While considering the imaginary part of complex outputs only, Jacobian mismatch for output")
    assert "tensor([[2.0000+0.j, 0.0000+0.j],\n        [0.0000+0.j, 2.0000+0.j]], dtype=torch.complex128)" in text


def test_which_part_is_wrong(z):
    def scaled(real, imag):
        return lambda ctx, given: numgrad.complex(given.real * real, given.imag * imag)

    for factors, part in [((2, 3), "imaginary"), ((3, 2), "real")]:
        text = message(function(double, scaled(*factors)), z)
        assert text.startswith(f"While considering the {part} part of complex outputs only, Jacobian mismatch")
        text = message(function(double, None, scaled(*factors)), z, check_forward_ad=True, check_backward_ad=False)
        assert text.startswith(f"While considering the {part} part of complex inputs only, Jacobian computed with forw")
