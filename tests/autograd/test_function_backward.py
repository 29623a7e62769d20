"""Effects of backward besides gradients: other graphs, hooks, threads, depth; ownership of gradients' memory."""

import threading
import warnings

import pytest
from autograd_functions import Cube

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import Function, grad


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def function(backward, forward=lambda ctx, x, *others: x * 2):
    """A Function of one tensor and further arguments."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (Function,), methods)


# --- memory of gradients ----------------------------------------------------------------


@pytest.mark.parametrize("make", [
    lambda y, other: (y + other) * 3, lambda y, other: (other + y) * 3,
], ids=["first", "second"])
def test_gradients_that_others_use_must_not_be_changed_in_place(x, make):
    def backward(ctx, g):
        g.mul_(2)
        return g

    other = ones(2, requires_grad=True)
    loss = make(function(backward).apply(x), other).sum()
    with pytest.raises(RuntimeError, match=r"backward of Made changed a gradient .* given, of shape \[2\], in place"):
        loss.backward()
    assert x.grad is None


def test_a_gradient_that_nobody_else_uses_may_be_changed_in_place(x):
    def backward(ctx, g):
        return g.mul_(2)

    (function(backward).apply(x) * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_gradient_of_the_callers_or_of_another_function_may_be_changed_in_place(x):
    def backward(ctx, g):
        return g.mul_(2)

    double = function(backward)
    double.apply(double.apply(x)).backward(ones(2))
    assert x.grad.tolist() == [4.0, 4.0]


def test_a_gradient_that_a_function_returned_twice_must_not_be_changed_in_place(x):
    both = function(lambda ctx, g: (g, g), lambda ctx, a, b: a + b)
    changing = function(lambda ctx, g: g.mul_(2)).apply
    with pytest.raises(RuntimeError, match="changed a gradient"):
        (both.apply(changing(x), changing(x)) * 1).backward(ones(2))


def test_a_clone_may_be_changed(x):
    def backward(ctx, g):
        g = g.clone()
        g[0] = 0
        return g

    other = ones(2, requires_grad=True)
    ((function(backward).apply(x) + other) * 3).sum().backward()
    assert x.grad.tolist() == [0.0, 3.0]
    assert other.grad.tolist() == [3.0, 3.0]


def test_one_tensor_returned_for_two_inputs(x):
    other = ones(2, requires_grad=True)
    function(lambda ctx, g: (g, g), lambda ctx, a, b: a + b).apply(x, other).sum().backward()
    x.grad.add_(5)
    assert other.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("kept", ["constant", "saved", "given", "expanded"])
def test_accumulation_leaves_what_is_returned_alone(x, kept):
    constant, given, scalar = ones(2), ones(2), tensor(1.0)

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        return {"constant": constant, "saved": ctx.saved_tensors[0], "given": g, "expanded": scalar.expand(2)}[kept]

    made = function(backward, forward)
    made.apply(x).backward(given)
    made.apply(x).backward(given)
    x.grad.add_(5)
    assert (constant.tolist(), given.tolist(), scalar.item()) == ([1.0, 1.0], [1.0, 1.0], 1.0)
    assert x.tolist() == [1.0, 2.0]


def test_gradients_of_another_shape_or_dtype_are_fitted():
    column = ones(2, 1, requires_grad=True)
    function(lambda ctx, g: ones(3, 2, 4)).apply(column).sum().backward()
    assert column.grad.tolist() == [[12.0], [12.0]]
    scalar = tensor(1.0, requires_grad=True)
    for dtype in (numgrad.float64, numgrad.int64, numgrad.bool):
        function(lambda ctx, g, dtype=dtype: ones(3, dtype=dtype)).apply(scalar).sum().backward()
    assert scalar.grad.item() == 9.0


def test_gradients_of_inputs_that_need_none_are_dropped(x):
    for plain in (ones(2), tensor([1, 2])):
        function(lambda ctx, g, *_: (g, ones(7))).apply(x, plain).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


# --- graphs inside ----------------------------------------------------------------------


def test_backward_inside_backward(x):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    def backward(ctx, g):
        with numgrad.enable_grad():
            inner = ctx.saved_tensors[0].detach().requires_grad_()
            (inner**3).sum().backward()
        return g * inner.grad

    function(backward, forward).apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]


def test_a_graph_kept_on_the_context(x):
    def forward(ctx, x):
        with numgrad.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = ctx.x**3
        return ctx.y.detach()

    function(lambda ctx, g: grad(ctx.y, ctx.x, g), forward).apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]


def test_functions_inside_forward_are_not_recorded(x):
    def forward(ctx, x):
        y = Cube.apply(x)
        assert not y.requires_grad
        return y

    y = function(lambda ctx, g: g * 7, forward).apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_deep_nesting(x):
    class Deep(Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if ctx.depth:
                with numgrad.enable_grad():
                    inner = g.detach().requires_grad_()
                    Deep.apply(inner, ctx.depth - 1).sum().backward()
                g = inner.grad
            return g, None

    Deep.apply(x, 100).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_long_chain(x):
    made = function(lambda ctx, g: g, lambda ctx, x: x + 1)
    y = x
    for _ in range(5000):
        y = made.apply(y)
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


# --- hooks, threads, anomalies ----------------------------------------------------------


def test_hooks_registered_in_forward(x):
    def forward(ctx, x):
        ctx.metadata["made"] = "in forward"
        ctx.register_hook(lambda inputs, outputs: seen.append("post"))
        ctx.register_prehook(lambda outputs: seen.append("pre"))
        seen.append((ctx.name(), len(ctx.next_functions)))
        return x * 2

    seen = []
    y = function(lambda ctx, g: (seen.append("run"), g)[1], forward).apply(x)
    assert y.grad_fn.metadata == {"made": "in forward"}
    y.sum().backward()
    assert seen == [("MadeBackward", 1), "pre", "run", "post"]


def test_hooks_of_outputs(x):
    first, second = function(lambda ctx, a, b: a * 2 + b * 3, lambda ctx, x: (x * 2, x * 3)).apply(x)
    first.retain_grad()
    first.register_hook(lambda g: g * 10)
    second.register_hook(lambda g: g * 100)
    (first + second).sum().backward()
    assert first.grad.tolist() == [10.0, 10.0]
    assert x.grad.tolist() == [320.0, 320.0]


def test_threads(x):
    def run():
        try:
            y = leaf
            for _ in range(20):
                y = Cube.apply(y) / 2
            results.append(grad(y.sum(), leaf)[0].tolist())
        except Exception as error:
            results.append(error)

    leaf, results = ones(2, requires_grad=True), []
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(result == results[0] for result in results)


def test_anomaly_mode_shows_where_forward_was_called(x):
    with numgrad.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = function(lambda ctx, g: g * float("nan")).apply(x)
        with pytest.raises(RuntimeError, match="Function 'MadeBackward' returned nan values in its 0th output"):
            y.sum().backward()
    assert "apply(x)" in str(caught[0].message)
    assert "function_outputs" not in str(caught[0].message)


def test_a_gradient_that_stops_is_unused(x):
    made = function(lambda ctx, g: None)
    assert grad(made.apply(x).sum(), x, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        grad(made.apply(x).sum(), x)


def test_needs_input_grad_serves_to_skip(x):
    def backward(ctx, g):
        return tuple([g if needed else None for needed in ctx.needs_input_grad])

    function(backward, lambda ctx, a, b, c: a + b + c).apply(x, ones(2), 1.0).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
