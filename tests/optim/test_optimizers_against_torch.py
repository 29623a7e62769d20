"""Every optimizer against PyTorch's."""

import numpy as np
import pytest
from optim.libraries import libraries

pytestmark = pytest.mark.torch

SHAPES = [(3, 5), (70,), (), (0, 4), (41, 101)]

OPTIMIZERS = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.8, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"weight_decay": 0.1, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"betas": (0.3, 0.8), "eps": 1e-3, "weight_decay": 0.1, "amsgrad": True}),
    ("Adam", {"maximize": True, "decoupled_weight_decay": True, "weight_decay": 0.3}),
    ("AdamW", {}),
    ("AdamW", {"betas": (0.0, 0.99), "weight_decay": 0.3, "amsgrad": True}),
    ("AdamW", {"maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"alpha": 0.9, "momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True}),
    ("RMSprop", {"centered": True, "momentum": 0.5, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-3}),
    ("Adagrad", {"maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"rho": 0.7, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"betas": (0.3, 0.8), "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"betas": (0.3, 0.8), "eps": 1e-3, "weight_decay": 0.1, "momentum_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.3, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {}),
    ("RAdam", {"betas": (0.3, 0.8), "eps": 1e-3, "weight_decay": 0.1}),
    ("RAdam", {"weight_decay": 0.3, "decoupled_weight_decay": True, "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lambd": 0.1, "alpha": 0.5, "t0": 5, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"etas": (0.3, 1.9), "step_sizes": (0.01, 0.1), "maximize": True}),
]

NAMES = sorted({name for name, _ in OPTIMIZERS})


def name_of(case):
    return "-".join([case[0], *(f"{key}={value}" for key, value in case[1].items())])


def twins(shapes=SHAPES, dtype=np.float32, seed=0):
    """Return the same leaves in both libraries."""
    random = np.random.default_rng(seed)
    values = [np.asarray(random.standard_normal(shape), dtype) for shape in shapes]
    return [[module.tensor(value, requires_grad=True) for value in values] for module, _ in libraries()]


def give_gradients(ours, theirs, random, skip=()):
    for place, pair in enumerate(zip(ours, theirs, strict=True)):
        value = np.asarray(random.standard_normal(tuple(pair[0].shape)), pair[0].detach().numpy().dtype)
        for (module, _), param in zip(libraries(), pair, strict=True):
            param.grad = None if place in skip else module.tensor(value)


def both(name, ours, theirs, **options):
    """The optimizer of this name in either library."""
    return [
        getattr(library, name)(params, **options)
        for (_, library), params in zip(libraries(), (ours, theirs), strict=True)
    ]


def assert_close(own, other, tolerance):
    own, other = own.detach().numpy(), other.detach().numpy()
    assert own.dtype == other.dtype
    np.testing.assert_allclose(own, other, rtol=tolerance, atol=tolerance)


def assert_same_state(ours, theirs, own, other, tolerance):
    assert list(ours.state[own]) == list(theirs.state[other])
    for key, value in theirs.state[other].items():
        assert tuple(ours.state[own][key].shape) == tuple(value.shape)
        assert ours.state[own][key].stride() == value.stride() or value.numel() == 0
        assert_close(ours.state[own][key], value, tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", OPTIMIZERS, ids=name_of)
def test_trajectories(case, dtype):
    name, options = case
    ours, theirs = twins(dtype=dtype)
    own, other = both(name, ours, theirs, lr=0.05, **options)
    random = np.random.default_rng(1)
    for step in range(20):
        give_gradients(ours, theirs, random, skip=[1] if step % 3 == 1 else [])  # a parameter of fewer steps
        own.step()
        other.step()
        for group, twin in zip(own.param_groups, other.param_groups, strict=True):
            group["lr"] = twin["lr"] = 0.05 / (step + 1)
    tolerance = 2e-5 if dtype is np.float32 else 1e-12
    for mine, twin in zip(ours, theirs, strict=True):
        assert_close(mine, twin, tolerance)
        assert_same_state(own, other, mine, twin, tolerance)
    assert repr(own) == repr(other)


@pytest.mark.parametrize("maximize", [False, True])
def test_weight_decay_is_rounded_once(maximize):
    ours, theirs = twins([1024])
    give_gradients(ours, theirs, np.random.default_rng(1))
    for optimizer in both("SGD", ours, theirs, lr=1.0, momentum=0.5, weight_decay=0.1, maximize=maximize):
        optimizer.step()
    np.testing.assert_array_equal(ours[0].detach().numpy(), theirs[0].detach().numpy())


@pytest.mark.parametrize("case", OPTIMIZERS, ids=name_of)
def test_special_numbers(case):
    name, options = case
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, 1e30, 1.0], np.float32)
    start, gradient = [part.ravel() for part in np.meshgrid(special, special)]
    results = []
    for module, library in libraries():
        param = module.tensor(start, requires_grad=True)
        optimizer = getattr(library, name)([param], **options)
        for _ in range(2):
            param.grad = module.tensor(gradient)
            optimizer.step()
        results.append(param.detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_layouts(name):
    """Transposed, stepped and reversed parameters, gradients of another layout."""
    options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
    trajectories = []
    for module, library in libraries():
        random = np.random.default_rng(0)

        def made(*shape, module=module, random=random):
            return module.tensor(random.standard_normal(shape))

        params = [
            made(4, 3).t(), made(4, 6)[:, ::2], made(2, 3, 4).permute(2, 0, 1), made(5, 5), made(7)[2:], made(6)[::3],
        ]
        params = [param.detach().requires_grad_() for param in params]
        optimizer = getattr(library, name)(params, lr=0.1, **options)
        for _ in range(3):
            grads = [
                made(3, 4), made(3, 4).t(), made(4, 2, 3), made(5, 5).t(), made(1).expand(5), made(8)[::4],
            ]
            for param, grad in zip(params, grads, strict=True):
                param.grad = grad
            optimizer.step()
        kept = [value for param in params for value in optimizer.state[param].values()]
        trajectories.append([*params, *kept])
    for own, other in zip(*trajectories, strict=True):
        # PyTorch lays out the velocity and Rprop's step sizes as the first gradient
        assert own.stride() == other.stride() or name in ("SGD", "Rprop")
        assert_close(own, other, 1e-12)


def test_layout_of_the_velocity_is_free():
    """A state whose tensors lie otherwise than their parameter is used, and filled in, as it is."""
    results = []
    for module, library in libraries():
        param = module.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
        optimizer = library.Adam([param], lr=0.1)
        param.grad = module.ones((2, 3), dtype=module.float64)
        optimizer.step()
        state = optimizer.state[param]
        state["exp_avg"] = state["exp_avg"].t().clone().t()
        state["exp_avg"].data = state["exp_avg"].t().contiguous().t()
        optimizer.step()
        results.append((param, state["exp_avg"]))
    for own, other in zip(*results, strict=True):
        assert own.stride() == other.stride()
        assert_close(own, other, 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_groups_and_state_dict(name):
    ours, theirs = twins(dtype=np.float64)
    optimizers = []
    for (_, library), params in zip(libraries(), (ours, theirs), strict=True):
        named = [(f"p{place}", param) for place, param in enumerate(params)]
        groups = [{"params": named[:2], "lr": 0.3}, {"params": named[2:], "maximize": True}]
        optimizers.append(getattr(library, name)(groups, lr=0.1))
    random = np.random.default_rng(2)
    for _ in range(3):
        give_gradients(ours, theirs, random)
        for optimizer in optimizers:
            optimizer.step()
    own, other = [optimizer.state_dict() for optimizer in optimizers]
    assert own["param_groups"] == other["param_groups"]
    assert list(own["state"]) == list(other["state"])
    # a fresh optimizer, of another dtype, goes on from there as PyTorch's does
    ours, theirs = twins(dtype=np.float32)
    fresh = both(name, ours, theirs)
    assert repr(fresh[0]) == repr(fresh[1])
    groups = [optimizer.param_groups[0]["params"] for optimizer in fresh]
    for optimizer, params in zip(fresh, groups, strict=True):
        optimizer.param_groups[0]["params"] = params[:2]
        optimizer.add_param_group({"params": params[2:]})
    fresh[0].load_state_dict(own)
    fresh[1].load_state_dict(other)
    for mine, twin in zip(ours, theirs, strict=True):
        assert_same_state(fresh[0], fresh[1], mine, twin, 1e-6)
    give_gradients(ours, theirs, random)
    for optimizer in fresh:
        optimizer.step()
    for mine, twin in zip(ours, theirs, strict=True):
        assert_close(mine, twin, 1e-5)
    assert repr(fresh[0]) == repr(fresh[1])


def converted(value, module):
    """A state dict with the tensors of the other library."""
    if isinstance(value, dict):
        return {key: converted(item, module) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(converted(item, module) for item in value)
    return module.tensor(value.numpy()) if hasattr(value, "numpy") else value


@pytest.mark.parametrize("name", [*NAMES, "LBFGS", "Adafactor", "Muon"])
@pytest.mark.parametrize("to", [0, 1], ids=["from PyTorch", "to PyTorch"])
def test_a_state_goes_on_in_the_other_library(name, to):
    (here, here_optim), (there, there_optim) = libraries()[:: 1 if to else -1]
    options = {"max_iter": 3, "lr": 0.01} if name == "LBFGS" else {"lr": 0.1}

    def made(module, library):
        param = module.tensor(np.arange(1.0, 7.0).reshape(2, 3), requires_grad=True)
        return param, getattr(library, name)([("matrix", param)], **options)

    def stepped(module, param, optimizer):
        def closure():
            optimizer.zero_grad()
            loss = ((param - 3) ** 4).sum()
            loss.backward()
            return loss

        optimizer.step(closure)

    param, optimizer = made(here, here_optim)
    twin, other = made(there, there_optim)
    stepped(here, param, optimizer)
    with there.no_grad():
        twin.copy_(there.tensor(param.detach().numpy()))
    other.load_state_dict(converted(optimizer.state_dict(), there))
    stepped(here, param, optimizer)
    stepped(there, twin, other)
    tolerance = 0.01 if name == "Muon" else 1e-9
    np.testing.assert_allclose(param.detach().numpy(), twin.detach().numpy(), rtol=tolerance, atol=tolerance)
    ours, theirs = optimizer.state_dict(), other.state_dict()
    assert ours["param_groups"] == theirs["param_groups"]
    kept, others = ours["state"].get(0, {}), theirs["state"].get(0, {})  # SGD without momentum keeps nothing
    assert sorted(kept) == sorted(others)


BAD = {
    "a tensor": lambda m, x: m.optim.SGD(x),
    "nothing": lambda m, x: m.optim.SGD([]),
    "a number": lambda m, x: m.optim.SGD([3]),
    "a string": lambda m, x: m.optim.SGD(["x"]),
    "no leaf": lambda m, x: m.optim.SGD([x * 2]),
    "negative lr": lambda m, x: m.optim.SGD([x], lr=-1),
    "negative momentum": lambda m, x: m.optim.SGD([x], momentum=-1),
    "negative decay": lambda m, x: m.optim.SGD([x], weight_decay=-1),
    "nesterov": lambda m, x: m.optim.SGD([x], nesterov=True),
    "no params": lambda m, x: m.optim.SGD([{"lr": 3}]),
    "a set": lambda m, x: m.optim.SGD([{"params": {x}}]),
    "some names": lambda m, x: m.optim.SGD([("x", x), x.detach()]),
    "names differ": lambda m, x: m.optim.SGD([{"params": [("x", x)]}, {"params": [x.detach()]}]),
    "twice": lambda m, x: m.optim.SGD([{"params": [x]}, {"params": [x]}]),
    "no dict": lambda m, x: m.optim.SGD([x]).add_param_group([x]),
    "betas": lambda m, x: m.optim.Adam([x], betas=(1.0, 0.9)),
    "second beta": lambda m, x: m.optim.Adam([x], betas=(0.9, -0.1)),
    "mixed betas": lambda m, x: m.optim.Adam([x], betas=(0.9, m.tensor(0.9))),
    "eps": lambda m, x: m.optim.AdamW([x], eps=-1),
    "adam decay": lambda m, x: m.optim.AdamW([x], weight_decay=-1),
    "adam lr": lambda m, x: m.optim.AdamW([x], lr=-0.5),
    "tensor lr": lambda m, x: m.optim.Adam([x], lr=m.tensor([1.0, 2.0])),
    "tensor lr, foreach": lambda m, x: m.optim.Adam([x], lr=m.tensor(1.0), foreach=True),
    "fused and foreach": lambda m, x: m.optim.SGD([x], fused=True, foreach=True),
    "alpha": lambda m, x: m.optim.RMSprop([x], alpha=-1),
    "rms momentum": lambda m, x: m.optim.RMSprop([x], momentum=-1),
    "rms eps": lambda m, x: m.optim.RMSprop([x], eps=-1),
    "lr_decay": lambda m, x: m.optim.Adagrad([x], lr_decay=-1),
    "initial": lambda m, x: m.optim.Adagrad([x], initial_accumulator_value=-1),
    "adagrad eps": lambda m, x: m.optim.Adagrad([x], eps=-1),
    "rho": lambda m, x: m.optim.Adadelta([x], rho=1.1),
    "adadelta eps": lambda m, x: m.optim.Adadelta([x], eps=-1),
    "adadelta decay": lambda m, x: m.optim.Adadelta([x], weight_decay=-1),
    "adamax betas": lambda m, x: m.optim.Adamax([x], betas=(0.9, 1.0)),
    "adamax eps": lambda m, x: m.optim.Adamax([x], eps=-1),
    "nadam decay": lambda m, x: m.optim.NAdam([x], momentum_decay=-1),
    "nadam betas": lambda m, x: m.optim.NAdam([x], betas=(-0.1, 0.9)),
    "radam lr": lambda m, x: m.optim.RAdam([x], lr=-1),
    "radam decay": lambda m, x: m.optim.RAdam([x], weight_decay=-1),
    "asgd decay": lambda m, x: m.optim.ASGD([x], weight_decay=-1),
    "etas": lambda m, x: m.optim.Rprop([x], etas=(0.5, 0.9)),
    "groups": lambda m, x: m.optim.SGD([x]).load_state_dict({"state": {}, "param_groups": []}),
    "group size": lambda m, x: m.optim.SGD([x]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
    "no step": lambda m, x: m.optim.Optimizer([x], {}).step(),
    "no optimizer": lambda m, x: m.optim.lr_scheduler.StepLR(x, 3),
    "plateau, no optimizer": lambda m, x: m.optim.lr_scheduler.ReduceLROnPlateau(x),
    "not resumed": lambda m, x: m.optim.lr_scheduler.StepLR(m.optim.SGD([x]), 3, last_epoch=2),
    "factor": lambda m, x: m.optim.lr_scheduler.ConstantLR(m.optim.SGD([x]), 2.0),
    "start": lambda m, x: m.optim.lr_scheduler.LinearLR(m.optim.SGD([x]), 0.0),
    "end": lambda m, x: m.optim.lr_scheduler.LinearLR(m.optim.SGD([x]), 0.5, 2.0),
    "lambdas": lambda m, x: m.optim.lr_scheduler.LambdaLR(m.optim.SGD([x]), [abs, abs]),
    "plateau factor": lambda m, x: m.optim.lr_scheduler.ReduceLROnPlateau(m.optim.SGD([x]), factor=1.0),
    "plateau mode": lambda m, x: m.optim.lr_scheduler.ReduceLROnPlateau(m.optim.SGD([x]), "least"),
    "plateau threshold": lambda m, x: m.optim.lr_scheduler.ReduceLROnPlateau(m.optim.SGD([x]), threshold_mode="x"),
    "min_lr": lambda m, x: m.optim.lr_scheduler.ReduceLROnPlateau(m.optim.SGD([x]), min_lr=[1.0, 2.0]),
    "no steps": lambda m, x: m.optim.lr_scheduler.OneCycleLR(m.optim.SGD([x]), 1.0),
    "total_steps": lambda m, x: m.optim.lr_scheduler.OneCycleLR(m.optim.SGD([x]), 1.0, total_steps=-1),
    "epochs": lambda m, x: m.optim.lr_scheduler.OneCycleLR(m.optim.SGD([x]), 1.0, epochs=0, steps_per_epoch=3),
    "steps_per_epoch": lambda m, x: m.optim.lr_scheduler.OneCycleLR(m.optim.SGD([x]), 1.0, epochs=1, steps_per_epoch=0),
    "pct_start": lambda m, x: m.optim.lr_scheduler.OneCycleLR(m.optim.SGD([x]), 1.0, total_steps=3, pct_start=2.0),
    "anneal": lambda m, x: m.optim.lr_scheduler.OneCycleLR(
        m.optim.SGD([x]), 1.0, total_steps=3, anneal_strategy="sin"
    ),
    "no momentum": lambda m, x: m.optim.lr_scheduler.OneCycleLR(m.optim.Adagrad([x]), 1.0, total_steps=3),
    "max_lr": lambda m, x: m.optim.lr_scheduler.OneCycleLR(m.optim.SGD([x]), [1.0, 2.0], total_steps=3),
    "no function": lambda m, x: m.optim.lr_scheduler.MultiplicativeLR(m.optim.SGD([x]), 3),
    "T_0": lambda m, x: m.optim.lr_scheduler.CosineAnnealingWarmRestarts(m.optim.SGD([x]), 0),
    "T_mult": lambda m, x: m.optim.lr_scheduler.CosineAnnealingWarmRestarts(m.optim.SGD([x]), 2, 1.5),
    "eta_min": lambda m, x: m.optim.lr_scheduler.CosineAnnealingWarmRestarts(m.optim.SGD([x]), 2, eta_min="0"),
    "epoch": lambda m, x: m.optim.lr_scheduler.CosineAnnealingWarmRestarts(m.optim.SGD([x]), 2).step(-1),
    "cycle mode": lambda m, x: m.optim.lr_scheduler.CyclicLR(m.optim.SGD([x]), 1.0, 2.0, mode="square"),
    "cycle rates": lambda m, x: m.optim.lr_scheduler.CyclicLR(m.optim.SGD([x]), [1.0, 1.0], 2.0),
    "cycle momentum": lambda m, x: m.optim.lr_scheduler.CyclicLR(m.optim.Adagrad([x]), 1.0, 2.0),
    "cycle, no optimizer": lambda m, x: m.optim.lr_scheduler.CyclicLR(x, 1.0, 2.0),
    "nothing chained": lambda m, x: m.optim.lr_scheduler.ChainedScheduler([]),
    "no schedulers": lambda m, x: m.optim.lr_scheduler.SequentialLR(m.optim.SGD([x]), [], []),
}


@pytest.mark.parametrize("case", BAD)
def test_errors(case):
    messages = []
    for module, _ in libraries():
        x = module.tensor([1.0], requires_grad=True)
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the kind and the words are compared
            BAD[case](module, x)
        messages.append((caught.type, str(caught.value)))
    assert messages[0][0] is messages[1][0]
    if case != "not resumed":  # PyTorch goes on with advice
        assert messages[0][1] == messages[1][1]


def test_duplicates_warn_alike():
    texts = []
    for module, library in libraries():
        x = module.tensor([1.0], requires_grad=True)
        with pytest.warns(UserWarning, match="duplicate") as caught:
            optimizer = library.Adam([x, x], lr=0.1)
        x.grad = module.tensor([1.0])
        optimizer.step()
        optimizer.step()
        texts.append((str(caught[0].message), optimizer.state[x]["step"].item(), round(x.item(), 5)))
    assert texts[0] == texts[1]
