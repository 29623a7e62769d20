"""Hooks on nodes, before and after they run, and their results."""

import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import grad


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def lists(gradients):
    return tuple(None if g is None else g.tolist() for g in gradients)


def test_a_hook_sees_the_gradients_of_inputs_and_outputs(x):
    y = x * 2
    seen = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((lists(inputs), lists(outputs))))
    (y * 3).sum().backward()
    assert seen == [(([6.0, 6.0], None), ([3.0, 3.0],))]


def test_a_prehook_sees_the_gradients_of_outputs(x):
    y = x * 2
    seen = []
    y.grad_fn.register_prehook(lambda outputs: seen.append(lists(outputs)))
    (y * 3).sum().backward()
    assert seen == [([3.0, 3.0],)]


def test_results_of_hooks_replace_gradients(x):
    y = x * 2
    seen = []
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 5,))
    y.grad_fn.register_prehook(lambda outputs: seen.append(lists(outputs)))
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 1, None))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((lists(inputs), lists(outputs))))
    y.sum().backward()
    assert seen == [([5.0, 5.0],), (([11.0, 11.0], None), ([5.0, 5.0],))]
    assert x.grad.tolist() == [11.0, 11.0]


def test_all_kinds_of_hooks_have_their_order(x):
    y = x * 2
    order = []
    y.grad_fn.register_hook(lambda inputs, outputs: order.append("after"))
    y.grad_fn.register_prehook(lambda outputs: order.append("before"))
    y.register_hook(lambda g: order.append("tensor"))
    x.register_hook(lambda g: order.append("leaf"))
    y.sum().backward()
    assert order == ["tensor", "before", "after", "leaf"]


def test_hooks_of_nodes_are_removed_by_their_handle(x):
    y = x * 2
    before = y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 5,))
    after = y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 1, None))
    before.remove()
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [3.0, 3.0]
    after.remove()
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


@pytest.mark.parametrize("run", [lambda y, x: y.sum().backward(), lambda y, x: y.sum().backward(inputs=[x])])
def test_hooks_around_the_accumulation(x, run):
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    seen = []
    x.register_hook(lambda g: seen.append(("leaf", g.tolist(), x.grad)))
    node.register_prehook(lambda gradients: (seen.append(("before", lists(gradients), x.grad)), (gradients[0] * 3,))[1])
    node.register_hook(lambda inputs, outputs: seen.append(("after", inputs, lists(outputs), x.grad.tolist())))
    run(y, x)
    assert seen == [
        ("leaf", [2.0, 2.0], None), ("before", ([2.0, 2.0],), None), ("after", (), ([6.0, 6.0],), [6.0, 6.0]),
    ]


def test_hooks_around_the_accumulation_are_left_out_by_grad(x):
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    node.register_hook(lambda inputs, outputs: pytest.fail("nothing is accumulated"))
    assert grad(y.sum(), x)[0].tolist() == [2.0, 2.0]


def test_hooks_of_a_node_with_several_outputs(x):
    first, second = (x * 1).unbind()
    assert first.grad_fn is second.grad_fn
    seen = []
    first.grad_fn.register_prehook(lambda outputs: seen.append(lists(outputs)))
    first.grad_fn.register_hook(lambda inputs, outputs: seen.append(lists(inputs)))
    (second * 3).backward()
    assert seen == [(None, 3.0), ([0.0, 3.0],)]


def test_hooks_see_gradients_that_can_be_differentiated(x):
    y = x * x
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * inputs[0], inputs[1]))
    (gradient,) = grad(y.sum(), x, create_graph=True)  # x² + x, each x being one operand
    assert gradient.tolist() == [2.0, 6.0]
    assert grad(gradient.sum(), x)[0].tolist() == [3.0, 5.0]


def doubled(*gradients):
    return (*gradients[0], *gradients[0])


def test_hooks_return_as_many_as_they_are_given(x):
    message = "hook 'doubled' has returned an incorrect number of values"
    y = x * 2
    y.grad_fn.register_hook(doubled)
    with pytest.raises(RuntimeError, match=message + r" \(got 4, but expected 2\)"):
        y.sum().backward()
    y = x * 2
    y.grad_fn.register_prehook(doubled)
    with pytest.raises(RuntimeError, match=message + r" \(got 2, but expected 1\)"):
        y.sum().backward()
    assert x.grad is None


def test_errors_of_hooks_come_through(x):
    def failing(*gradients):
        raise ValueError("my own")

    y = x * 2
    handle = y.grad_fn.register_prehook(failing)
    with pytest.raises(ValueError, match="my own"):
        y.sum().backward()
    handle.remove()
    assert numgrad.is_grad_enabled()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


# --- results of hooks ---------------------------------------------------------------------


