"""Hooks for saved tensors in transformed functions: the graph that they drop is restored at every level."""

import pytest

from numgrad import allclose, tensor
from numgrad.autograd.graph import saved_tensors_hooks
from numgrad.func import grad, jacfwd, vmap


def function(x):
    return (x**2).sin()


def hooked(function, pack=lambda t: t.detach() * 2, unpack=lambda t: t / 2):
    def wrapped(x):
        with saved_tensors_hooks(pack, unpack):
            return function(x)

    return wrapped


def second(inner, outer=lambda f: f):
    """Second derivatives, of which the outer one is taken outside of ``vmap``."""
    return grad(outer(lambda x: vmap(grad(inner))(x).sum()))


@pytest.mark.parametrize("twice", [second(hooked(function)), second(function, hooked), hooked(second(function))])
def test_second_derivatives_outside_of_vmap(x, twice):
    square = x**2
    assert allclose(twice(x), 2 * square.cos() - 4 * square * square.sin())


def test_two_levels_of_vmap(x):
    rows = x.unsqueeze(0)
    plain, other = (grad(lambda t, f=f: vmap(vmap(grad(f)))(t).sum())(rows) for f in (function, hooked(function)))
    assert allclose(plain, other)
    assert plain.any()


def test_tangents_outside_of_vmap(x):
    plain, other = (jacfwd(vmap(grad(f)))(x) for f in (function, hooked(function)))
    assert allclose(plain, other)
    assert plain.any()


def test_a_tensor_from_elsewhere_is_refused(x):
    elsewhere = tensor(1.0)
    with pytest.raises(RuntimeError, match="saved under vmap depends on tensors outside"):
        second(hooked(function, lambda t: None, lambda _: elsewhere))(x)
