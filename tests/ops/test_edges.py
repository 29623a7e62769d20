"""Rounding, overflow and missing numbers: NaN, infinities, signed zeros, ties, empty tensors."""

import math

import numpy as np
import pytest

import numgrad
from numgrad.nn import functional

INF, NAN = math.inf, math.nan
FLOATS = [numgrad.float32, numgrad.float64]


def tensor(data, dtype=numgrad.float64, requires_grad=False):
    return numgrad.tensor(data, dtype=dtype, requires_grad=requires_grad)


def gradient(function, *data, dtype=numgrad.float64):
    """The gradients of the sum of ``function``'s result, as lists: for each input, by kernel and as recorded."""
    by_path = []
    for create_graph in (False, True):
        inputs = [tensor(values, dtype, requires_grad=True) for values in data]
        found = numgrad.autograd.grad(function(*inputs).sum(), inputs, create_graph=create_graph)
        by_path.append([g.detach().tolist() for g in found])
    np.testing.assert_array_equal(by_path[0], by_path[1])
    return by_path[0][0] if len(data) == 1 else by_path[0]


def assert_equal(found, expected):
    """Equal elements, NaN at the same places, and zeros of the same sign."""
    found, expected = np.asarray(found), np.asarray(expected)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


# -- special numbers, one by one ----------------------------------------------------------------------------------

ONE_OPERAND = {
    "neg": ([0.0, -0.0, INF, -INF, NAN], [-0.0, 0.0, -INF, INF, NAN]),
    "abs": ([0.0, -0.0, INF, -INF, NAN], [0.0, 0.0, INF, INF, NAN]),
    "sign": ([INF, -INF, 3.0, -3.0, NAN], [1.0, -1.0, 1.0, -1.0, 0.0]),
    "reciprocal": ([0.0, -0.0, INF, -INF, NAN], [INF, -INF, 0.0, -0.0, NAN]),
    "exp": ([0.0, -0.0, INF, -INF, NAN, 1000.0, -1000.0], [1.0, 1.0, INF, 0.0, NAN, INF, 0.0]),
    "log": ([0.0, -0.0, INF, -1.0, NAN, 1.0], [-INF, -INF, INF, NAN, NAN, 0.0]),
    "sqrt": ([0.0, -0.0, INF, -1.0, NAN, 4.0], [0.0, -0.0, INF, NAN, NAN, 2.0]),
    "tanh": ([0.0, -0.0, INF, -INF, NAN, 1000.0], [0.0, -0.0, 1.0, -1.0, NAN, 1.0]),
    "sigmoid": ([0.0, INF, -INF, NAN, 1000.0, -1000.0], [0.5, 1.0, 0.0, NAN, 1.0, 0.0]),
    "relu": ([0.0, INF, -INF, NAN, 2.0, -2.0], [0.0, INF, 0.0, NAN, 2.0, 0.0]),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ONE_OPERAND)
def test_special_numbers(name, dtype):
    data, expected = ONE_OPERAND[name]
    # Each once alone, once in a row that is long enough for vector code.
    assert_equal([getattr(tensor(x, dtype), name)().item() for x in data], expected)
    assert_equal(getattr(tensor(data * 20, dtype), name)().numpy(), expected * 20)


TWO_OPERANDS = [
    ("add", INF, -INF, NAN), ("add", -0.0, -0.0, -0.0), ("add", -0.0, 0.0, 0.0),
    ("sub", INF, INF, NAN), ("sub", 0.0, 0.0, 0.0), ("sub", -0.0, 0.0, -0.0),
    ("mul", INF, 0.0, NAN), ("mul", -1.0, 0.0, -0.0), ("mul", NAN, 0.0, NAN),
    ("div", 1.0, 0.0, INF), ("div", 1.0, -0.0, -INF), ("div", 0.0, 0.0, NAN), ("div", INF, INF, NAN),
    ("div", 1.0, -INF, -0.0),
    ("maximum", NAN, 1.0, NAN), ("maximum", 1.0, NAN, NAN), ("maximum", -INF, NAN, NAN), ("maximum", INF, 1.0, INF),
    ("minimum", NAN, 1.0, NAN), ("minimum", 1.0, NAN, NAN), ("minimum", INF, NAN, NAN), ("minimum", -INF, 1.0, -INF),
    ("pow", 0.0, 0.0, 1.0), ("pow", NAN, 0.0, 1.0), ("pow", 1.0, NAN, 1.0), ("pow", INF, 0.0, 1.0),
    ("pow", 0.0, -1.0, INF), ("pow", -0.0, -1.0, -INF), ("pow", -0.0, 3.0, -0.0), ("pow", -8.0, 1 / 3, NAN),
    ("pow", 0.0, NAN, NAN), ("pow", 0.0, INF, 0.0), ("pow", 2.0, -INF, 0.0), ("pow", -1.0, INF, 1.0),
    ("remainder", 5.0, INF, 5.0), ("remainder", -3.0, 2.0, 1.0), ("remainder", 3.0, -2.0, -1.0),
    ("remainder", 1.0, 0.0, NAN), ("remainder", INF, 2.0, NAN),
    ("floor_divide", -3.0, 2.0, -2.0), ("floor_divide", 1.0, 0.0, INF), ("floor_divide", -1.0, 0.0, -INF),
    ("floor_divide", 0.0, 0.0, NAN),
]


