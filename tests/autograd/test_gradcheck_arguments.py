"""Arguments of ``gradcheck``: inputs, outputs and options that it cannot check; PyTorch's older functions."""

import numpy as np
import pytest
from derivative_checks import both_modes, double, drifting, function, real_input

from numgrad import complex128, float32, float64, tensor
from numgrad.autograd import gradcheck, gradgradcheck
from numgrad.autograd.gradcheck import GradcheckError


@pytest.fixture
def x():
    return real_input()


# --- functions that cannot be checked -------------------------------------------------------------------


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
@pytest.mark.parametrize("inputs", [lambda x: x.detach(), lambda x: (), lambda x: ([x],), lambda x: 3])
def test_no_input_that_requires_a_gradient(x, check, inputs):
    with pytest.raises(ValueError, match="gradcheck expects at least one input tensor to require gradient"):
        check(lambda *given: x * 2, inputs(x), raise_exception=False)


@pytest.mark.parametrize("output", [None, 2.0, np.ones(2)])
def test_outputs_that_are_not_tensors(x, output):
    with pytest.raises(TypeError, match=f"its output 1 is a {type(output).__name__}$"):
        gradcheck(lambda x: (x * 2, output), x)


@pytest.mark.parametrize(("shape", "strides", "words"), [
    ((2, 3), (0, 1), "a dimension with stride 0"),
    ((2, 2), (1, 1), "elements that share memory"),
])  # fmt: skip
def test_inputs_whose_elements_share_memory(x, shape, strides, words):
    overlapping = x.new_ones(4).as_strided(shape, strides)
    assert gradcheck(lambda x, y: x.sum() * y, (x, overlapping))
    overlapping.requires_grad_()
    with pytest.raises(RuntimeError, match=f"The 1th input has {words}. gradcheck only supports inputs that are non-"):
        gradcheck(lambda x, y: x.sum() * y, (x, overlapping), raise_exception=False)


def test_inputs_of_single_precision(x):
    single = x.detach().to(float32).requires_grad_()
    with pytest.warns(UserWarning, match="Input #1 requires gradient and is not a double precision floating point or"):
        assert gradcheck(lambda a, b: a * b, (x, single), eps=1e-2, atol=1e-2)
    with pytest.warns(UserWarning, match="Input #0"), pytest.raises(GradcheckError, match="numerical:tensor"):
        gradcheck(lambda a: a * 2, single)


@both_modes
@pytest.mark.parametrize(("other", "words"), [
    (lambda y: y[:1], r"same shape when inputs are perturbed.* by 1e-06, but got: shapes torch.Size\(\[1, 2\]\) and"),
    (lambda y: y.to(float32), "same dtype when inputs are perturbed.*: dtypes torch.float32 and torch.float64."),
    (lambda y: (y, y), "the same number of outputs at each call, but got: 1 and 2"),
])  # fmt: skip
def test_outputs_that_change_their_kind(x, other, words, fast_mode):
    with pytest.raises(AssertionError, match=words):
        gradcheck(lambda x: x * 2 if x.sum().item() >= 3.5 else other(x * 2), x, fast_mode=fast_mode)


def test_outputs_that_change_their_size_near_the_point(x):
    with pytest.raises(AssertionError, match="same shape when inputs are perturbed, but got 4 elements and 2"):
        gradcheck(lambda x: x * 2 if x.sum().item() == 3.5 else x[0] * 2, x)


