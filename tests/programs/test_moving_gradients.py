"""Programs that use gradients of earlier calls, which are different tensors in each call."""

import functools

import numpy as np
import pytest
from programs.comparison import compared_with_eager, ramp, replays

import numgrad
from numgrad import nn, optim
from numgrad.nn.utils import clip_grad_norm_


def model():
    numgrad.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def state(parameters):
    return [(p, p._version, p.grad, None if p.grad is None else p.grad._version) for p in parameters]


def update(optimizer, parameters):
    optimizer.step()


def clipped(optimizer, parameters):
    norm = clip_grad_norm_(parameters, 0.1)
    optimizer.step()
    return norm


def and_none(optimizer, parameters):
    optimizer.step()
    optimizer.zero_grad()


def and_zeros(optimizer, parameters):
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)


@pytest.mark.parametrize("step", [update, clipped, and_none, and_zeros])
@pytest.mark.parametrize("make", [
    lambda parameters: optim.SGD(parameters, lr=0.1, momentum=0.9),
    lambda parameters: optim.AdamW(parameters),
    lambda parameters: optim.Adam(parameters, foreach=False, amsgrad=True),
], ids=["sgd", "adamw", "adam"])
def test_a_step_on_new_gradients_is_replayed(make, step):
    found = []
    for compiled in (False, True):
        net = model()
        parameters = [*net.parameters()]
        optimizer = make(parameters)
        call = functools.partial(step, optimizer, parameters)
        if compiled:
            call = numgrad.compile(call, fullgraph=True)
        found.append([])
        for _ in range(8):
            for p in parameters:
                p.grad = None
            net(numgrad.randn(3, 4)).square().mean().backward()
            norm = call()
            found[-1].append((str(norm), str(state(parameters))))
    assert found[0] == found[1]
    assert max(replays(call)) <= 2


def test_a_step_of_given_parameters_is_replayed():
    @numgrad.compile(fullgraph=True)
    def descend(parameters):
        for p in parameters:
            p.data.sub_(p.grad)

    parameters = [numgrad.zeros(3, requires_grad=True), numgrad.zeros(2, requires_grad=True)]
    for number in range(12):
        for p in parameters:
            p.grad = numgrad.full(p.shape, float(number))
        descend(parameters)
    assert [p.tolist() for p in parameters] == [[-66.0] * 3, [-66.0] * 2]
    assert replays(descend) == [2]


@compared_with_eager
def test_gradients_are_accumulated_over_a_few_calls(compiled, see):
    net = model()
    optimizer = optim.SGD(net.parameters(), lr=0.1)

    @compiled
    def backward(x):
        net(x).square().mean().backward()

    for number in range(9):
        backward(numgrad.randn(3, 4))
        see(*state(net.parameters()))
        if number % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()


def replaced(weight, number):
    """A gradient of a different kind in some of the calls."""
    match number:
        case 3:
            return numgrad.arange(12.0).reshape(4, 3).t()
        case 4:
            return numgrad.ones(6, 4)[1:4]
        case 5:
            return weight.detach()
        case 6:
            return numgrad.ones(3, 4, requires_grad=True) * 2
        case 7:
            return numgrad.tensor(np.ones((3, 4), np.float32))
        case 8:
            return None
    return numgrad.full((3, 4), float(number))


@compared_with_eager
def test_gradients_of_all_kinds(compiled, see):
    weight = nn.Parameter(numgrad.ones(3, 4))

    @compiled
    def halve():
        if weight.grad is not None:
            weight.data.sub_(weight.grad * 0.5)

    for number in range(12):
        weight.grad = replaced(weight, number)
        halve()
        see(*state([weight]))


@compared_with_eager
def test_gradients_that_share_memory(compiled, see):
    one, other = nn.Parameter(numgrad.ones(3)), nn.Parameter(numgrad.ones(3))

    @compiled
    def double(x):
        one.grad.mul_(2)
        other.grad.add_(x)

    for number in range(10):
        one.grad, other.grad, x = numgrad.ones(3), numgrad.ones(3), numgrad.ones(3)
        if number in (4, 5):
            other.grad = one.grad
        elif number == 6:
            one.grad, other.grad = numgrad.ones(2, 3)
        elif number == 7:
            x = one.grad
        elif number == 8:
            other.grad = one.grad[:]
        double(x)
        see(*state([one, other]), x)


