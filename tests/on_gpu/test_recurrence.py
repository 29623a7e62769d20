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
