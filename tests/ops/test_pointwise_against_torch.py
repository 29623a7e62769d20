"""The pointwise families against PyTorch: values, dtypes, strides, gradients, node names, errors."""

import itertools

import numpy as np
import pytest
from ops.test_against_torch import expressions, program
from ops.torch_comparison import assert_same, randoms

pytestmark = pytest.mark.torch

LAYOUTS = ("contiguous", "transposed", "stepped")
FLOATS = ("float32", "float64")
EDGES = np.array([-np.inf, -7.5, -3, -2, -1, -0.5, -0.0, 0.0, 0.5, 1, 1.5, 2.5, 3, 6, np.inf, np.nan])
FINITE = EDGES[1:-2]

TRIGONOMETRIC = expressions(
    "x.sin(); x.cos(); x.tan(); x.asin(); x.acos(); x.atan(); m.atan2(x, y); x.sinh(); x.cosh(); x.asinh(); "
    "(x + 1).acosh(); x.atanh(); m.hypot(x, y); m.deg2rad(x); m.rad2deg(x); m.sinc(x); m.arcsin(x); m.arctan2(x, y); "
    "x.arccos(); x.arctanh(); m.arcsinh(x); m.arccosh(x + 1); x.arctan()"
)
SPECIAL = expressions(
    "x.exp2(); x.expm1(); x.log1p(); x.log2(); x.log10(); x.erf(); x.erfc(); (x / 3).erfinv(); x.logit(); "
    "x.logit(0.3); m.logit(x, eps=0.2); x.logit(0.6); "
    "m.xlogy(x, y); m.xlogy(x, 2.5); m.xlogy(2, x); m.logaddexp(x, y); m.logaddexp2(x, y); x.square(); x.rsqrt(); "
    "m.float_power(x, y); m.float_power(x, 2); x.xlogy(y); m.special.entr(x); m.special.expit(x); "
    "m.igamma((x + 2).detach(), y * 3); m.igammac((x + 2).detach(), y * 3); m.special.gammainc((x + 2).detach(), y)"
)
ROUNDING = expressions(
    "x.floor(); x.ceil(); x.round(); x.round(decimals=1); m.round(x, decimals=2); x.trunc(); m.fix(x); x.frac(); "
    "m.fmod(x, y); m.fmod(x, 0.2); x.fmod(-0.3); m.div(x, y, rounding_mode='trunc'); "
    "m.div(x, y, rounding_mode='floor'); "
    "x.div(0.3, rounding_mode='floor'); x.div(0.3, rounding_mode='trunc'); m.div(x, y); m.div(x, 2); "
    "m.true_divide(x, y); "
    "m.nan_to_num(x); m.nan_to_num(x, 1, 2, 3); m.copysign(x, y); m.copysign(x, -2); m.signbit(x - 0.5); "
    "m.sgn(x).detach(); "
    "x % y; x % 0.2; m.remainder(x, y); x.remainder(0.3); m.divide(x, y, rounding_mode='floor'); "
    "(x // y).detach(); (2 // x).detach(); (1.7 % x).detach(); m.heaviside(x - 0.5, y).detach()"
)
COMPARISON = expressions(
    "m.fmax(x, y); m.fmin(x, y); x.clamp(0.4, 0.5); x.clamp(min=0.4); x.clamp(max=0.4); x.clamp_min(0.4); "
    "x.clamp_max(0.4); x.clamp_min(y); x.clamp_max(y); m.clip(x, 0.3, 0.6); x.clip(max=0.5); m.maximum(x, y); "
    "m.minimum(x, y); m.isinf(x); m.isfinite(x); m.isposinf(x); m.isneginf(x); m.isclose(x, y, rtol=0.5); "
    "m.greater(x, y); m.less_equal(x, 0.5); x.not_equal(y); m.logical_and(x, y); m.logical_or(x - x, y); "
    "m.logical_xor(x, y - y); m.logical_not(x)"
)
THREE = expressions(
    "m.lerp(x, y, 0.3); m.lerp(x, y, 0.7); m.lerp(x, y, z); m.lerp(x, y, 2); m.addcmul(x, y, z); "
    "m.addcmul(x, y, z, value=2.5); m.addcdiv(x, y, z); m.addcdiv(x, y, z, value=-2); x.lerp(y, z); "
    "x.clamp(y, z); x.clamp(min=y, max=z)"
)
ALIASES = expressions(
    "m.multiply(x, y); m.subtract(x, y, alpha=2); m.divide(x, y); m.negative(x); m.absolute(x); m.positive(x)"
)
ACTIVATIONS = expressions(
    "F.softplus(x); F.softplus(x, 2, 1); F.softplus(x, beta=0.5); F.gelu(x); F.gelu(x, approximate='tanh'); F.silu(x); "
    "F.elu(x); F.elu(x, 0.7); F.elu(x, alpha=-1.5); F.celu(x); F.celu(x, 0.5); F.selu(x); m.selu(x); m.celu(x, 2.0); "
    "F.leaky_relu(x); F.leaky_relu(x, 0.3); F.leaky_relu(x, -0.2); F.relu6(x); F.hardtanh(x); "
    "F.hardtanh(x, -2.5, 1.5); "
    "F.mish(x); F.logsigmoid(x); F.softsign(x); F.tanhshrink(x); F.softshrink(x); F.softshrink(x, 1.2); "
    "F.hardshrink(x); F.hardshrink(x, 1.5); x.hardshrink(0.2); F.threshold(x, 0.4, 1.5); m.threshold(x, -1, 2); "
    "F.rrelu(x); F.rrelu(x, 0.1, 0.5); F.hardswish(x); F.relu(x)"
)
#: Made of several operations by PyTorch, whose gradients lose digits, up to NaN.
ONE_OPERATION = ("F.softsign(x)", "F.tanhshrink(x)")
ALL = TRIGONOMETRIC + SPECIAL + ROUNDING + COMPARISON + THREE + ALIASES


