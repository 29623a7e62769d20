"""Backward inside a backward: in a custom backward or a hook, as deep as one likes."""

import contextlib
import gc
import threading
import weakref

import numpy as np
import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import Function, backward, grad
from numgrad.autograd.nesting import NESTING

DEPTH = 200


class Nested(Function):
    """The identity, whose backward runs another backward inside, ``depth`` times over."""

    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x * 1

    @staticmethod
    def backward(ctx, g):
        if ctx.depth == 0:
            return g, None
        with numgrad.enable_grad():
            x = ones(2, requires_grad=True)
            Nested.apply(x, ctx.depth - 1).sum().backward()
        return g * x.grad + 1, None


class Checkpoint(Function):
    """Recomputes a function in backward instead of keeping its saved tensors."""

    @staticmethod
    def forward(ctx, function, x):
        ctx.function = function
        ctx.save_for_backward(x)
        return function(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        again = x.detach().requires_grad_()
        with numgrad.enable_grad():
            y = ctx.function(again)
        backward(y, g)
        return None, again.grad


@pytest.fixture
def no_threads_left():
    before = threading.active_count()
    yield
    assert threading.active_count() == before


@pytest.mark.usefixtures("no_threads_left")
def test_nested_in_functions():
    x = ones(2, requires_grad=True)
    Nested.apply(x, DEPTH).sum().backward()
    assert x.grad.tolist() == [DEPTH + 1.0] * 2
    assert numgrad.is_grad_enabled()


@pytest.mark.usefixtures("no_threads_left")
def test_nested_in_hooks():
    depths = []

    def nest(depth):
        x = tensor([1.0], requires_grad=True)
        with numgrad.enable_grad():
            y = (x * 1) * depth
        if depth:
            y.register_hook(lambda g: nest(depth - 1))
        y.backward()
        depths.append((depth, x.grad.item()))

    nest(DEPTH)
    assert depths == [(depth, float(depth)) for depth in range(DEPTH + 1)]


@pytest.mark.usefixtures("no_threads_left")
def test_nested_in_hooks_of_leaves_and_nodes():
    count = []

    def nest(depth):
        if depth == 0:
            return
        x = tensor([1.0], requires_grad=True)
        with numgrad.enable_grad():
            y = x * 2
        if depth % 2:
            x.register_hook(lambda g: nest(depth - 1))
        else:
            y.grad_fn.register_hook(lambda inputs, outputs: nest(depth - 1))
        y.backward()
        count.append(x.grad.item())

    nest(100)
    assert count == [2.0] * 100


@pytest.mark.usefixtures("no_threads_left")
def test_an_error_at_the_bottom_comes_to_the_top():
    def nest(depth):
        if depth == 0:
            raise ValueError("at the bottom")
        x = tensor([1.0], requires_grad=True)
        with numgrad.enable_grad():
            y = x * 2
        y.register_hook(lambda g: nest(depth - 1))
        y.backward()

    for _ in range(3):
        with pytest.raises(ValueError, match="at the bottom"):
            nest(100)
        assert numgrad.is_grad_enabled()
    test_nested_in_functions()  # and the next pass starts anew


def test_passes_one_after_another_stay_in_their_thread():
    x = ones(2, requires_grad=True)
    seen = set()
    x.register_hook(lambda g: seen.add(threading.get_ident()))
    for _ in range(100):
        (x * 2).sum().backward()
    assert seen == {threading.get_ident()}


def test_anomaly_detection_reaches_the_bottom():
    def nest(depth):
        x = tensor([0.0], requires_grad=True)
        with numgrad.enable_grad():
            y = (x * 0).sqrt() * 0 if depth == 0 else x * 2
        if depth:
            y.register_hook(lambda g: nest(depth - 1))
        y.backward()

    nest(DEPTH)
    with (
        numgrad.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="Error detected in|Previous calculation was induced by") as caught,
        pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values"),
    ):
        nest(2 * NESTING)  # each level warns of all those around it
    assert "Error detected in SqrtBackward0" in str(caught[0].message)


def test_a_pass_inside_leaves_the_one_around_it_alone():
    x, other = tensor([1.0, 2.0], requires_grad=True), tensor([3.0, 4.0], requires_grad=True)
    y = x * x
    inner = (other * other).sum()
    y.register_hook(lambda g: inner.backward())
    (y * 5).sum().backward()
    assert x.grad.tolist() == [10.0, 20.0]
    assert other.grad.tolist() == [6.0, 8.0]


