"""Deprecated calls with the factors among the tensors, in every form that PyTorch has of them."""

import pickle

import pytest

import numgrad as torch
from numgrad import Tensor, full, ones

X, Y, V = full((2, 2), 3.0), full((2, 2), 2.0), ones(2)

CALLS = {
    "x.add(2, y)": 7.0, "x.add_(2, y)": 7.0, "torch.add(x, 2, y)": 7.0, "x.sub(2, y)": -1.0, "x.sub_(2, y)": -1.0,
    "torch.sub(x, 2, y)": -1.0, "x.addcmul(2, x, y)": 15.0, "x.addcmul_(2, x.clone(), y)": 15.0,
    "torch.addcmul(x, 2, x, y)": 15.0, "x.addcdiv(2, x, y)": 6.0, "x.addcdiv_(2, x.clone(), y)": 6.0,
    "torch.addcdiv(x, 2, x, y)": 6.0, "x.addmm(2, x, y)": 18.0, "x.addmm(2, 3, x, y)": 42.0,
    "x.addmm_(2, 3, x.clone(), y)": 42.0, "torch.addmm(2, x, 3, x, y)": 42.0, "torch.addmm(2, x, x, y)": 18.0,
    "torch.addmv(2, v, 3, x, v)": 20.0, "x.addr_(2, 3, v, v)": 9.0, "torch.addbmm(2, x, 3, x[None], y[None])": 42.0,
    "x[None].baddbmm(2, 3, x[None], y[None])": 42.0,
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_values(call):
    with pytest.warns(UserWarning, match="with numbers before tensors is deprecated: use "):
        result = eval(call, {"torch": torch, "x": X.clone(), "y": Y, "v": V})
    assert result.unique().tolist() == [CALLS[call]]


@pytest.mark.filterwarnings("ignore:add_")
@pytest.mark.parametrize("decorate", [lambda function: function, torch.compile])
def test_gradients(decorate):
    x = V.clone().requires_grad_()
    function = decorate(lambda x: x.clone().add_(-0.5, x * x).sum())
    for _ in range(3):
        gradient, = torch.autograd.grad(function(x), x)
        assert gradient.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "call", ["x.add_(1, 2, y)", "torch.add(x, y, 1)", "torch.add(1, x, y)", "torch.addcmul(x, y, 1, y)"]
)
def test_other_numbers_of_arguments_are_refused(call):
    with pytest.raises(TypeError, match="positional arguments"):
        eval(call, {"torch": torch, "x": X.clone(), "y": Y})


def test_the_functions_are_pickled_by_their_names():
    for function in (torch.add, torch.addmm, Tensor.add, Tensor.addcmul_):
        assert pickle.loads(pickle.dumps(function)) is function