@pytest.mark.parametrize(("returned", "error", "words"), [
    (lambda g: g, TypeError, "expected tuple, but hook returned 'Tensor'"),
    (lambda g: [g], TypeError, "expected tuple, but hook returned 'list'"),
    (lambda g: (3,), TypeError, "expected Variable, but hook returned 'int'"),
    (lambda g: (ones(3),), RuntimeError, "has changed the size of value"),
    (lambda g: (g.double(),), RuntimeError, "has changed the type of value"),
    (lambda g: (), RuntimeError, "incorrect number of values"),
])
@pytest.mark.parametrize("before", [True, False], ids=["prehook", "hook"])
def test_invalid_results_of_hooks(x, returned, error, words, before):
    y = x.exp()
    if before:
        y.grad_fn.register_prehook(lambda outputs: returned(outputs[0]))
    else:
        y.grad_fn.register_hook(lambda inputs, outputs: returned(inputs[0]))
    with pytest.raises(error, match=words):
        y.sum().backward()
    assert x.grad is None


def test_no_gradient_cannot_be_replaced(x):
    y = x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0], inputs[0]))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        y.sum().backward()


def test_hooks_may_stop_a_gradient(x):
    y = x * 2
    handle = y.grad_fn.register_hook(lambda inputs, outputs: (None, None))
    y.sum().backward(retain_graph=True)
    assert x.grad is None
    handle.remove()
    handle = y.grad_fn.register_prehook(lambda outputs: (None,))
    y.sum().backward(retain_graph=True)
    assert x.grad is None
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_gradients_have_the_shape_of_the_inputs():
    column, row = ones(3, 1, requires_grad=True), ones(1, 4, requires_grad=True)
    for y in (column + row, column * row, column - row):
        shapes = []
        y.grad_fn.register_hook(lambda inputs, outputs, shapes=shapes: shapes.extend(g.shape for g in inputs + outputs))
        y.sum().backward()
        assert shapes == [(3, 1), (1, 4), (3, 4)]


def test_there_is_one_gradient_per_next_function(x):
    constant = ones(2)
    for y in (x + constant, constant * x, x / constant, x.exp(), x @ constant, numgrad.maximum(constant, x)):
        seen = []
        y.grad_fn.register_hook(lambda inputs, outputs, seen=seen: seen.append([g is not None for g in inputs]))
        y.sum().backward()
        assert seen == [[node is not None for node, _ in y.grad_fn.next_functions]]


# --- which nodes run ----------------------------------------------------------------------


def test_hooks_are_called_if_and_only_if_their_node_runs(x):
    y = x * 2
    total = (y * 3).sum()
    seen = []
    y.grad_fn.register_prehook(lambda outputs: seen.append("y"))
    leaf = y.grad_fn.next_functions[0][0]
    leaf.register_prehook(lambda outputs: seen.append("x"))

    def called(run):
        seen.clear()
        run()
        return "".join(seen)

    assert called(lambda: grad(total, y, retain_graph=True)) == ""
    assert called(lambda: grad(total, x, retain_graph=True)) == "y"
    assert called(lambda: grad(total, [x, y], retain_graph=True)) == "y"
    assert called(lambda: total.backward(inputs=[y], retain_graph=True)) == "y"  # only requested nodes run
    assert called(lambda: total.backward(inputs=[x], retain_graph=True)) == "yx"
    assert called(lambda: total.backward()) == "yx"


def test_hooks_run_on_a_path_without_gradient(x):
    first, second = (x * 2).unbind()
    unused = first.exp()
    seen = []
    unused.grad_fn.register_prehook(lambda outputs: seen.append(("before", outputs)))
    unused.grad_fn.register_hook(lambda inputs, outputs: seen.append(("after", inputs, outputs)))

    class Second(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return b * 1

        @staticmethod
        def backward(ctx, gradient):
            return None, gradient

    Second.apply(unused, second).backward()
    assert seen == [("before", (None,)), ("after", (None,), (None,))]
    assert x.grad.tolist() == [0.0, 2.0]


def test_hooks_of_a_users_function():
    class Scaled(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, a, factor, b):
            ctx.factor = factor
            return a * factor, b * factor

        @staticmethod
        def backward(ctx, g, h):
            return g * ctx.factor, None, h * ctx.factor

    a, b = tensor([1.0, 2.0], requires_grad=True), tensor([3.0, 4.0], requires_grad=True)
    first, second = Scaled.apply(a, 10, b)
    node = first.grad_fn
    assert len(node.next_functions) == 2  # of tensors only
    seen = []
    node.register_prehook(lambda outputs: (outputs[0] * 2, None))
    node.register_hook(lambda inputs, outputs: seen.append((lists(inputs), lists(outputs))))
    (first + second).sum().backward()
    assert seen == [(([20.0, 20.0], [0.0, 0.0]), ([2.0, 2.0], None))]
    assert a.grad.tolist() == [20.0, 20.0]
    assert b.grad.tolist() == [0.0, 0.0]


def test_hooks_may_register_and_remove_hooks(x):
    y = x * 2
    seen = []

    def hook(inputs, outputs):
        seen.append("hook")
        handle.remove()
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append("new"))

    handle = y.grad_fn.register_hook(hook)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert seen == ["hook", "new"]


def test_hooks_in_anomaly_mode(x):
    with pytest.warns(UserWarning, match="Anomaly"):
        mode = numgrad.autograd.detect_anomaly()
    with mode:
        y = x * 2
        y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 5,))
        y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 1, None))
        y.sum().backward()
    assert x.grad.tolist() == [11.0, 11.0]
