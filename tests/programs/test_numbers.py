"""Numbers among the arguments of compiled functions, and those of optimizers."""

import collections
import copy
import datetime
import decimal
import json
import math
import struct

import numpy as np
import pytest
from programs.comparison import Holder, compared_with_eager, ramp

import numgrad
from numgrad import nn


def test_a_number_is_an_argument_from_its_second_value_on():
    compiled = numgrad.compile(lambda x, factor: (x * factor).sum() + factor, fullgraph=True)
    x = numgrad.randn(6)
    for factor in (0.3, 0.7, -1.25, 1e-3, 7.5):
        assert numgrad.equal(compiled(x, factor), (x * factor).sum() + factor)
    (family,) = compiled.families.values()
    assert len(family.programs) == 1
    assert family.count == 2  # the program of the second call serves all others
    for factor in (5, 9, -11):
        assert numgrad.equal(compiled(x, factor), (x * factor).sum() + factor)


@pytest.mark.parametrize("function", [
    lambda x, n: x * n if n > 0.5 else x + n, lambda x, n: x * round(n, 1), lambda x, n: x * float(n) ** 2,
    lambda x, n: x * {0.3: 1.0}.get(n, 2.0), lambda x, n: x * (n + n), lambda x, n: x * math.sqrt(n),
    lambda x, n: x * np.array([n, 1]).sum(), lambda x, n: x * (1j * n).imag,
    lambda x, n: x * numgrad.tensor([n, 1.0, n, n]),
])
def test_a_number_that_python_uses_keeps_its_programs(function):
    compiled = numgrad.compile(function, fullgraph=True)
    x = numgrad.randn(4)
    for number in (0.3, 0.4, 0.7, 0.3, 1.5):
        assert numgrad.equal(compiled(x, number), function(x, number))
    (family,) = compiled.families.values()
    assert family.refused


@pytest.mark.parametrize("function", [
    lambda x, n: x * n if n < 40 else x + n, lambda x, n: x + n // 40, lambda x, n: x * [3.5, 7.5][n > 40],
    lambda x, n: x * ([0.5] * 40 + [1.5] * 40)[n], lambda x, n: x * min(n, 40), lambda x, n: x * int(np.clip(n, 4, 40)),
])
def test_a_number_that_chooses_another_branch_in_a_later_call(function):
    compiled = numgrad.compile(function, fullgraph=True)
    for number in (4, 5, 6, 7, 9, 41, 50):
        assert numgrad.equal(compiled(ramp(4), number), function(ramp(4), number))


@pytest.mark.parametrize("use", [
    lambda n: json.dumps({"lr": n}), lambda n: datetime.timedelta(seconds=n), copy.deepcopy, decimal.Decimal,
    lambda n: math.ldexp(1.0, n), lambda n: struct.pack("d", n), lambda n: copy.copy([n])[0],
])
@pytest.mark.parametrize("is_used", [False, True])
def test_c_code_that_takes_only_numbers_themselves(use, is_used):
    """The second call is undone, and then repeated with the numbers themselves."""

    @compared_with_eager
    def scenario(compiled, see):
        weight = nn.Parameter(ramp(3))
        optimizer = numgrad.optim.Adam([weight], lr=0.1)
        progress = Holder()
        progress.steps = 0

        def step(x, n):
            progress.steps += 1
            optimizer.zero_grad()
            x.add_(n)
            ((weight * x).sum() * n).backward()
            optimizer.step()
            used = use(n)
            return x * len(str(used)) if is_used else x + 1

        f = compiled(step)
        for number in (4, 5, 6, 7, 8, 9):
            x = numgrad.zeros(3)
            for _ in range(2):
                see(f(x, number), x, x._version, weight, weight.grad, *optimizer.state[weight].values(), progress.steps)

    scenario()


@compared_with_eager
def test_a_call_that_is_undone_leaves_dictionaries_and_lists_as_they_were(compiled, see):
    held = Holder()
    scales = held.scales = collections.defaultdict(lambda: 2.0, a=2)
    log = held.log = []

    def f(x, n):
        if not held.scales:
            held.log.append(n)
        return x * held.scales["a"] if n > 1 else x

    f = compiled(f)
    for number in (4.25, 2.5, 3.5, 0.25):
        see(f(ramp(3), number), *scales, *log)
        scales.clear() if number == 4.25 else None


@compared_with_eager
def test_a_call_that_is_undone_makes_no_state_of_an_optimizer(compiled, see):
    class Momentum(numgrad.optim.Optimizer):
        @numgrad.no_grad()
        def step(self):
            for weight in self.param_groups[0]["params"]:
                state = self.state[weight]
                if "mean" not in state:
                    state["mean"] = numgrad.zeros_like(weight)
                weight.sub_(state["mean"].mul_(0.5).add_(weight.grad))

    weight = nn.Parameter(ramp(3))
    optimizer = Momentum([weight], {})

    def step(x, n):
        optimizer.zero_grad()
        (weight * x).sum().backward()
        optimizer.step()

    f = compiled(step)
    for number in (4, 9, 7, 6, 5):
        f(ramp(3), number)
        see(weight)
        if number == 9:
            del optimizer.state[weight]["mean"]


