"""Memory: unused graphs are freed without the garbage collector, and training does not use more and more."""

import gc
import tracemalloc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import numgrad
from numgrad import Tensor, tensor
from numgrad.autograd import Function, grad
from numgrad.autograd.graph import Node

F = numgrad.nn.functional


@contextmanager
def without_the_collector():
    """The block runs without the garbage collector, which has frozen all existing objects."""
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def alive():
    """The tensors and nodes made inside ``without_the_collector`` that still exist."""
    return [thing for thing in gc.get_objects() if isinstance(thing, Tensor | Node)]


def leaves_nothing(function):
    """Check that every tensor and node that ``function()`` makes is freed when it returns."""
    function()  # compiles the kernels; a compiler leaves work to the garbage collector
    with without_the_collector():
        function()
        left = [type(thing).__name__ for thing in alive()]
    assert left == []


def leaf(*shape):
    return numgrad.from_numpy(np.random.default_rng(0).uniform(0.2, 0.9, shape)).requires_grad_()


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(x, result)
        return result

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[1]


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Marked(Function):
    @staticmethod
    def forward(ctx, x):
        first, second = x * 2, x * 3
        ctx.mark_non_differentiable(second)
        ctx.save_for_backward(second)
        return first, second

    @staticmethod
    def backward(ctx, g, _):
        return g * 2


class Same(Function):
    @staticmethod
    def forward(x):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, g):
        return g * 2


def written(part, write):
    """A base after ``write`` has written to a ``part`` of it."""

    def function(x, y):
        base = x * 1
        write(part(base), y)
        return base

    return function


def in_place(write):
    return written(lambda base: base, write)


def filled(x, y):
    buffer = numgrad.zeros(3, 2, 3, dtype=numgrad.float64)
    state = x
    for step in range(3):
        state = (state * y).tanh()
        buffer[step] = state
    return buffer


def stale(x, y):
    base = x * 1
    first, second = base[0], base[:, 1:]
    first.mul_(y[0])
    second.pow_(2)
    base.add_(y)
    return first.sum() + second.sum()


def hooked(x, y):
    result = x * y
    result.register_hook(lambda g: g * 2)
    result.grad_fn.register_hook(lambda inputs, outputs: None)
    result.grad_fn.register_prehook(lambda outputs: None)
    result.grad_fn.metadata["shape"] = result.shape
    result.retain_grad()
    x.register_hook(lambda g: None)
    return result.exp()


PROGRAMS = {
    **{name: (lambda x, y, name=name: getattr(x, name)()) for name in (
        "exp", "log", "sqrt", "tanh", "sigmoid", "relu", "abs", "neg", "reciprocal", "sum", "mean", "max", "clone", "t",
        "float", "squeeze",
    )},
    **{name: in_place(lambda t, y, name=name: getattr(t, name)()) for name in (
        "exp_", "log_", "sqrt_", "tanh_", "sigmoid_", "relu_", "neg_", "zero_",
    )},
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y[0], "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y[:, :1], "pow": lambda x, y: x**y, "power": lambda x, y: x**2.5,
    "maximum": numgrad.maximum,
    "where": lambda x, y: numgrad.where(x > y, x, y), "max of rows": lambda x, y: x.max(1)[0],
    "softmax": lambda x, y: x.softmax(1), "log_softmax": lambda x, y: x.log_softmax(0),
    "cross_entropy": lambda x, y: F.cross_entropy(x, tensor([0, 2])),
    "logistic": lambda x, y: F.binary_cross_entropy_with_logits(x, y.detach()),
    "mm": lambda x, y: x @ y.t(), "mv": lambda x, y: x @ y[0], "dot": lambda x, y: x[0] @ y[0],
    "cat": lambda x, y: numgrad.cat([x, y]), "stack": lambda x, y: numgrad.stack([x, y]),
    "unbind": lambda x, y: x.unbind()[1], "view": lambda x, y: x.view(3, 2), "reshape": lambda x, y: x.t().reshape(6),
    "select": lambda x, y: x[1, 2], "slice": lambda x, y: x[:, ::2], "expand": lambda x, y: x.expand(4, 2, 3),
    "mul_": in_place(lambda t, y: t.mul_(y)), "pow_": in_place(lambda t, y: t.pow_(y)),
    "copy_": in_place(lambda t, y: t.copy_(y)), "itself": in_place(lambda t, y: t.add_(t)),
    "assignment": in_place(lambda t, y: t.__setitem__(0, y[1])),
    "row mul_": written(lambda base: base[0], lambda t, y: t.mul_(y[0])),
    "row exp_": written(lambda base: base[0], lambda t, y: t.exp_()),
    "column pow_": written(lambda base: base.t()[1], lambda t, y: t.pow_(y[:, 0])),
    "view of a view": written(lambda base: base.view(6)[1:].unsqueeze(0), lambda t, y: t.mul_(2).pow_(3)),
    "filled": filled, "stale": stale, "hooked": hooked,
    "function": lambda x, y: Exp.apply(x), "setup_context": lambda x, y: Same.apply(x),
    "marked": lambda x, y: Marked.apply(x)[0], "dirty": in_place(lambda t, y: Double.apply(t)),
    "dirty view": written(lambda base: base[0], lambda t, y: Double.apply(t)),
    "part of a function's input": lambda x, y: Same.apply(x)[0],
}


