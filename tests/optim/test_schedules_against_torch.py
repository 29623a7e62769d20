"""Every schedule against PyTorch's."""

import copy
import warnings

import numpy as np
import pytest
from optim.libraries import libraries

from numgrad import optim

pytestmark = pytest.mark.torch


def sequence(library, optimizer):
    schedule = library.lr_scheduler
    parts = [
        schedule.LinearLR(optimizer, 0.1, total_iters=4),
        schedule.ConstantLR(optimizer, 0.5, total_iters=3),
        schedule.ExponentialLR(optimizer, 0.9),
    ]
    return schedule.SequentialLR(optimizer, parts, milestones=[4, 9])


def nested(library, optimizer):
    schedule = library.lr_scheduler
    inner = schedule.SequentialLR(
        optimizer, [schedule.StepLR(optimizer, 2), schedule.CosineAnnealingLR(optimizer, 4)], milestones=[5]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both take the inner one's initial step for one made too early
        return schedule.SequentialLR(optimizer, [inner, schedule.LinearLR(optimizer)], milestones=[8])


def chained(library, optimizer):
    schedule = library.lr_scheduler
    return schedule.ChainedScheduler([schedule.ExponentialLR(optimizer, 0.9), schedule.StepLR(optimizer, 4)], optimizer)


def chained_first(library, optimizer):
    schedule = library.lr_scheduler
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as above
        return schedule.SequentialLR(
            optimizer, [chained(library, optimizer), schedule.PolynomialLR(optimizer, 9)], milestones=[6]
        )


def cyclic(**options):
    return lambda m, o: m.lr_scheduler.CyclicLR(o, **{"base_lr": 0.01, "max_lr": [0.1, 0.3], **options})


SCHEDULES = {
    "StepLR": lambda m, o: m.lr_scheduler.StepLR(o, 3, gamma=0.5),
    "MultiStepLR": lambda m, o: m.lr_scheduler.MultiStepLR(o, [8, 3, 8], gamma=0.3),
    "ExponentialLR": lambda m, o: m.lr_scheduler.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda m, o: m.lr_scheduler.CosineAnnealingLR(o, 6, eta_min=0.01),
    "LambdaLR": lambda m, o: m.lr_scheduler.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (e + 1)]),
    "LambdaLR, one": lambda m, o: m.lr_scheduler.LambdaLR(o, lambda e: 0.9**e),
    "LinearLR": lambda m, o: m.lr_scheduler.LinearLR(o, 0.2, 0.9, total_iters=7),
    "ConstantLR": lambda m, o: m.lr_scheduler.ConstantLR(o, 0.3, total_iters=4),
    "OneCycleLR": lambda m, o: m.lr_scheduler.OneCycleLR(o, [0.5, 1.0], total_steps=30),
    "OneCycleLR, three": lambda m, o: m.lr_scheduler.OneCycleLR(
        o, 1.0, epochs=5, steps_per_epoch=6, three_phase=True, anneal_strategy="linear"
    ),
    "MultiplicativeLR": lambda m, o: m.lr_scheduler.MultiplicativeLR(o, [lambda e: 0.9, lambda e: 1 - 1 / (e + 1)]),
    "PolynomialLR": lambda m, o: m.lr_scheduler.PolynomialLR(o, 9, power=0.7),
    "CosineAnnealingWarmRestarts": lambda m, o: m.lr_scheduler.CosineAnnealingWarmRestarts(o, 4, eta_min=0.001),
    "CosineAnnealingWarmRestarts, longer": lambda m, o: m.lr_scheduler.CosineAnnealingWarmRestarts(o, 3, T_mult=2),
    "CyclicLR": cyclic(step_size_up=4),
    "CyclicLR, triangular2": cyclic(step_size_up=3, step_size_down=5, mode="triangular2", max_momentum=[0.7, 0.95]),
    "CyclicLR, exp_range": cyclic(base_lr=[0.1, 0.05], step_size_up=5, mode="exp_range", gamma=0.9),
    "CyclicLR, function": cyclic(step_size_up=3, scale_fn=lambda x: 1 / (1 + x), scale_mode="iterations"),
    "CyclicLR, momentum kept": cyclic(step_size_up=3, cycle_momentum=False, mode="triangular2"),
    "ChainedScheduler": chained,
    "ChainedScheduler, first": chained_first,
    "SequentialLR": sequence,
    "nested": nested,
}


