"""Changes in place under transforms inside one another: the same derivatives as of the program without them."""

import numpy as np
import pytest

import numgrad
from numgrad.func import grad, jacfwd, jacrev, jvp, vmap


def multiplied(v):
    t = v * 1
    t.mul_(t.clone() * v)
    t.sigmoid_()
    return (t * v).sum()


def multiplied_apart(v):
    return ((v * v * v).sigmoid() * v).sum()


def part(v):
    t = v.clone()
    t[::2].mul_(v[1::2])
    return (t * t * v).sum()


def part_apart(v):
    return (numgrad.stack([v[0] * v[1], v[1], v[2] * v[3], v[3]]) ** 2 * v).sum()


def summed(v):
    t = v * v
    t.cumsum_(0)
    t.tanh_()
    return (t * t * t).sum()


def summed_apart(v):
    return ((v * v).cumsum(0).tanh() ** 3).sum()


def scattered(v):
    t = v * 1
    t.index_add_(0, numgrad.tensor([2, 0, 1, 1]), v * v)
    t[1] = v[3] * v[0]
    return (t * t * v).sum()


def scattered_apart(v):
    t = numgrad.stack([v[0] + v[1] ** 2, v[3] * v[0], v[2] + v[0] ** 2, v[3]])
    return (t * t * v).sum()


def along(function):
    """The derivative in a direction that depends on the point."""
    return lambda v: jvp(function, (v,), (v * 2 + 0.3,))[1]


def along_fixed(function):
    return lambda v: jvp(function, (v,), (numgrad.linspace(0.1, 1, 4, dtype=v.dtype),))[1]


def examples(function):
    return lambda v: vmap(function)(numgrad.stack([v, v * 2]))


NESTINGS = {
    "jacfwd of jacrev": lambda f: jacfwd(jacrev(f)),
    "jacrev of jacfwd": lambda f: jacrev(jacfwd(f)),
    "jvp of jvp of grad": lambda f: along(along(grad(f))),
    "jvp of grad of jvp": lambda f: along(grad(along(f))),
    "grad of jvp of jvp": lambda f: grad(along(along(f))),
    "jacrev of vmap of grad": lambda f: jacrev(examples(grad(f))),
    "grad of vmap of jvp of grad": lambda f: grad(lambda v: examples(along(grad(f)))(v).sum()),
    "vmap of grad of jvp": lambda f: examples(grad(along_fixed(f))),
}


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize(("changing", "apart"), [
    (multiplied, multiplied_apart), (part, part_apart), (summed, summed_apart), (scattered, scattered_apart),
], ids=lambda function: function.__name__)
def test_derivatives_are_those_of_the_same_program_without_changes(changing, apart, nesting):
    v = numgrad.tensor([0.3, -0.7, 1.1, 0.45], dtype=numgrad.float64)
    found, expected = NESTINGS[nesting](changing)(v), NESTINGS[nesting](apart)(v)
    assert np.abs(expected.numpy()).max() > 0.01
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-9, atol=1e-12)
