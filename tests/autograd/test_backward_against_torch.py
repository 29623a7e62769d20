"""``backward`` and ``grad`` with all their arguments: the same results with PyTorch and with numgrad."""

import inspect

import pytest
from autograd_programs import Programs, assert_same, leaf

import numgrad

pytestmark = pytest.mark.torch

program = Programs()


@pytest.mark.parametrize("path", ["autograd.backward", "autograd.grad", "Tensor.backward"])
def test_signatures(path):
    import torch

    def arguments(module):
        function = module
        for name in path.split("."):
            function = getattr(function, name)
        return [(p.name, p.default, p.kind) for p in inspect.signature(function).parameters.values()]

    assert arguments(numgrad) == arguments(torch)


# --- arguments --------------------------------------------------------------------------


@program
def dictionaries_of_inputs(m, show):
    x, w, unused = leaf(m), leaf(m), leaf(m)
    inputs = {"x": x, "w": w}
    show(m.autograd.grad((x * w).sum(), inputs))
    show(m.autograd.grad((x * w).sum(), {**inputs, "u": unused}, allow_unused=True))
    show(m.autograd.grad((x * w).sum(), {**inputs, "u": unused}, materialize_grads=True))
    (x * w).sum().backward(inputs={"a": x})
    show(x.grad, w.grad)
    m.autograd.grad((x * w).sum(), {})


@program
def the_same_tensor_many_times(m, show):
    x = leaf(m)
    y = x * 2
    ones = m.ones(2)
    show(m.autograd.grad([y, y, x, y], [x, y, x], [ones, ones * 10, ones * 100, ones], retain_graph=True))
    m.autograd.backward([y, x, y, x], [ones] * 4, inputs=[x, x, y], retain_graph=True)
    show(x.grad, y.grad)
    show(m.autograd.grad(x, x, ones * 3), m.autograd.grad([x, x], [x], [ones, ones]))


@program
def gradients_and_none(m, show):
    x = leaf(m)
    m.autograd.backward([x * 2, (x * 3).sum(), x.sum()], [m.ones(2), None, m.tensor(10.0)])
    show(x.grad)
    m.autograd.backward([(x * 3).sum(), x.sum()])
    show(x.grad)
    show(m.autograd.grad((y for y in [x.sum(), (x * x).sum()]), (v for v in [x])))
    m.autograd.backward([x * 2, x.sum()], [None, m.ones(())])


@program
def no_outputs(m, show):
    x = leaf(m)
    show(m.autograd.backward([]), m.autograd.backward([], inputs=[x]), x.grad)
    show(m.autograd.grad([], [x], allow_unused=True))
    m.autograd.grad([], [x])


@program
def counts_differ(m, show):
    x = leaf(m)
    m.autograd.grad([x.sum(), x.sum()], x, [m.ones(())])


@program
def inputs_of_other_kinds(m, show):
    x = leaf(m)
    m.autograd.grad(x.sum(), [x, None])


@program
def empty_inputs(m, show):
    leaf(m).sum().backward(inputs=[])


@program
def wrong_dtype_of_a_gradient(m, show):
    x = leaf(m)
    (x * 2).backward(m.ones(2, dtype=m.float64))
    (x * 2).backward(m.ones(2, dtype=m.bool))
    show(x.grad)
    (x * 2).backward(m.ones(2, dtype=m.complex64))


@program
def conflicting_ways_to_treat_unused(m, show):
    x = leaf(m)
    m.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)


@program
def materialized_zeros_may_be_differentiated(m, show):
    x, unused = leaf(m), leaf(m)
    for create_graph in (False, True):
        zeros = m.autograd.grad((x * x).sum(), [x, unused], create_graph=create_graph, materialize_grads=True)[1]
        show(zeros, zeros.requires_grad)


@program
def unused_index(m, show):
    x, first, second = leaf(m), leaf(m), leaf(m)
    m.autograd.grad((x * first).sum(), [x, first, second])


# --- batches ----------------------------------------------------------------------------


@program
def a_batch_of_vectors(m, show):
    x, w = leaf(m, 1.0, 2.0, 3.0), leaf(m, 3.0, 4.0, 5.0)
    y = x * w * x
    for create_graph in (False, True):
        results = m.autograd.grad(
            [y, y.sum()], [x, w, y], [m.eye(3), m.arange(3.0)], True, create_graph, is_grads_batched=True
        )
        show(*[result.detach() for result in results], [result.requires_grad for result in results])
    (again,) = m.autograd.grad(results[0].sum(), w)
    show(again)


