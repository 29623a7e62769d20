"""Transforms under grad mode, ``no_grad`` and inference mode, nested in all ways: the mode around changes nothing."""

import functools
import itertools
from contextlib import ExitStack

import pytest

import numgrad
from numgrad import enable_grad, func, inference_mode, nn, no_grad, ones, tensor
from numgrad.autograd import forward_ad, functional

MODES = {"inference": inference_mode, "normal": lambda: inference_mode(False), "off": no_grad, "on": enable_grad}
NESTINGS = [(one,) for one in MODES] + list(itertools.permutations(MODES, 2)) + [("off", "inference", "on")]


def total(x):
    return x.sin().sum()


def tangent(f, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, ones(2)))).tangent


def in_place(x):
    return numgrad.zeros(2).copy_(x).sin_()


FIRST = {
    "grad": func.grad(total),
    "vjp": lambda x: func.vjp(numgrad.sin, x)[1](ones(2))[0],
    "jvp": lambda x: func.jvp(numgrad.sin, (x,), (ones(2),))[1],
    "jvp in place": lambda x: func.jvp(in_place, (x,), (ones(2),))[1],
    "jvp without diagonal": lambda x: func.jvp(lambda a: numgrad.cumsum(a.sin(), 0).diff(prepend=ones(1)), (x,),
                                               (ones(2),))[1],
    "jacfwd": lambda x: func.jacfwd(numgrad.sin)(x).diagonal(),
    "jacrev": lambda x: func.jacrev(numgrad.sin)(x).diagonal(),
    "vmap of jacfwd": lambda x: numgrad.vmap(func.jacfwd(numgrad.sin))(x),
    "vmap of grad": lambda x: numgrad.vmap(func.grad(numgrad.sin))(x),
    "linearize": lambda x: func.linearize(numgrad.sin, x)[1](ones(2)),
    "dual level": lambda x: tangent(numgrad.sin, x),
    "functional.vjp": lambda x: functional.vjp(numgrad.sin, x, ones(2))[1],
    "functional.jvp": lambda x: functional.jvp(numgrad.sin, x, ones(2))[1],
    "functional.jacobian": lambda x: functional.jacobian(numgrad.sin, x).diagonal(),
    "functional.jacobian at once": lambda x: functional.jacobian(numgrad.sin, x, vectorize=True).diagonal(),
    "functional.jacobian forward": lambda x: functional.jacobian(
        numgrad.sin, x, vectorize=True, strategy="forward-mode").diagonal(),
}
SECOND = {
    "jvp of grad": lambda x: func.jvp(func.grad(total), (x,), (ones(2),))[1],
    "grad of jvp": func.grad(lambda x: func.jvp(numgrad.sin, (x,), (ones(2),))[1].sum()),
    "jvp of jvp": lambda x: func.jvp(lambda a: func.jvp(numgrad.sin, (a,), (ones(2),))[1], (x,), (ones(2),))[1],
    "hessian": lambda x: func.hessian(total)(x).diagonal(),
    "jacfwd of jacfwd": lambda x: func.jacfwd(func.jacfwd(total))(x).diagonal(),
    "jacrev of jacrev": lambda x: func.jacrev(func.jacrev(total))(x).diagonal(),
    "dual level and grad": lambda x: tangent(func.grad(total), x),
    "functional.vhp": lambda x: functional.vhp(total, x, ones(2))[1],
    "functional.hvp": lambda x: functional.hvp(total, x, ones(2))[1],
    "functional.hessian": lambda x: functional.hessian(total, x).diagonal(),
    "functional.hessian forward": lambda x: functional.hessian(
        total, x, vectorize=True, outer_jacobian_strategy="forward-mode").diagonal(),
}
CASES = [(name, compute, [0.8776, 0.5403]) for name, compute in FIRST.items()]
CASES += [(name, compute, [-0.4794, -0.8415]) for name, compute in SECOND.items()]