def test_the_same_graph_inside_itself():
    x = ones(2, requires_grad=True)
    y = x * 3
    total = y.sum()
    calls = []

    def again(g):
        if len(calls) < 3:
            calls.append(g)
            total.backward(retain_graph=True)

    y.register_hook(again)
    total.backward(retain_graph=True)
    assert x.grad.tolist() == [12.0, 12.0]


def test_a_leaf_of_both_passes():
    x = ones(2, requires_grad=True)
    inner = (x * 7).sum()
    y = x * 2
    y.register_hook(lambda g: inner.backward())
    y.sum().backward()
    assert x.grad.tolist() == [9.0, 9.0]


def test_modes_inside_and_afterwards():
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(numgrad.is_grad_enabled())
            with numgrad.enable_grad():
                inner = ones(2, requires_grad=True)
                (inner * inner).sum().backward()
                seen.append(numgrad.is_grad_enabled())
            seen.append(numgrad.is_grad_enabled())
            return g * inner.grad

    x = ones(2, requires_grad=True)
    Look.apply(x).sum().backward()
    assert seen == [False, True, False]
    assert x.grad.tolist() == [2.0, 2.0]
    seen.clear()
    grad(Look.apply(x).sum(), x, create_graph=True)
    assert seen == [True, True, True]


def test_checkpointing():
    w = tensor([1.0, 2.0], requires_grad=True)
    x = tensor([0.5, 0.25], requires_grad=True)
    y = Checkpoint.apply(lambda t: Checkpoint.apply(lambda u: (u * w).exp(), t) * w, x)
    y.sum().backward()  # w exp(x w): x: w² exp(x w); w: (1 + x w) exp(x w)
    a, b = np.array([0.5, 0.25]), np.array([1.0, 2.0])
    np.testing.assert_allclose(x.grad.tolist(), b**2 * np.exp(a * b), rtol=1e-6)
    np.testing.assert_allclose(w.grad.tolist(), (1 + a * b) * np.exp(a * b), rtol=1e-6)


def test_a_chain_of_checkpoints():
    x = tensor([1.0], requires_grad=True)
    y = x
    for _ in range(DEPTH):
        y = Checkpoint.apply(lambda t: t * 1.0 + 1.0, y)
    y.backward()
    assert x.grad.item() == 1.0


@pytest.mark.usefixtures("no_threads_left")
def test_thousands_of_levels():
    def nest(depth, bottom):
        x = tensor([1.0], requires_grad=True)
        with numgrad.enable_grad():
            y = x * 2
        y.register_hook((lambda g: nest(depth - 1, bottom)) if depth else (lambda g: bottom()))
        y.backward()
        assert x.grad.item() == 2.0

    reached = []
    nest(2000, lambda: reached.append(threading.active_count()))
    assert reached[0] > 1

    def fail():
        raise ValueError("two thousand levels down")

    with pytest.raises(ValueError, match="two thousand levels down") as caught:
        nest(2000, fail)
    assert caught.value.__notes__ == ["Raised in backward at MulBackward0, given a gradient of shape [1]."]
    nest(2, lambda: None)


def test_a_thread_for_deep_levels_has_the_modes_of_its_caller():
    modes = []

    def look():
        modes.append((numgrad.is_grad_enabled(), numgrad.autograd.anomaly_mode.is_anomaly_enabled()))

    def nest(depth):
        x = tensor([1.0], requires_grad=True)
        with numgrad.enable_grad():
            y = x * 2
        y.register_hook(lambda g: nest(depth - 1) if depth else look())
        grad(y, x, create_graph=depth == 0)

    with numgrad.autograd.set_detect_anomaly(True):
        nest(100)
    assert modes == [(True, True)]


def test_errors_leave_no_cycles():
    def nest(depth):
        if depth == 0:
            raise ValueError("at the bottom")
        x = tensor([1.0], requires_grad=True)
        with numgrad.enable_grad():
            y = x * 2
        alive.append(weakref.ref(y))
        y.register_hook(lambda g: nest(depth - 1))
        y.backward()

    alive = []
    gc.collect()
    gc.disable()
    try:
        with contextlib.suppress(ValueError):
            nest(100)
        assert [one for one in alive if one() is not None] == []
    finally:
        gc.enable()
