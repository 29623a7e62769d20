"""The learning rates of every schedule, by formulas of the epoch; order of steps, saving and loading."""

import copy
import math
import pickle

import numpy as np
import pytest

import numgrad
from numgrad import optim
from numgrad.optim import lr_scheduler as schedules


def optimizer(*rates, kind=optim.SGD, **options):
    groups = [{"params": [numgrad.ones(1, requires_grad=True)], "lr": rate} for rate in rates or (0.5,)]
    return kind(groups, **options)


def trace(schedule, count):
    """The first group's learning rate before the first epoch and after each of ``count``."""
    rates = [schedule.get_last_lr()[0]]
    for _ in range(count):
        schedule.optimizer.step()
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
        assert rates[-1] == schedule.optimizer.param_groups[0]["lr"]
    return rates


def wave(epoch):
    return (1 + math.cos(math.pi * epoch / 5)) / 2


FORMULAS = {
    "StepLR": (lambda o: schedules.StepLR(o, 3, 0.5), lambda e: 0.5 ** (e // 3)),
    "MultiStepLR": (
        lambda o: schedules.MultiStepLR(o, [6, 2, 6], 0.5), lambda e: 0.5 ** ((e >= 2) + 2 * (e >= 6))
    ),
    "ExponentialLR": (lambda o: schedules.ExponentialLR(o, 0.9), lambda e: 0.9**e),
    "LambdaLR": (lambda o: schedules.LambdaLR(o, lambda e: 1 / (1 + e)), lambda e: 1 / (1 + e)),
    "ConstantLR": (lambda o: schedules.ConstantLR(o, 0.2, 4), lambda e: 0.2 if e < 4 else 1),
    "LinearLR": (lambda o: schedules.LinearLR(o, 0.2, 0.8, 5), lambda e: 0.2 + 0.6 * min(e, 5) / 5),
    "CosineAnnealingLR": (
        lambda o: schedules.CosineAnnealingLR(o, 5, eta_min=0.1), lambda e: 0.2 + (1 - 0.2) * wave(e)
    ),
    "MultiplicativeLR": (
        lambda o: schedules.MultiplicativeLR(o, lambda e: e / (e + 1)), lambda e: 1 / (1 + e)
    ),
    "PolynomialLR": (lambda o: schedules.PolynomialLR(o, 6, 2), lambda e: (1 - min(e, 6) / 6) ** 2),
    "CosineAnnealingWarmRestarts": (
        lambda o: schedules.CosineAnnealingWarmRestarts(o, 5, eta_min=0.1), lambda e: 0.2 + (1 - 0.2) * wave(e % 5)
    ),
    "CyclicLR": (
        lambda o: schedules.CyclicLR(o, 0.5, 2.5, 2, 3, "triangular2", cycle_momentum=False),
        lambda e: 1 + [0, 2, 4, 8 / 3, 4 / 3][e % 5] * 0.5 ** (e // 5),
    ),
    "ChainedScheduler": (
        lambda o: schedules.ChainedScheduler([schedules.ExponentialLR(o, 0.9), schedules.StepLR(o, 3, 0.5)]),
        lambda e: 0.9**e * 0.5 ** (e // 3),
    ),
    "SequentialLR": (
        lambda o: schedules.SequentialLR(
            o, [schedules.ConstantLR(o, 0.1, 3), schedules.ExponentialLR(o, 0.5)], milestones=[4]
        ),
        lambda e: (0.1 if e < 3 else 1) if e < 4 else 0.5 ** (e - 4),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name):
    make, formula = FORMULAS[name]
    found = trace(make(optimizer(0.5)), 12)
    np.testing.assert_allclose(found, [0.5 * formula(epoch) for epoch in range(13)], rtol=1e-12)


#: Schedules without a closed form.
CHAINED = ["LambdaLR", "MultiplicativeLR", "SequentialLR", "ChainedScheduler", "CosineAnnealingWarmRestarts"]


@pytest.mark.parametrize("name", [name for name in FORMULAS if name not in CHAINED])
def test_an_epoch_may_be_named(name):
    make, formula = FORMULAS[name]
    schedule = make(optimizer(0.5))
    schedule.optimizer.step()
    with pytest.warns(UserWarning, match=r"epoch parameter .* is being deprecated"):
        schedule.step(7)
    assert schedule.last_epoch == 7
    np.testing.assert_allclose(schedule.get_last_lr(), [0.5 * formula(7)], rtol=1e-12)


def test_groups_keep_their_proportions():
    schedule = schedules.LambdaLR(optimizer(1.0, 2.0), [lambda e: 0.5**e, lambda e: 1 + e])
    assert schedule.base_lrs == [1.0, 2.0]
    trace(schedule, 2)
    assert schedule.get_last_lr() == [0.25, 6.0]


def test_schedules_work_together():
    """In the chained form, each schedule multiplies the current rate."""
    target = optimizer(1.0)
    both = schedules.ExponentialLR(target, 0.5), schedules.StepLR(target, 2, 0.1)
    for _ in range(4):
        target.step()
        for schedule in both:
            schedule.step()
    np.testing.assert_allclose(target.param_groups[0]["lr"], 0.5**4 * 0.1**2)


@pytest.mark.parametrize("three", [False, True])
@pytest.mark.parametrize("kind", [optim.SGD, optim.AdamW])
def test_one_cycle(kind, three):
    options = {"momentum": 0.9} if kind is optim.SGD else {}
    target = optimizer(0.1, kind=kind, **options)
    schedule = schedules.OneCycleLR(
        target, max_lr=1.0, total_steps=21, pct_start=0.4, three_phase=three, anneal_strategy="linear", div_factor=10,
        final_div_factor=100,
    )
    group = target.param_groups[0]
    rates, momenta = [], []
    for step in range(21):
        rates.append(group["lr"])
        momenta.append(group["betas"][0] if kind is optim.AdamW else group["momentum"])
        if step < 20:
            target.step()
            schedule.step()
    top = int(np.argmax(rates))
    assert rates[0] == pytest.approx(0.1)
    assert rates[-1] == pytest.approx(0.001)
    assert max(rates) == pytest.approx(1.0, rel=0.06)
    assert np.all(np.diff(rates[: top + 1]) > 0)
    assert np.all(np.diff(rates[top:]) < 0)
    np.testing.assert_allclose(np.diff(rates[:top]), rates[1] - rates[0])  # straight
    assert momenta[0] == 0.95
    assert momenta[-1] == pytest.approx(0.95)
    assert int(np.argmin(momenta)) == top
    target.step()
    schedule.step()
    with pytest.raises(ValueError, match=r"Tried to step 22 times\. The specified number of total steps is 21"):
        schedule.step()


def test_one_cycle_needs_a_momentum():
    with pytest.raises(ValueError, match="must support momentum or beta1"):
        schedules.OneCycleLR(optimizer(kind=optim.Adagrad), 1.0, total_steps=5)
    schedule = schedules.OneCycleLR(optimizer(kind=optim.Adagrad), 1.0, total_steps=5, cycle_momentum=False)
    assert schedule.get_last_lr() == [pytest.approx(1.0 / 25)]


def test_restarts_become_rarer():
    schedule = schedules.CosineAnnealingWarmRestarts(optimizer(1.0), T_0=2, T_mult=3)
    rates = trace(schedule, 26)
    assert [epoch for epoch, rate in enumerate(rates) if rate == 1.0] == [0, 2, 8, 26]
    assert np.all(np.diff(rates[8:26]) < 0)
    schedule.step(5)  # half of the second wave, of six epochs
    assert schedule.get_last_lr() == pytest.approx([0.5])
    schedule.step(1.5)
    assert schedule.get_last_lr() == pytest.approx([(1 + math.cos(0.75 * math.pi)) / 2])
    schedule.step()
    assert schedule.get_last_lr() == pytest.approx([(1 + math.cos(0.5 / 6 * math.pi)) / 2])  # of the second wave


@pytest.mark.parametrize("kind", [optim.SGD, optim.AdamW])
def test_the_momentum_goes_against_the_cycle(kind):
    target = optimizer(0.3, kind=kind, **({"momentum": 0.5} if kind is optim.SGD else {}))
    schedule = schedules.CyclicLR(target, 1.0, 2.0, step_size_up=4, base_momentum=0.6, max_momentum=0.8)
    group = target.param_groups[0]
    for step in range(12):
        momentum = group["betas"][0] if kind is optim.AdamW else group["momentum"]
        rise = [0, 0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25][step % 8]
        assert group["lr"] == pytest.approx(1 + rise)
        assert momentum == pytest.approx(0.8 - 0.2 * rise)
        target.step()
        schedule.step()


@pytest.mark.parametrize(
    ("options", "heights"),
    [
        ({"mode": "exp_range", "gamma": 0.5}, [0.5, 0, 0.125, 0]),
        ({"scale_fn": lambda x: x, "scale_mode": "cycle"}, [1, 0, 2, 0]),
        ({"scale_fn": lambda x: x, "scale_mode": "iterations", "mode": "mine"}, [1, 0, 3, 0]),
        ({"scale_fn": None, "mode": "triangular", "scale_mode": "iterations"}, [1, 0, 1, 0]),
    ],
)
def test_heights_of_cycles(options, heights):
    schedule = schedules.CyclicLR(optimizer(7.0), 1.0, 2.0, step_size_up=1, cycle_momentum=False, **options)
    np.testing.assert_allclose(trace(schedule, 4), np.add([0, *heights], 1.0))


def test_cycles_need_a_momentum():
    target = optimizer(0.5, kind=optim.Adagrad)
    with pytest.raises(ValueError, match="must support momentum or beta1"):
        schedules.CyclicLR(target, 1.0, 2.0)
    assert target.param_groups[0]["lr"] == 0.5


# -- plateaus -------------------------------------------------------------------------------------------------------


def plateau_trace(measures, rates=(1.0,), **options):
    schedule = schedules.ReduceLROnPlateau(optimizer(*rates), **options)
    result = []
    for measure in measures:
        schedule.step(measure)
        result.append(schedule.get_last_lr()[0])
    return result


@pytest.mark.parametrize(
    ("measures", "options", "expected"),
    [
        ([3, 2, 2, 2, 2, 2], {"patience": 1}, [1, 1, 1, 0.1, 0.1, 0.01]),
        ([1, 2, 2, 3, 3, 3], {"mode": "max", "patience": 0, "factor": 0.5}, [1, 1, 0.5, 0.5, 0.25, 0.125]),
        ([5, 5, 5, 5, 5, 5], {"patience": 0, "cooldown": 2, "factor": 0.5}, [1, 0.5, 0.5, 0.5, 0.25, 0.25]),
        ([5, 4, 3, 2.5], {"patience": 0, "threshold": 1.5, "threshold_mode": "abs"}, [1, 0.1, 0.1, 0.01]),
        ([5, 4, 3], {"patience": 0, "threshold": 0.3}, [1, 0.1, 0.1]),
        ([1, math.nan, 1], {"patience": 0}, [1, 0.1, 0.01]),
        ([1, 1, 1, 1], {"patience": 0, "min_lr": 0.05}, [1, 0.1, 0.05, 0.05]),
        ([1, 1, 1, 1], {"patience": 0, "eps": 0.5}, [1, 0.1, 0.1, 0.1]),
    ],
)
def test_plateaus(measures, options, expected):
    np.testing.assert_allclose(plateau_trace(measures, **options), expected)


def test_the_measure_may_be_a_tensor():
    assert plateau_trace([numgrad.tensor(1.0), numgrad.ones(1)], patience=0) == [1.0, 0.1]


def test_groups_added_later_have_a_lowest_rate():
    target = optimizer(1.0)
    schedule = schedules.ReduceLROnPlateau(target, patience=0, min_lr=0.2)
    target.add_param_group({"params": [numgrad.ones(1, requires_grad=True)], "lr": 0.4})
    schedule.step(1.0)
    schedule.step(1.0)
    assert schedule.get_last_lr() == [0.2, 0.2]
    schedule = schedules.ReduceLROnPlateau(target, patience=0, min_lr=[0.1, 0.1])
    target.add_param_group({"params": [numgrad.ones(1, requires_grad=True)], "lr": 0.4})
    schedule.step(1.0)
    with pytest.raises(RuntimeError, match=r"param groups in the `optimizer` \(3\) differs .* \(2\)"):
        schedule.step(1.0)


# -- order, saving and loading --------------------------------------------------------------------------------------


def test_the_wrong_order_warns_once():
    schedule = schedules.StepLR(optimizer(), 2)
    with pytest.warns(UserWarning, match=r"`lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        schedule.step()
    schedule.step()  # the test would fail with another warning


def test_a_replaced_step_warns():
    schedule = schedules.StepLR(optimizer(), 2)
    schedule.optimizer.step = lambda: None
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        schedule.step()


def test_get_lr_is_for_schedules():
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        schedules.StepLR(optimizer(), 2).get_lr()


def test_the_steps_arguments_go_through():
    target = optimizer()
    schedules.StepLR(target, 2)
    assert target.step(lambda: "loss") == "loss"
    assert target.step(closure=lambda: "loss") == "loss"
    assert copy.deepcopy(target).step(lambda: "loss") == "loss"
    assert pickle.loads(pickle.dumps(target)).param_groups[0]["initial_lr"] == 0.5


class Power:
    """A function with a state of its own."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, epoch):
        return self.factor**epoch


def function_of(schedule):
    return schedule._scale_fn_custom if isinstance(schedule, schedules.CyclicLR) else schedule.lr_lambdas[0]


SAVED = {
    **{name: make for name, (make, _) in FORMULAS.items()},
    "OneCycleLR": lambda o: schedules.OneCycleLR(o, 1.0, total_steps=20, cycle_momentum=False),
    "LambdaLR, object": lambda o: schedules.LambdaLR(o, Power(0.5)),
    "CyclicLR, object": lambda o: schedules.CyclicLR(
        o, 1.0, 2.0, 3, scale_fn=Power(0.5), scale_mode="iterations", cycle_momentum=False
    ),
}


@pytest.mark.parametrize("name", SAVED)
def test_a_loaded_schedule_goes_on(name):
    schedule = SAVED[name](optimizer(0.5))
    trace(schedule, 4)
    saved = pickle.loads(pickle.dumps((schedule.optimizer.state_dict(), schedule.state_dict())))
    fresh = SAVED[name](optimizer(0.25))
    if "object" in name:
        function_of(fresh).factor = 0.1
    fresh.optimizer.load_state_dict(saved[0])
    fresh.load_state_dict(saved[1])
    assert "optimizer" not in saved[1]
    assert trace(fresh, 6) == trace(schedule, 6)


def test_a_loaded_plateau_goes_on():
    schedule = schedules.ReduceLROnPlateau(optimizer(1.0), "max", patience=2)
    schedule.step(5.0)
    schedule.step(4.0)
    fresh = schedules.ReduceLROnPlateau(optimizer(1.0))
    fresh.load_state_dict(schedule.state_dict())
    assert (fresh.mode, fresh.best, fresh.num_bad_epochs, fresh.mode_worse) == ("max", 5.0, 1, -math.inf)
    fresh.step(4.0)
    fresh.step(4.0)
    assert fresh.get_last_lr() == [0.1]


def test_resuming():
    target = optimizer(0.5)
    trace(schedules.CosineAnnealingLR(target, 10), 3)
    again = schedules.CosineAnnealingLR(target, 10, last_epoch=3)
    assert again.base_lrs == [0.5]
    assert again.last_epoch == 4
    with pytest.raises(KeyError, match="initial_lr"):
        schedules.CosineAnnealingLR(optimizer(), 10, last_epoch=3)


def test_learning_rates_in_tensors():
    rate = numgrad.tensor(0.5)
    target = optimizer(rate)
    schedule = schedules.ExponentialLR(target, 0.5)
    first = schedule.get_last_lr()[0]
    trace(schedule, 2)
    assert target.param_groups[0]["lr"] is rate
    assert rate.item() == 0.125
    assert first.item() == 0.5  # a copy
    assert target.param_groups[0]["initial_lr"].item() == 0.5


def test_schedules_that_cannot_be_sequential():
    target = optimizer()
    step = schedules.StepLR(target, 2)
    with pytest.raises(ValueError, match="at least one scheduler"):
        schedules.SequentialLR(target, [], [])
    with pytest.raises(ValueError, match="one more than the number of milestone points"):
        schedules.SequentialLR(target, [step, schedules.StepLR(target, 3)], [])
    with pytest.raises(ValueError, match=r"(?s)at index 1 .*which is different from SGD"):
        schedules.SequentialLR(target, [step, schedules.StepLR(optimizer(), 2)], [3])
    with pytest.raises(ValueError, match="does not support `ReduceLROnPlateau`"):
        schedules.SequentialLR(target, [schedules.ReduceLROnPlateau(target)], [])
    with pytest.raises(TypeError, match="at index 0 should have `optimizer`"):
        schedules.SequentialLR(target, [3], [])


def test_schedules_that_cannot_be_chained():
    target = optimizer()
    step = schedules.StepLR(target, 2)
    with pytest.raises(ValueError, match="at least one scheduler to be chained"):
        schedules.ChainedScheduler([])
    with pytest.raises(ValueError, match=r"(?s)at index 0 .*which is different from Adam"):
        schedules.ChainedScheduler([step], optimizer(kind=optim.Adam))
    with pytest.raises(ValueError, match="ChainedScheduler does not support `ReduceLROnPlateau`"):
        schedules.ChainedScheduler([step, schedules.ReduceLROnPlateau(target)])
    with pytest.raises(TypeError, match="at index 0 should have `optimizer`"):
        schedules.ChainedScheduler([3])


@pytest.mark.parametrize("make", [lambda x: schedules.StepLR(x, 2), schedules.ReduceLROnPlateau])
def test_only_optimizers_are_scheduled(make):
    with pytest.raises(TypeError, match="list is not an Optimizer"):
        make([numgrad.ones(1, requires_grad=True)])