@pytest.mark.parametrize(("name", "x", "y", "expected", "dtype"), [
    (*case, dtype) for case in TWO_OPERANDS for dtype in FLOATS
    if dtype is numgrad.float64 or case[0] in ("pow", "remainder", "floor_divide")  # the others are the processor's
])
def test_special_pairs_of_numbers(name, x, y, expected, dtype):
    function = getattr(numgrad, name)
    assert_equal(function(tensor([x] * 70, dtype), tensor([y] * 70, dtype)).numpy(), [expected] * 70)
    assert_equal(function(tensor(x, dtype), tensor(y, dtype)).item(), expected)
    if name in ("maximum", "minimum"):
        with pytest.raises(TypeError, match=f"{name}.*'other' must be Tensor, not float"):
            function(tensor([x], dtype), y)
    else:
        assert_equal(function(tensor([x], dtype), y).numpy(), [expected])
        assert_equal(function(x, tensor([y], dtype)).numpy(), [expected])


def test_nan_compares_as_in_ieee_arithmetic():
    x, y = tensor([NAN, NAN, 1.0]), tensor([NAN, 1.0, NAN])
    for name in ("eq", "lt", "le", "gt", "ge"):
        assert getattr(numgrad, name)(x, y).tolist() == [False] * 3
    assert numgrad.ne(x, y).tolist() == [True] * 3
    assert numgrad.eq(tensor(0.0), tensor(-0.0)).item() is True
    assert numgrad.isnan(x).tolist() == [True, True, False]


def test_where_takes_nothing_from_the_other_side():
    x = tensor([0.0, 4.0], requires_grad=True)
    y = numgrad.where(x > 1, x.log(), x)
    assert_equal(y.detach().numpy(), [0.0, math.log(4)])
    choice = numgrad.where(tensor([True, False], numgrad.bool), tensor([1.0, NAN]), tensor([NAN, 2.0]))
    assert choice.tolist() == [1.0, 2.0]


# -- derivatives at kinks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_derivatives_where_the_function_has_a_corner(dtype):
    assert gradient(numgrad.relu, [0.0, -0.0, 1.0, -1.0], dtype=dtype) == [0.0, 0.0, 1.0, 0.0]
    assert gradient(numgrad.abs, [0.0, -0.0, 2.0, -2.0], dtype=dtype) == [0.0, 0.0, 1.0, -1.0]
    assert gradient(numgrad.sign, [0.0, 2.0], dtype=dtype) == [0.0, 0.0]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_equal_operands_share_the_gradient(name, dtype):
    function = getattr(numgrad, name)
    assert gradient(function, [1.0, INF], [1.0, INF], dtype=dtype) == [[0.5, 0.5], [0.5, 0.5]]
    first, second = gradient(function, [1.0, 3.0], [2.0, 2.0], dtype=dtype)
    assert (first, second) == (([0.0, 1.0], [1.0, 0.0]) if name == "maximum" else ([1.0, 0.0], [0.0, 1.0]))


def test_the_gradient_passes_through_nan():
    assert gradient(numgrad.relu, [NAN, 1.0]) == [1.0, 1.0]
    assert_equal(gradient(numgrad.exp, [NAN, 0.0]), [NAN, 1.0])
    assert_equal(gradient(numgrad.tanh, [NAN, 0.0]), [NAN, 1.0])
    assert_equal(gradient(numgrad.sigmoid, [NAN, 0.0]), [NAN, 0.25])


