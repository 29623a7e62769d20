"""Changes in place under nested transforms: the derivatives are those of the program without changes in place."""

import numpy as np
import pytest

import numgrad
from numgrad.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vmap


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


# -- into tensors that the function has made, or got from elsewhere, and that all examples of vmap have in common ----


def part_of_new(v):
    b = numgrad.zeros(2, 4, dtype=v.dtype)
    b[0] = v
    return (v * 3).sum() + (b**3).sum()


def part_of_new_apart(v):
    return (v * 3).sum() + (v**3).sum()


def older_views(v):
    b = numgrad.zeros(2, 4, dtype=v.dtype)
    row, flat = b[1], b.view(8)
    b[1] = v * v
    row.mul_(v)
    return (row**2).sum() + (flat * flat * flat).sum() + (b[:, 1] * v[0]).sum()


def older_views_apart(v):
    return (v**6).sum() + (v**9).sum() + v[1] ** 3 * v[0]


def overlapping_views(v):
    b = numgrad.ones(5, dtype=v.dtype)
    b[:4].mul_(v)
    b[1:].add_(v)
    return (b * b).sum()


def overlapping_views_apart(v):
    return v[0] ** 2 + ((v[1:] + v[:3]) ** 2).sum() + (1 + v[3]) ** 2


def within(v):
    b = numgrad.zeros(2, 4, dtype=v.dtype)
    b[0] = v

    def inner(z):
        c = b * 1
        row = c[1]
        c[1] = z * v
        row.mul_(z)
        return (c**2).sum()

    return jacfwd(grad(inner))(v * 2).sum()


def within_apart(v):
    return (12 * (v * 2) ** 2 * v**2).sum()


TENS = numgrad.tensor([10.0, 20.0], dtype=numgrad.float64)

NESTINGS_IN_COMMON = {
    "jacfwd of grad": lambda f: jacfwd(grad(f)),
    "jacfwd of jacfwd of grad": lambda f: jacfwd(jacfwd(grad(f))),
    "jacrev of jacfwd of grad": lambda f: jacrev(jacfwd(grad(f))),
    "vmap of grad": lambda f: lambda v: vmap(lambda ten: grad(f)(v) * ten)(TENS),
    "jacrev of vmap of grad": lambda f: jacrev(lambda v: vmap(lambda ten: grad(f)(v) * ten)(TENS)),
    "vmap of vmap of grad of grad": lambda f: lambda v: vmap(lambda a: vmap(lambda b: grad(
        lambda v: (grad(f)(v) * v).sum())(v) * a * b)(TENS))(TENS),
    "vmap of linearize of grad": lambda f: lambda v: vmap(linearize(grad(f), v)[1])(numgrad.eye(4, dtype=v.dtype)),
}


@pytest.mark.parametrize("nesting", NESTINGS_IN_COMMON)
@pytest.mark.parametrize(("changing", "apart"), [
    (part_of_new, part_of_new_apart), (older_views, older_views_apart),
    (overlapping_views, overlapping_views_apart), (within, within_apart),
], ids=lambda function: function.__name__)
def test_writes_into_a_tensor_of_no_level_are_differentiated(changing, apart, nesting):
    v = numgrad.tensor([0.3, -0.7, 1.1, 0.45], dtype=numgrad.float64)
    found, expected = NESTINGS_IN_COMMON[nesting](changing)(v), NESTINGS_IN_COMMON[nesting](apart)(v)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-9, atol=1e-12)


def test_a_hessian_has_what_was_written_into_new_zeros():
    w = numgrad.tensor([1.0, 2.0])

    def function(x):
        b = numgrad.zeros(2, 2)
        b[0] = x
        return (x * w).sum() + (b**2).sum()

    x = numgrad.tensor([3.0, 4.0])
    value, along = vmap(lambda t: jvp(grad(function), (x,), (t,)))(numgrad.eye(2))
    assert value.tolist() == [[7, 10], [7, 10]]
    assert along.tolist() == jacfwd(grad(function))(x).tolist() == hessian(function)(x).tolist() == [[2, 0], [0, 2]]


@pytest.mark.parametrize("derivative", [jacrev, jacfwd])
def test_a_tensor_that_is_overwritten_keeps_what_it_is_outside_of_vmap(derivative):
    x = numgrad.tensor([3.0, 4.0])

    def scaled(y):
        def squares(x):
            c, d = y * 2, numgrad.stack([y, y])
            c.mul_(x)
            d[0].mul_(x)
            return (c**2).sum() + (d**2).sum()

        return vmap(lambda t: grad(squares)(x) * t)(numgrad.tensor([1.0, 2.0]))

    found = derivative(scaled)(numgrad.tensor([1.0, 2.0]))  # of 10 y^2 x
    assert found.tolist() == [[[60, 0], [0, 160]], [[120, 0], [0, 320]]]


