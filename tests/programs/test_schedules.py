"""Schedules of learning rates and averages of models that are updated within compiled functions."""

import warnings

import pytest
from programs.comparison import compared_with_eager, ramp, replays

import numgrad
from numgrad import nn, optim
from numgrad.optim import lr_scheduler, swa_utils

SCHEDULES = {
    "StepLR": lambda o: lr_scheduler.StepLR(o, 3),
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
    "CyclicLR": lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 2, mode="exp_range", scale_fn=lambda x: 0.9**x),
    "CosineAnnealingWarmRestarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=7),  # the tenth step raises an error
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.ConstantLR(o), lr_scheduler.LambdaLR(o, lambda epoch: 0.8**epoch)], [4]),
    "ChainedScheduler": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ExponentialLR(o, 0.9), lr_scheduler.MultiStepLR(o, [2, 5])]),
}


def trained(kind, make, compile, check=0):
    """Return the weights and states of a training whose steps include those of the schedule."""
    weight = nn.Parameter(numgrad.ones(3))
    optimizer = make([weight])
    schedule = SCHEDULES[kind](optimizer)

    def step(x):
        optimizer.zero_grad()
        ((weight * x) ** 2).sum().backward()
        optimizer.step()
        schedule.step()

    f, found = numgrad.compile(step, fullgraph=True, check=check) if compile else step, []
    for _ in range(10):
        try:
            f(ramp(3))
        except ValueError as error:
            found.append(str(error))
        group = optimizer.param_groups[0]
        found.append([weight.tolist(), group["lr"], group.get("momentum"), group.get("betas"), schedule.state_dict()])
    return found, replays(f) if compile else None


