"""Derivatives keep their digits where a formula that is right on paper loses them to rounding."""

import mpmath
import pytest

import numgrad
from numgrad.func import grad, jvp
from numgrad.nn import functional


def forward(function):
    """The derivative by forward mode."""
    return lambda x: jvp(function, (x,), (numgrad.ones_like(x),))[1]


def exact(function, x, order):
    with mpmath.workdps(60):
        return float(mpmath.diff(function, mpmath.mpf(x), order))


def _sinc(x):
    return mpmath.sinc(mpmath.pi * x)


def _step(x):
    return 1 / (1 + mpmath.exp(-x))


def _softplus(x):
    return mpmath.log1p(mpmath.exp(x))


def _gelu_tanh(x):
    return x * _step(2 * mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf(0.044715) * x**3))


def _glu(x):
    return functional.glu(numgrad.stack([numgrad.ones_like(x), x]), 0)[0]


def _logit_loss(target):
    return lambda x: functional.binary_cross_entropy_with_logits(x, numgrad.full_like(x, target), reduction="none")


NEAR_0 = [0.0, 1e-20, 1e-5, -1e-4, 1e-2, 0.318, 0.319, 0.5]
SATURATED = [1e-20, -1e-4, 9.0109138, 15.0, -15.0, 40.0, -40.0]

CASES = {
    "sinc": (numgrad.sinc, _sinc, NEAR_0),
    "acosh": (numgrad.acosh, mpmath.acosh, [1 + 2**-20, 1.001, 1.5]),
    "asin": (numgrad.asin, mpmath.asin, NEAR_0),
    "acos": (numgrad.acos, mpmath.acos, NEAR_0),
    "atanh": (numgrad.atanh, mpmath.atanh, NEAR_0),
    "logit": (numgrad.logit, lambda x: mpmath.log(x / (1 - x)), [0.5 + 2**-20, 0.5 - 2**-20, 1e-8]),
    "hypot": (lambda x: numgrad.hypot(x, numgrad.ones_like(x)), lambda x: mpmath.sqrt(1 + x * x), [80.0, -1e10]),
    "sigmoid": (numgrad.sigmoid, _step, SATURATED),
    "tanh": (numgrad.tanh, mpmath.tanh, SATURATED),
    "expm1": (numgrad.expm1, mpmath.expm1, [-15.0, -40.0]),
    "silu": (functional.silu, lambda x: x * _step(x), SATURATED),
    "mish": (functional.mish, lambda x: x * mpmath.tanh(_softplus(x)), [9.0, 20.0, 40.0]),
    "gelu": (lambda x: functional.gelu(x, approximate="tanh"), _gelu_tanh, [4.0, -4.0]),
    "glu": (_glu, _step, SATURATED),
    "softsign": (functional.softsign, lambda x: x / (1 + abs(x)), [1e6, -1e6]),
    "tanhshrink": (functional.tanhshrink, lambda x: x - mpmath.tanh(x), [1e-8, -1e-4, 40.0]),
    "loss of no": (_logit_loss(0.0), _softplus, SATURATED),
}


@pytest.mark.parametrize("dtype", [numgrad.float32, numgrad.float64])
@pytest.mark.parametrize(("name", "at"), [(name, at) for name, (*_, points) in CASES.items() for at in points])
def test_first_and_second_derivatives(name, at, dtype):
    function, right, _ = CASES[name]
    x = numgrad.tensor(at, dtype=dtype)
    nestings = [
        [grad(function), forward(function)],
        [grad(grad(function)), forward(grad(function)), grad(forward(function)), forward(forward(function))],
    ]
    for order, derivatives in enumerate(nestings, 1):
        expected = exact(right, x.item(), order)
        for derivative in derivatives:
            found = derivative(x).item()
            assert found == pytest.approx(expected, 8 * order * numgrad.finfo(dtype).eps, 1e-300)


@pytest.mark.parametrize("derivative", [grad, forward])
@pytest.mark.parametrize("name", ["asinh", "acosh"])
def test_derivatives_where_squares_overflow(name, derivative):
    assert derivative(getattr(numgrad, name))(numgrad.tensor(1e20)).item() == pytest.approx(1e-20, 1e-6, 0)


def test_activations_where_intermediate_results_overflow():
    assert grad(grad(numgrad.nn.functional.mish))(numgrad.tensor(100.0)) == 0
    assert numgrad.nn.functional.hardswish(numgrad.tensor(1e38)).item() == pytest.approx(1e38)


@pytest.mark.parametrize(("at", "name"), [
    (20 + 1j, "tanh"), (-20 + 1j, "tanh"), (40 + 1j, "sigmoid"), (-40j, "tanh"), (1 - 20j, "tan"), (2 + 42j, "tan"),
])
def test_derivatives_of_complex_numbers_where_the_result_is_rounded(name, at):
    z = numgrad.tensor(at, dtype=numgrad.complex128, requires_grad=True)
    y = getattr(numgrad, name)(z)
    (slope,) = numgrad.autograd.grad(y, z, numgrad.ones_like(y))
    with mpmath.workdps(60):
        right = complex(mpmath.diff({"tan": mpmath.tan, "tanh": mpmath.tanh, "sigmoid": _step}[name], mpmath.mpc(at)))
    assert slope.conj().item() == pytest.approx(right, 1e-14, 0)


def test_losses_of_certain_answers_keep_their_digits():
    assert _logit_loss(0.0)(numgrad.tensor(-40.0)).item() == pytest.approx(4.2483543e-18, 1e-6, 0)
    assert functional.gelu(numgrad.tensor(-5.0), approximate="tanh").item() == pytest.approx(-2.2917961e-07, 3e-6, 0)


def test_the_tanh_form_of_gelu_has_derivatives_where_powers_overflow():
    x = numgrad.tensor([-1e30, 1e30])
    for derivative in (lambda f: grad(lambda x: f(x).sum()), forward):
        first = derivative(lambda x: functional.gelu(x, approximate="tanh"))
        assert first(x).tolist() == [0, 1]
        assert derivative(first)(x).tolist() == [0, 0]


@pytest.mark.parametrize("outer", [grad, forward])
@pytest.mark.parametrize("inner", [grad, forward])
@pytest.mark.parametrize("of_norm", [lambda n: n, lambda n: n**2, lambda n: numgrad.exp(-n * n)])
def test_second_derivatives_of_norms_at_0_are_nan(outer, inner, of_norm):
    """The gradient is 0 there by convention, so the chain rule cannot yield 2 for the square."""
    x = numgrad.tensor(0.0)
    first = inner(lambda x: of_norm(numgrad.linalg.vector_norm(x.reshape(1))))
    assert first(x) == 0
    assert not outer(first)(x).isfinite()


def test_first_derivatives_of_norms_at_0_and_second_ones_elsewhere():
    x = numgrad.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    (slope,) = numgrad.autograd.grad(x.norm(dim=1).sum(), x, create_graph=True)
    assert slope.tolist() == [[0, 0], pytest.approx([0.6, 0.8])]
    (second,) = numgrad.autograd.grad(slope[1, 0], x)
    assert second[1].tolist() == pytest.approx([0.128, -0.096])
