"""The number, order and extent of a checkpoint's calls of its function are PyTorch's."""

import pytest
from autograd_programs import Programs, assert_same, leaf
from checkpoint_programs import Counted, fails, kept, message, nested

pytestmark = pytest.mark.torch

program = Programs()


# --- numbers and order of the calls -----------------------------------------------------


@program
def values_and_calls(m, show):
    for way in (kept, nested):
        x, calls = leaf(m), []
        y = way(m, Counted(lambda x: (x.sin() * x).exp(), calls), x)
        show(y.detach(), y.requires_grad, calls)
        y.sum().backward()
        show(x.grad, calls)


@program
def early_stop(m, show):
    switch = m.utils.checkpoint.set_checkpoint_early_stop
    for own in (True, False):
        for outer in (None, True, False):
            x, calls = leaf(m), []
            function = Counted(lambda x: x.exp().sin(), calls)
            if outer is None:
                y = kept(m, function, x, early_stop=own)
            else:
                with switch(outer):
                    y = kept(m, function, x, early_stop=own)
            with switch(False):
                y.sum().backward()
            show(own, outer, calls, x.grad)


@program
def nested_early_switches(m, show):
    switch = m.utils.checkpoint.set_checkpoint_early_stop
    x, calls = leaf(m), []
    with switch(False), switch(True):
        y = kept(m, Counted(lambda x: x.exp().sin(), calls), x)
    y.sum().backward()
    show(calls)


def deep(m, calls, depth, way, **options):
    def at(level):
        if level == depth:
            return Counted(lambda x: x.sin().exp(), calls, level)
        inner = at(level + 1)
        return Counted(lambda x: way(level + 1)(m, inner, x.sin(), **options).cos(), calls, level)

    return at(0)


@program
def checkpoints_in_checkpoints(m, show):
    for depth in range(5):
        x, calls = leaf(m), []
        y = kept(m, deep(m, calls, depth, lambda level: kept), x)
        calls.append("|")
        y.sum().backward()
        show(depth, calls, x.grad)


@program
def checkpoints_in_checkpoints_to_the_end(m, show):
    for depth in range(4):
        x, calls = leaf(m), []
        y = kept(m, deep(m, calls, depth, lambda level: kept, early_stop=False), x, early_stop=False)
        calls.append("|")
        y.sum().backward()
        show(depth, calls, x.grad)


@program
def checkpoints_of_both_kinds(m, show):
    for first, second in ((kept, nested), (nested, kept), (nested, nested)):
        for depth in (1, 2, 3):
            x, calls = leaf(m), []
            y = first(m, deep(m, calls, depth, lambda level, ways=(first, second): ways[level % 2]), x)
            calls.append("|")
            y.sum().backward()
            show(depth, calls, x.grad)


@program
def checkpoints_around_nothing_else(m, show):
    for depth in (1, 2, 3):
        x, calls = leaf(m), []
        function = Counted(lambda x: x.sin(), calls)
        for level in range(depth):
            function = Counted(lambda x, function=function: kept(m, function, x), calls, level)
        y = kept(m, function, x)
        y.sum().backward()
        show(calls, x.grad)


@program
def one_after_the_other(m, show):
    for way in (kept, nested):
        x, calls = leaf(m), []
        y = x
        for number in range(4):
            y = way(m, Counted(lambda y: y.sin().exp(), calls, number), y)
        y.sum().backward()
        show(calls, x.grad)


@program
def two_in_one(m, show):
    def function(x):
        first = kept(m, Counted(lambda x: x.sin().exp(), calls, "a"), x)
        second = kept(m, Counted(lambda x: x.cos().exp(), calls, "b"), x)
        return first * second

    x, calls = leaf(m), []
    kept(m, Counted(function, calls), x).sum().backward()
    show(calls, x.grad)


@program
def several_passes(m, show):
    x, calls = leaf(m), []
    y = kept(m, Counted(lambda x: x.sin().exp(), calls), x)
    for _ in range(3):
        y.sum().backward(retain_graph=True)
    show(calls, x.grad)
    show(m.autograd.grad(y.sum(), x))
    show(calls)
    y.sum().backward()


@program
def second_pass_without_retaining(m, show):
    for way in (kept, nested):
        x, calls = leaf(m), []
        y = way(m, Counted(lambda x: x.sin().exp(), calls), x)
        y.sum().backward()
        show(fails(y.sum().backward), calls)