@compared_with_eager
def test_a_gradient_that_is_given_and_found(compiled, see):
    weight = nn.Parameter(numgrad.ones(3))
    kept = []

    @compiled
    def add(gradient):
        weight.grad.add_(gradient)
        return weight.grad

    for number in range(8):
        weight.grad = numgrad.full((3,), float(number))
        kept.append(add(weight.grad if number % 2 else numgrad.ones(3)))
        see(kept[-1] is weight.grad, *kept)


@compared_with_eager
def test_gradients_of_arguments(compiled, see):
    def descend(x, *parameters):
        for p in parameters:
            p.data.sub_(p.grad * x)
            p.grad.mul_(0.5)

    step = compiled(descend)
    one, other = nn.Parameter(numgrad.ones(3)), nn.Parameter(numgrad.ones(3))
    for number in range(12):
        one.grad, other.grad = numgrad.full((3,), float(number)), numgrad.full((3,), 2.0)
        if number == 8:
            other.grad = one.grad
        elif number == 9:
            one.grad = None
            one.grad = numgrad.ones(2, 3).t()[:, 0]
        elif number == 10:
            other.grad = one.data[:]
        x = one.grad if number == 7 else numgrad.tensor(0.5)
        step(x, one, other if number != 6 else one)
        see(*state([one, other]), x)


@compared_with_eager
def test_a_gradient_that_is_found_by_two_ways(compiled, see):
    weight = nn.Parameter(numgrad.ones(3))
    found = {}

    @compiled
    def both():
        weight.grad.add_(1)
        return found["gradient"] + weight.grad

    for number in range(6):
        weight.grad = numgrad.full((3,), float(number))
        found["gradient"] = weight.grad if number < 4 else numgrad.ones(3)
        see(both(), *state([weight]))


def test_replays_are_compared_with_the_function():
    weight = nn.Parameter(numgrad.ones(3))

    def shrink():
        weight.grad.mul_(0.5)
        weight.data.sub_(weight.grad)

    checked = numgrad.compile(shrink, check=3)
    for number in range(8):
        weight.grad = numgrad.full((3,), float(number))
        checked()
        assert weight.grad.tolist() == [number / 2] * 3
    assert weight.tolist() == [1 - sum(range(8)) / 2] * 3


def test_a_moved_gradient_is_named_as_the_reason():
    weight = nn.Parameter(numgrad.ones(3))
    shrink = numgrad.compile(lambda: weight.grad.mul_(0.5))
    for number in range(4):
        weight.grad = numgrad.full((3,), float(number))
        shrink()
    assert "recorded again because of a change: a gradient" in str(numgrad.compiler.explain(shrink))
    assert "weight.grad" in str(numgrad.inspect(shrink))


def _by_data(grad, part):
    grad.data = part


@pytest.mark.parametrize("move", [_by_data, lambda grad, part: grad.set_(part)])
@pytest.mark.parametrize("made", [
    lambda weight: (weight * 1).sum().backward, lambda weight: optim.SGD([weight], lr=1.0).step,
    lambda weight: weight.grad.mul_(2).sum,
])
def test_gradients_that_move_within_their_memory(made, move):
    found = []
    for compiled in (lambda function: function, numgrad.compile):
        weight, flat = nn.Parameter(numgrad.ones(2)), numgrad.tensor([1.0, 1.0, 5.0, 5.0])
        weight.grad = flat[:2]
        call = compiled(lambda made=made, weight=weight: made(weight)())
        for number in range(6):
            if number == 3:
                move(weight.grad, flat[2:])
            call()
        found.append((weight.tolist(), flat.tolist()))
    assert found[0] == found[1]


@compared_with_eager
def test_a_parameter_that_requires_no_gradient_gets_one(compiled, see):
    frozen, weight = nn.Parameter(ramp(3), requires_grad=False), nn.Parameter(ramp(3))
    optimizer = numgrad.optim.SGD([frozen, weight], lr=0.5)

    def step(x):
        optimizer.zero_grad()
        ((frozen + weight) * x).sum().backward()
        optimizer.step()

    step = compiled(step)
    for number in range(6):
        frozen.grad = numgrad.ones(3) if number == 4 else None
        step(ramp(3))
        see(frozen, frozen.grad, weight)
