"""Anomaly mode against PyTorch: errors and warnings, their order and their first words."""

import re
import warnings

import pytest
from autograd_programs import Programs

import numgrad

pytestmark = pytest.mark.torch
programs = Programs()


def leaf(m, value=1.0):
    return m.full((3,), value, requires_grad=True)


def fails(*anything):
    raise ValueError("a hook")


def function(m, backward):
    class Custom(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

    Custom.backward = staticmethod(backward)
    return Custom.apply


@programs
def a_hook_of_a_tensor(m, show):
    y = leaf(m).exp()
    y.register_hook(fails)
    y.sum().backward()


@programs
def a_hook_of_a_leaf(m, show):
    x = leaf(m)
    x.register_hook(fails)
    x.exp().sum().backward()


@programs
def a_hook_before_a_node(m, show):
    y = leaf(m).exp()
    y.grad_fn.register_prehook(fails)
    y.sum().backward()


@programs
def a_hook_after_a_node(m, show):
    y = leaf(m).exp()
    y.grad_fn.register_hook(fails)
    y.sum().backward()


@programs
def a_hook_after_accumulation(m, show):
    x = leaf(m)
    x.register_post_accumulate_grad_hook(fails)
    x.exp().sum().backward()


@programs
def a_graph_that_was_freed(m, show):
    y = leaf(m).exp().sum()
    y.backward()
    y.backward()


@programs
def a_tensor_that_was_changed(m, show):
    y = leaf(m).exp()
    total = y.sum()
    y.add_(1)
    total.backward()


@programs
def a_gradient_of_a_wrong_shape(m, show):
    function(m, lambda ctx, g: m.full((7,), float("nan")))(leaf(m)).sum().backward()


@programs
def too_many_gradients(m, show):
    function(m, lambda ctx, g: (g, g, g))(leaf(m)).sum().backward()


@programs
def nan_by_a_node(m, show):
    (leaf(m, 0.0).sqrt() * 0).sum().backward()


@programs
def nan_in_grad(m, show):
    x = leaf(m, 0.0)
    m.autograd.grad((x.sqrt() * 0).sum(), x)


@programs
def nan_for_an_input_that_is_not_asked_for(m, show):
    x, y = leaf(m), leaf(m)
    m.autograd.grad((x / x.detach() * (y - 1).log()).sum() * 0, y)


@programs
def nan_by_a_hook_of_a_tensor(m, show):
    y = leaf(m).exp()
    y.register_hook(lambda g: g * float("nan"))
    y.sum().backward()


@programs
def nan_by_a_hook_of_a_leaf(m, show):
    x = leaf(m)
    x.register_hook(lambda g: g * float("nan"))
    x.exp().sum().backward()
    show(x.grad)


@programs
def nan_and_infinity_in_the_forward_pass(m, show):
    x = leaf(m, -1.0)
    show(x.sqrt(), (x + 1).log())


@programs
def a_pass_within_a_pass(m, show):
    def backward(ctx, g):
        with m.enable_grad():
            y = leaf(m).exp()
            y.sum().backward()
            y.sum().backward()

    function(m, backward)(leaf(m)).sum().backward()


@programs
def passes_within_hooks(m, show):
    def nested(depth):
        x = leaf(m, 0.0)
        with m.enable_grad():
            y = (x * 2 if depth else x.sqrt() * 0).sum()
        if depth == 1:
            x.register_hook(lambda g: nested(0))
        elif depth == 2:
            y.register_hook(lambda g: nested(1))
        y.backward()

    nested(2)


@programs
def a_second_derivative(m, show):
    again = function(m, fails)
    x = leaf(m)
    y = function(m, lambda ctx, g: again(g))(x).exp()
    (first,) = m.autograd.grad(y, x, leaf(m), create_graph=True)
    node = first.grad_fn
    show(sorted(node.metadata), node.metadata["parent_"].name())
    first.sum().backward()


@programs
def a_second_derivative_of_what_was_not_watched(m, show):
    again = function(m, fails)
    x = leaf(m)
    with m.autograd.set_detect_anomaly(False):
        y = function(m, lambda ctx, g: again(g))(x).exp()
    (first,) = m.autograd.grad(y, x, leaf(m), create_graph=True)
    first.sum().backward()


def outcome(m, program):
    """Return the output and warnings of a program under anomaly mode, and its error without the tracebacks."""
    shown = []
    with warnings.catch_warnings(record=True) as caught, m.autograd.set_detect_anomaly(True):
        warnings.simplefilter("always")
        try:
            program(m, lambda *things: shown.append([str(thing) for thing in things]))
        except Exception as error:
            shown.append((type(error).__name__, str(error).partition("\n")[0]))
    texts = [re.sub(r"\(Triggered internally.*|  File (.*\n)*", "", str(warning.message)) for warning in caught]
    return [*shown, *[(warning.category, text.rstrip()) for warning, text in zip(caught, texts, strict=True)]]


@pytest.mark.parametrize("program", programs)
def test_errors_and_warnings(program):
    import torch

    expected = outcome(torch, program)
    assert expected
    assert outcome(numgrad, program) == expected