@pytest.mark.parametrize(("check", "options", "words"), [
    (gradcheck, {"check_backward_ad": False}, "at least one of check_forward_ad or check_backward_ad"),
    (gradcheck, {"check_batched_forward_grad": True}, "check_batched_forward_grad=True requires check_forward_ad"),
    (gradcheck, {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
     "check_batched_grad=True requires check_backward_ad"),
    (gradgradcheck, {"check_rev_over_rev": False}, "at least one of check_fwd_over_rev or check_rev_over_rev"),
    (gradgradcheck, {"check_rev_over_rev": False, "check_fwd_over_rev": True},
     "check_undefined_grad=True requires check_rev_over_rev"),
    (gradgradcheck, {"check_rev_over_rev": False, "check_fwd_over_rev": True, "check_undefined_grad": False,
                     "check_batched_grad": True}, "check_batched_grad=True requires check_rev_over_rev"),
])  # fmt: skip
def test_options_that_contradict_each_other(x, check, options, words):
    with pytest.raises(AssertionError, match=words):
        check(lambda x: x * 2, x, **options)


def test_errors_of_the_function_go_through(x):
    def fails(ctx, gradient):
        raise KeyError("from backward")

    with pytest.raises(KeyError, match="from backward"):
        gradcheck(function(double, fails), x, raise_exception=False)


# --- PyTorch's older functions --------------------------------------------------------------------------


def test_numerical_jacobians(x):
    from numgrad.autograd.gradcheck import get_numerical_jacobian, get_numerical_jacobian_wrt_specific_input

    y = tensor([2.0, 3.0], dtype=float64, requires_grad=True)
    with pytest.warns(FutureWarning, match="`get_numerical_jacobian` was part of PyTorch's private API"):
        jacobians = get_numerical_jacobian(lambda given: (given[0].sum(1) * given[1], 3), (x, y))
    expected = [[[2, 0], [2, 0], [0, 3], [0, 3]], [[1.25, 0], [0, 2.25]]]
    for jacobian, wanted in zip(jacobians, expected, strict=True):
        np.testing.assert_allclose(jacobian.numpy(), wanted, atol=1e-9)
    with pytest.warns(FutureWarning, match="private"):
        (jacobian,) = get_numerical_jacobian(lambda given: given[0].sum(1) * given[1], (x, y), target=y)
    np.testing.assert_allclose(jacobian.numpy(), expected[1], atol=1e-9)
    first, second = get_numerical_jacobian_wrt_specific_input(
        lambda a, b: (b * b, b.sum()), 1, (x, y), (y * y, y.sum()), 1e-6
    )
    np.testing.assert_allclose(first.numpy(), [[4, 0], [0, 6]], atol=1e-8)
    np.testing.assert_allclose(second.numpy(), [[1], [1]], atol=1e-8)
    z = tensor([1j], dtype=complex128)
    for is_forward_ad, derivative in [(False, 2j), (True, 1)]:  # of |z|**2 + z: for z = x + iy 2x + 1 and 2y + i
        (jacobian,) = get_numerical_jacobian_wrt_specific_input(
            lambda z: z.abs() ** 2 + z, 0, (z,), (z,), 1e-6, is_forward_ad=is_forward_ad
        )
        np.testing.assert_allclose(jacobian.numpy(), [[derivative]], atol=1e-8)
    with pytest.warns(FutureWarning, match="private"), pytest.raises(ValueError, match=r"grad_out != 1\.0"):
        get_numerical_jacobian(lambda given: given[0], (x,), grad_out=2.0)


def test_analytical_jacobians(x):
    from numgrad.autograd.gradcheck import get_analytical_jacobian

    y = tensor([2.0, 3.0], dtype=float64, requires_grad=True)
    with pytest.warns(FutureWarning, match="`get_analytical_jacobian` was part of PyTorch's private API"):
        jacobians, *agreed = get_analytical_jacobian((x, x.detach(), y), x.sum(1) * y)
    assert [jacobian.tolist() for jacobian in jacobians] == [[[2, 0], [2, 0], [0, 3], [0, 3]], [[1.25, 0], [0, 2.25]]]
    assert agreed == [True, True, True]
    with pytest.warns(FutureWarning, match="private"):
        _, reentrant, _, _ = get_analytical_jacobian((x,), function(double, drifting(0.1))(x))
    assert reentrant is False
    with pytest.warns(FutureWarning, match="private"), pytest.raises(ValueError, match="output to be non-complex"):
        get_analytical_jacobian((x,), x * 1j)
