"""Backward step by step: the result is that of backward, and each step describes its part."""

import gc
import threading
import weakref

import pytest

import numgrad
from numgrad.autograd.node import AccumulateGrad
from numgrad.utils.checkpoint import checkpoint
from numgrad.viz import backward_steps


def leaf(*values):
    return numgrad.tensor([*values], requires_grad=True)


def network():
    numgrad.manual_seed(0)
    return numgrad.nn.Sequential(numgrad.nn.Linear(2, 3), numgrad.nn.Tanh(), numgrad.nn.Linear(3, 1))


def same(one, other):
    return numgrad.equal(one, other)


def named(steps, name):
    """The one step at a node of this name."""
    (step,) = [step for step in steps if step.name == name]
    return step


def test_each_step_has_what_arrived_and_what_went_on():
    x = leaf(2.0, 3.0)
    steps = backward_steps((x * x).sum())
    assert [step.name for step in steps] == ["SumBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"]
    total, product, end = steps
    assert [result.gradient.tolist() for result in total.results] == [[1.0, 1.0]]
    assert product.gradients[0].tolist() == [1.0, 1.0]
    assert [(result.input, result.gradient.tolist(), result.step) for result in product.results] == [
        ("input", [2.0, 3.0], 3), ("other", [2.0, 3.0], 3)
    ]
    assert {name: value.tolist() for name, value in product.saved.items()} == {"input": [2.0, 3.0], "other": [2.0, 3.0]}
    assert (total.sources, product.sources, end.sources) == (((None,),), ((1,),), ((2, 2),))
    (accumulated,) = end.accumulated
    assert accumulated.tensor is x
    assert (accumulated.before, accumulated.after.tolist()) == (None, [4.0, 6.0])


def test_backward_starts_where_a_drawing_would():
    model = network()
    x = numgrad.ones(4, 2)
    steps = backward_steps(model(x).sum(), model)  # as draw(loss, model)
    assert {"2.bias", "0.weight"} <= {step.title.removeprefix("AccumulateGrad of ") for step in steps}
    expected = [parameter.grad.tolist() for parameter in model.parameters()]
    y = model(x).sum()
    for subject in (y.grad_fn, numgrad.autograd.graph.get_gradient_edge(y), [model(x)[:2].sum(), model(x)[2:].sum()]):
        model.zero_grad()
        backward_steps(subject, retain_graph=True)
        assert all(
            numgrad.allclose(parameter.grad, numgrad.tensor(grad))
            for parameter, grad in zip(model.parameters(), expected, strict=True)
        )
    losses = {"first": leaf(2.0) * 3, "second": leaf(1.0) * 5}
    steps = backward_steps(losses, [numgrad.tensor([10.0]), numgrad.tensor([1.0])])
    assert [step.title for step in steps if "Mul" in step.name] == ["MulBackward0 of second", "MulBackward0 of first"]
    assert named(steps[-2:], "MulBackward0").results[0].gradient.tolist() == [30.0]


def test_formulas_are_those_of_the_command_without_conjugates_of_real_numbers(capsys):
    from numgrad.commands.ops import print_ops

    a, b = leaf(2.0, 3.0), leaf(6.0, 4.0)
    steps = backward_steps((3 * a**3 - b**2).tanh(), numgrad.ones(2))
    rules = {step.name: step.rule for step in steps if step.rule}
    assert rules == {
        "TanhBackward0": {"input": "tanh_backward(grad, input, out)"},
        "SubBackward0": {"input": "grad", "other": "-grad * alpha"},
        "MulBackward0": {"input": "grad * other"},  # the number 3 has no gradient
        "PowBackward0": {"input": "where(exponent == 0, 0, grad * (exponent * input ** (exponent - 1)))"},
    }
    assert "where tanh_backward(grad_output, input, output) = grad_output * (1 - tanh(input) ** 2)" in str(steps[0])
    print_ops(["mul"])
    assert "    gradient of input: grad * conj(other)\n" in capsys.readouterr().out
    z = numgrad.tensor([1 + 2j], requires_grad=True)
    assert named(backward_steps(abs(z * z).sum()), "MulBackward0").rule["input"] == "grad * conj(other)"


