"""From scalar functions, as an op's author writes them, to the statements of a kernel: compared as text."""

import math
import types

import numpy as np
import pytest

from numgrad_kernels import scalar
from numgrad_kernels.inline import Inliner
from numgrad_kernels.scalar import conj, exp, where

HALF = 0.5
LARGE = 7
settings = types.SimpleNamespace(slope=0.25, name="leaky")


def inlined(function, compute="float32", **constants):
    """The statements and the result of a function; its parameters stand for ``<name>_i``, or are constants."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    inliner = Inliner(np.dtype(compute), {f"{name}_i" for name in names})
    result = inliner.call(function, {name: constants.get(name, f"{name}_i") for name in names})
    return [*inliner.statements, result]


def op(function):
    """Stand-in for an operation, with the attributes that the inliner reads."""
    function.scalar_function = function
    return function


# -- literals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        ("float32", "float32(1.0) + x_i * float32(0.5)"),
        ("float64", "float64(1.0) + x_i * float64(0.5)"),
    ],
)
def test_literals_take_the_computing_dtype(compute, expected):
    def function(x):
        return 1 + x * 0.5

    assert inlined(function, compute) == [expected]


def test_literals_of_integer_and_bool_kernels():
    def function(x):
        return x * 2 - 1

    assert inlined(function, "int64") == ["x_i * int64(2) - int64(1)"]

    def invert(x):
        return x == False  # noqa: E712

    assert inlined(invert, "bool") == ["x_i == False"]


def test_infinity_and_nan_are_written_by_name():
    def function(x):
        return where(x > math.inf, math.nan, -math.inf)

    assert inlined(function) == ["float32(nan) if x_i > float32(inf) else float32(-inf)"]


# -- names ------------------------------------------------------------------------------------------------------------


def test_constants_of_the_module_of_closures_and_of_other_modules():
    factor = 3

    def function(x):
        return HALF * x + LARGE * factor + math.pi * settings.slope

    assert inlined(function) == [f"float32(0.5) * x_i + float32(21.0) + float32({math.pi * 0.25!r})"]


def test_local_variables_become_assignments_and_copies_do_not():
    def function(x, y):
        """A docstring is not a statement."""
        same = x
        twice = same + y
        twice = twice * twice
        half = HALF
        return twice * half

    assert inlined(function) == ["twice = x_i + y_i", "twice2 = twice * twice", "twice2 * float32(0.5)"]


def test_a_parameter_may_be_assigned_to():
    def function(x):
        x = x + x
        return x * x

    assert inlined(function) == ["x = x_i + x_i", "x * x"]


def test_a_variable_does_not_take_a_name_that_is_taken():
    def function(x):
        exp_x = exp(x)
        return exp_x * exp_x

    inliner = Inliner(np.dtype("float32"), {"exp_x", "exp_x2"})
    assert inliner.call(function, {"x": "x_i"}) == "exp_x3 * exp_x3"
    assert inliner.statements == ["exp_x3 = exp(x_i)"]
    assert inliner.imports == {"exp"}


def test_scalar_functions_are_called_by_their_own_names_and_imported():
    def function(x):
        return scalar.exp(x) + exp(x) + abs(x) + scalar.abs(x)

    inliner = Inliner(np.dtype("float32"), set())
    assert inliner.call(function, {"x": "x_i"}) == "exp(x_i) + exp(x_i) + abs(x_i) + abs(x_i)"
    assert inliner.imports == {"exp", "abs"}


def test_arguments_may_be_given_by_name():
    def function(x, y):
        return scalar.atan2(x=x, y=y) + where(condition=x > y, b=y, a=x)

    assert inlined(function) == ["atan2(y_i, x_i) + (x_i if x_i > y_i else y_i)"]


def test_conj_of_a_real_number_is_the_number():
    def function(x, y):
        return x * conj(y + 1)

    assert inlined(function) == ["x_i * (y_i + float32(1.0))"]
    assert inlined(function, "complex64") == ["x_i * conj(y_i + complex64(1.0))"]


# -- other operations -------------------------------------------------------------------------------------------------


@op
def squared(x):
    return x * x


@op
def scaled(x, *, by=2, offset=1):
    return x * by + offset


@op
def nested(x):
    inner = squared(x + 1)
    return scaled(inner, offset=0.5)


def test_the_text_of_other_operations_comes_along():
    def function(x):
        return squared(x) + scaled(x) + scaled(x, by=3)

    assert inlined(function) == [
        "x_i * x_i + (x_i * float32(2.0) + float32(1.0)) + (x_i * float32(3.0) + float32(1.0))"
    ]


def test_an_argument_is_computed_once():
    def function(y):
        return nested(y / 3)

    assert inlined(function) == [
        "x = y_i / float32(3.0)",
        "x2 = x + float32(1.0)",
        "inner = x2 * x2",
        "inner * float32(2.0) + float32(0.5)",
    ]


# -- values computed beforehand ---------------------------------------------------------------------------------------


def test_expressions_of_literals_are_folded():
    def function(x, exponent):
        return (exponent - 1) * x + 2**3 * x + where(exponent == 3, x, -x) + (-(2 + 1)) * x

    assert inlined(function, exponent=3) == [
        "base = float32(2.0)",
        "float32(2.0) * x_i + base * base * base * x_i + x_i + float32(-3.0) * x_i",
    ]
    assert inlined(function, exponent=4)[1] == (
        "float32(3.0) * x_i + base * base * base * x_i + -x_i + float32(-3.0) * x_i"
    )


def test_factors_of_one_go_but_not_true():
    def function(x, alpha):
        return alpha * x + x * alpha

    assert inlined(function, alpha=1) == ["x_i + x_i"]
    assert inlined(function, alpha=1.0) == ["x_i + x_i"]
    assert inlined(function, alpha=True) == ["True * x_i + x_i * True"]


def test_a_division_of_literals_by_zero_is_left_to_the_kernel():
    def function(x):
        return x + 1 / 0

    assert inlined(function) == ["x_i + float32(1.0) / float32(0.0)"]


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        (0, ["float32(1.0)"]),
        (1, ["x_i"]),
        (2, ["x_i * x_i"]),
        (3, ["x_i * x_i * x_i"]),
        (-1, ["float32(1.0) / x_i"]),
        (-2, ["float32(1.0) / (x_i * x_i)"]),
        (0.5, ["sqrt(x_i)"]),
        (-0.5, ["float32(1.0) / sqrt(x_i)"]),
        (2.0, ["x_i * x_i"]),
        (4, ["pow(x_i, float32(4.0))"]),
        (1.5, ["pow(x_i, float32(1.5))"]),
    ],
)
def test_forms_of_powers(exponent, expected):
    def operator(x, exponent):
        return x**exponent

    def function(x, exponent):
        return scalar.pow(x, exponent)

    assert inlined(operator, exponent=exponent) == inlined(function, exponent=exponent) == expected


def test_the_base_of_a_power_is_computed_once():
    def function(x):
        return (x + 1) ** 3

    assert inlined(function) == ["base = x_i + float32(1.0)", "base * base * base"]


def test_powers_of_integers_are_the_scalar_function():
    def function(x):
        return x**2

    assert inlined(function, "int64") == ["pow(x_i, int64(2))"]


# -- statements that kernels cannot contain ---------------------------------------------------------------------------


def with_a_loop(x):
    for _ in range(3):
        x = x * x
    return x


def with_an_if(x):
    if x > 0:
        return x
    return -x


def with_an_update(x):
    x += 1
    return x


def with_several_targets(x):
    a = b = x
    return a + b


def with_unpacking(x):
    a, b = x, x
    return a + b


def with_no_return(x):
    """Nothing but this."""


def with_an_empty_return(x):
    return


def with_an_unknown_name(x):
    return x * unknown  # noqa: F821


def with_an_unknown_function(x):
    return unknown(x)  # noqa: F821


def with_another_modules_function(x):
    return math.exp(x)


def with_a_method(x):
    return x.exp()


def with_a_call_of_a_call(x):
    return exp(x)(x)


def with_too_many_arguments(x):
    return exp(x, x)


def with_an_unknown_argument(x):
    return exp(x=x, base=2)


def with_unpacked_arguments(x):
    return scalar.atan2(*x)


def with_text(x):
    return x + "1"


def with_a_text_from_outside(x):
    return x + settings.name


def with_an_index(x):
    return x[0]


def with_a_tuple(x):
    return (x, x)


def with_an_assignment_inside(x):
    return (y := x + 1) * y


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (with_a_loop, "'for _ in range(3):' cannot be part of a pointwise kernel; write assignments and one return"),
        (with_an_if, "'if x > 0:' cannot be part of a pointwise kernel; write assignments and one return, and where("),
        (with_an_update, "'x += 1' cannot be part"),
        (with_several_targets, "'a = b = x' cannot be part"),
        (with_unpacking, "cannot be part of a pointwise kernel; write assignments"),
        (with_no_return, "'def with_no_return(x):' cannot be part of a pointwise kernel; write assignments and one"),
        (with_an_empty_return, "'return' cannot be part"),
        (with_an_unknown_name, "the name 'unknown' is not defined"),
        (with_an_unknown_function, "the name 'unknown' is not defined"),
        (with_another_modules_function, "'math.exp' cannot be called in a kernel"),
        (with_a_method, "'x.exp' has no meaning for a scalar"),
        (with_a_call_of_a_call, "'exp(x)(x)' cannot be part"),
        (with_too_many_arguments, ": too many positional arguments"),
        (with_an_unknown_argument, ": got an unexpected keyword argument 'base'"),
        (with_unpacked_arguments, "'*x' cannot be part"),
        (with_text, "''1'' is not a number, it is str"),
        (with_a_text_from_outside, "'settings.name' is not a number, it is str"),
        (with_an_index, "'x[0]' cannot be part"),
        (with_a_tuple, "'(x, x)' cannot be part"),
        (with_an_assignment_inside, "(y := "),
    ],
)
def test_code_that_kernels_cannot_contain_is_reported_with_its_line(function, said):
    with pytest.raises(TypeError) as error:
        inlined(function)
    assert said in str(error.value)
    assert f"{function.__name__} ({__file__}:{function.__code__.co_firstlineno})" in str(error.value)
