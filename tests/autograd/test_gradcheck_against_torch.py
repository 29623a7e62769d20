"""Derivatives that are right and wrong: PyTorch's ``gradcheck`` and numgrad's agree and begin with the same message."""

import re
import warnings

import derivative_checks
import pytest
from autograd_programs import Programs, assert_same
from derivative_checks import double, drifting, times

pytestmark = pytest.mark.torch

program = Programs()


def real(m, shape=(2, 2), dtype="float64"):
    values = [0.5 + 0.25 * number for number in range(shape[0] * shape[1])]
    return m.tensor(values, dtype=getattr(m, dtype)).reshape(shape).requires_grad_()


def imaginary(m):
    return m.tensor([0.5 + 1j, 0.75 - 0.5j], dtype=m.complex128, requires_grad=True)


def function(m, *methods):
    return derivative_checks.function(*methods, base=m.autograd.Function)


def double_without_zeros(ctx, x):
    ctx.set_materialize_grads(False)
    return x * 2


def judged(m, show, check, function, inputs, **options):
    """Return a check's result or error, and its warnings; long messages are cut and numbers rounded."""
    m.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            said = str(check(function, inputs, **options))
        except (RuntimeError, ValueError, AssertionError) as error:
            said = f"{type(error).__name__} {error}"
    for beginning in ("The tolerance for", "Please look at", "A Function that", ": no output", "(It has the", "\n\n"):
        said = said.partition(beginning)[0]
    said = re.sub(r"-?\d+\.\d+(e-\d+)?", lambda number: f"{float(number[0]):.6f}", said).rstrip()
    show(said, [str(warning.message)[:60] for warning in caught if "torch.jit" not in str(warning.message)])


def in_both_modes(m, show, function, inputs, check="gradcheck", **options):
    for fast_mode in (False, True):
        judged(m, show, getattr(m.autograd, check), function, inputs, fast_mode=fast_mode, **options)


@program
def right(m, show):
    in_both_modes(m, show, lambda x, n: (x**n, x.sum(1)), (real(m), 3), check_forward_ad=True)
    in_both_modes(m, show, lambda x, y: x * y, (real(m), real(m, (2, 1))), "gradgradcheck", check_fwd_over_rev=True)
    in_both_modes(m, show, lambda x: x * x, real(m), check_batched_grad=True)


@program
def wrong(m, show):
    for factor in (3, 2.1, 2.001, float("nan")):
        in_both_modes(m, show, function(m, double, times(factor)), real(m))
    in_both_modes(m, show, function(m, double, lambda ctx, gradient: None), real(m))
    f = function(m, double, times(3))
    in_both_modes(m, show, lambda x, y: (x * y, f(y) + x, x.detach()), (real(m), real(m)))
    in_both_modes(m, show, f, real(m), raise_exception=False)
    in_both_modes(m, show, lambda x: x * f(x), real(m, (1, 3)), atol=10.0)


@program
def of_single_precision(m, show):
    in_both_modes(m, show, lambda x, y: x * y, (real(m), real(m, dtype="float32")), eps=1e-2, atol=1e-2)


@program
def not_reentrant(m, show):
    for tolerance in (0.0, 1e-9, 1e-2):
        in_both_modes(m, show, function(m, double, drifting(1e-7)), real(m), nondet_tol=tolerance)


@program
def ignoring_its_gradient(m, show):
    ones = m.ones(2, 2, dtype=m.float64)
    in_both_modes(m, show, function(m, lambda ctx, x: x.sum(), lambda ctx, gradient: ones), real(m))


@program
def missing_gradients(m, show):
    def demanding(ctx, gradient):
        if gradient is None:
            raise RuntimeError("a gradient is needed")
        return gradient * 2

    def inventive(ctx, gradient):
        return m.ones(2, 2, dtype=m.float64) if gradient is None else gradient * 2

    def graceful(ctx, gradient):
        return None if gradient is None else gradient * 2

    for backward in (demanding, inventive, graceful):
        f = function(m, double_without_zeros, backward)
        in_both_modes(m, show, f, real(m))
        in_both_modes(m, show, f, real(m), check_undefined_grad=False)


@program
def outputs_without_a_graph(m, show):
    for f in (lambda x: x.detach() * 2, lambda x: m.ones(2), lambda x: x.argmax(), lambda x: (x * 2, x.detach())):
        in_both_modes(m, show, f, real(m))
    in_both_modes(m, show, lambda x: x.detach() * 2, real(m), raise_exception=False)


