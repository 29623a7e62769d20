"""Averages of a model's parameters, and the learning rates to collect them at."""

import copy
import math
import pickle

import numpy as np
import pytest
from optim.libraries import libraries

import numgrad
from numgrad import nn, optim
from numgrad.optim import swa_utils


def model_of(module=numgrad):
    """Parameters and buffers, floats, complex numbers and integers."""
    module.manual_seed(0)
    model = module.nn.Sequential(module.nn.Linear(3, 4), module.nn.BatchNorm1d(4))
    model.register_parameter("pair", module.nn.Parameter(module.tensor([1 + 2j], dtype=module.complex128)))
    return model.double()


def changed(model, module=numgrad, seed=0):
    """Other values for all parameters and buffers."""
    random = np.random.default_rng(seed)
    with module.no_grad():
        for one in [*model.parameters(), *model.buffers()]:
            values = random.standard_normal(one.shape) * 9
            one.copy_(module.tensor(values).to(one.dtype))


def values_of(model):
    return {name: value.numpy().copy() for name, value in model.state_dict().items()}


AVERAGES = {
    "default": {},
    "swa": {"avg_fn": lambda m: m.get_swa_avg_fn()},
    "swa, many": {"multi_avg_fn": lambda m: m.get_swa_multi_avg_fn()},
    "ema": {"avg_fn": lambda m: m.get_ema_avg_fn(0.7)},
    "ema, many": {"multi_avg_fn": lambda m: m.get_ema_multi_avg_fn(0.7)},
    "mine": {"avg_fn": lambda m: lambda mean, current, count: mean + current * (count + 1)},
}


def averaged(name, model, utils=swa_utils, **options):
    return utils.AveragedModel(model, **{key: make(utils) for key, make in AVERAGES[name].items()}, **options)


# -- averages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AVERAGES)
def test_averages(name):
    model = model_of()
    average = averaged(name, model)
    history = []
    for seed in range(4):
        changed(model, seed=seed)
        average.update_parameters(model)
        history.append(values_of(model))
    expected = history[0]["0.weight"]
    for count, values in enumerate(history[1:], 1):
        now = values["0.weight"]
        if "ema" in name:
            expected = 0.7 * expected + 0.3 * now
        elif name == "mine":
            expected = expected + now * (count + 1)
        else:
            expected = np.mean([values["0.weight"] for values in history[: count + 1]], axis=0)
    found = values_of(average)
    np.testing.assert_allclose(found["module.0.weight"], expected, rtol=1e-6)
    assert found["n_averaged"] == 4
    np.testing.assert_array_equal(found["module.1.running_mean"], history[-1]["1.running_mean"])  # a buffer: copied


def test_buffers_may_be_averaged():
    model = model_of()
    average = averaged("ema", model, use_buffers=True)
    means = []
    for seed in range(2):
        changed(model, seed=seed)
        average.update_parameters(model)
        means.append(model[1].running_mean.numpy().copy())
    np.testing.assert_allclose(average.module[1].running_mean.numpy(), 0.7 * means[0] + 0.3 * means[1])


def test_the_first_update_copies():
    model = model_of()
    average = averaged("mine", model)
    changed(model)
    assert (average.module[0].weight != model[0].weight).all()
    average.update_parameters(model)
    assert (average.module[0].weight == model[0].weight).all()


def test_an_average_is_a_module():
    model = model_of()
    average = swa_utils.AveragedModel(model)
    x = numgrad.ones(2, 3, dtype=numgrad.float64)
    assert average(x).tolist() == model_of()(x).tolist()
    assert not set(average.parameters()) & set(model.parameters())
    assert all(param.requires_grad for param in average.parameters())
    average.update_parameters(model)
    for twin in (copy.deepcopy(average), pickle.loads(pickle.dumps(average))):
        assert twin.n_averaged.item() == 1
    fresh = swa_utils.AveragedModel(model_of())
    fresh.load_state_dict(average.state_dict())
    assert fresh.n_averaged.item() == 1


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: swa_utils.get_ema_avg_fn(1.1), ValueError, "Invalid decay value 1.1 provided"),
        (lambda: swa_utils.get_ema_multi_avg_fn(-0.1), ValueError, r"value in \[0,1\] range"),
        (
            lambda: swa_utils.AveragedModel(nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max),
            AssertionError, "Only one of avg_fn and multi_avg_fn",
        ),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


# -- batch normalization ----------------------------------------------------------------------------------------------


def batches(module=numgrad):
    random = np.random.default_rng(0)
    return [module.tensor(random.standard_normal((5, 3))) for _ in range(3)]