@compared_with_eager
def test_a_call_with_another_number_that_raises_an_error(compiled, see):
    weight = nn.Parameter(ramp(3))
    weight.grad = numgrad.zeros(3)
    f = compiled(lambda x, n: (weight * weight * x).sum().backward())
    for number in (5.5, 4.25):
        x = ramp(3).requires_grad_()
        try:
            f(x, number)
        except RuntimeError as error:
            see(str(error).splitlines()[0])
        see(x.grad)
        weight.register_post_accumulate_grad_hook(lambda weight: weight.grad)


def test_numbers_that_are_equal_by_chance_stay_what_they_are():
    x = numgrad.ones(3)
    for calls_with in (((1.25, 5.5), (2.25, 5.5), (4.25, 7.5)), ((1.25, 1.25), (2.25, 2.25), (4.25, 7.5))):
        compiled = numgrad.compile(lambda x, a, b: x * a + b)
        for a, b in calls_with:
            assert numgrad.equal(compiled(x, a, b), x * a + b)


def test_numbers_that_a_dtype_cannot_hold():
    compiled = numgrad.compile(lambda x, n: x.fill_(n) + 0)
    x = numgrad.zeros(3, dtype=numgrad.int8)
    for number in (5, 6, 7):
        assert compiled(x, number).tolist() == [number] * 3
    with pytest.raises(RuntimeError, match="cannot be converted to type int8"):
        compiled(x, 1000)


def test_a_function_with_ever_other_numbers_runs_as_it_is():
    compiled = numgrad.compile(lambda x, n: x * (n * n))
    with pytest.warns(UserWarning, match="its numbers differ in every call") as caught:
        results = [compiled(numgrad.ones(()), number).item() for number in range(4, 24)]
    assert results == [number * number for number in range(4, 24)]
    assert len(caught) == 1


@pytest.mark.parametrize("kind", [numgrad.optim.SGD, numgrad.optim.Adam, numgrad.optim.RMSprop])
def test_a_step_with_a_number_of_its_own(kind):
    weights = []
    for wrap in (lambda step: step, numgrad.compile(fullgraph=True)):
        numgrad.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 2))
        optimizer = kind(model.parameters(), lr=0.01)

        def step(x, beta, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = model(x).square().mean() + model[0].weight.square().sum() * beta
            loss.backward()
            optimizer.step()
            return loss

        step = wrap(step)
        for number in range(12):
            optimizer.param_groups[0]["lr"] = 0.02 if number > 7 else 0.01
            step(numgrad.randn(3, 4), 0.03 + number / 100)
        weights.append([p.tolist() for p in model.parameters()])
    assert weights[0] == weights[1]
    (family,) = step.families.values()
    assert family.count == 3  # one that makes the optimizer's state, and two that are compared


def test_numbers_whose_class_is_looked_at():
    compiled = numgrad.compile(lambda x, a: x * a if type(a) is float else x * 100)
    assert [compiled(numgrad.ones(()), number).item() for number in (3.5, 4.5, 5.5)] == [3.5, 4.5, 5.5]


def test_classes_of_numbers_are_not_numbers():
    def scaled(x, a, b):
        return x * b if isinstance(a, type) else x * a * b

    compiled, x = numgrad.compile(scaled), numgrad.ones(())
    for given in ((float, 5.5), (float, 6.5), (float, 7.5), (3.75, 5.5), (3.5, 5.25)):
        assert numgrad.equal(compiled(x, *given), scaled(x, *given))


@pytest.mark.parametrize("function", [
    lambda n: (n >= 0.5, n < 10**20, n == 0.5, n != 1j, n < 7), lambda n: (10**n, 0.5**n, n**0.5, n**-1, 2 // n),
    lambda n: (n + 0.5, 0.5 - n, 7 % n, n // 0.25, divmod(7.5, n), n * 1j, 1j / n), lambda n: (n & 6, 9 >> n, ~n),
    lambda n: np.array([[n, 2], [3, n]]).tolist(), lambda n: [1, 2] * n,
])
def test_python_and_numpy_take_an_integer_for_one(function):
    compiled = numgrad.compile(lambda x, n: (x, function(n)))
    for number in (4, 5, 6, 9):
        result, expected = compiled(numgrad.ones(1), number)[1], function(number)
        assert (result, [*map(type, result)]) == (expected, [*map(type, expected)])


def test_numbers_of_an_optimizer_whose_step_is_many_operations():
    weights = []
    for wrap in (lambda step: step, numgrad.compile):
        weight = nn.Parameter(numgrad.eye(3))
        optimizer = numgrad.optim.Muon([weight], lr=0.1)

        def step(weight=weight, optimizer=optimizer):
            optimizer.zero_grad()
            (weight * numgrad.arange(9.0).view(3, 3)).sum().backward()
            optimizer.step()

        step = wrap(step)
        for number in range(5):
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + number // 2)
            step()
        weights.append(weight)
    assert numgrad.equal(*weights)