@pytest.mark.parametrize("derivative", [grad, jacfwd])
def test_writes_of_vmap_into_a_tensor_from_outside_are_differentiated_after_it(derivative):
    def function(x):
        b, c = numgrad.zeros(2, 2), numgrad.zeros(2)

        def changing(z):
            b[1] = z * x
            c.copy_(z)
            return (b.sum() + c.sum()) ** 2

        return vmap(lambda t: grad(changing)(x).sum() * t)(numgrad.ones(3)).sum() * 0 + (b**2).sum() + (c**3).sum()

    assert derivative(function)(numgrad.tensor([1.0, 2.0])).tolist() == [7, 44]  # 4 x^3 + 3 x^2


class Added(numgrad.autograd.Function):
    """The square of one tensor added to another in place."""

    generate_vmap_rule = True

    @staticmethod
    def forward(target, source):
        return target.add_(source * source)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx, gradient):
        return gradient, 2 * gradient * ctx.saved_tensors[0]


@pytest.mark.parametrize("written", [lambda b: b, lambda b: b[:]])
def test_writes_of_a_function_into_a_tensor_of_no_level_are_differentiated(written):
    def function(x):
        b = numgrad.zeros(2, 2)
        Added.apply(written(b), x)
        return (b**2).sum()

    found = vmap(lambda t: grad(function)(numgrad.tensor([1.0, 2.0])) * t)(numgrad.tensor([1.0, 2.0]))
    assert found.tolist() == [[8, 64], [16, 128]]


@pytest.mark.parametrize("constant", [lambda v: v.sign(), lambda v: v.detach().ceil(), lambda v: v.relu()])
@pytest.mark.parametrize("change", [
    lambda t, v: t.add_(v * v), lambda t, v: t.addcmul_(t, v), lambda t, v: t.__setitem__(0, v[1]),
    lambda t, v: t.copy_(v), lambda t, v: t[1:].mul_(v[:-1]),
])
def test_tensors_with_zero_tangents_can_be_overwritten_with_values_that_differ_among_directions(constant, change):
    def changed(v):
        t = constant(v)
        change(t, v)
        return (t * t).sum()

    x = numgrad.tensor([0.5, 2.25, 1.5], dtype=numgrad.float64)
    gradient, step = jacfwd(changed)(x), 1e-6 * numgrad.eye(3, dtype=x.dtype)
    differences = numgrad.stack([(changed(x + way) - changed(x - way)) / 2e-6 for way in step])
    assert numgrad.allclose(gradient, differences, atol=1e-6)
    assert numgrad.allclose(jacfwd(jacfwd(changed))(x), jacfwd(jacfwd(changed))(x).T)


@pytest.mark.parametrize("derivative", [lambda f, x: jvp(f, (x,), (x,)), lambda f, x: jacfwd(f)(x)])
def test_writes_that_outgrow_their_tensor_are_refused(derivative):
    def changed(v):
        v[-1] += v
        return v

    with pytest.raises(RuntimeError, match=r"output with shape \[\] doesn't match the broadcast shape \[1\]"):
        derivative(changed, numgrad.ones(1))


def test_a_tensor_from_outside_that_took_another_shape_under_vmap_keeps_it_and_its_graph():
    y = numgrad.tensor([1.0, 2.0], requires_grad=True)
    x = numgrad.tensor([3.0, 4.0])
    b, c = numgrad.zeros(3, 2) + y, numgrad.ones(3, 2)

    def changing(x):
        for tensor in (b, c):
            tensor.mul_(x)
            tensor.t_()
        return b.sum()

    assert vmap(lambda t: grad(changing)(x) * t)(numgrad.tensor([1.0, 2.0])).tolist() == [[3, 6], [6, 12]]
    assert (b.shape, b.requires_grad, b.is_leaf) == ((2, 3), True, False)
    assert (c.tolist(), c.requires_grad, c.is_leaf) == ([[3, 3, 3], [4, 4, 4]], False, True)
    (b * b).sum().backward()  # 3 (x y)^2
    assert y.grad.tolist() == [54, 192]


def test_writes_into_a_tensor_from_outside_stay_there():
    last = numgrad.zeros(2)

    class Doubled(numgrad.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, t):
            return grad(lambda z: (last.copy_(z) ** 2).sum())(x) * t

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    x = numgrad.tensor([3.0, 4.0])
    found = vmap(lambda t: Doubled.apply(x, t))(numgrad.tensor([1.0, 2.0]))
    assert found.tolist() == [[6, 8], [12, 16]]
    assert ((last + 1).tolist(), last.requires_grad) == ([4, 5], False)
