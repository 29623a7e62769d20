"""numgrad.testing.assert_close: closeness, and messages for differences."""

import math

import numpy as np
import pytest
from optim.libraries import libraries

import numgrad
from numgrad import tensor
from numgrad.testing import assert_close


def passes(actual, expected, **options):
    try:
        assert_close(actual, expected, **options)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize(
    ("dtype", "relative", "absolute"),
    [
        (numgrad.float32, 1.3e-6, 1e-5), (numgrad.float64, 1e-7, 1e-7), (numgrad.complex64, 1.3e-6, 1e-5),
        (numgrad.complex128, 1e-7, 1e-7),
    ],
)
def test_default_tolerances(dtype, relative, absolute):
    for value in (0.0, 1000.0):
        allowed = absolute + relative * value
        expected = tensor([value], dtype=dtype)
        assert passes(expected + 0.9 * allowed, expected)
        assert not passes(expected + 1.2 * allowed, expected)


def test_of_two_dtypes_the_larger_tolerances_count():
    one, other = tensor([1.0 + 9e-6], dtype=numgrad.float64), tensor([1.0])
    assert passes(one, other, check_dtype=False)
    assert not passes(one, other.double())


@pytest.mark.parametrize(
    ("actual", "expected", "options", "close"),
    [
        (1, 1, {}, True),
        (1, 2, {}, False),
        (1, 2, {"rtol": 0, "atol": 1}, True),
        (1.0, 1.0 + 5e-8, {}, True),
        (1.0, 1.0 + 5e-7, {}, False),
        (1.0, 1, {}, True),
        (1.0, 1, {"check_dtype": True}, False),
        (1j, 1j + 1e-8, {}, True),
        (math.nan, math.nan, {}, False),
        (math.nan, math.nan, {"equal_nan": True}, True),
        (math.inf, math.inf, {}, True),
        (math.inf, 1e308, {"rtol": 10, "atol": 0}, False),
        (np.float32(2), 2.0, {"check_dtype": False}, True),
        (True, True, {}, True),
        (np.bool_(True), False, {}, False),
        (None, None, {}, True),
        (None, 0, {}, False),
        (np.ones(3), np.ones(3), {}, True),
        (np.ones(3), np.zeros(3), {}, False),
        ([1, [2.0, None]], (1, [2.0, None]), {}, True),
        ([1, [2.0, None]], [1, [2.5, None]], {}, False),
        ({"a": 1, 2: 3}, {2: 3, "a": 1}, {}, True),
        ([tensor(1)], [tensor(1)], {}, True),
    ],
)
def test_close_values(actual, expected, options, close):
    assert passes(actual, expected, **{"check_dtype": False, **options}) == close


def test_attributes():
    x = numgrad.ones(2, 3)
    assert not passes(x, numgrad.ones(2, 3, 1))
    assert not passes(x, x.double())
    assert passes(x, x.double(), check_dtype=False)
    assert passes(x, x.t().clone().t())
    assert not passes(x, numgrad.ones(3, 2).t(), check_stride=True)
    assert passes(x, x.requires_grad_().detach())
    assert passes(x, numgrad.nn.Parameter(x))
    with pytest.raises(TypeError, match=r"inputs of type <class '.*Tensor'> and <class '.*Parameter'>"):
        assert_close(x, numgrad.nn.Parameter(x), allow_subclasses=False)


def test_large_integers_are_distinguished():
    assert not passes(tensor([2**60]), tensor([2**60 + 1]))


def test_the_message():
    with pytest.raises(AssertionError) as caught:
        assert_close([tensor([[1.0, 2.0], [3.0, 0.5]])], [tensor([[1.0, 2.5], [4.0, 0.1]])])
    assert str(caught.value) == (
        "Tensor-likes are not close!\n\n"
        "Mismatched elements: 3 / 4 (75.0%)\n"
        "Greatest absolute difference: 1.0 at index (1, 0) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 4.0 at index (1, 1) (up to 1.3e-06 allowed)\n\n"
        "The failure occurred for item [0]"
    )


def test_the_users_message():
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(1, 2, msg="mine")
    with pytest.raises(AssertionError, match=r"^Argument 'x': Booleans mismatch: True is not False$"):
        assert_close(True, False, msg=lambda text: f"Argument 'x': {text}")


CASES = {
    "matrix": lambda m: (m.tensor([[1.0, 2.0], [3.0, 0.5]]), m.tensor([[1.0, 2.5], [4.0, 0.1]])),
    "zero expected": lambda m: (m.tensor([1.0, 2.0]), m.tensor([0.0, 2.0])),
    "nan": lambda m: (m.tensor([1.0, math.nan]), m.tensor([0.5, 2.0])),
    "infinite": lambda m: (m.tensor([1.0, math.inf]), m.tensor([0.5, -math.inf])),
    "integers": lambda m: (m.tensor([1, 2, 2**60]), m.tensor([1, 5, 2**60 + 1])),
    "bytes": lambda m: (m.tensor([1, 200], dtype=m.uint8), m.tensor([255, 200], dtype=m.uint8)),
    "bools": lambda m: (m.tensor([True, False]), m.tensor([True, True])),
    "complex": lambda m: (m.tensor([1 + 1j, 2j]), m.tensor([1 + 2j, 0j])),
    "0-d": lambda m: (m.tensor(1.0), m.tensor(2.5)),
    "0-d of zero": lambda m: (m.tensor(1), m.tensor(0)),
    "numbers": lambda m: (1.0, 1.5),
    "no difference but NaN": lambda m: (math.nan, math.nan),
    "numbers of types": lambda m: (1, 1.0),
    "numbers, expected 0": lambda m: (1 + 1j, 0j),
    "bool": lambda m: (True, False),
    "none": lambda m: (None, 3),
    "shape": lambda m: (m.ones(2, 3), m.ones(3)),
    "dtype": lambda m: (m.ones(2), m.ones(2, dtype=m.float64)),
    "lists": lambda m: ([1, 2], [1, 2, 3]),
    "nested": lambda m: ({"a": [1, (2, m.ones(2))]}, {"a": [1, (2, m.zeros(2))]}),
    "nested lengths": lambda m: ({"a": [1, (2, 3)]}, {"a": [1, (2, 3, 4)]}),
    "keys": lambda m: ({"a": 1, "c": 2}, {"b": 1, "c": 2}),
    "the first": lambda m: ([1, 2, 3], [1, 3, 4]),
    "structure before values": lambda m: ([1, [2]], [2, []]),
    "strings": lambda m: ("a", "b"),
    "sets": lambda m: ({1}, {1}),
    "a list and a number": lambda m: ([1], 1),
}
OPTIONS = [{}, {"rtol": 0, "atol": 0}, {"rtol": 0.125, "atol": 0.0625, "equal_nan": True}]


@pytest.mark.torch
@pytest.mark.parametrize("options", [*OPTIONS, {"rtol": 0.5}, {"check_dtype": False, "msg": lambda text: f"<{text}>"}])
@pytest.mark.parametrize("case", CASES)
def test_messages_are_pytorchs(case, options):
    outcomes = []
    for module, _ in libraries():
        try:
            module.testing.assert_close(*CASES[case](module), **options)
            outcomes.append(None)
        except Exception as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]


def test_the_older_function():
    with pytest.warns(FutureWarning, match="use `torch.testing.assert_close"):
        numgrad.testing.assert_allclose(tensor([1.0]), np.array([1.0 + 5e-5]))
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="not close"):
        numgrad.testing.assert_allclose(tensor([1.0]), tensor([1.0 + 5e-4]))
