"""Users' Functions inside of transforms, including those that PyTorch does not support."""

import pytest

from numgrad import tensor
from numgrad.autograd import Function
from numgrad.func import grad, hessian, jacfwd, jvp


class Cube(Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        return 3 * ctx.saved_tensors[0] ** 2 * gradient

    jvp = backward


class CubeOfOnePiece(Cube):
    """Without ``setup_context``, as old programs have it."""

    @staticmethod
    def forward(ctx, x):
        Cube.setup_context(ctx, (x,), None)
        return x**3

    setup_context = Function.setup_context


@pytest.mark.parametrize("function", [Cube.apply, CubeOfOnePiece.apply])
def test_derivatives_of_functions_by_transforms(function):
    x, t = tensor([1.0, 2.0]), tensor([1.0, -1.0])
    assert grad(lambda x: function(x).sum())(x).tolist() == [3.0, 12.0]
    assert jvp(function, (x,), (t,))[1].tolist() == [3.0, -12.0]
    assert jvp(lambda x: jvp(function, (x,), (t,))[1], (x,), (t,))[1].tolist() == [6.0, 12.0]
    assert grad(lambda x: grad(lambda x: function(x).sum())(x).sum())(x).tolist() == [6.0, 12.0]


def test_functions_without_support_of_vmap():
    x = tensor([1.0, 2.0])
    assert jacfwd(Cube.apply)(x).tolist() == [[3.0, 0.0], [0.0, 12.0]]
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        hessian(lambda x: Cube.apply(x).sum())(x)
