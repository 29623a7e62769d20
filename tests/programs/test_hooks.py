"""Hooks of tensors, and gradients that are kept, around compiled functions and within."""

# ruff: noqa: B007, B023 - functions defined earlier see the changed variables

import pytest
from programs.comparison import compared_with_eager, ramp, replays

import numgrad
from numgrad import nn


@pytest.mark.filterwarnings("ignore:.*hooks call Python")
@pytest.mark.parametrize("when", ["every call", "first call", "before", "no call"])
def test_hooks_of_leaves_run_once(when):
    compiled = numgrad.compile(lambda x: x * 3)
    for number in range(5):
        x = numgrad.ones(2, requires_grad=True)
        hooked = when == "every call" or (when != "no call" and not number)
        if hooked and when == "before":
            x.register_hook(lambda g: g * 100)
        y = compiled(x)
        if hooked and when != "before":
            x.register_hook(lambda g: g * 100)
        y.sum().backward()
        assert x.grad.tolist() == [300.0 if hooked else 3.0] * 2
    assert replays(compiled) == [0, 1] if when == "before" else [1]


@compared_with_eager
def test_hooks_after_forward(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: (x * w).exp())
    for number in range(6):
        w.grad, seen = None, []
        y = f(ramp(3) + number)
        handles = [w.register_hook(lambda g: g * 10)]
        handles.append(w.register_post_accumulate_grad_hook(lambda w: seen.append(w.grad.sum().item())))
        y.sum().backward()
        see(w.grad, seen)
        for handle in handles:
            handle.remove()


@compared_with_eager
def test_hooks_and_unexpected_backward(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: (x * w).exp())
    for number in range(6):
        f(ramp(3))
    y = f(ramp(3))
    w.register_hook(lambda g: g * 10)
    y.sum().backward()
    see(w.grad)


@compared_with_eager
def test_hooks_and_second_derivatives(compiled, see):
    f = compiled(lambda x: (x * x).exp())
    for number in range(5):
        x = (ramp(3) / 4).requires_grad_()
        y = f(x)
        if number in (0, 3):
            x.register_hook(lambda g: g * 10)
        (g,) = numgrad.autograd.grad(y.sum(), x, create_graph=True)
        see(g)
        (g * g).sum().backward()
        see(x.grad)


@compared_with_eager
def test_hooks_and_other_gradients(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: (x * w, x * w * w))
    for number in range(6):
        w.grad = None
        y, z = f(ramp(3))
        handle = w.register_hook(lambda g: g * 10)
        (y if number % 2 else y + z).sum().backward()
        see(w.grad)
        handle.remove()


@compared_with_eager(falls_back=True)
def test_hooks_on_arguments_within(compiled, see):
    def leaf(x):
        x.register_hook(lambda g: g * 100)
        return x * 3

    def inner(h):
        h.register_hook(lambda g: g * 5)
        return h * 3

    f, k = compiled(leaf), compiled(inner)
    for number in range(4):
        x = ramp(3).requires_grad_()
        f(x).sum().backward()
        see(x.grad)
        w = ramp(3).requires_grad_()
        h = w * 1
        (k(h) + h).sum().backward()
        see(w.grad)


@compared_with_eager(falls_back=True)
def test_handles_of_hooks_on_arguments_within(compiled, see):
    handles = []

    def inner(h):
        handles.append(h.register_hook(lambda g: g * 5))
        return h * 3

    f = compiled(inner)
    for number in range(3):
        w = ramp(3).requires_grad_()
        h = w * 1
        h.register_hook(lambda g: g * 7)
        y = f(h)
        if number == 1:
            handles[-1].remove()
        (y + h).sum().backward()
        see(w.grad)


@compared_with_eager(falls_back=True)
def test_hooks_on_weights_within(compiled, see):
    model = nn.Linear(2, 2)

    def f(x):
        handle = model.weight.register_hook(lambda g: g * 2)
        y = model(x)
        see(len(model.weight._backward_hooks))
        return y, handle.id * 0

    f = compiled(f)
    for number in range(3):
        model.zero_grad()
        f(ramp(2))[0].sum().backward()
        see(model.weight.grad)


@compared_with_eager(falls_back=True)
def test_hooks_on_others_within(compiled, see):
    w = ramp(3).requires_grad_()
    h = w * 1

    def f(x):
        h.register_hook(lambda g: g * 2)
        return x * 3

    f = compiled(f)
    for number in range(3):
        see(f(ramp(3)))
        w.grad = None
        h.sum().backward(retain_graph=True)
        see(w.grad)