@program
def reentrant_retained(m, show):
    x, calls = leaf(m), []
    y = nested(m, Counted(lambda x: x.sin().exp(), calls), x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    show(calls, x.grad)


@program
def passes_over_parts(m, show):
    x, calls = leaf(m), []
    y, z = kept(m, Counted(lambda x: (x.sin(), x.exp().cos()), calls), x)
    y.sum().backward()
    show(calls, x.grad)
    z.sum().backward()
    show(calls, x.grad)


@program
def part_that_is_dropped(m, show):
    x, calls = leaf(m), []
    y, z = kept(m, Counted(lambda x: (x.sin(), x.exp().cos()), calls), x)
    del z
    y.sum().backward()
    show(calls, x.grad)


@program
def reading_what_is_saved(m, show):
    x, calls = leaf(m), []
    y = kept(m, Counted(lambda x: x.sin().exp(), calls), x)
    show(y.grad_fn._saved_result.detach(), calls)
    show(y.grad_fn._saved_result.detach(), calls)
    show(y.grad_fn.next_functions[0][0]._saved_self.requires_grad, calls)
    y.sum().backward()
    show(calls, fails(lambda: y.grad_fn._saved_result))


@program
def groups_of_passes(m, show):
    group = m.utils.checkpoint.GraphExecGroup()
    x, calls = leaf(m), []
    y, z = kept(m, Counted(lambda x: (x.sin(), x.exp().cos()), calls), x)
    with group:
        y.sum().backward(retain_graph=True)
        z.sum().backward()
        show(calls, x.grad)
        show(message(m, y.sum().backward))
        show(fails(m.utils.checkpoint.GraphExecGroup().__enter__))
    y.sum().backward()
    show(calls, x.grad)


@program
def derivatives_of_derivatives(m, show):
    x, calls = leaf(m, 0.3, 0.7), []
    value = kept(m, Counted(lambda x: x.sin().exp() * x, calls), x).sum()
    for _ in range(3):
        (first,) = m.autograd.grad(value, x, create_graph=True)
        show(first.detach(), first.requires_grad, calls)
        value = first.sum()


@program
def backward_through_a_gradient(m, show):
    x, calls = leaf(m, 0.3, 0.7), []
    y = kept(m, Counted(lambda x: kept(m, Counted(lambda x: x.exp().sin(), calls, "i"), x * x), calls), x)
    (first,) = m.autograd.grad(y.sum(), x, create_graph=True)
    (first * first).sum().backward()
    show(x.grad, calls)


@program
def batched_gradients(m, show):
    x = leaf(m)
    y = kept(m, lambda x: x.sin().exp(), x)
    show(m.autograd.grad(y, x, m.eye(2), is_grads_batched=True))


@program
def gradients_of_given_tensors(m, show):
    x, w, calls = leaf(m), leaf(m, 3.0, 4.0), []
    y = kept(m, Counted(lambda x: (x * w).sin().exp(), calls), x)
    show(m.autograd.grad(y.sum(), w, retain_graph=True))
    show(m.autograd.grad(y.sum(), [x, y], retain_graph=True))
    y.sum().backward(inputs=[x])
    show(x.grad, w.grad, calls)


@program
def reentrant_refuses_inputs(m, show):
    x = leaf(m)
    show(fails(lambda: nested(m, lambda x: x.sin(), x).sum().backward(inputs=[x])))
    show(fails(lambda: m.autograd.grad(nested(m, lambda x: x.sin(), x).sum(), x)))
    kept(m, lambda x: nested(m, lambda x: x.sin(), x), x)
    m.autograd.grad(kept(m, lambda x: nested(m, lambda x: x.sin(), x), x).sum(), x)


# --- random numbers ---------------------------------------------------------------------


@program
def random_numbers(m, show):
    for way in (kept, nested):
        for preserve in (True, False):
            m.manual_seed(3)
            x, drawn = leaf(m), []

            def function(x, drawn=drawn):
                noise = m.rand(2)
                drawn.append(noise)
                return (x * noise).exp() * m.randn(2)

            y = way(m, function, x, preserve_rng_state=preserve)
            show(m.rand(1))
            y.sum().backward()
            show(m.rand(1), drawn, x.grad)


@program
def dropout_in_checkpoints_in_checkpoints(m, show):
    m.manual_seed(0)
    x = m.ones(20, requires_grad=True)
    dropout = m.nn.functional.dropout
    kept(m, lambda x: kept(m, lambda x: dropout(x.sin(), 0.3), dropout(x.exp())).cos(), x).sum().backward()
    show(x.grad, m.rand(2))


# --- sequences --------------------------------------------------------------------------


@program
def sequences(m, show):
    for count, segments in ((5, 2), (7, 3), (6, 3), (4, 4), (4, 1), (3, 2)):
        for reentrant in (False, True):
            x, calls = leaf(m), []
            functions = [Counted(lambda x: x.sin(), calls, number) for number in range(count)]
            y = m.utils.checkpoint.checkpoint_sequential(functions, segments, x, use_reentrant=reentrant)
            calls.append("|")
            y.sum().backward()
            show(calls, x.grad)


@program
def sequences_of_modules(m, show):
    for container in (m.nn.Sequential, m.nn.ModuleList):
        m.manual_seed(0)
        layers = [m.nn.Linear(3, 3), m.nn.Dropout(0.5), m.nn.Tanh(), m.nn.Linear(3, 2)]
        model = container(*layers) if container is m.nn.Sequential else container(layers)
        model.double()
        x = m.rand(4, 3, dtype=m.float64, requires_grad=True)
        y = m.utils.checkpoint.checkpoint_sequential(model, 3, x, use_reentrant=False, preserve_rng_state=True)
        y.sum().backward()
        show(y.detach(), x.grad, *[p.grad for p in model.parameters()])


@pytest.mark.parametrize("function", program)
def test_a_program(function):
    assert_same(function)