CONSTANT = [
    lambda x: x.floor(), lambda x: x.ceil(), lambda x: x.trunc(), lambda x: x.round(), lambda x: x.round(decimals=1),
    lambda x: x.sign(), lambda x: x.sgn(), lambda x: x**0, lambda x: x**0.0, lambda x: x ** tensor([0.0, -0.0]),
    lambda x: x.div(2, rounding_mode="floor"), lambda x: x.div(2, rounding_mode="trunc"), lambda x: x.angle(),
    lambda x: tensor([2.0, 3.0]).copysign(x), lambda x: (x - x.detach()).relu(), lambda x: x.clamp(5, 6),
    lambda x: functional.hardtanh(x), lambda x: functional.threshold(x, 5, 1), lambda x: functional.hardswish(-x),
    lambda x: tensor([9.0, 9.0]).maximum(x),
]


@pytest.mark.parametrize("number", range(len(CONSTANT)))
def test_an_infinite_gradient_ends_where_the_function_is_constant(number):
    for create_graph in (False, True):
        x = tensor([3.7, 4.2], requires_grad=True)
        out = CONSTANT[number](x)
        for arriving in (INF, -INF, NAN):
            (found,) = numgrad.autograd.grad(
                out, x, tensor([arriving, 1.0]), retain_graph=True, create_graph=create_graph
            )
            assert found.tolist() == [0, 0]


def test_an_infinite_gradient_goes_to_the_extreme_alone():
    for name, expected in (("max", [0, 0, INF]), ("min", [INF, 0, 0]), ("median", [0, INF, 0])):
        assert gradient(lambda x, name=name: getattr(x, name)() * INF, [1.0, 2.0, 3.0]) == expected


def test_second_derivatives_of_lines_are_zeros():
    """The derivatives are zeros, not None, so that programs need no special case."""
    lines = [
        lambda x: x.relu(), functional.leaky_relu, functional.hardtanh, functional.relu6, functional.hardshrink,
        functional.softshrink, functional.rrelu, lambda x: functional.prelu(x, tensor([0.25])),
        lambda x: functional.threshold(x, 1, 0), lambda x: x.abs(),
    ]
    for line in lines:
        x = tensor([-2.0, 0.3, 2.0], requires_grad=True)
        (slope,) = numgrad.autograd.grad(line(x).sum(), x, create_graph=True)
        assert numgrad.autograd.grad(slope.sum(), x)[0].tolist() == [0, 0, 0]


def test_derivatives_at_infinity_and_zero():
    assert gradient(numgrad.sqrt, [0.0]) == [INF]
    assert gradient(numgrad.log, [0.0, INF]) == [INF, 0.0]
    assert gradient(numgrad.reciprocal, [INF]) == [-0.0]
    assert gradient(numgrad.tanh, [1000.0, -INF]) == [0.0, 0.0]
    assert gradient(numgrad.sigmoid, [1000.0, -1000.0]) == [0.0, 0.0]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_derivatives_of_powers_of_zero(dtype):
    for exponent, slope in ((0, 0.0), (1, 1.0), (2, 0.0), (3, 0.0), (0.5, INF), (-1, -INF), (2.5, 0.0), (5, 0.0)):
        assert gradient(lambda x, n=exponent: x**n, [0.0], dtype=dtype) == [slope], exponent
    # 0 to the power y is 0 for every y > 0, and 1 for y = 0: flat, and no NaN from the logarithm of 0
    base, exponents = gradient(numgrad.pow, [0.0, 0.0, 0.0], [0.0, 1.0, 2.0], dtype=dtype)
    assert (base, exponents) == ([0.0, 1.0, 0.0], [0.0, 0.0, 0.0])
    assert gradient(lambda y: 0.0**y, [0.0, 2.0], dtype=dtype) == [0.0, 0.0]
    assert gradient(lambda y: 2.0**y, [0.0], dtype=dtype) == pytest.approx([math.log(2)], rel=1e-6)


@pytest.mark.parametrize("exponent", [0, 0.0, 1, 2])
def test_whole_powers_of_negative_numbers(exponent):
    assert (tensor([-2.0]) ** exponent).tolist() == [(-2.0) ** exponent]
    assert gradient(lambda x: x**exponent, [-2.0]) == [exponent * (-2.0) ** (exponent - 1)]


def test_an_exponent_keeps_nothing_of_an_earlier_one():
    x = tensor([4.0])
    assert [(x**exponent).item() for exponent in (5, 2.5, 4, 4.5, 2, 2.0)] == [1024.0, 32.0, 256.0, 512.0, 16.0, 16.0]
    assert [numgrad.add(x, x, alpha=alpha).item() for alpha in (3, 2.5, 2, 1)] == [16.0, 14.0, 12.0, 8.0]


