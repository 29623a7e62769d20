"""The bilinear layer against PyTorch's."""

import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
@pytest.mark.parametrize("outer", [(), (3,), (0,), (2, 3)])
def test_values_and_gradients(outer, layout):
    def program(m, x, y, weight, bias):
        f = m.nn.functional.bilinear
        return f(x, y, weight, bias), f(x, y, weight), m.bilinear(x.detach(), y, weight, bias)

    assert_same(program, *randoms((*outer, 2), (*outer, 4), (5, 2, 4), (5,), layout=layout), graph=False)


def test_nodes():
    def program(m, *given):
        out = m.nn.functional.bilinear(*given)
        return type(out.grad_fn).__name__, [type(node).__name__ for node, _ in out.grad_fn.next_functions]

    import torch

    import numgrad

    given = randoms((3, 2), (3, 4), (5, 2, 4), (5,))
    names = [program(m, *[m.tensor(x, requires_grad=True) for x in given]) for m in (torch, numgrad)]
    assert names[1] == names[0] == ("AddBackward0", ["ViewBackward0", "AccumulateGrad"])


def test_module():
    def program(m, x, y):
        m.manual_seed(4)
        layers = m.nn.Bilinear(3, 4, 2, dtype=m.float64), m.nn.Bilinear(3, 4, 2, False, dtype=m.float64)
        return [*[layer(x, y) for layer in layers], *[p.detach() for layer in layers for p in layer.parameters()]]

    assert_same(program, *randoms((5, 3), (5, 4)), graph=False)


@pytest.mark.parametrize("program", [
    lambda m: m.bilinear(m.ones(3, 2), m.ones(3, 3), m.ones(5, 2, 2)),
    lambda m: m.bilinear(m.ones(3, 3), m.ones(3, 2), m.ones(5, 2, 2)),
    lambda m: m.bilinear(m.ones(3, 2), m.ones(2, 2), m.ones(5, 2, 2)),
    lambda m: m.bilinear(m.ones(3, 2), m.ones(3, 2), m.ones(5, 2, 2), m.ones(4)),
    lambda m: m.bilinear(m.ones(3, 2), m.ones(1, 3, 2), m.ones(5, 2, 2)),
    lambda m: m.bilinear(m.ones(3, 2), m.ones(3, 2).double(), m.ones(5, 2, 2)),
    lambda m: m.bilinear(m.ones(3, 2), m.ones(3, 2), m.ones(5, 2, 2), m.ones(5).double()),
    lambda m: m.nn.Bilinear(0, 2, 3),
])  # fmt: skip
def test_refusals(program):
    expected, found = messages(program)
    assert type(found) is type(expected)
    assert str(found).startswith(str(expected))


def test_a_weight_of_two_dimensions():
    expected, found = messages(lambda m: m.bilinear(m.ones(3, 2), m.ones(3, 2), m.ones(2, 2)))
    assert type(found) is type(expected)
