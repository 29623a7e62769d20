"""Gradients of complex numbers: every entry of the table that takes such has the right ones, or they are refused."""

import re

import numpy as np
import pytest
from ops.gradients import check_gradients, differentiable, weights_for
from ops.samples import SAMPLES
from ops.sampling import MAKING, REAL, takes_complex

import numgrad
from numgrad.autograd import forward_ad
from numgrad.ops.table.elementwise import Pointwise
from numgrad.ops.table.op import ops


def first_cases(layout):
    """The first case of each entry in a layout."""
    found = {}
    for sample in SAMPLES:
        if takes_complex(ops[sample.name]) and any(domain.dtype is None for domain in sample.domains):
            for case in sample.cases(shape=(2, 3)):
                if case.layout == layout and any(case.differentiable()):
                    found.setdefault(sample.name, case)
    return list(found.values())


#: Pointwise entries that are tested in all ways; each way is another kernel.
FEW = {"mul", "div", "abs", "pow_tensor"}

CASES = first_cases("contiguous")
LAID_OUT = [case for case in first_cases("transposed") if not isinstance(case.op, Pointwise)]
LAID_OUT += [case for layout in ("transposed", "broadcast") for case in first_cases(layout) if case.op.name in FEW]


def test_every_entry_is_tried():
    expected = {sample.name for sample in SAMPLES if takes_complex(ops[sample.name])}
    assert {case.op.name for case in CASES} == expected
    assert set(ops) >= REAL | MAKING


@pytest.mark.parametrize("case", CASES, ids=str)
def test_first_and_second_derivative(case):
    check_gradients(case, *case.leaves("complex128", requires_grad=True))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_tangents_are_what_the_gradients_say(case):
    """The real part of ``<w, J t>`` is that of ``<J^H w, t>``."""
    random = np.random.default_rng(3)

    def numbers(tensor):
        values = random.uniform(0.5, 1.5, tensor.shape) + 1j * random.uniform(0.5, 1.5, tensor.shape)
        return numgrad.tensor(values if tensor.is_complex() else values.real, dtype=tensor.dtype)

    leaves = case.leaves("complex128", requires_grad=True)
    wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
    tangents = {id(leaf): numbers(leaf) for leaf in wanted}
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, tangents[id(x)]) if id(x) in tangents else x for x in leaves]
        outputs = [output for output in differentiable(case(*duals)) if output.requires_grad]
        weights = [numbers(output) for output in outputs]
        pushed = sum((w.conj() * forward_ad.unpack_dual(y).tangent).sum().real
                     for w, y in zip(weights, outputs, strict=True))
    gradients = numgrad.autograd.grad(outputs, wanted, weights, materialize_grads=True)
    pulled = sum((g.conj() * tangents[id(x)]).sum().real for g, x in zip(gradients, wanted, strict=True))
    np.testing.assert_allclose(pushed.item(), pulled.item(), 1e-10, 1e-12)


@pytest.mark.long
@pytest.mark.parametrize("case", LAID_OUT, ids=str)
def test_in_other_layouts(case):
    check_gradients(case, *case.leaves("complex128", requires_grad=True), order=1)


def with_one_other():
    """Cases of several operands, with the number of the one that is not a complex tensor."""
    return [
        pytest.param(case, number, id=f"{case}-{number}")
        for case in CASES if case.op.name in FEW | {"choose"} and sum(case.differentiable()) > 1
        for number, wanted in enumerate(case.differentiable()) if wanted
    ]


@pytest.mark.parametrize(("case", "number"), with_one_other())
def test_a_real_operand_of_complex_ones_has_a_real_gradient(case, number):
    leaves = case.leaves("complex128", requires_grad=True)
    leaves[number] = case.leaves("float64", requires_grad=True)[number]
    check_gradients(case, *leaves, order=1 + (case.op.name == "mul"))


@pytest.mark.parametrize(("case", "number"), with_one_other())
def test_derivatives_with_a_complex_number(case, number):
    leaves = case.leaves("complex128", requires_grad=True)
    leaves[number] = leaves[number][1, 1].item()
    check_gradients(case, *leaves, order=1)


@pytest.mark.parametrize("function", [
    lambda x: x * 1j, lambda x: x**2j, lambda x: (1 + 2j) / x, lambda x: x.to(numgrad.complex128).exp(),
    lambda x: numgrad.polar(x, x * x), lambda x: numgrad.complex(x, x * x).log(), lambda x: x.sub(x * x, alpha=2) + 1j,
    lambda x: x.sum(dtype=numgrad.complex128), lambda x: numgrad.zeros(2, 3, dtype=numgrad.complex128).copy_(x),
    lambda x: numgrad.zeros(2, 3, dtype=numgrad.complex128).index_put((numgrad.tensor([1, 0]),), x + 0j),
])
def test_of_real_numbers_that_become_complex(function):
    x = numgrad.tensor([[0.5, 1.5, -2.0], [1.0, -0.25, 3.0]], dtype=numgrad.float64, requires_grad=True)
    check_gradients(function, x, order=1)


