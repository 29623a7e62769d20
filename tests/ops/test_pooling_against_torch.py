"""The largest elements of windows against PyTorch's: values, indices, gradients, and errors."""

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch

CALLS = [
    ((2, 3, 9), (2,), {}), ((3, 9), (3, 2, 1), {"dilation": 2, "ceil_mode": True}), ((2, 3, 9), (4,), {"stride": (5,)}),
    ((2, 3, 9, 8), (2,), {}), ((3, 9, 8), ((3, 2), None, 1), {}), ((2, 3, 9, 8), (3, 2, 1, 2, True), {}),
    ((0, 3, 9, 8), ((2, 3), (), (1, 0)), {}), ((2, 3, 9, 8), (20, 3, 10), {}),
    ((2, 3, 5, 6, 7), (2,), {}), ((3, 5, 6, 7), ((2, 3, 2), 2, (0, 1, 1)), {"ceil_mode": True}),
]


@pytest.mark.parametrize(("shape", "arguments", "options"), CALLS)
@pytest.mark.parametrize("layout", ["contiguous", "stepped"])
def test_values_indices_and_gradients(shape, arguments, options, layout):
    name = f"max_pool{len(shape) - 2 + (shape[0] == 3)}d"

    def program(m, x):
        return [
            *getattr(m.nn.functional, name)(x, *arguments, **options, return_indices=True),
            *getattr(m.nn.functional, f"{name}_with_indices")(x, *arguments, **options),
            getattr(m, name)(x, *[() if argument is None else argument for argument in arguments], **options),
        ]

    assert_same(program, *randoms(shape, layout=layout))


@pytest.mark.parametrize("shape", [(2, 9), (1, 6, 6), (1, 4, 4, 6)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "uint8"])
def test_equal_elements_infinities_and_nan(shape, dtype):
    (x,) = randoms(shape, low=0, high=3)
    x = np.floor(x)
    if dtype == "float32":
        x[..., 1:4], x[..., -2:] = -np.inf, np.nan
    name = f"max_pool{len(shape) - 1}d"

    def program(m, x):
        return getattr(m.nn.functional, name)(x, 2, 1, 1, return_indices=True)

    assert_same(program, x.astype(dtype))


def test_the_second_derivative():
    def program(m, x):
        (grad,) = m.autograd.grad(m.max_pool2d(x, 2, 1).square().sum(), x, create_graph=True)
        return grad.square().sum()

    assert_same(program, *randoms((2, 4, 5)), graph=False)


def test_the_node_of_a_gradient():
    import torch

    import numgrad

    for rank in (2, 3):
        names = []
        for m in (torch, numgrad):
            x = m.ones((1, *(4,) * rank), requires_grad=True)
            out = getattr(m, f"max_pool{rank}d")(x, 2)
            (grad,) = m.autograd.grad(out, x, m.ones_like(out).requires_grad_(), create_graph=True)
            names.append([node.name() for node in (out.grad_fn, grad.grad_fn)])
        assert names[0] == names[1]


WRONG = [
    ((2, 3, 9, 8), (3,), {"padding": 2}), ((2, 3, 9, 8), (2,), {"stride": 0}), ((2, 3, 9, 8), (2,), {"dilation": 0}),
    ((2, 3, 9, 8), (0,), {}), ((2, 3, 9, 8), ((0, 2), 1), {}), ((2, 3, 9, 8), ((1, 2, 3),), {}),
    ((2, 3, 9, 8), (2, (1, 1, 1)), {}), ((2, 3, 9, 8), (2, 2, (1, 1, 1)), {}), ((2, 3, 9, 8), (2, 2, 0, (1, 1, 1)), {}),
    ((2, 3, 9, 8), (20,), {}), ((2, 3, 9, 8), (2, 2, -1), {}), ((2, 3, 9, 8), (2, (1, -1)), {}), ((9, 8), (2,), {}),
    ((2, 0, 9, 8), (2,), {}), ((2, 3, 0, 8), (2,), {}), ((0, 9, 8), (2,), {}), ((1, 2, 3, 9, 8), (2,), {}),
]


@pytest.mark.parametrize(("shape", "arguments", "options"), WRONG)
def test_errors_are_pytorchs(shape, arguments, options):
    expected, found = messages(lambda m, x: m.nn.functional.max_pool2d(x, *arguments, **options), np.zeros(shape))
    assert (type(found), str(found)) == (type(expected), str(expected))


@pytest.mark.parametrize("dtype", ["bool", "complex64"])
def test_dtypes_that_are_refused(dtype):
    expected, found = messages(lambda m, x: m.max_pool2d(x, 2), np.zeros((1, 4, 4), dtype))
    assert str(found).startswith(str(expected))