@compared_with_eager(falls_back=True)
def test_gradients_of_arguments_are_kept(compiled, see):
    def inner(h):
        h.retain_grad()
        return h * 3

    f = compiled(inner)
    for number in range(4):
        w = ramp(3).requires_grad_()
        h = w * 1
        (f(h) + h).sum().backward()
        see(w.grad, h.grad)


@compared_with_eager(falls_back=True)
def test_gradients_of_results_are_kept(compiled, see):
    def inner(x):
        y = x * 3
        y.retain_grad()
        return y

    f = compiled(inner)
    for number in range(4):
        x = ramp(3).requires_grad_()
        y = f(x)
        (y * y).sum().backward()
        see(y.grad, x.grad)


@compared_with_eager
def test_gradients_are_kept_around(compiled, see):
    f = compiled(lambda h: h * h)
    for number in range(5):
        w = ramp(3).requires_grad_()
        h = w * 1
        h.retain_grad()
        h.register_hook(lambda g: g * 5)
        y = f(h)
        y.retain_grad()
        y.register_hook(lambda g: g + 1)
        (y * y + h).sum().backward()
        see(y.grad, h.grad, w.grad)


@compared_with_eager(falls_back=True)
def test_hooks_after_accumulation_of_arguments(compiled, see):
    def step(x):
        (x * x).sum().backward()

    f = compiled(step)
    for number in range(4):
        x = (ramp(3) + number).requires_grad_()
        x.register_post_accumulate_grad_hook(lambda x: see(x.grad))
        f(x)
        see(x.grad)


@compared_with_eager
def test_leaves_that_need_no_gradient_any_more(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    b = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: x * w + b)
    for number in range(5):
        w.grad = b.grad = None
        b.requires_grad_(True)
        y = f(ramp(3))
        b.requires_grad_(number not in (0, 3))
        y.sum().backward()
        see(w.grad, b.grad)


@pytest.mark.filterwarnings("ignore:.*hooks call Python")
@pytest.mark.parametrize("calls", range(5))
def test_global_hooks_of_modules_run_once(calls):
    inner, seen = nn.ReLU(), []
    scaled, module = numgrad.compile(lambda x, scale: inner(x) * scale), numgrad.compile(inner)
    for number in range(calls):
        scaled(numgrad.ones(2), number + 2.0)
        module(numgrad.ones(2))
    with nn.modules.module.register_module_forward_hook(lambda *_: seen.append(1)):
        scaled(numgrad.ones(2), 10.0)
        module(numgrad.ones(2))
    assert len(seen) == 2


@pytest.mark.filterwarnings("ignore:.*hooks call Python")
def test_registration_hooks_run_in_each_call():
    compiled, seen = numgrad.compile(lambda x: nn.Sequential(nn.ReLU())(x)), []
    compiled(numgrad.ones(2))
    with nn.modules.module.register_module_module_registration_hook(lambda *_: seen.append(1)):
        for _ in range(3):
            compiled(numgrad.ones(2))
    assert len(seen) == 3


@compared_with_eager
def test_hooks_after_accumulation_before_and_after_recording(compiled, see):
    model, seen = nn.Linear(2, 2), []
    model.weight.register_post_accumulate_grad_hook(lambda weight: seen.append(weight.grad.sum().item()))
    f = compiled(model)
    for number in range(5):
        if number == 3:
            model.bias.register_post_accumulate_grad_hook(lambda bias: seen.append(bias.grad.sum().item()))
        model.zero_grad()
        f(ramp(2)).sum().backward()
        see(seen)


@compared_with_eager(falls_back=True)
def test_hooks_after_accumulation_within(compiled, see):
    model, seen = nn.Linear(2, 2), []
    model.weight.register_post_accumulate_grad_hook(lambda weight: seen.append(weight.grad.sum().item()))

    @compiled
    def step(x):
        model.zero_grad()
        model(x).sum().backward()

    for number in range(3):
        step(ramp(2))
        see(seen)


@compared_with_eager(falls_back=True)
def test_hooks_after_accumulation_added_within(compiled, see):
    model, seen = nn.Linear(2, 2), []

    @compiled
    def f(x):
        model.weight.register_post_accumulate_grad_hook(lambda weight: seen.append(1))
        return model(x)

    for number in range(3):
        f(ramp(2)).sum().backward()
        see(len(seen))