@pytest.mark.parametrize("function", [
    lambda z: z.real * z.imag, lambda z: z.to(numgrad.float64), lambda z: z.sum(dtype=numgrad.float64),
    lambda z: z.prod(0, dtype=numgrad.float64), lambda z: z.cumprod(1, dtype=numgrad.float64), lambda z: z.abs().log(),
    lambda z: numgrad.zeros(2, 3, dtype=numgrad.float64).copy_(z), lambda z: z.angle() * z.norm(), lambda z: z.std(1),
    lambda z: numgrad.view_as_real(z.exp()).T, lambda z: z.norm(3, 1), lambda z: z.norm(float("inf")),
    lambda z: z.norm(1) + z.norm(0), lambda z: numgrad.where(z.abs() > 1.2, z.abs(), 0),
    lambda z: numgrad.nn.functional.l1_loss(z, numgrad.ones_like(z)), lambda z: numgrad.nan_to_num(z) * z,
])
@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_of_complex_numbers_that_become_real(function):
    z = numgrad.tensor([[0.5 + 1j, 1.5 - 2j, -2.0 + 0.1j], [1j, -0.25 - 1j, 3.0]], dtype=numgrad.complex128)
    check_gradients(function, z.requires_grad_(), order=1)


def written(change):
    """The function that changes a copy in place."""

    def function(*tensors):
        copy = tensors[0] * 1
        change(copy, *tensors[1:])
        return copy

    return function


@pytest.mark.parametrize("change", [
    lambda z, w: z.real.mul_(w.abs()), lambda z, w: z.imag.copy_(w), lambda z, w: z.real.zero_(),
    lambda z, w: numgrad.view_as_real(z).mul_(w.imag.sum()), lambda z, w: z[0].pow_(w[0]),
    lambda z, w: z.mul_(w.real).add_(w, alpha=1j), lambda z, w: z.div_(w).conj_physical_(),
    lambda z, w: setattr(z, "imag", w.real), lambda z, w: z.t().copy_(w.t()), lambda z, w: z.fill_(w.sum()),
    lambda z, w: z.masked_fill_(w.real > 0, 2j), lambda z, w: z.__setitem__((0, 1), w[0, 0].real),
    lambda z, w: z.sgn_(), lambda z, w: z.copy_(w.real),
])
@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_in_place(change):
    z, w = [numgrad.tensor(values, dtype=numgrad.complex128, requires_grad=True) for values in (
        [[0.5 + 1j, 1.5 - 2j], [-2.0 + 0.1j, 1j]], [[1.5 - 1j, -0.5 + 0.25j], [1.0 - 2j, 0.75 + 1j]],
    )]
    check_gradients(written(change), z, w, order=1)


def test_in_place_on_complex_numbers_made_of_real_ones():
    x = numgrad.tensor([[0.5, 1.0], [1.5, -2.0]], dtype=numgrad.float64, requires_grad=True)
    check_gradients(written(lambda x: numgrad.view_as_complex(x).mul_(2 + 1j)), x, order=1)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernels_and_recorded_rules_agree(case):
    results = []
    for path in ("rows", "kernel", "recorded"):
        leaves = case.leaves("complex128", requires_grad=True)
        wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
        outputs = differentiable(case(*leaves))
        weights = [weights_for(output, number) for number, output in enumerate(outputs)]
        if path == "rows":
            numgrad.autograd.backward(outputs, weights)
            results.append([leaf.grad for leaf in wanted])
        else:
            recorded = path == "recorded"
            results.append(numgrad.autograd.grad(
                outputs, wanted, [weight.requires_grad_(recorded) for weight in weights], create_graph=recorded
            ))
    for by_rows, by_kernel, by_record in zip(*results, strict=True):
        assert by_rows.dtype is by_kernel.dtype is by_record.dtype is numgrad.complex128
        np.testing.assert_allclose(by_rows.numpy(), by_record.detach().numpy(), 1e-14, 1e-14)
        np.testing.assert_allclose(by_kernel.numpy(), by_record.detach().numpy(), 1e-14, 1e-14)


# -- at the edges -------------------------------------------------------------------------------------------------


def gradient_of(function, *values):
    """The gradients of a real result, at single complex numbers."""
    inputs = [numgrad.tensor(value, dtype=numgrad.complex128, requires_grad=True) for value in values]
    result = function(*inputs)
    (result.real if result.is_complex() else result).backward()
    return [x.grad.item() for x in inputs]