# -- extremes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [3, 70])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_propagate_nan(name, length):
    values = [0.0] * (length - 2) + [NAN, 1.0]
    assert math.isnan(getattr(tensor(values), name)().item())
    best = getattr(tensor([values, [2.0] * length]), name)(1)
    assert_equal(best.values.numpy(), [NAN, 2.0])
    assert best.indices.tolist() == [length - 2, 0]
    assert getattr(numgrad, f"arg{name}")(tensor([*values, NAN])).item() == length - 2


@pytest.mark.parametrize("name", ["max", "min"])
def test_ties_go_to_the_first(name):
    best = getattr(tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]), name)(1)
    assert best.indices.tolist() == ([1, 0] if name == "max" else [0, 0])
    assert getattr(numgrad, f"arg{name}")(tensor([[5.0, 5.0], [5.0, 5.0]])).item() == 0
    assert getattr(numgrad, f"arg{name}")(numgrad.tensor([7, 7, 7])).item() == 0


def test_ties_share_the_gradient_of_the_whole_and_not_that_of_a_dimension():
    assert gradient(numgrad.max, [2.0, 1.0, 2.0, 2.0, 2.0]) == [0.25, 0.0, 0.25, 0.25, 0.25]
    assert gradient(numgrad.min, [1.0, 1.0, 2.0]) == [0.5, 0.5, 0.0]
    assert gradient(lambda x: x.max(0).values, [2.0, 1.0, 2.0]) == [1.0, 0.0, 0.0]
    assert gradient(numgrad.max, [NAN, 1.0, NAN]) == [0.5, 0.0, 0.5]


def test_extremes_of_infinities():
    assert tensor([-INF, -INF]).max().item() == -INF
    assert tensor([INF, -INF]).min().item() == -INF
    assert tensor([-INF, -INF]).argmax().item() == 0
    assert numgrad.tensor([-(2**63), 2**63 - 1]).max().item() == 2**63 - 1
    assert numgrad.tensor([-(2**63), 2**63 - 1]).min().item() == -(2**63)


# -- empty reductions ---------------------------------------------------------------------------------------------


def test_sums_and_means_of_nothing():
    empty = numgrad.zeros(0, 3)
    assert empty.sum().item() == 0.0
    assert empty.sum(0).tolist() == [0.0, 0.0, 0.0]
    assert empty.sum(1).shape == (0,)
    assert math.isnan(empty.mean().item())
    assert all(math.isnan(x) for x in empty.mean(0).tolist())
    assert numgrad.zeros(0, dtype=numgrad.int64).sum().item() == 0


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_the_largest_of_nothing_is_an_error(name):
    empty = numgrad.zeros(0, 3)
    error = IndexError if name.startswith("arg") else RuntimeError
    with pytest.raises(error, match=rf"{name}\(\): Expected reduction dim to be specified.*\[0, 3\]"):
        getattr(empty, name)()
    with pytest.raises(IndexError, match=rf"{name}\(\): Expected reduction dim 0 to have non-zero size"):
        getattr(empty, name)(0)
    result = getattr(empty, name)(1)
    assert (result if name.startswith("arg") else result.values).shape == (0,)


@pytest.mark.parametrize(("dim", "expected"), [(1, [-INF, -INF, INF]), (None, [INF, INF, INF])])
def test_the_derivative_of_a_variance_without_degrees_of_freedom(dim, expected):
    x = tensor([[1.0, 2.0, 6.0]], requires_grad=True)
    with pytest.warns(UserWarning, match="degrees of freedom"):
        x.var(dim, correction=3).sum().backward()
    assert x.grad.tolist() == [expected]


@pytest.mark.parametrize("dim", [(), (0,)])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([INF], [1.0]),
        ([NAN], [1.0]),
        ([INF, 2.0], [2.0, INF]),
        ([NAN, 2.0], [2.0, NAN]),
        ([1e200, 1e200, 1e-200], [1.0, 1.0, INF]),
        ([1e-200, 1e-200, 1e200], [1.0, 1.0, 0.0]),
    ],
)
def test_the_derivative_of_a_product_does_not_divide_by_what_is_lost(values, expected, dim):
    x = tensor(values, requires_grad=True)
    x.prod(*dim).backward()
    assert x.grad.tolist() == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("name", ["sgn", "angle"])
