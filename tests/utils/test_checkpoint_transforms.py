"""Checkpoints and hooks of saved tensors, under forward mode and the transforms of ``func``."""

import numpy as np
import pytest
from checkpoints import kept, leaf, twice

import numgrad
from numgrad import Tensor, func, tensor
from numgrad.autograd import forward_ad, grad
from numgrad.autograd.graph import saved_tensors_hooks


def curve(x):
    return (x.sin() * x.cos()[0]).exp().sum()


def hooked(function, x):
    with saved_tensors_hooks(Tensor.detach, lambda x: x):
        return function(x)


def tangent_then_backward(function):
    x = leaf()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, numgrad.tensor([1.0, 0.5]))
        tangent = forward_ad.unpack_dual(function(dual)).tangent
    return grad(tangent, x)[0]


POINT, DIRECTION = tensor([0.5, 1.5]), tensor([1.0, 0.5])
POINTS = tensor([[0.5, 1.5], [0.1, 0.2], [1.0, 2.0]])
TRANSFORMS = {
    "grad": lambda f: func.grad(f)(POINT),
    "hessian": lambda f: func.hessian(f)(POINT),
    "jvp of grad": lambda f: func.jvp(func.grad(f), (POINT,), (DIRECTION,))[1],
    "grad of jvp": lambda f: func.grad(lambda x: func.jvp(f, (x,), (DIRECTION,))[1])(POINT),
    "grad of grad": lambda f: func.jacrev(func.jacrev(f))(POINT),
    "tangent, then backward": tangent_then_backward,
    "vmap of grad": lambda f: func.vmap(func.grad(f))(POINTS),
    "vmap of hessian": lambda f: func.vmap(func.hessian(f))(POINTS),
    "functional": lambda f: numgrad.autograd.functional.hessian(f, POINT, vectorize=True),
}


@pytest.mark.parametrize("way", [kept, twice, hooked])
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_transforms(transform, way):
    expected = transform(curve)
    assert expected.count_nonzero()
    np.testing.assert_allclose(transform(lambda x: way(curve, x)).detach(), expected.detach(), 1e-5, 1e-6)


@pytest.mark.parametrize("way", [kept, hooked])
def test_grad_of_vmap(way):
    np.testing.assert_allclose(
        func.grad(lambda x: func.vmap(lambda x: way(curve, x))(x).sum())(POINTS),
        func.grad(lambda x: func.vmap(curve)(x).sum())(POINTS),
        1e-5,
    )


def test_graphs_inside_and_outside_of_vmap_are_not_both_kept():
    with pytest.raises(RuntimeError, match=r"under vmap .*of shape \[2\]"):
        func.grad(lambda x: func.vmap(func.grad(lambda x: kept(curve, x)))(x).sum())(POINTS)