@pytest.mark.parametrize("function", [
    abs, numgrad.sgn, numgrad.angle, lambda z: z.norm(), lambda z: z.norm(3), lambda z: z**2, lambda z: z ** (2 + 1j),
    lambda z: numgrad.stack([z, z]).std(),
])
def test_the_gradient_at_zero_is_zero(function):
    assert gradient_of(function, 0) == [0]


def test_the_exponent_of_zero():
    assert gradient_of(lambda z, w: z**w, 0, 2 + 1j)[1] == 0
    assert np.isnan(gradient_of(lambda z, w: z**w, 0, -1 + 1j)[1])


def test_acosh_on_both_sides_of_its_cut():
    for value in (2 + 1j, -2 + 1j, -2 - 1j):
        (found,) = gradient_of(numgrad.acosh, value)
        assert found == pytest.approx((1 / (np.sqrt(value - 1) * np.sqrt(value + 1))).conjugate())


@pytest.mark.parametrize(("name", "value"), [("rsqrt", 0), ("asin", 1), ("acos", -1), ("asinh", 1j), ("acosh", 1)])
def test_where_there_is_no_derivative_the_gradient_is_not_finite(name, value):
    (found,) = gradient_of(getattr(numgrad, name), value)
    assert not np.isfinite(found)


def test_complex64():
    z = numgrad.tensor([1 + 2j, -1.5], requires_grad=True)
    (z * z.conj() / (1 + z)).abs().sum().backward()
    assert z.grad.dtype is numgrad.complex64
    double = z.detach().to(numgrad.complex128).requires_grad_()
    (double * double.conj() / (1 + double)).abs().sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), double.grad.numpy(), 2e-6)


# -- errors -------------------------------------------------------------------------------------------------------

Z = numgrad.tensor([[1j, 2, 3 - 1j], [0.5, 1, 2j]], requires_grad=True)


REFUSED = """
    nf.scaled_dot_product_attention(z, z, z); nf.softmax(z, 1); nf.log_softmax(z, 1); nf.layer_norm(z, (3,))
    nf.nll_loss(z, targets); nf.nll_loss(z[..., None, None], targets[:, None, None]); nf.cross_entropy(z, targets)
    nf.mse_loss(z, z); nf.smooth_l1_loss(z, z); nf.huber_loss(z, z); nf.soft_margin_loss(z, z.detach())
    nf.binary_cross_entropy(z, z); nf.binary_cross_entropy_with_logits(z, z); nf.glu(z.t(), 1); nf.silu(z); z.relu()
    z.max(); z.min(); z.max(1); z.min(1); z.amax(1); z.amin(1); numgrad.aminmax(z); z.cummax(1); z.cummin(1)
    z.logcumsumexp(1); z.logsumexp(1); z.nansum(); z.sort(); z.sort(stable=True); z.topk(1); z.kthvalue(1); z.median()
    z.median(1); z.nanmedian(); z.nanmedian(1); z.mode(); numgrad.maximum(z, z); z.clamp(0); z.sign(); z.erf()
    numgrad.atan2(z, z); nf.max_pool1d(z, 1); nf.avg_pool1d(z, 1); nf.adaptive_max_pool1d(z, 1)
    nf.interpolate(z[None], 2)
    nf.fractional_max_pool2d(z[None], 1, 1); nf.grid_sample(z[None, None], z[None, None, :, :2], align_corners=True)
"""


@pytest.mark.parametrize("expression", [text.strip() for text in re.split("[;\n]", REFUSED) if text.strip()])
def test_operations_without_meaning_for_complex_numbers(expression):
    names = {"numgrad": numgrad, "nf": numgrad.nn.functional, "z": Z, "targets": numgrad.tensor([0, 1])}
    with pytest.raises((NotImplementedError, RuntimeError, ValueError), match=r"[Cc]omplex"):
        eval(expression, names)


@pytest.mark.parametrize(("function", "message"), [
    (lambda: (Z * 1).abs_(), "In-place abs is not supported for complex tensors"),
    (lambda: numgrad.add(Z.real, 1, alpha=1j), "argument alpha must not be a complex number"),
    (lambda: (Z.real * 1).mul_(Z), "result type ComplexFloat can't be cast to the desired output type Float"),
])
def test_complex_numbers_where_real_ones_must_be(function, message):
    with pytest.raises(RuntimeError, match=message):
        function()


@pytest.mark.parametrize("name", ["asin", "acos", "atan", "asinh", "acosh", "atanh"])
def test_gradients_of_inverses_of_large_numbers(name):
    """The squares of the numbers overflow, but the gradients do not."""
    leaves = [numgrad.tensor([3e25 - 1e24j], dtype=dtype, requires_grad=True) for dtype in (
        numgrad.complex64, numgrad.complex128)]
    found, exact = [numgrad.autograd.grad(getattr(numgrad, name)(z).abs().sum(), z)[0].item() for z in leaves]
    assert abs(found - exact) <= 1e-5 * abs(exact) + 1e-40