def gradients(output, inputs, create_graph=False):
    return [
        g for g in grad(output.sum(), inputs, create_graph=create_graph, allow_unused=True)
        if g is not None and (g.requires_grad or not create_graph)
    ]


def forward(x, y, function):
    function(x, y)


def pass_back(x, y, function):
    function(x, y).sum().backward()


def keep_and_fail(x, y, function):
    total = function(x, y).sum()
    total.backward(retain_graph=True)
    total.backward()
    try:
        total.backward()
    except RuntimeError as error:
        error.__traceback__ = None


def differentiate_twice(x, y, function):
    first = gradients(function(x, y), [x, y], create_graph=True)
    for g in first:
        gradients((g * g), [x, y], create_graph=True)


def half_differentiate(x, y, function):
    gradients(function(x, y), [x, y], create_graph=True)


@pytest.mark.parametrize("use", [forward, pass_back, keep_and_fail, half_differentiate, differentiate_twice])
@pytest.mark.parametrize("function", PROGRAMS.values(), ids=PROGRAMS)
def test_everything_goes_with_the_result(function, use):
    leaves_nothing(lambda: use(leaf(2, 3), leaf(2, 3), function))


def test_the_check_sees_what_is_left():
    with without_the_collector():
        kept = leaf(3).exp()
        assert {type(thing).__name__ for thing in alive()} == {"Tensor", "ExpBackward0", "AccumulateGrad"}
        del kept
        assert alive() == []
    kept = []
    with pytest.raises(AssertionError, match="Tensor"):
        leaves_nothing(lambda: kept.append(leaf(3).exp()))


def test_a_tensor_goes_when_its_last_name_does():
    def run():
        x = leaf(3)
        y = x * 2
        z = y.exp()
        dead = [weakref.ref(t) for t in (y, z)]
        del y
        assert dead[0]() is None  # exp keeps its result, not its operand
        del z
        assert dead[1]() is None

    leaves_nothing(run)


def test_saved_tensors_go_in_backward():
    def run():
        x = leaf(3)
        y = x * 2
        total = y.log().sum()
        saved = weakref.ref(y)
        del y
        assert saved() is not None
        total.backward()
        assert saved() is None
        assert total.grad_fn.next_functions[0][0].name() == "LogBackward0"

    leaves_nothing(run)


def test_a_failed_backward_keeps_nothing():
    def run():
        x = leaf(3)
        y = x * 1
        total = (y * y).sum()
        y.add_(1)
        try:
            total.backward()
        except RuntimeError as error:
            error.__traceback__ = None

    leaves_nothing(run)