def test_the_formula_of_a_fused_rule_is_what_it_computes():
    x, weight, bias = leaf(1.0, 3.0, 2.0), leaf(2.0, 1.0, 1.0), leaf(0.0, 0.0, 0.0)
    steps = backward_steps((numgrad.nn.functional.layer_norm(x, (3,), weight, bias) ** 2).sum())
    step = named(steps, "NativeLayerNormBackward0")
    y, g = "y = (input - mean) * scale", "g = grad * weight"
    assert step.rule["weight"] == (
        f"{y}; {g}; (scale * (g - mean(g) - y * mean(g * y)), sum(grad * y), sum(grad))"
    )
    assert str(step).count("gradient of input, weight, bias: ") == 1


def test_backward_does_what_it_does_without():
    model, x = network(), numgrad.randn(4, 2)
    model(x).sum().backward()
    expected = [p.grad.clone() for p in model.parameters()]
    steps = backward_steps(model(x).sum())
    assert all(same(p.grad, 2 * wanted) for p, wanted in zip(model.parameters(), expected, strict=True))
    for step in steps:
        for entry in step.accumulated:  # snapshots, which a second backward does not change
            assert same(entry.after, 2 * entry.before)
            assert entry.after is not entry.tensor.grad
    loss = model(x).sum()
    backward_steps(loss)
    with pytest.raises(RuntimeError, match="second time"):
        backward_steps(loss)


def test_gradients_are_those_that_grad_finds():
    model, x = network(), numgrad.randn(4, 2)
    hidden = model[0](x)
    middle = model[1](hidden)
    loss = (model[2](middle) ** 2).mean()
    inputs = [hidden, middle, *model.parameters()]
    expected = numgrad.autograd.grad(loss, inputs, retain_graph=True)
    arrived = {step.node: step.gradients[0] for step in backward_steps(loss, retain_graph=True)}
    nodes = {node.variable: node for node in arrived if isinstance(node, AccumulateGrad)}
    for input, gradient in zip(inputs, expected, strict=True):
        assert same(arrived[input.grad_fn or nodes[input]], gradient)
    loss.backward()  # the graph was kept


def test_a_gradient_given_and_inputs_and_errors():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * w
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        backward_steps(y)
    with pytest.raises(TypeError, match=r"subject\[1\] must be a tensor, .* not int"):
        backward_steps([y, 3])
    with pytest.raises(TypeError, match="'values' must be a bool or an int, not str"):
        backward_steps(y, numgrad.ones(2), values="all")
    steps = backward_steps(y, numgrad.tensor([1.0, 10.0]), inputs=[x])
    assert [result.input for result in steps[0].results] == ["input"]
    assert (x.grad.tolist(), w.grad) == ([3.0, 40.0], None)