def scheduled(module, library, make, kind="SGD", rate=0.1):
    x, y = module.tensor([1.0], requires_grad=True), module.tensor([2.0], requires_grad=True)
    options = {"momentum": 0.9} if kind == "SGD" else {}
    optimizer = getattr(library, kind)([{"params": [x]}, {"params": [y], "lr": 0.02}], lr=rate, **options)
    return optimizer, make(library, optimizer)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name, kind):
    pairs = [
        scheduled(module, library, SCHEDULES[name], kind)
        for module, library in libraries()
    ]
    hidden = ("params", "lr_lambdas")
    for step in range(25):
        if step == 12:  # from saved state, in fresh objects
            fresh = [
                scheduled(module, library, SCHEDULES[name], kind)
                for module, library in libraries()
            ]
            for (optimizer, schedule), (new_optimizer, new_schedule) in zip(pairs, fresh, strict=True):
                new_schedule.load_state_dict(copy.deepcopy(schedule.state_dict()))
                new_optimizer.load_state_dict(optimizer.state_dict())
            pairs = fresh
        for optimizer, schedule in pairs:
            optimizer.step()
            schedule.step()
        (own, mine), (other, theirs) = pairs
        assert mine.get_last_lr() == theirs.get_last_lr()
        assert getattr(mine, "last_epoch", None) == getattr(theirs, "last_epoch", None)
        for group, twin in zip(own.param_groups, other.param_groups, strict=True):
            assert {k: v for k, v in group.items() if k not in hidden} == {
                k: v for k, v in twin.items() if k not in hidden
            }
        assert mine.state_dict().keys() == theirs.state_dict().keys()


CLOSED = ["StepLR", "MultiStepLR", "ExponentialLR", "CosineAnnealingLR", "LinearLR", "PolynomialLR", "CyclicLR"]


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(name):
    rates = []
    for module, library in libraries():
        optimizer, schedule = scheduled(module, library, SCHEDULES[name])
        optimizer.step()
        with pytest.warns(UserWarning, match="epoch parameter"):
            schedule.step(11)
        rates.append(schedule.get_last_lr())
    assert rates[0] == rates[1]


@pytest.mark.parametrize("longer", [1, 2, 3])
def test_restarts_at_any_time(longer):
    """Told where in an epoch it is, and gone on from there."""
    traces = []
    for module, library in libraries():
        optimizer, schedule = scheduled(
            module, library, lambda m, o: m.lr_scheduler.CosineAnnealingWarmRestarts(o, 3, longer)
        )
        trace = []
        for epoch in [0, 0.5, 2.9, 3, None, 7.25, None, 30, None, 1, None, None]:
            optimizer.step()
            schedule.step(epoch)
            trace.append((schedule.get_last_lr(), schedule.T_cur, schedule.T_i, schedule.last_epoch))
        traces.append(trace)
    assert traces[0] == traces[1]


@pytest.mark.parametrize(
    "options",
    [
        {}, {"patience": 2, "cooldown": 1}, {"mode": "max", "patience": 1}, {"threshold_mode": "abs", "threshold": 0.1},
        {"mode": "max", "threshold_mode": "abs", "patience": 0},
        {"min_lr": [0.05, 0.001], "patience": 0, "factor": 0.5},
    ],
    ids=str,
)
def test_plateaus(options):
    measures = np.random.default_rng(0).standard_normal(40).cumsum()
    traces = []
    for module, library in libraries():
        _, schedule = scheduled(module, library, lambda m, o: m.lr_scheduler.ReduceLROnPlateau(o, **options))
        trace = []
        for measure in measures:
            schedule.step(module.tensor(measure))
            trace.append({**schedule.state_dict()})
        traces.append(trace)
    assert traces[0] == traces[1]


def test_tensor_learning_rates():
    results = []
    for module, library in libraries():
        x = module.tensor([1.0, 2.0], requires_grad=True)
        rate = module.tensor(0.1)
        optimizer = library.Adam([x], lr=rate)
        schedule = library.lr_scheduler.ExponentialLR(optimizer, 0.5)
        for _ in range(3):
            x.grad = module.tensor([1.0, -3.0])
            optimizer.step()
            schedule.step()
        assert optimizer.param_groups[0]["lr"] is rate
        results.append((x.tolist(), rate.item(), schedule.get_last_lr()[0].item()))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-6)
    assert results[0][1:] == results[1][1:]


@pytest.mark.parametrize("order", ["schedule first", "step replaced", "get_lr outside"])
def test_schedule_warnings(order):
    texts = []
    for module, library in libraries():
        optimizer, schedule = scheduled(module, library, SCHEDULES["StepLR"])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if order == "schedule first":
                schedule.step()
            elif order == "step replaced":
                optimizer.step = lambda: None
                schedule.step()
            else:
                schedule.get_lr()
        texts.append([(w.category, str(w.message)) for w in caught])
        if library is optim:
            assert [w.filename for w in caught] == [__file__]
    assert len(texts[0]) == 1
    assert texts[0] == texts[1]