def units(*shapes, **options):
    """Arrays of numbers between 0 and 1, where all these functions are defined."""
    return randoms(*shapes, low=0.1, high=0.9, **options)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("expression", ALL)
def test_one_shape(expression, layout, dtype):
    assert_same(program(expression), *units((3, 4), (3, 4), (3, 4), layout=layout, dtype=dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("expression", ACTIVATIONS)
def test_activations(expression, layout, dtype):
    if layout == "transposed" and ("rrelu" in expression or "logsigmoid" in expression):
        return  # PyTorch alone makes these contiguous
    inputs = randoms((3, 4), low=-4.0, high=4.0, layout=layout, dtype=dtype)
    assert_same(program(expression), *inputs, graph=expression not in ONE_OPERATION)


@pytest.mark.parametrize(
    "shapes", [((3, 1), (4,), (3, 4)), ((3,), (3,), ()), ((2, 0), (1,), (2, 1)), ((), (), ())], ids=str
)
@pytest.mark.parametrize("expression", ALL)
def test_broadcast_shapes(expression, shapes):
    assert_same(program(expression), *units(*shapes))


@pytest.mark.parametrize("expression", ACTIVATIONS)
def test_activations_of_few_elements(expression):
    for shape in ((), (2, 0), (1, 3)):
        assert_same(program(expression), *randoms(shape), graph=expression not in ONE_OPERATION)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(  # of inf PyTorch makes NaN
    "expression", [e for e in ACTIVATIONS if "gelu" not in e and e not in ONE_OPERATION]
)
def test_activations_at_kinks(expression, dtype):
    x = EDGES.astype(dtype)
    assert_same(program(expression), x, requires_grad=False)
    assert_same(program(expression), x[:-1])  # the gradient for NaN depends on PyTorch's vectors


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("expression", [e for e in ALL if "logit" not in e and "gamma" not in e])
def test_special_values(expression, dtype):
    x = EDGES.astype(dtype)
    y = np.roll(EDGES, 5).astype(dtype)
    z = np.roll(EDGES, 9).astype(dtype)
    assert_same(program(expression), x, y, z, graph=False)
    assert_same(program(expression), x, x, x, graph=False)


def special_gradients(expression):
    """The gradients for gradients of the result that are infinite, NaN or 0."""

    def run(m, *inputs):
        inputs = [value.requires_grad_() for value in inputs]
        out = program(expression)(m, *inputs)
        if not out.requires_grad:
            return []
        return [
            found
            for number in (np.inf, -np.inf, np.nan, 0.0)
            for found in m.autograd.grad(
                out, inputs, m.full_like(out, number), retain_graph=True, allow_unused=True, materialize_grads=True
            )
        ]

    return run


@pytest.mark.parametrize(
    # nan_to_num, gelu and those of one operation: of an infinite gradient for an infinite number PyTorch makes NaN.
    # sinc: at 0 PyTorch gives 0 for any. The incomplete gamma functions: NaN counts as any number there.
    "expression", [
        e for e in ALL + ACTIVATIONS
        if not any(name in e for name in ("nan_to_num", "sinc", "gamma", "approximate='tanh'", *ONE_OPERATION))
    ]
)
def test_gradients_that_are_not_finite(expression):
    edges = EDGES[:-1] if expression in ACTIVATIONS else EDGES  # the result for NaN depends on PyTorch's vectors
    for shift in (0, 5):
        inputs = [np.roll(edges, shift * number) for number in range(3)]
        assert_same(special_gradients(expression), *inputs, requires_grad=False, graph=False)


@pytest.mark.parametrize("expression", [e for e in ALL + ACTIVATIONS if "value=2.5" not in e])
def test_integers_and_bools(expression):
    integers = np.array([-3, -1, 0, 1, 2, 7]), np.array([2, 3, -2, 1, -5, 4]), np.array([1, 3, 2, 2, -1, 5])
    for kind in ("int64", "int8"):
        assert_same(program(expression), *[values.astype(kind) for values in integers])
    assert_same(program(expression), *[values > 0 for values in integers])


BETWEEN_DTYPES = expressions(
    "m.atan2(x, y); m.xlogy(x, y); m.copysign(x, y); m.fmod(x, y); x % y; m.div(x, y, rounding_mode='trunc'); "
    "m.div(x, y, rounding_mode='floor'); m.fmax(x, y); m.maximum(x, y); x.clamp_min(y); x.clamp_max(y); m.hypot(x, y); "
    "m.logaddexp(x, y); m.addcmul(x, y, y); m.addcdiv(x, y, y); m.lerp(x, y, 0.5); m.heaviside(x, y); "
    "m.logical_and(x, y); x & y; x << y; x >> y; m.isclose(x, y); x // y; m.float_power(x, y); x.clamp(0, 2); "
    "x.clamp(0.5, 2); x.clamp_min(0.5); x.clamp(max=1); m.copysign(x, 2); m.fmod(x, 2); m.fmod(x, 1.5); x % 1.5; "
    "x.div(2, rounding_mode='floor'); x.div(1.5, rounding_mode='floor'); m.xlogy(x, 2); m.bitwise_not(x)"
)


PAIRS_OF_DTYPES = [("bool", "bool"), ("uint8", "uint8"), ("uint8", "int8"), ("int32", "bool"), ("bool", "int64"),
                   ("int64", "float32"), ("float32", "float64"), ("float32", "int16")]


@pytest.mark.parametrize("expression", BETWEEN_DTYPES)
def test_dtypes(expression):
    for first, second in PAIRS_OF_DTYPES:
        x, y = np.array([1, 3, 2, 5, 1, 4]).astype(first), np.array([4, 1, 5, 2, 3, 1]).astype(second)
        assert_same(program(expression), x, y, requires_grad=False)
        assert_same(program(expression), x, y[1:2].reshape(()), requires_grad=False)


def second_derivatives(expression):
    """The gradients of the gradients, of all that has one."""

    def run(m, x, y, z):
        x, y, z = [value.requires_grad_() for value in (x, y, z)]
        out = program(expression)(m, x, y, z)
        weight = m.ones_like(out).requires_grad_()
        wanted = [value for value, name in ((x, "x"), (y, "y"), (z, "z")) if name in expression.replace("max", "")]
        first = m.autograd.grad(out, wanted, weight, create_graph=True, allow_unused=True)
        first = [g for g in first if g is not None and g.requires_grad]
        second = m.autograd.grad(
            first, [*wanted, weight], [m.ones_like(g) for g in first], allow_unused=True, materialize_grads=True
        )
        return list(second)

    return run


#: What PyTorch has no second derivative of, or one that is not finite where it could be.
ONCE = ("F.hardsigmoid", "detach", "isinf", "isfinite", "isposinf", "isneginf", "isclose", "greater", "less", "equal",
        "logical", "signbit", "rounding_mode", "positive", "remainder", "fmod", "%", "floor", "ceil", "round", "trunc",
        "fix", "sgn", "frac", "float_power", "absolute")


@pytest.mark.parametrize("expression", [e for e in ALL if not any(name in e for name in ONCE)])
def test_second_derivatives(expression):
    assert_same(second_derivatives(expression), *units((5,), (5,), (5,)), graph=False, requires_grad=False)


@pytest.mark.parametrize("expression", [e for e in ACTIVATIONS if not any(name in e for name in ONCE)])
def test_second_derivatives_of_activations_at_kinks(expression):
    threshold = 0.5 if "softplus" in expression else np.nan  # where PyTorch's second derivative is 0
    x = FINITE[(abs(FINITE) < 5) & (threshold != FINITE)]
    assert_same(second_derivatives(expression), x, x, x, graph=False, requires_grad=False)


IN_PLACE = expressions(
    "x.sin_(); x.cos_(); x.tan_(); x.asin_(); x.acos_(); x.atan_(); x.atan2_(y); x.sinh_(); x.cosh_(); x.hypot_(y); "
    "x.deg2rad_(); x.rad2deg_(); x.sinc_(); x.exp2_(); x.expm1_(); x.log1p_(); x.log2_(); x.log10_(); x.erf_(); "
    "x.erfc_(); x.erfinv_(); x.logit_(); x.logit_(0.3); x.xlogy_(y); x.square_(); x.rsqrt_(); x.floor_(); x.ceil_(); "
    "x.round_(); x.round_(decimals=1); x.trunc_(); x.fix_(); x.frac_(); x.fmod_(y); x.fmod_(0.2); "
    "x.div_(y, rounding_mode='trunc'); x.div_(y, rounding_mode='floor'); x.div_(y); x.nan_to_num_(); x.copysign_(y); "
    "x.remainder_(y); x.clamp_(0.3, 0.5); x.clamp_(y); x.clamp_min_(0.4); x.clamp_max_(y); x.clip_(0.3, 0.5); "
    "x.lerp_(y, 0.3); x.lerp_(y, z); x.addcmul_(y, z); x.addcdiv_(y, z, value=2); x.multiply_(y); x.subtract_(y); "
    "x.divide_(y); x.negative_(); x.absolute_(); x.arcsin_(); F.relu(x, inplace=True); F.elu(x, inplace=True); "
    "F.elu(x, 0.5, True); F.leaky_relu(x, 0.2, True); F.silu(x, True); F.mish(x, inplace=True); F.selu(x, True); "
    "F.celu(x, 0.5, True); F.hardtanh(x, 0.2, 0.5, True); F.relu6(x, True); F.threshold(x, 0.4, 1.0, True); "
    "F.hardswish(x, True); F.rrelu(x, inplace=True); F.elu_(x); F.leaky_relu_(x); F.hardtanh_(x); "
    "F.threshold_(x, 0.4, 2.0); F.selu_(x); F.celu_(x); F.rrelu_(x); F.relu_(x); m.sin_(x); m.clamp_(x, 0.3, 0.5)"
)

@pytest.mark.parametrize("expression", IN_PLACE)
def test_in_place(expression):
    def changed(m, x, y, z):
        x = x * 1
        result = program(expression)(m, x, y, z)
        assert result is x
        return x

    assert_same(changed, *units((3, 4), (3, 4), (3, 4)))
    assert_same(changed, *units((3, 4), (4,), ()))
    assert_same(program(expression), *units((3,), (3,), (3,)))  # of a leaf that requires a gradient: an error
    integers = np.array([-3, 0, 2, 7]), np.array([2, 3, -2, 1]), np.array([1, 3, 2, 2])
    assert_same(changed, *integers)
    assert_same(changed, *[values > 0 for values in integers])


TRUTHS = expressions(
    "x.eq_(y); x.ne_(y); x.lt_(y); x.le_(1); x.gt_(y); x.ge_(y); x.greater_(y); x.less_equal_(y); x.logical_and_(y); "
    "x.logical_or_(y); x.logical_xor_(y); x.logical_not_(); x.not_equal_(0)"
)


@pytest.mark.parametrize("expression", TRUTHS)
def test_truth_values_in_place(expression):
    for kind, other in itertools.product(("float32", "int64", "bool", "uint8"), repeat=2):
        x, y = np.array([0, 1, 2, 0]).astype(kind), np.array([0, 1, 0, 3]).astype(other)
        assert_same(program(expression), x, y, requires_grad=False)


BOUNDS = expressions(
    "x.clamp(y, z); x.clamp(min=y); x.clamp(max=z); x.clamp_min(y); x.clamp_max(z); x.clamp(0, 2); x.clamp(2, 1); "
    "x.clamp(float('nan'), 1); x.clamp(min=float('nan')); m.fmax(x, y); m.fmin(x, z); m.maximum(x, y); m.minimum(x, z)"
)


@pytest.mark.parametrize("expression", BOUNDS)
def test_gradients_at_bounds(expression):
    x = np.array([0.0, 1, 2, 3, 1, 2, np.nan])
    y = np.array([0.0, 2, 5, 1, 1, np.nan, 0])
    z = np.array([4.0, 3, 2, 2, 1, 3, 1])
    assert_same(program(expression), x, y, z)


SHIFTS = expressions("x << y; x >> y; x & y; x | y; x ^ y; ~x; x.bitwise_not_(); x.bitwise_left_shift(y)")


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("expression", SHIFTS)
def test_bits(expression, kind):
    x = np.array([1, 3, 100, 127, 0, 85, 37, 1]).astype(kind) * np.array(1 if kind == "uint8" else -1, kind)
    y = np.array([0, 1, 7, 6, 3, 2, 5, 4]).astype(kind)
    assert_same(program(expression), x, y)


GLU = expressions("F.glu(x); F.glu(x, 0); F.glu(x, -2); F.glu(x, dim=1); F.glu(x, 5); F.glu(x, 2)")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("expression", GLU)
def test_glu(expression, layout):
    for shape in ((4, 6), (2, 4, 3), (6,), (3,), (), (0, 4)):
        assert_same(program(expression), *randoms(shape, layout=layout))


def test_hardsigmoid():  # of which PyTorch's constants are float32's
    for layout in LAYOUTS:
        assert_same(program("F.hardsigmoid(x)"), *randoms((3, 4), low=-4.0, high=4.0, layout=layout, dtype="float32"))
        assert_same(program("F.hardsigmoid(x * 1, True)"), *randoms((3, 4), dtype="float32"))
    assert_same(program("F.hardsigmoid(x)"), EDGES.astype("float32"))
    assert_same(program("F.hardsigmoid(x)"), np.array([1, 2]))


def test_prelu():
    for shape, weights in [((3, 4), (4,)), ((3, 4), (1,)), ((5,), (1,)), ((2, 3, 4), (3,)), ((2, 3, 4, 2), (1,)),
                           ((), (1,)),
                           ((3, 4), ()), ((), ()), ((3, 4), (3,)), ((3, 4), (1, 4)), ((), (2,)), ((0, 3), (3,))]:
        for layout in LAYOUTS:
            assert_same(program("F.prelu(x, y)"), *randoms(shape, weights, layout=layout))
            assert_same(program("x.prelu(y)"), *randoms(shape, weights, layout=layout))
    assert_same(program("F.prelu(x, y)"), *randoms((3,), dtype="float32"), *randoms((1,)))


MISTAKES = expressions(
    "m.maximum(x, 1); m.maximum(1, x); m.minimum(x, 2.5); x.maximum(3); m.fmax(x, 1.0); m.atan2(x, 1.0); "
    "x.atan2_(1.0); "
    "m.hypot(x, 1.0); m.logaddexp(x, 1.0); m.logical_and(x, 1); m.heaviside(x, 1.0); m.heaviside(x, y.double()); "
    "m.lerp(x, 1.0, 0.5); m.lerp(x, y.double(), 0.5); m.lerp(x, y, y.double()); m.addcmul(x, y, 2); "
    "m.addcdiv(x, 2, y); "
    "m.addcdiv(x, y.long(), y.long()); x.clamp(); x.clamp(0, y); x.clamp('a'); m.div(x, y, rounding_mode='x'); "
    "m.isclose(x, y.double()); m.isclose(x, 1.5); m.isclose(x, y, rtol=-1); m.isclose(x, y, atol=-1); "
    "m.allclose(x, y.double()); m.equal(x, 2); F.hardtanh(x, 2, 1); F.gelu(x, approximate='none '); "
    "F.gelu(x, approximate=None); F.softshrink(x, -1); F.celu(x, 0); F.elu(3); F.elu(x, 'a'); m.float_power(2, 3); "
    "x.float_power_(2); m.sin(2); m.floor(1.5); m.clamp_min(x, None); (x * 1).clamp_(y.double()); x.long().div_(2); "
    "x.long().clamp_(0.5, 1.5); m.xlogy(2, 3); m.fmod(2, 3); m.signbit(2)"
)


@pytest.mark.parametrize("expression", MISTAKES)
def test_mistakes_raise_errors_of_the_same_kind(expression):
    assert_same(program(expression), *units((3,), (3,), dtype="float32"))


def test_comparisons_to_python_values():
    x, y = np.array([1.0, 2, np.nan]), np.array([1.0, 2 + 1e-9, np.nan])
    for call in ("allclose(x, y)", "allclose(x, y, equal_nan=True)", "equal(x, x)", "equal(x[:2], x[:2])",
                 "equal(x, y)",
                 "allclose(x[:2], y[:2], 0, 0)", "allclose(x[:2], y[:2])", "equal(x, x[:2])", "equal(x[:0], y[:0])",
                 "allclose(x[:0], y[:0])", "allclose(x[:2], y[:1])", "allclose(x[:2].long(), y[:2].long(), atol=1)",
                 "equal(x[:2].long(), x[:2])"):

        def tensor_of(m, x, y, call=call):
            result = eval("m." + call, {"m": m, "x": x, "y": y})
            assert isinstance(result, bool)
            return m.tensor(result)

        assert_same(tensor_of, x, y, requires_grad=False)


@pytest.mark.parametrize("expression", expressions("x // y; 2 // x; 1.7 % x; m.heaviside(x, y); m.floor_divide(x, 2)"))
def test_operations_without_a_derivative_fail_in_backward(expression):
    assert_same(program(f"({expression}).sum().backward()"), *units((3,), (3,)))

    def node(m, x, y):
        return m.tensor(len(type(program(expression)(m, x, y).grad_fn).__name__))

    assert_same(node, *units((3,), (3,)))