def test_directions_of_complex_numbers_turn_nowhere_at_zero(name):
    z = tensor([0, 1], numgrad.complex128)
    _, tangent = numgrad.func.jvp(getattr(numgrad, name), (z,), (tensor([1, 1j], numgrad.complex128),))
    assert tangent.tolist() == {"sgn": [0, 1j], "angle": [0, 1]}[name]


def test_counting_what_is_not_zero_has_no_derivative():
    x = tensor([1.0, 0.0, -2.0], requires_grad=True)
    for count in (x.norm(0), x.norm(0, 0), numgrad.linalg.vector_norm(x, 0), numgrad.dist(x, 2 * x, 0)):
        assert (count.item(), count.requires_grad) == (2, True)
        assert numgrad.autograd.grad(count, x, allow_unused=True) == (None,)
    _, tangent = numgrad.func.jvp(lambda x: x.norm(0), (x.detach(),), (numgrad.ones(3, dtype=x.dtype),))
    assert tangent.item() == 0


def test_dimensions_may_be_numpy_integers():
    x, one = numgrad.tensor([[1.0, 2.0]]), np.int64(1)
    assert x.sum(one).tolist() == [3]
    assert x.amax(one).tolist() == [2]
    assert x.softmax(one).sum(one).tolist() == [1]
    assert x.squeeze(np.int64(0)).shape == (2,)
    assert x.repeat_interleave(np.int64(2), one).tolist() == [[1, 1, 2, 2]]


@pytest.mark.parametrize(("dtype", "expected"), [("int64", -(2**63)), ("int32", -(2**31)), ("int16", 0), ("uint8", 0)])
def test_the_median_of_no_integers(dtype, expected):
    assert numgrad.empty(0, dtype=getattr(numgrad, dtype)).median().item() == expected


def test_searching_refuses_what_has_no_order():
    row = numgrad.tensor([1.0, 2.0])
    for rows, values in ((row.cfloat(), row), (row, row.cfloat())):
        with pytest.raises(NotImplementedError, match=r"searchsorted.*'ComplexFloat'"):
            numgrad.searchsorted(rows, values)
    with pytest.raises(TypeError, match=r"'sorted_sequence' \(position 1\) must be Tensor, not list"):
        numgrad.searchsorted([1.0, 2.0], row)


# -- integers and bools -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 40])  # a few elements, and several vector registers
@pytest.mark.parametrize(("values", "expected"), [
    ([0.5, -0.5], True), ([256.0, 0.0], True), ([0.0, NAN], False), ([NAN, 3.0], True),
])
def test_a_sum_without_nan_in_bools_is_true_for_any_other_number(values, expected, length):
    x = numgrad.tensor(values * length)
    assert x.nansum(dtype=numgrad.bool).item() is expected
    assert x.expand(2, -1).nansum(0, dtype=numgrad.bool).any().item() is expected


def test_integers_wrap_around():
    largest = numgrad.tensor([2**63 - 1])
    assert (largest + 1).tolist() == [-(2**63)]
    assert (-numgrad.tensor([-(2**63)])).tolist() == [-(2**63)]
    assert (numgrad.tensor([3]) ** 41).tolist() == [(3**41 + 2**63) % 2**64 - 2**63]


