"""``Variable._execution_engine.queue_callback``: functions that run at the end of a backward pass."""

import pytest

import numgrad
from numgrad import ones
from numgrad.autograd import Variable, grad

engine = Variable._execution_engine


@pytest.fixture
def x():
    return ones(3, requires_grad=True)


def test_callbacks_run_in_their_order_when_all_gradients_are_there(x):
    calls = []
    y = x * 2

    def hook(gradient):
        for number in (1, 2):
            engine.queue_callback(lambda number=number: calls.append((number, x.grad.tolist())))

    y.register_hook(hook)
    y.sum().backward()
    assert calls == [(1, [2.0] * 3), (2, [2.0] * 3)]
    (x * 3).sum().backward()
    assert len(calls) == 2


def test_a_callback_may_queue_another(x):
    calls = []

    def again():
        calls.append(len(calls))
        if len(calls) < 3:
            engine.queue_callback(again)

    x.register_hook(lambda g: engine.queue_callback(again))
    grad((x * 2).sum(), x)
    assert calls == [0, 1, 2]


def test_a_callback_belongs_to_the_innermost_pass(x):
    calls = []

    def outer_hook(gradient):
        engine.queue_callback(lambda: calls.append("outer"))
        inner = ones(1, requires_grad=True)
        inner.register_hook(lambda g: engine.queue_callback(lambda: calls.append("inner")))
        inner.backward()
        calls.append("inner pass over")

    x.register_hook(outer_hook)
    x.sum().backward()
    assert calls == ["inner", "inner pass over", "outer"]


@pytest.mark.parametrize("create_graph", [False, True])
def test_callbacks_have_the_mode_of_the_pass(x, create_graph):
    modes = []
    x.register_hook(lambda g: engine.queue_callback(lambda: modes.append(numgrad.is_grad_enabled())))
    grad((x * x).sum(), x, create_graph=create_graph)
    assert modes == [create_graph]


def fail(*_):
    raise ValueError("refused")


def test_an_error_in_a_callback_reaches_the_caller(x):
    x.register_hook(lambda g: engine.queue_callback(fail))
    with pytest.raises(ValueError, match="refused"):
        x.sum().backward()
    assert x.grad.tolist() == [1.0] * 3
    assert numgrad.is_grad_enabled()


def test_a_pass_that_fails_calls_nothing(x):
    calls = []
    y = x * 2
    y.register_hook(lambda g: engine.queue_callback(lambda: calls.append("called")))
    x.register_hook(fail)
    with pytest.raises(ValueError, match="refused"):
        y.sum().backward()
    assert calls == []


def test_there_must_be_a_pass(x):
    x.sum().backward()
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        engine.queue_callback(lambda: None)