@pytest.mark.parametrize("make", [
    lambda params: optim.SGD(params, lr=0.1, momentum=0.9), lambda params: optim.AdamW(params, lr=0.1),
], ids=["SGD", "AdamW"])
@pytest.mark.parametrize("kind", SCHEDULES)
def test_steps_of_schedules_are_replayed(kind, make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected, _ = trained(kind, make, compile=False)
        found, programs = trained(kind, make, compile=True)
        checked, _ = trained(kind, make, compile=True, check=4)
    assert str(found) == str(expected) == str(checked)
    assert programs == [1]


class Training:
    def __init__(self):
        self.weight, self.other = nn.Parameter(numgrad.ones(3)), nn.Parameter(numgrad.ones(3))
        self.optimizer = optim.SGD([{"params": [self.weight]}, {"params": [self.other], "lr": 0.5}], lr=0.1)
        self.schedule = lr_scheduler.ExponentialLR(self.optimizer, 0.5)
        self.batches = 0

    def step(self, x):
        self.optimizer.zero_grad()
        ((self.weight + self.other) * x).sum().backward()
        self.optimizer.step()
        self.schedule.step()

    def rates(self):
        return [group["lr"] for group in self.optimizer.param_groups], self.schedule.last_epoch


def compared(step, between=lambda training: None, falls_back=False, schedule=None):
    """Make a test of a step, with changes between the calls."""

    def scenario(compiled, see):
        training = Training()
        if schedule is not None:
            training.schedule = schedule(training)
        f = compiled(lambda x: step(training, x))
        for number in range(9):
            see(f(ramp(3)), training.weight, training.other, training.rates())
            if number == 5:
                between(training)

    return compared_with_eager(scenario, falls_back=falls_back)


def twice(training, x):
    training.step(x)
    training.schedule.step()
    training.step(x)


def with_its_rate(training, x):
    training.step(x)
    return x * training.schedule.get_last_lr()[0]


def with_its_epoch(training, x):
    training.step(x)
    return x * training.schedule.last_epoch


def with_a_rate_of_its_own(training, x):
    training.optimizer.param_groups[0]["lr"] = 0.3 + training.optimizer.param_groups[0]["lr"]
    training.step(x)


def counting(training, x):
    training.batches += 1
    training.step(x)


def reads(get):
    return lambda training: lr_scheduler.LambdaLR(training.optimizer, lambda epoch: get(training))


test_twice = compared(twice)
test_changed_rates = compared(Training.step, lambda training: training.optimizer.param_groups[0].update(lr=0.7))
test_changed_epochs = compared(Training.step, lambda training: setattr(training.schedule, "last_epoch", 100),
                               schedule=lambda training: lr_scheduler.StepLR(training.optimizer, 3))
test_loaded = compared(Training.step, lambda training: training.schedule.load_state_dict({"gamma": 0.9}))
test_another_schedule = compared(Training.step, lambda training: setattr(
    training, "schedule", lr_scheduler.StepLR(training.optimizer, 1)))
test_a_rate_that_is_read = compared(with_its_rate, falls_back=True)
test_an_epoch_that_is_read = compared(with_its_epoch, falls_back=True)
test_a_rate_that_is_set = compared(with_a_rate_of_its_own, falls_back=True)
test_a_count_that_is_not_read = compared(counting)
test_a_count_that_the_schedule_reads = compared(counting, schedule=reads(lambda t: 1 / t.batches if t.batches else 1),
                                                falls_back=True)
test_a_schedule_that_reads_a_tensor = compared(Training.step, falls_back=True, schedule=reads(
    lambda training: float(training.weight.detach().sum())))


def cycling_momentum(training):
    training.optimizer = optim.SGD([training.weight], lr=0.1, momentum=0.9, dampening=0.5)
    return lr_scheduler.CyclicLR(training.optimizer, 0.1, 0.2, 3, base_momentum=0.0, max_momentum=0.9)


test_momentum_that_comes_and_goes = compared(Training.step, schedule=cycling_momentum, falls_back=True)


class Own(lr_scheduler.ExponentialLR):
    def get_lr(self):
        self.optimizer.seen = self.optimizer.__dict__.get("seen", 0) + 1
        return super().get_lr()


test_a_schedule_of_the_programs_own = compared(
    Training.step, falls_back=True, schedule=lambda training: Own(training.optimizer, 0.9))


def test_a_step_that_fails_takes_the_schedule_back():
    training, table = Training(), numgrad.arange(12.0).reshape(4, 3)

    @numgrad.compile(fullgraph=True)
    def step(index):
        training.step(numgrad.nn.functional.embedding(index, table).sum(0))

    for _ in range(3):
        step(numgrad.tensor([0, 1]))
    before = training.rates(), training.weight.tolist()
    with pytest.raises(IndexError):
        step(numgrad.tensor([0, 7]))
    assert (training.rates(), training.weight.tolist()) == before


# -- averages -------------------------------------------------------------------------------------------------------


def averaging(options, updates=1, falls_back=False):
    """Make a test of a step that updates averages, whose number is set to 0 in between."""

    def scenario(compiled, see):
        model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
        averaged, optimizer = swa_utils.AveragedModel(model, **options), optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            (model(x) ** 3).sum().backward()
            optimizer.step()
            for _ in range(updates):
                averaged.update_parameters(model)

        f = compiled(step)
        for number in range(9):
            f(ramp(4, 3).sin())
            see(list(averaged.parameters()), list(averaged.buffers()))
            if number == 5:
                averaged.n_averaged.zero_()
        assert f is step or falls_back or replays(f) == [1]  # for all calls but those that begin averages

    return compared_with_eager(scenario, falls_back=falls_back)


@pytest.mark.parametrize("options", [
    {}, {"use_buffers": True}, {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.9)},
    {"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}, {"avg_fn": swa_utils.get_ema_avg_fn(0.9)},
    {"avg_fn": lambda mean, param, number: mean + (param - mean) / (number + 2)},
])
def test_averages_of_models(options):
    averaging(options)()


test_averages_that_are_updated_twice = averaging({}, updates=2, falls_back=True)
