"""The text of a hand-written kernel: one function, with the functions that it calls inlined."""

import numpy as np
import pytest

from numgrad_kernels.scalar import maximum
from numgrad_kernels.source import module_text

T = np.float32
SCALE = 3


def fold(left, right):
    return left + right


def larger(left, right):
    return maximum(left, right)


def _scaled(value):
    return T(value * SCALE)


def _squared(value):
    return value * value


def _sign(value):
    if value < 0:
        return -1
    if value > 0:
        return 1
    return 0


def _sum_of_first(steps, x):
    total = T(0)
    while steps:
        steps -= 1
        total += x[steps]
    return total


def _fill(out, value):
    """A function without a value."""
    for i in range(out.size):
        out[i] = value


def _through(apply, value):
    """A function that calls the one it is given."""
    return apply(value) + apply(T(1))


def everything(x, steps, out):
    _fill(out, _scaled(x[0]))
    total = T(1)
    out[0] = fold(total, _sum_of_first(steps, x)) + _sum_of_first(1, x)
    out[1] = steps * total + _through(_squared, x[1])
    for i in range(_sign(x[0]) + 1):
        out[2] += _squared(x[i] + total)
        if _sign(x[i]) < 0:
            out[2] += _scaled(out[3])
    out[3] = _squared(x[1] - total) if steps and _squared(x[1]) else total


def run(text, *arguments):
    names = {}
    exec(text, names)
    names["kernel"](*arguments)


@pytest.mark.parametrize("first", [2, -2, 0])
def test_pasted_functions_compute_the_same_as_called_ones(first):
    x = np.array([first, -1, 5], np.float32)
    expected, found = np.zeros(5, np.float32), np.zeros(5, np.float32)
    everything(x, 3, expected)
    text = module_text(everything, np.dtype("float32"))
    run(text, x, 3, found)
    np.testing.assert_array_equal(found, expected)
    assert text.count("def ") == 1
    assert "SCALE = 3" in text


def test_parts_take_the_places_of_functions():
    x, out = np.array([2, -1, 5], np.float32), np.zeros(4, np.float32)
    run(module_text(everything, np.dtype("float32"), {"fold": larger}), x, 3, out)
    assert out[0] == 6 + 2
    run(module_text(everything, np.dtype("float32")), x, 3, out)
    assert out[0] == 1 + 6 + 2


def test_a_choice_computes_one_side_only():
    def kernel(x, out):
        out[0] = _squared(x[0] + x[1]) if x.size > 1 else T(0)

    out = np.ones(1, np.float32)
    run(module_text(kernel, np.dtype("float32")), np.ones(1, np.float32), out)
    assert out == 0


def _first_positive(x):
    for value in x:
        if value > 0:
            return value
    return T(0)


def from_a_loop(x, out):
    out[0] = _first_positive(x)


def in_a_condition(x, out):
    while _sum_of_first(x.size, x) > 0:
        x[0] -= 1
    out[0] = x[0]


def _moved(x):
    x[0] += 1
    return x[0]


def with_a_call_that_writes(x, out):
    out[0] = x[0] + _moved(x)


def as_an_argument_before(x, out):
    out[0] = max(x[1], _moved(x))


def added_to_what_is_written(x, out):
    x[0] += _moved(x)


def in_a_test(x, out):
    if x[0] > _moved(x):
        out[0] = 1


def of_a_list(x, out):
    out[0] = x[NUMBERS[0]]


NUMBERS = [1]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (from_a_loop, "_first_positive: a return in a kernel or inside a loop"),
        (in_a_condition, "in_a_condition: the call of '_sum_of_first' may be skipped"),
        (with_a_call_that_writes, "with_a_call_that_writes: a statement reads x, which a call in it writes"),
        (as_an_argument_before, "a statement reads x, which a call"),
        (added_to_what_is_written, "a statement reads x, which a call"),
        (in_a_test, "a statement reads x, which a call"),
        (of_a_list, "of_a_list: a kernel cannot use 'NUMBERS', which is a list"),
    ],
)
def test_functions_that_cannot_be_pasted_are_refused(function, message):
    with pytest.raises(TypeError, match=message):
        module_text(function, np.dtype("float32"))