@pytest.mark.parametrize("loader", [batches, lambda: [(batch, "label") for batch in batches()]])
def test_statistics_are_means_over_all_batches(loader):
    model = model_of().eval()
    model[1].momentum = 0.3
    changed(model)
    swa_utils.update_bn(loader(), model)
    with numgrad.no_grad():
        hidden = [model[0](batch).numpy() for batch in batches()]
    np.testing.assert_allclose(model[1].running_mean.numpy(), np.mean([x.mean(0) for x in hidden], axis=0))
    np.testing.assert_allclose(model[1].running_var.numpy(), np.mean([x.var(0, ddof=1) for x in hidden], axis=0))
    assert model[1].num_batches_tracked.item() == 3
    assert (model[1].momentum, model.training) == (0.3, False)


def test_a_model_without_batch_normalization_is_not_run():
    def loader():
        raise AssertionError
        yield

    swa_utils.update_bn(loader(), nn.Linear(3, 1))


def test_a_loader_that_fails_leaves_the_modes():
    model = model_of().eval()
    with pytest.raises(ZeroDivisionError):
        swa_utils.update_bn((1 / 0 for _ in range(1)), model)
    assert (model[1].momentum, model.training) == (0.1, False)


# -- learning rates ---------------------------------------------------------------------------------------------------


def optimizer_of(library, module, *rates):
    groups = [{"params": [module.ones(1, requires_grad=True)], "lr": rate} for rate in rates]
    return library.SGD(groups, lr=0.1)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_rates_go_to_the_last_one(strategy):
    optimizer = optimizer_of(optim, numgrad, 1.0)
    schedule = swa_utils.SWALR(optimizer, 0.2, anneal_epochs=4, anneal_strategy=strategy)
    rates = []
    for _ in range(7):
        rates.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    parts = [0, 0.25, 0.5, 0.75, 1, 1, 1]
    shares = [(1 - math.cos(math.pi * part)) / 2 if strategy == "cos" else part for part in parts]
    np.testing.assert_allclose(rates, [1 - 0.8 * share for share in shares], rtol=1e-12)


def test_the_last_rate_at_once():
    schedule = swa_utils.SWALR(optimizer_of(optim, numgrad, 1.0), 0.2, anneal_epochs=0)
    assert schedule.get_last_lr() == [0.2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"anneal_strategy": "sin"}, "must be one of 'cos' or 'linear', instead got sin"),
        ({"anneal_epochs": -1}, "must be equal or greater than 0, got -1"),
        ({"swa_lr": [0.1, 0.2]}, "swa_lr must have the same length as optimizer.param_groups"),
    ],
)
def test_schedules_that_are_refused(options, message):
    optimizer = optimizer_of(optim, numgrad, 1.0)
    with pytest.raises(ValueError, match=message):
        swa_utils.SWALR(optimizer, **{"swa_lr": 0.1, **options})
    assert "swa_lr" not in optimizer.param_groups[0]


# -- against PyTorch ---------------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize("buffers", [False, True])
@pytest.mark.parametrize("name", AVERAGES)
def test_averages_are_pytorchs(name, buffers):
    results = []
    for module, library in libraries():
        model = model_of(module)
        if buffers and name == "swa, many":  # PyTorch has no such averages of integers
            model[1].num_batches_tracked = None
        average = averaged(name, model, library.swa_utils, use_buffers=buffers)
        for seed in range(5):
            changed(model, module, seed)
            average.update_parameters(model)
        results.append(values_of(average))
    own, other = results
    assert list(own) == list(other)
    for key, value in own.items():
        assert value.dtype == other[key].dtype
        np.testing.assert_allclose(value, other[key], rtol=1e-12)


@pytest.mark.torch
def test_statistics_are_pytorchs():
    results = []
    for module, library in libraries():
        model = model_of(module)
        library.swa_utils.update_bn(batches(module), model, device="cpu")
        results.append(values_of(model))
    for key, value in results[0].items():
        np.testing.assert_allclose(value, results[1][key], rtol=1e-12)


@pytest.mark.torch
@pytest.mark.parametrize(
    "options", [{}, {"anneal_epochs": 3, "anneal_strategy": "linear"}, {"anneal_epochs": 0}], ids=str
)
def test_rates_are_pytorchs(options):
    traces = []
    for module, library in libraries():
        optimizer = optimizer_of(library, module, 1.0, 0.5)
        schedule = library.swa_utils.SWALR(optimizer, [0.05, 0.7], **options)
        trace = [schedule.get_last_lr()]
        for epoch in range(14):
            optimizer.step()
            schedule.step()
            trace.append(schedule.get_last_lr())
            if epoch == 5:
                saved = copy.deepcopy(schedule.state_dict())
                schedule = library.swa_utils.SWALR(optimizer, [0.05, 0.7], anneal_epochs=1)
                schedule.load_state_dict(saved)
        traces.append((trace, sorted(schedule.state_dict())))
    assert traces[0] == traces[1]
