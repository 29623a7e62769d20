"""Recurrent layers on a GPU."""

import pytest

import numgrad
from numgrad import nn


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_gradients_where_gates_are_saturated_are_those_of_the_cpu(kind, cuda):
    layer = kind(2, 3)
    for parameter in layer.parameters():
        nn.init.constant_(parameter, 5.0)
    found = []
    for device in ("cpu", "cuda"):
        layer = layer.to(device)
        x = numgrad.ones(2, 1, 2, device=device, requires_grad=True)
        layer(x)[0].sum().backward()
        found.append(x.grad.cpu())
    assert 0 < found[0].abs().max() < 1e-7
    numgrad.testing.assert_close(*found, rtol=1e-5, atol=0)


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell])
def test_single_steps_are_those_of_the_cpu(kind, cuda):
    cell = kind(3, 5)
    x, hidden, state = [numgrad.randn(4, size) for size in (3, 5, 5)]
    found = []
    for device in ("cpu", "cuda"):
        cell = cell.to(device)
        given = [each.to(device).requires_grad_() for each in (x, hidden, state)]
        results = cell(given[0], tuple(given[1:])) if kind is nn.LSTMCell else (cell(*given[:2]),)
        used = given[: len(results) + 1] + list(cell.parameters())
        gradients = numgrad.autograd.grad(sum((each * each).sum() for each in results), used, retain_graph=True)
        of_last = numgrad.autograd.grad(results[-1].sum(), used)
        found.append([each.detach().cpu() for each in (*results, *gradients, *of_last)])
    numgrad.testing.assert_close(*found)