def test_an_error_in_the_middle_comes_through_and_nobody_watches_any_more():
    def refuse(gradient):
        raise ValueError("not this one")

    x = leaf(1.0, 2.0)
    y = x.exp()
    y.register_hook(refuse)
    with pytest.raises(ValueError, match="not this one"):
        backward_steps(y.sum())
    assert numgrad.autograd.grad_mode.state.watchers == ()
    y = x.exp()
    loss = (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        backward_steps(loss)


def test_hooks_are_shown_with_what_they_changed():
    def double(gradient):
        return 2 * gradient

    def triple_in_place(gradient):
        gradient.mul_(3)

    def tenfold(given, arrived):
        return tuple(10 * gradient for gradient in given)

    x = leaf(2.0, 3.0)
    y = x * x
    z = y.exp()
    y.register_hook(double)
    x.register_hook(triple_in_place)
    z.grad_fn.register_hook(tenfold)
    steps = backward_steps(z.sum())
    exponential, product, end = steps[1:]
    (result,) = exponential.results
    assert exponential.hooks == ("tenfold (register_hook of the node)",)
    assert same(result.gradient, 10 * result.before_hooks)
    assert same(product.arrived[0], result.gradient)
    assert same(product.gradients[0], 2 * result.gradient)
    assert same(end.gradients[0], 3 * end.arrived[0])
    assert [step.changed for step in (exponential, product, end)] == [False, True, True]
    assert same(x.grad, end.gradients[0])
    assert len(z.grad_fn.attached.post_hooks) == 1  # the watchers have been removed


def test_a_hook_that_only_looks_changes_nothing():
    x = leaf(2.0)
    y = x * 3
    seen = []
    y.register_hook(seen.append)
    y.grad_fn.register_hook(lambda given, arrived: None)
    step = backward_steps(y)[0]
    assert not step.changed
    assert step.results[0].before_hooks is None
    assert len(seen) == 1


def test_a_gradient_that_is_retained_is_accumulated():
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    step = named(backward_steps(y**2), "MulBackward0")
    assert [(entry.tensor is y, entry.before, entry.after.tolist()) for entry in step.accumulated] == [
        (True, None, [12.0])
    ]


def test_broadcasting_is_undone_where_it_is_shown():
    x, b = leaf(1.0, 2.0, 3.0), numgrad.tensor(1.0, requires_grad=True)
    step = backward_steps(x * b, numgrad.ones(3))[0]
    of_b = step.results[1]
    assert (of_b.gradient.item(), of_b.summed) == (6.0, (3,))
    assert "= tensor(6.)  summed from shape [3]" in str(step)


def test_several_outputs_some_without_a_gradient():
    x = leaf(1.0, 2.0, 3.0)
    first, _, last = x.split(1)
    steps = backward_steps((first + 2 * last).sum())
    step = named(steps, "SplitBackward0")
    assert [None if g is None else g.tolist() for g in step.gradients] == [[1.0], None, [2.0]]
    assert "grad[1] = None" in str(step)


def test_a_rule_for_several_tensors_is_shown_once():
    a, b = leaf(1.0), leaf(2.0, 3.0)
    text = str(backward_steps(numgrad.cat([a, b]).sum())[1])
    assert text.count("gradient of tensors: ") == 1
    assert "tensors[1] = tensor([1., 1.])  -> step 4 (b)" in text


def test_a_function_is_shown_with_its_backward():
    class Scale(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, w):
            ctx.save_for_backward(w)
            return x * factor * w

        @staticmethod
        def backward(ctx, grad_output):
            """Not shown."""
            (w,) = ctx.saved_tensors
            return grad_output * w, None, None  # a comment

    x, w = leaf(1.0, 2.0), leaf(5.0)
    step = backward_steps(Scale.apply(x, 3, w).sum())[1]
    text = str(step)
    assert "grad_output = tensor([1., 1.])" in text
    assert "def backward(ctx, grad_output):" in text
    assert "return grad_output * w, None, None  # a comment" in text
    assert "Not shown" not in text
    assert "staticmethod" not in text
    assert step.saved["saved_tensors[0]"].tolist() == [5.0]
    assert [result.input for result in step.results] == ["x"]


def test_writing_to_a_part():
    x, w = leaf(2.0, 3.0, 4.0), leaf(5.0, 6.0)
    y = x * 2
    y[1:].mul_(w)
    steps = backward_steps(y.sum())
    step = named(steps, "torch::autograd::CopySlices")
    assert step.rule == {"input": "grad * other", "other": "grad * input"}
    assert [result.gradient.tolist() for result in step.results] == [[1.0, 5.0, 6.0], [6.0, 8.0]]
    assert "overwritten by MulBackward0" in str(step)
    y = x * 2
    y[0] = 7.0
    text = str(named(backward_steps(y.sum()), "torch::autograd::CopySlices"))
    assert "gradient of the tensor before\n    = tensor([0., 1., 1.])" in text


def test_a_node_that_no_gradient_reaches():
    class First(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return None

    x = leaf(1.0)
    steps = backward_steps(First.apply(x * 2).sum())
    product, end = steps[2:]
    assert (product.gradients, product.results, product.sources) == ((None,), (), ((),))
    assert all("no gradient arrived" in str(step) for step in (product, end))
    assert x.grad is None


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints(reentrant):
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    steps = backward_steps(checkpoint(lambda x: x.exp() * w, x, use_reentrant=reentrant).sum())
    assert numgrad.allclose(x.grad, x.exp() * w)
    product = named(steps, "MulBackward0")
    if reentrant:  # a backward within a backward
        outer = named(steps, "CheckpointFunctionBackward")
        assert (product.outer, product.depth, outer.depth) == (outer, 1, 0)
        assert str(product).startswith("    Step 3 of 7: MulBackward0, within step 2\n")
        (of_x,) = outer.results
        assert (of_x.step, steps[-1].sources) == (steps[-1].number, ((outer.number,),))
    else:  # the rule unpacks the saved value again, not the step
        assert (product.saved, set(product.packed)) == ({}, {"input", "other"})


def test_a_hook_that_runs_a_backward_of_its_own():
    x, w = leaf(1.0), leaf(2.0)
    y = x * 3
    other = (w * w).sum()
    y.register_hook(lambda gradient: other.backward())
    steps = backward_steps(y.sum())
    outer = steps[1]
    assert [(step.title, step.outer) for step in steps if step.depth] == [
        ("SumBackward0 of other", outer), ("MulBackward0", outer), ("AccumulateGrad of w", outer)
    ]
    assert (outer.title, outer.results[0].step, w.grad.item()) == ("MulBackward0 of y", len(steps), 4.0)


def test_a_hook_that_goes_through_its_own_node_again():
    x = leaf(1.0)
    y = x.exp()
    times = [1]
    y.grad_fn.register_hook(lambda given, arrived: y.backward(retain_graph=True) if times and times.pop() else None)
    steps = backward_steps(y, retain_graph=True)
    assert [(step.title, step.depth, len(step.results)) for step in steps] == [
        ("ExpBackward0 of y", 0, 1), ("ExpBackward0 of y", 1, 1), ("AccumulateGrad of x", 1, 0),
        ("AccumulateGrad of x", 0, 0),
    ]  # fmt: skip
    assert steps[0].results[0].step == 4


def test_another_thread_may_go_through_the_graph_at_the_same_time():
    x = leaf(1.0)
    y = x.exp()
    failed = []

    def backward():
        try:
            y.backward(retain_graph=True)
        except Exception as error:
            failed.append(error)

    def hook(given, arrived):
        if threading.current_thread() is threading.main_thread():
            other = threading.Thread(target=backward)
            other.start()
            other.join()

    y.grad_fn.register_hook(hook)
    steps = backward_steps(y, retain_graph=True)
    assert failed == []
    assert [len(step.results) for step in steps] == [1, 0]
    assert same(x.grad, 2 * x.exp())
    assert len(y.grad_fn.attached.post_hooks) == 1


def test_what_steps_hold_goes_with_them():
    def look(x):
        steps = backward_steps(checkpoint(lambda x: x.exp() * x, x, use_reentrant=True).sum())
        return [weakref.ref(steps[0]), weakref.ref(steps[-1]), weakref.ref(steps[0].gradients[0])]

    gc.disable()
    try:
        held = look(leaf(1.0))
        assert [weak() for weak in held] == [None] * 3
    finally:
        gc.enable()


def test_create_graph_records_the_gradients_but_not_the_copies():
    x = leaf(2.0, 3.0)
    steps = backward_steps((x**3).sum(), create_graph=True)
    (slope,) = numgrad.autograd.grad(x.grad.sum(), x)
    assert slope.tolist() == [12.0, 18.0]
    assert not any(g.requires_grad for step in steps for g in step.gradients)


def test_large_tensors_are_summarized():
    x = numgrad.arange(2000.0).requires_grad_()
    steps = backward_steps((x * x).sum())
    value = steps[1].saved["input"]
    assert (value.shape, value.dtype, value.first) == ((2000,), numgrad.float32, (0.0, 1.0, 2.0))
    assert str(value) == "float32 [2000]: 0, 1, 2, ... (from 0 to 1999)"
    assert same(backward_steps((x * x).sum(), values=True)[1].saved["input"], x)
    few = backward_steps((x * x).sum(), values=0)
    assert str(few[0].gradients[0]) == "float32 []: 1 (from 1 to 1)"


def test_under_vmap_elements_are_those_of_no_example():
    texts = []

    def gradient(x):
        inner = x.detach().requires_grad_()
        texts.append(str(backward_steps((inner * inner).sum())[1]))
        return inner.grad

    assert numgrad.func.vmap(gradient)(numgrad.ones(3, 2)).tolist() == [[2.0, 2.0]] * 3
    assert "input = float32 [2]  (saved as self)\n" in texts[0]


def test_names_are_the_callers_or_given():
    weight = leaf(2.0)
    product = weight * weight
    steps = backward_steps(product.sum(), names={"w": weight})
    assert [step.title for step in steps] == ["SumBackward0", "MulBackward0 of product", "AccumulateGrad of w"]
    model = network()
    titles = [step.title for step in backward_steps(model(numgrad.ones(1, 2)).sum(), module=model)]
    assert "AccumulateGrad of 2.bias" in titles


def test_steps_are_a_sequence():
    x = leaf(2.0)
    steps = backward_steps((x * x).sum())
    assert (len(steps), len(steps[1:]), steps[-1].number) == (3, 2, 3)
    assert str(steps[:2]) == f"{steps[0]}\n{steps[1]}"
    assert repr(steps) == "<Steps: 3 of backward, from SumBackward0 to AccumulateGrad of x>"
    with pytest.raises(IndexError):
        steps[3]