@pytest.mark.parametrize(("compute", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@pytest.mark.parametrize("made_inside", [False, True], ids=["tensor", "inference tensor"])
def test_around(compute, expected, made_inside):
    for nesting in NESTINGS:
        x = tensor([0.5, 1.0])
        with ExitStack() as modes:
            for name in nesting:
                modes.enter_context(MODES[name]())
            derivative = compute(x.clone() if made_inside else x)
        assert derivative.tolist() == pytest.approx(expected, abs=1e-4), nesting
    assert numgrad.is_grad_enabled()


@pytest.mark.parametrize("mode", [no_grad, inference_mode], ids=["off", "inference"])
def test_inside_they_stop_reverse_mode_and_not_forward_mode(mode):
    def f(x):
        with mode():
            y = x.sin()
        return x + y

    x = tensor([0.5, 1.0])
    assert func.vjp(f, x)[1](ones(2))[0].tolist() == [1, 1]
    assert func.jvp(f, (x,), (ones(2),))[1].tolist() == pytest.approx([1.8776, 1.5403], abs=1e-4)
    assert func.linearize(f, x)[1](ones(2)).tolist() == pytest.approx([1.8776, 1.5403], abs=1e-4)
    assert tangent(f, x).tolist() == pytest.approx([1.8776, 1.5403], abs=1e-4)


def changed_in_place(x, mode):
    y = x * 1
    with mode():
        y[:1].mul_(x[1:]).sin_()
    return y * x


def in_views_and_sums(x, mode):
    with mode():
        y = (x.expand(2, 2) * x).cumsum(0).t()
    return y @ x.exp()


class Cube(numgrad.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 3 * x * x * tangent


def with_its_own_jvp(x, mode):
    with mode():
        return Cube.apply(x) * x


@pytest.mark.parametrize("mode", [no_grad, inference_mode], ids=["off", "inference"])
@pytest.mark.parametrize("f", [changed_in_place, in_views_and_sums, with_its_own_jvp])
def test_products_of_linearize_are_those_of_jvp_whatever_the_function_records(f, mode):
    def product(way):
        return lambda x: way(functools.partial(f, mode=mode), x)

    along = product(lambda f, x: func.jvp(f, (x,), (tensor([1.0, 10.0]),))[1])
    linear = product(lambda f, x: func.linearize(f, x)[1](tensor([1.0, 10.0])))
    x = tensor([0.5, 1.5])
    for outer in (lambda f: f, func.jacfwd, numgrad.vmap):
        points = numgrad.stack([x, 2 * x]) if outer is numgrad.vmap else x
        numgrad.testing.assert_close(outer(linear)(points), outer(along)(points))


def test_products_of_linearize_refuse_reverse_mode_where_the_function_does():
    w = tensor([2.0, 3.0], requires_grad=True)

    def f(x, used):
        y = x * w
        with no_grad():
            scale = y.abs().max()
        return y / scale if used else y

    x, v = tensor([0.5, 1.0]), tensor([1.0, 10.0], requires_grad=True)
    _, product = func.linearize(lambda x: f(x, used=False), x)
    assert numgrad.autograd.grad(product(v).sum(), (w, v))[0].tolist() == [1, 10]
    _, product = func.linearize(lambda x: f(x, used=True), x)
    with pytest.raises(RuntimeError, match=r"computes results under no_grad .* Differentiate jvp"):
        product(v).sum().backward()


def test_captured_tensors_may_be_inference_tensors():
    x = tensor([1.0, 2.0])
    with inference_mode():
        scale, norm = tensor([3.0, 4.0]), nn.BatchNorm1d(2)
        assert func.grad(lambda x: (x * scale).sum())(x).tolist() == [3, 4]
        assert func.jacrev(lambda x: norm(x.expand(2, 2)).sum(0))(x).shape == (2, 2)
        assert norm.num_batches_tracked == 1

        def changed(x):
            y = x * scale
            scale.mul_(2)
            return y.sum()

        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            func.grad(changed)(x)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        func.grad(lambda x: (x * scale).sum())(x)