@program
def a_batch_and_unused_inputs(m, show):
    x, unused = leaf(m), leaf(m, 1.0, 2.0, 3.0)
    y = x * x
    show(m.autograd.grad(y, [unused, x], m.eye(2), True, is_grads_batched=True, allow_unused=True))
    show(m.autograd.grad(y, [unused, x], m.eye(2), True, is_grads_batched=True, materialize_grads=True))
    m.autograd.grad(y, [unused, x], m.eye(2), is_grads_batched=True)


@program
def a_batch_of_the_wrong_shape(m, show):
    x = leaf(m)
    m.autograd.grad(x * x, x, m.ones(2, 3), is_grads_batched=True)


# --- edges ------------------------------------------------------------------------------


@program
def edges(m, show):
    x = leaf(m)
    y = x * 3
    edge, leaf_edge = m.autograd.graph.get_gradient_edge(y), m.autograd.graph.get_gradient_edge(x)
    show(edge._fields, edge.node, edge.output_nr, edge.ownership_token, leaf_edge.node, isinstance(edge, tuple))
    total = (y * y).sum()
    show(m.autograd.grad(total, [edge, leaf_edge, x], retain_graph=True))
    total.backward(inputs=[edge, leaf_edge])
    show(x.grad, y.retains_grad)
    show(m.autograd.grad(edge, leaf_edge, m.ones(2), retain_graph=True))
    m.autograd.backward([edge], [m.ones(2)])
    show(x.grad)
    m.autograd.grad(x.sum(), edge, materialize_grads=True)


@program
def edges_of_what_needs_no_gradient(m, show):
    m.autograd.graph.get_gradient_edge(m.ones(2))


@program
def versions(m, show):
    x = m.ones(2)
    m.autograd.graph.increment_version(x)
    m.autograd.graph.increment_version([x, x[:1]])
    show(x._version)
    m.autograd.graph.increment_version(3)


# --- the graph --------------------------------------------------------------------------


@program
def shared_parts(m, show):
    x = leaf(m)
    y = x.exp()
    first, second = (y * 2).sum(), (y * 3).sum()
    first.backward(retain_graph=True)
    show(m.autograd.grad(second, y, retain_graph=True))
    second.backward()
    show(x.grad)
    first.backward()


@program
def only_the_way_is_freed(m, show):
    x = leaf(m)
    y = x.exp()
    first, second = (y * 2).sum(), (y * 3).sum()
    show(m.autograd.grad(first, y))
    second.backward()
    show(x.grad)


@program
def results_that_no_gradient_reaches(m, show):
    x = leaf(m)
    parts = (x * 2).unbind()
    show(m.autograd.grad(parts[1], [*parts, x], allow_unused=True))
    parts = x.unbind()
    parts[0].backward(inputs=[parts[1]])
    show(x.grad)


@program
def no_gradient_at_all(m, show):
    class Nothing(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(m)
    show(m.autograd.grad(Nothing.apply(x * 2).sum(), x, allow_unused=True))
    show(m.autograd.grad(Nothing.apply(x * 2).sum(), x, materialize_grads=True))
    y = x * 3
    y.register_hook(show)
    y.grad_fn.register_prehook(show)
    y.grad_fn.register_hook(show)
    x.register_hook(show)
    (Nothing.apply(y) + x).sum().backward()
    show(x.grad)


@program
def layouts(m, show):
    memory = m.ones(4, 6)
    for view in (memory.t(), memory[::2, ::2], memory.t()[::2], memory[:, :3], memory[0].expand(2, 6)):
        for send in (lambda x: (x * x).sum(), lambda x: (x.contiguous() * 2).sum(), lambda x: x.sum()):
            x = view.detach().requires_grad_()
            send(x).backward()
            show(x.stride(), x.grad.stride())
            x.grad = None
            send(x).backward(create_graph=True)
            show(x.grad.stride())
            x.grad = before = m.ones(x.shape)
            send(x).backward()
            show(x.grad is before, x.grad.stride())


@program
def callbacks(m, show):
    engine = m.autograd.Variable._execution_engine
    x = leaf(m)
    y = x * 2

    def hook(gradient):
        engine.queue_callback(lambda: (show("first", x.grad), engine.queue_callback(lambda: show("third"))))
        engine.queue_callback(lambda: show("second", m.is_grad_enabled()))

    y.register_hook(hook)
    y.sum().backward()
    show("over")
    engine.queue_callback(lambda: show("never"))


@pytest.mark.parametrize("function", program)
def test_the_same_as_pytorch(function):
    assert_same(function)
