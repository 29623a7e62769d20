"""Every differentiable operation, in every layout: its rules are the derivatives, on every path they are taken."""

import numpy as np
import pytest
from ops.gradients import check_gradients, differentiable, weights_for
from ops.samples import SAMPLES
from ops.sampling import OVER_STRIDES, REPRESENTATIVES

import numgrad
from numgrad.ops.table.elementwise import Pointwise

CASES = [
    case for sample in SAMPLES for case in sample.cases(shape=(2, 3))
    if "float64" in sample.dtypes and any(case.differentiable()) and case.is_in_turn
]


def marked_cases():
    """All cases; those of pointwise operations over strides take long, except for a few operations."""
    for case in CASES:
        is_pointwise = isinstance(case.op, Pointwise)
        takes_long = case.layout in OVER_STRIDES and is_pointwise and case.op.name not in REPRESENTATIVES
        yield pytest.param(case, id=str(case), marks=[pytest.mark.long] * takes_long)


@pytest.mark.parametrize("case", [*marked_cases()])
def test_first_and_second_derivative(case):
    leaves = case.leaves("float64", requires_grad=True)
    mean_of_nothing = any(np.isnan(array).any() for array in case.expected(*leaves))
    check_gradients(case, *leaves, order=1 if mean_of_nothing else 2)


#: Contiguous cases of several differentiable inputs; of pointwise operations, which all go the same way, few.
OF_SEVERAL = [
    case for case in CASES if sum(case.differentiable()) > 1 and case.layout == "contiguous"
    and (not isinstance(case.op, Pointwise) or case.op.name in REPRESENTATIVES)
]


def first_of_each(cases):
    """The first case of each operation."""
    return {case.sample.name: case for case in reversed(cases)}.values()


def alone():
    """Each operation's first case of several inputs, with the number of the one that requires a gradient."""
    return [
        pytest.param(case, number, id=f"{case}-{number}")
        for case in first_of_each(OF_SEVERAL)
        for number, differentiable in enumerate(case.differentiable()) if differentiable
    ]


@pytest.mark.long
@pytest.mark.parametrize(("case", "number"), alone())
def test_derivative_for_one_input_alone(case, number):
    leaves = case.leaves("float64")
    leaves[number].requires_grad = True
    check_gradients(case, *leaves)


def with_numbers():
    """Cases of pointwise operations, with the operand that is a number."""
    return [
        pytest.param(case, number, id=f"{case}-{number}")
        for case in OF_SEVERAL if case.sample.shapes is None
        for number, differentiable in enumerate(case.differentiable()) if differentiable
    ]


@pytest.mark.parametrize(("case", "number"), with_numbers())
def test_derivatives_with_a_number(case, number):
    leaves = case.leaves("float64", requires_grad=True)
    leaves[number] = leaves[number][1, 1].item()
    check_gradients(case, *leaves)


def gradients_by_every_path(case, dtype):
    """The inputs' gradients by ``backward`` (rows), by ``grad`` (one kernel) and as recorded for a second one."""
    weights = [weights_for(output, number) for number, output in enumerate(differentiable(case(*case.leaves(dtype))))]
    results = []
    for path in ("rows", "kernel", "recorded"):
        leaves = case.leaves(dtype, requires_grad=True)
        wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
        outputs = differentiable(case(*leaves))
        if path == "rows":
            numgrad.autograd.backward(outputs, weights)
            results.append([leaf.grad for leaf in wanted])
        else:
            recorded = [weight.detach().requires_grad_() for weight in weights] if path == "recorded" else weights
            results.append(numgrad.autograd.grad(outputs, wanted, recorded, create_graph=path == "recorded"))
    return results


def in_both_dtypes():
    """float64, and each operation's first case in float32; transposed pointwise ones, too: others mean more kernels."""
    contiguous = [case for case in CASES if case.layout == "contiguous"]
    transposed = [case for case in CASES if case.layout == "transposed" and isinstance(case.op, Pointwise)]
    return [
        pytest.param(case, dtype, id=f"{case}-{dtype}")
        for dtype, cases in (("float32", first_of_each(contiguous)), ("float64", [*contiguous, *transposed]))
        for case in cases
    ]


@pytest.mark.long
@pytest.mark.parametrize(("case", "dtype"), in_both_dtypes())
def test_kernels_and_recorded_rules_agree(case, dtype):
    rows, kernel, recorded = gradients_by_every_path(case, dtype)
    relative = {"float32": 2e-6, "float64": 4e-15}[dtype]
    for by_rows, by_kernel, by_record in zip(rows, kernel, recorded, strict=True):
        assert by_rows.dtype is by_kernel.dtype is by_record.dtype is getattr(numgrad, dtype)
        assert by_record.requires_grad or not by_record.any()  # zeros of constants have no graph
        np.testing.assert_allclose(by_rows.numpy(), by_record.detach().numpy(), relative, relative)
        np.testing.assert_allclose(by_kernel.numpy(), by_record.detach().numpy(), relative, relative)


def test_finite_differences_find_a_wrong_derivative():
    def tripled(x):  # its gradient is said to be twice the incoming one
        return Tripled.apply(x)

    class Tripled(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = numgrad.tensor([1.0, 2.0], dtype=numgrad.float64, requires_grad=True)
    with pytest.raises(AssertionError, match="gradient of input 0"):
        check_gradients(tripled, x, order=1)


def test_finite_differences_find_a_derivative_that_is_not_recorded():
    class Square(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x.detach()

    x = numgrad.tensor([1.0, 2.0], dtype=numgrad.float64, requires_grad=True)
    check_gradients(Square.apply, x, order=1)
    with pytest.raises(AssertionError, match="gradient of input 0"):
        check_gradients(Square.apply, x)
