"""Batch normalization against PyTorch's: values, running statistics, gradients, and errors."""

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch

SHAPES = [(5, 4), (3, 4, 5), (2, 4, 3, 2), (3, 4, 0), (0, 4)]


def _statistics(m, channels, dtype):
    steps = m.arange(1.0, channels + 1, dtype=getattr(m, dtype))
    return steps / 3, steps


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_gradients_and_running_statistics(shape, training, dtype):
    def program(m, x, weight, bias):
        mean, variance = _statistics(m, shape[1], dtype)
        out = m.nn.functional.batch_norm(x, mean, variance, weight, bias, training, 0.3, 0.01)
        return [out, mean, variance] if x.numel() else [mean, variance]

    assert_same(program, *randoms(shape, shape[1:2], shape[1:2], dtype=dtype))


@pytest.mark.parametrize("layout", ["stepped", "transposed"])
@pytest.mark.parametrize("training", [True, False])
def test_layouts_and_no_weight(layout, training):
    def program(m, x):
        return m.nn.functional.batch_norm(x, *_statistics(m, 4, "float64"), training=training).contiguous()

    assert_same(program, *randoms((3, 4, 5), layout=layout), graph=False)


@pytest.mark.parametrize("training", [True, False])
def test_the_second_derivative(training):
    def program(m, x, weight, bias):
        out = m.nn.functional.batch_norm(x, *_statistics(m, 2, "float64"), weight, bias, training, eps=0.1)
        return m.autograd.grad(out.sin().sum(), (x, weight, bias), create_graph=True)

    assert_same(program, *randoms((2, 2, 3), (2,), (2,)), graph=False)


@pytest.mark.parametrize("shape", [(0,), (0, 4)])
def test_nothing_to_normalize(shape):
    assert_same(lambda m, x: m.nn.functional.batch_norm(x, None, None, training=True), *randoms(shape))


def _call(*arguments, **options):
    return lambda m, x: m.nn.functional.batch_norm(
        x, *[argument if argument is None else m.ones(argument) for argument in arguments], **options
    )


WRONG = [
    ((1, 4), _call((4,), (4,), training=True)), ((1, 4, 1), _call((4,), (4,), training=True)),
    ((3, 4), _call((5,), (4,))), ((3, 4), _call((4,), (5,))), ((3, 4), _call((4,), (4,), (5,))),
    ((3, 4), _call((4,), (4,), None, (5,))), ((3, 4), _call(None, (4,))), ((3, 4), _call((4,), None)),
    ((3, 4), _call(None, (4,), training=True)), ((4,), _call((4,), (4,))), ((4,), _call(None, None, training=True)),
    ((3, 4), _call((4,), (4,), training=True, eps=-1.0)), ((3, 4), _call(None, None, training=True, eps=0)),
]


@pytest.mark.parametrize(("shape", "program"), WRONG)
def test_errors_are_pytorchs(shape, program):
    expected, found = messages(program, np.zeros(shape, np.float32))
    assert (type(found), str(found)) == (type(expected), str(expected))


@pytest.mark.parametrize(("dtype", "weight"), [("float64", None), ("float64", "float32"), ("float32", "float64")])
def test_other_dtypes_are_refused(dtype, weight):
    def program(m, x):
        factor = None if weight is None else m.ones(4, dtype=getattr(m, weight))
        return m.nn.functional.batch_norm(x, m.ones(4), m.ones(4), factor)

    expected, found = messages(program, np.zeros((3, 4), dtype))
    assert str(found) == str(expected)


@pytest.mark.parametrize("dtype", ["int64", "bool", "complex64"])
def test_dtypes_that_are_not_floating_point(dtype):
    expected, found = messages(_call(None, None, training=True), np.zeros((3, 4), dtype))
    assert str(found).startswith(str(expected))


def test_running_statistics_without_gradients():
    def program(m, x):
        return m.nn.functional.batch_norm(x, m.zeros(4, requires_grad=True), m.ones(4), training=True)

    expected, found = messages(program, np.zeros((3, 4), np.float32))
    assert str(expected).partition(".")[0] == str(found).partition(" (shape")[0]
    expected, found = messages(
        lambda m, x: m.nn.functional.batch_norm(x, m.zeros(4), m.ones(4), None, None, True, None), np.zeros((3, 4))
    )
    assert type(found) is type(expected) is TypeError
    assert "'momentum'" in str(found)