def test_integer_division_rounds_down():
    x, y = numgrad.tensor([7, -7, 7, -7]), numgrad.tensor([2, 2, -2, -2])
    assert (x // y).tolist() == [3, -4, -4, 3]
    assert (x % y).tolist() == [1, 1, -1, -1]
    assert (x / y).tolist() == [3.5, -3.5, -3.5, 3.5]
    assert (x / y).dtype is numgrad.float32


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_the_only_quotient_that_overflows_wraps(bits):
    smallest, dtype = -(2 ** (bits - 1)), getattr(numgrad, f"int{bits}")
    x = tensor([smallest, smallest + 1], dtype)
    for other in (-1, tensor([-1, -1], dtype)):
        for quotient in (x // other, numgrad.div(x, other, rounding_mode="trunc"), x.clone().floor_divide_(other)):
            assert (quotient.dtype, quotient.tolist()) == (dtype, [smallest, -smallest - 1])
    assert (tensor(smallest, dtype) // -1).item() == smallest


def test_large_integers_are_exact():
    x = numgrad.tensor([2**53 + 1, 2**62 + 1])
    assert (x + 0).tolist() == x.tolist()
    assert numgrad.maximum(x, x - 1).tolist() == x.tolist()
    assert (x == x - 1).tolist() == [False, False]
    assert x.sum().item() == 2**53 + 2**62 + 2


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_integers_are_not_divided_by_zero(name):
    x, y = numgrad.tensor([1, 2]), numgrad.tensor([1, 0])
    for divisor in (y, 0, numgrad.tensor(0)):
        with pytest.raises(RuntimeError, match=r"ZeroDivisionError.*\[2\]"):
            getattr(numgrad, name)(x, divisor)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        getattr(x, f"{name}_")(y)
    assert x.tolist() == [1, 2]
    assert getattr(numgrad, name)(x[:0], y[:0]).tolist() == []


@pytest.mark.parametrize("places", [-1, 0, 63, 64, 1000])
@pytest.mark.parametrize("length", [1, 67])
def test_shifts_by_more_places_than_there_are(places, length):
    x = numgrad.tensor([5, -5] * length)
    inside = 0 <= places < 64
    expected = [(5 << places) % 2**64, (-5 << places) % 2**64] if inside else [0, 0]
    expected = [value - 2**64 if value >= 2**63 else value for value in expected]
    by = numgrad.full((2 * length,), places)
    assert (x << places).tolist() == (x << by).tolist() == expected * length
    assert (x >> places).tolist() == (x >> by).tolist() == [5 >> places if inside else 0, -5 >> min(places % 64, 63)
                                                            if inside else -1] * length


def test_integers_have_no_negative_powers():
    with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
        numgrad.tensor([1, 2]) ** -1


def test_sums_of_bools_and_integers_are_counted_in_int64():
    assert numgrad.tensor([True] * 300).sum().item() == 300
    assert numgrad.tensor([True]).sum().dtype is numgrad.int64
    assert (numgrad.tensor([True]) + numgrad.tensor([True])).tolist() == [True]
    assert (numgrad.tensor([True]) + 1).tolist() == [2]
    assert (numgrad.tensor([True]) * 2.5).tolist() == [2.5]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x - x, "Subtraction"), (lambda x: -x, "Negation"), (lambda x: x.relu(), "relu"),
        (lambda x: x.mean(), "mean"), (lambda x: x.softmax(0), "softmax"), (lambda x: x.abs(), "abs"),
        (lambda x: x.argmax(), "argmax"), (lambda x: x << x, "shift"), (lambda x: x % x, "remainder"),
    ],
)
def test_operations_that_refuse_bools(call, message):
    with pytest.raises((RuntimeError, NotImplementedError), match=message) as caught:
        call(numgrad.tensor([True, False, True]))
    assert "[3]" in str(caught.value)


def test_a_condition_must_be_bool():
    x = tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match="where expected condition to be a boolean tensor"):
        numgrad.where(numgrad.tensor([1, 0]), x, x)


# -- precision ----------------------------------------------------------------------------------------------------


def test_sums_of_many_ones_are_exact():
    ones = numgrad.ones(10**7)
    assert ones.sum().item() == 1e7
    assert ones.mean().item() == 1.0
    assert ones.view(1000, 10_000).sum(0).tolist() == [1000.0] * 10_000
    assert ones.view(2, 5_000_000).sum(1).tolist() == [5e6, 5e6]


def test_rounding_errors_of_sums_grow_slowly():
    values = np.random.default_rng(0).uniform(0, 1, 10**6).astype(np.float32)
    exact = values.sum(dtype=np.float64)
    assert abs(numgrad.from_numpy(values).sum().item() - exact) < 1e-6 * exact
    columns = numgrad.from_numpy(values.reshape(-1, 4)).sum(0).numpy()
    np.testing.assert_allclose(columns, values.reshape(-1, 4).sum(0, dtype=np.float64), 1e-6)


def test_float32_stays_float32():
    x = numgrad.tensor([1.0, 2.0], requires_grad=True)
    y = numgrad.softmax((1 - x) * 0.5 + x**2 / 3 - 2.0**x, 0)
    assert y.dtype is numgrad.float32
    (grad,) = numgrad.autograd.grad(y[0], x, create_graph=True)
    assert grad.dtype is numgrad.float32
    assert numgrad.autograd.grad(grad.sum(), x)[0].dtype is numgrad.float32
    assert (numgrad.tensor([0.1]) + 0.2).item() == float(np.float32(0.1) + np.float32(0.2))
    assert (numgrad.tensor([0.1]) * numgrad.tensor(3.0, dtype=numgrad.float64)).dtype is numgrad.float32