@program
def what_cannot_be_checked(m, show):
    in_both_modes(m, show, lambda x: x * 2, real(m).detach())
    in_both_modes(m, show, lambda x: x * 2, 3)
    in_both_modes(m, show, lambda x: x * 2, real(m, (1, 2)).detach().expand(2, 2).requires_grad_())
    for other in (lambda y: y[:1], lambda y: y.to(m.float32)):
        in_both_modes(m, show, lambda x, other=other: x * 2 if x.sum().item() >= 3.5 else other(x), real(m))


@program
def contradicting_options(m, show):
    for options in (
        {"check_backward_ad": False}, {"check_batched_forward_grad": True},
        {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
    ):  # fmt: skip
        judged(m, show, m.autograd.gradcheck, lambda x: x, real(m), **options)
    for options in (
        {"check_rev_over_rev": False}, {"check_rev_over_rev": False, "check_fwd_over_rev": True},
    ):  # fmt: skip
        judged(m, show, m.autograd.gradgradcheck, lambda x: x, real(m), **options)


@program
def tangents(m, show):
    only = {"check_forward_ad": True, "check_backward_ad": False}
    for factor in (2, 3):
        in_both_modes(m, show, function(m, double, times(2), times(factor)), real(m), check_forward_ad=True)
        in_both_modes(m, show, function(m, double, times(3), times(factor)), real(m), **only)
    in_both_modes(m, show, lambda x, y: x * 2, (real(m), real(m)), **only)


@program
def batches(m, show):
    options = {"nondet_tol": 1.0, "atol": 1.0, "check_batched_grad": True}
    in_both_modes(m, show, function(m, double, drifting(1e-2)), real(m), **options)
    f = function(m, double, lambda ctx, gradient: gradient * (2 if gradient.sum().item() < 100 else 3))
    in_both_modes(m, show, f, real(m), check_batched_grad=True, raise_exception=False)
    options = {"check_forward_ad": True, "check_backward_ad": False, "check_batched_forward_grad": True}
    in_both_modes(m, show, function(m, double, None, drifting(1e-2)), real(m), atol=1.0, **options)
    in_both_modes(m, show, lambda x: (x.sin(), x.sum(1)), real(m), **options)


def cube(ctx, x):
    ctx.save_for_backward(x)
    return x * x * x


@program
def second_derivatives(m, show):
    def right(ctx, gradient):
        return gradient * 3 * ctx.saved_tensors[0] ** 2

    def wrong(ctx, gradient):
        return gradient * 3 * ctx.saved_tensors[0].detach() ** 2

    for backward in (right, wrong):
        in_both_modes(m, show, function(m, cube, backward), real(m), "gradgradcheck")
        in_both_modes(m, show, function(m, cube, backward), real(m), "gradgradcheck", grad_outputs=real(m))
    in_both_modes(m, show, lambda x: (x * x, x * 3), real(m), "gradgradcheck", grad_outputs=real(m))
    once = m.autograd.function.once_differentiable
    in_both_modes(m, show, function(m, cube, once(right)), real(m), "gradgradcheck", raise_exception=False)


@program
def complex_functions(m, show):
    def scaled(real, imag):
        return lambda ctx, given: m.complex(given.real * real, given.imag * imag)

    in_both_modes(m, show, lambda z: z * z, imaginary(m))
    in_both_modes(m, show, lambda x, z: x[0] * z, (real(m), imaginary(m)))
    in_both_modes(m, show, lambda z: z.detach() * 2, imaginary(m))
    for factors in ((2, 2), (2, 3), (3, 2)):
        in_both_modes(m, show, function(m, double, scaled(*factors)), imaginary(m))
        f = function(m, double, None, scaled(*factors))
        judged(m, show, m.autograd.gradcheck, f, imaginary(m), check_forward_ad=True, check_backward_ad=False)
    in_both_modes(m, show, function(m, lambda ctx, z: z * 2j, times(2j)), imaginary(m))
    in_both_modes(m, show, function(m, lambda ctx, z: z * 2j, times(-2j)), imaginary(m))


@pytest.mark.parametrize("function", program)
def test_programs(function):
    assert_same(function)