# --- training ---------------------------------------------------------------------------


def network():
    """Weights of two layers, data, and a function that does one step of training."""
    generator = np.random.default_rng(0)

    def made(*shape):
        return numgrad.from_numpy(generator.standard_normal(shape).astype(np.float32) / 4)

    weights = [made(8, 16).requires_grad_(), made(16).requires_grad_(), made(16, 4).requires_grad_(),
               made(4).requires_grad_()]
    inputs, targets = made(12, 8), numgrad.from_numpy(generator.integers(0, 4, 12))

    def step():
        first, first_bias, second, second_bias = weights
        hidden = (inputs @ first + first_bias).relu()
        loss = F.cross_entropy(hidden @ second + second_bias, targets)
        loss.backward()
        with numgrad.no_grad():
            for weight in weights:
                weight -= 0.05 * weight.grad
                weight.grad = None
        return loss.item()

    return weights, step


def test_ten_thousand_steps_of_training_do_not_grow():
    network()[1]()
    with without_the_collector():
        weights, step = network()
        losses = [step() for _ in range(20)]
        tracemalloc.start()
        try:
            before, counts = None, []
            for turn in range(5):
                for _ in range(100):
                    step()
                tracemalloc.clear_traces()
                for _ in range(100):
                    step()
                counts.append(tracemalloc.get_traced_memory()[0])
                before = before if turn else len(alive())
            assert max(counts) < 20_000, counts  # a hundred steps leave some bytes behind, not 100 graphs
        finally:
            tracemalloc.stop()
        for _ in range(9_000):
            last = step()
        assert len(alive()) == before
        assert {id(thing) for thing in alive() if isinstance(thing, Tensor)} >= {id(weight) for weight in weights}
        assert last < losses[0] / 2  # it did train


def test_accumulating_gradients_does_not_grow():
    with without_the_collector():
        x = leaf(50)
        for _ in range(10):
            (x * x).tanh().sum().backward()
        count = len(alive())
        held = x.grad
        for _ in range(500):
            (x * x).tanh().sum().backward()
        assert len(alive()) == count
        assert x.grad is held


def test_gradients_that_nobody_asked_for_do_not_wait_either():
    """``grad`` keeps nothing for the operations that do not lead to its inputs."""
    depth, size = 50, 5_000
    w = numgrad.ones(size, requires_grad=True)
    h, total = leaf(size), 0
    for _ in range(depth):
        h = h.tanh()
        total = total + (h * w).sum()
    numgrad.autograd.grad(total, w, retain_graph=True)  # which loads the kernels
    tracemalloc.start()
    try:
        found, = numgrad.autograd.grad(total, w, retain_graph=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.shape == (size,)
    assert peak < 8 * found.nbytes


def test_buffers_are_freed_as_backward_proceeds():
    size, depth = 16_000, 60  # rows of 128 kB
    with without_the_collector():
        x = numgrad.full((size,), 0.5, dtype=numgrad.float64).requires_grad_()
        tracemalloc.start()
        try:
            y = x
            for _ in range(depth):
                y = y.tanh()
            total = y.sum()
            del y
            after_forward = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            total.backward()
            after_backward, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        row = size * 8
        assert after_forward > depth * row
        assert peak < after_forward + 4 * row  # not a gradient for each of the results
        assert after_backward < 3 * row  # the result still exists, but not its saved tensors
        assert total.requires_grad


def test_gradients_of_parameters_do_not_wait_for_the_end():
    weights = [leaf(3) for _ in range(40)]
    seen = []
    y = x = leaf(3)
    for w in weights:
        y = y * w
    x.register_hook(lambda g: seen.append([w.grad is not None for w in weights]))
    weights[20].register_hook(lambda g: seen.append([w.grad is not None for w in weights]))
    y.sum().backward()
    assert seen == [[False] * 21 + [True] * 19, [False] + [True] * 39]  # x comes before the first weight
