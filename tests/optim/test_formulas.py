"""Each optimizer's formula in NumPy, and its state."""

import numpy as np
import pytest

import numgrad
from numgrad import optim


def sgd(lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False):
    def step(p, g, t, kept):
        g = (-g if maximize else g) + weight_decay * p
        if momentum:
            kept["v"] = g if t == 1 else momentum * kept["v"] + (1 - dampening) * g
            g = g + momentum * kept["v"] if nesterov else kept["v"]
        return p - lr * g

    return step


def adam(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, maximize=False, decoupled=False):
    def step(p, g, t, kept):
        g = -g if maximize else g
        if decoupled:
            p = p * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * p
        kept["m"] = betas[0] * kept.get("m", 0) + (1 - betas[0]) * g
        kept["v"] = betas[1] * kept.get("v", 0) + (1 - betas[1]) * g**2
        kept["most"] = np.maximum(kept.get("most", 0), kept["v"]) if amsgrad else kept["v"]
        return p - lr * kept["m"] / (1 - betas[0] ** t) / (np.sqrt(kept["most"] / (1 - betas[1] ** t)) + eps)

    return step


def adamw(weight_decay=1e-2, **options):
    return adam(weight_decay=weight_decay, decoupled=True, **options)


def rmsprop(lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, maximize=False):
    def step(p, g, t, kept):
        g = (-g if maximize else g) + weight_decay * p
        kept["s"] = alpha * kept.get("s", 0) + (1 - alpha) * g**2
        kept["mean"] = alpha * kept.get("mean", 0) + (1 - alpha) * g
        variance = kept["s"] - kept["mean"] ** 2 if centered else kept["s"]
        kept["v"] = momentum * kept.get("v", 0) + g / (np.sqrt(variance) + eps)
        return p - lr * kept["v"]

    return step


def adagrad(lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, maximize=False):
    def step(p, g, t, kept):
        g = (-g if maximize else g) + weight_decay * p
        kept["sum"] = kept.get("sum", initial_accumulator_value) + g**2
        return p - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(kept["sum"]) + eps)

    return step


def adadelta(lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, maximize=False):
    def step(p, g, t, kept):
        g = (-g if maximize else g) + weight_decay * p
        kept["s"] = rho * kept.get("s", 0) + (1 - rho) * g**2
        change = np.sqrt((kept.get("c", 0) + eps) / (kept["s"] + eps)) * g
        kept["c"] = rho * kept.get("c", 0) + (1 - rho) * change**2
        return p - lr * change

    return step


def adamax(lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, maximize=False):
    def step(p, g, t, kept):
        g = (-g if maximize else g) + weight_decay * p
        kept["m"] = betas[0] * kept.get("m", 0) + (1 - betas[0]) * g
        kept["u"] = np.maximum(betas[1] * kept.get("u", 0), abs(g) + eps)
        return p - lr * kept["m"] / (1 - betas[0] ** t) / kept["u"]

    return step


def nadam(
    lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, decoupled_weight_decay=False,
    maximize=False,
):
    def mu(t):
        return betas[0] * (1 - 0.5 * 0.96 ** (t * momentum_decay))

    def step(p, g, t, kept):
        g = -g if maximize else g
        if decoupled_weight_decay:
            p = p * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * p
        kept["m"] = betas[0] * kept.get("m", 0) + (1 - betas[0]) * g
        kept["v"] = betas[1] * kept.get("v", 0) + (1 - betas[1]) * g**2
        product = np.prod([mu(s) for s in range(1, t + 1)])
        ahead = mu(t + 1) / (1 - product * mu(t + 1)) * kept["m"]
        return p - lr * ((1 - mu(t)) / (1 - product) * g + ahead) / (np.sqrt(kept["v"] / (1 - betas[1] ** t)) + eps)

    return step


def radam(
    lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, maximize=False
):
    def step(p, g, t, kept):
        g = -g if maximize else g
        if decoupled_weight_decay:
            p = p * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * p
        kept["m"] = betas[0] * kept.get("m", 0) + (1 - betas[0]) * g
        kept["v"] = betas[1] * kept.get("v", 0) + (1 - betas[1]) * g**2
        last, left = 2 / (1 - betas[1]) - 1, 1 - betas[1] ** t
        rho = last - 2 * t * betas[1] ** t / left
        scale = 1
        if rho > 5:
            r = np.sqrt((rho - 4) * (rho - 2) * last / ((last - 4) * (last - 2) * rho))
            scale = r * np.sqrt(left) / (np.sqrt(kept["v"]) + eps)
        return p - lr * kept["m"] / (1 - betas[0] ** t) * scale

    return step


def asgd(lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, maximize=False):
    def step(p, g, t, kept):
        g = (-g if maximize else g) + weight_decay * p
        eta = lr / (1 + lambd * lr * (t - 1)) ** alpha if t > 1 else lr
        return p * (1 - lambd * eta) - eta * g

    return step


def rprop(lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), maximize=False):
    def step(p, g, t, kept):
        g = -g if maximize else g
        turn = np.sign(g * kept.get("g", 0 * g))
        factor = np.where(turn > 0, etas[1], np.where(turn < 0, etas[0], 1))
        kept["size"] = np.clip(kept.get("size", lr) * factor, *step_sizes)
        kept["g"] = np.where(turn < 0, 0, g)
        return p - np.sign(kept["g"]) * kept["size"]

    return step


FORMULAS = {
    "SGD": sgd, "Adam": adam, "AdamW": adamw, "RMSprop": rmsprop, "Adagrad": adagrad, "Adadelta": adadelta,
    "Adamax": adamax, "NAdam": nadam, "RAdam": radam, "ASGD": asgd, "Rprop": rprop,
}

#: Those that keep numbers in float32, as PyTorch's do.
ROUNDED = ("NAdam", "ASGD")

CASES = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.2}),
    ("SGD", {"momentum": 0.7, "nesterov": True, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.4, 0.6), "eps": 0.1, "weight_decay": 0.2, "amsgrad": True}),
    ("AdamW", {"maximize": True}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True}),
    ("RMSprop", {}),
    ("RMSprop", {"alpha": 0.6, "weight_decay": 0.2, "momentum": 0.5, "centered": True, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.3, "weight_decay": 0.2, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.2, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.1, "betas": (0.4, 0.6), "eps": 0.1, "weight_decay": 0.2, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.1, "betas": (0.4, 0.6), "eps": 0.1, "weight_decay": 0.2, "momentum_decay": 3.0}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.2, "maximize": True}),
    ("RAdam", {"lr": 0.1, "betas": (0.4, 0.99), "eps": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.1, "lambd": 0.2, "alpha": 0.5, "weight_decay": 0.2, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.9), "step_sizes": (0.05, 0.3), "maximize": True}),
]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_formulas(name, options):
    random = np.random.default_rng(0)
    values = [random.standard_normal(shape) for shape in [(3, 4), (), (0,), (50, 43)]]
    params = [numgrad.tensor(value, requires_grad=True) for value in values]
    optimizer = getattr(optim, name)(params, **options)
    formula = FORMULAS[name](**options)
    kept = [{} for _ in params]
    for t in range(1, 9):
        for place, param in enumerate(params):
            gradient = random.standard_normal(tuple(param.shape))
            param.grad = numgrad.tensor(gradient)
            values[place] = formula(values[place], gradient, t, kept[place])
        optimizer.step()
    for param, value in zip(params, values, strict=True):
        rounded = name in ROUNDED
        np.testing.assert_allclose(
            param.detach().numpy(), value, rtol=1e-6 if rounded else 1e-11, atol=1e-6 if rounded else 0
        )


def test_averages_begin_after_some_steps():
    """The average of ASGD is the parameter itself until step ``t0 + 2``, then the mean of the parameters since."""
    param = numgrad.tensor([1.0, -2.0], dtype=numgrad.float64, requires_grad=True)
    optimizer = optim.ASGD([param], lr=0.1, t0=2)
    seen = []
    for step in range(1, 7):
        param.grad = numgrad.tensor([1.0, 3.0 - step], dtype=numgrad.float64)
        optimizer.step()
        seen.append(param.tolist())
        expected = np.mean(seen[min(step - 1, 3) :], axis=0)
        np.testing.assert_allclose(optimizer.state[param]["ax"].numpy(), expected, rtol=1e-6)


def test_a_gradient_that_changed_its_sign_does_not_count():
    """Rprop: after a change of sign the parameter is not updated for one step, and its step size stays."""
    param = numgrad.zeros(1, requires_grad=True)
    optimizer = optim.Rprop([param], lr=1.0)
    seen = []
    for gradient in [1.0, 1.0, -1.0, -1.0, -1.0]:
        param.grad = numgrad.tensor([gradient])
        optimizer.step()
        seen.append(round(param.item(), 5))
    assert seen == [-1.0, -2.2, -2.2, -1.6, -0.88]


KEPT = {
    "SGD": ({"momentum": 0.9}, ["momentum_buffer"]),
    "Adam": ({"amsgrad": True}, ["step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"]),
    "AdamW": ({}, ["step", "exp_avg", "exp_avg_sq"]),
    "RMSprop": ({"momentum": 0.9, "centered": True}, ["step", "square_avg", "momentum_buffer", "grad_avg"]),
    "Adagrad": ({}, ["step", "sum"]),
    "Adadelta": ({}, ["step", "square_avg", "acc_delta"]),
    "Adamax": ({}, ["step", "exp_avg", "exp_inf"]),
    "NAdam": ({}, ["step", "mu_product", "exp_avg", "exp_avg_sq"]),
    "RAdam": ({}, ["step", "exp_avg", "exp_avg_sq"]),
    "ASGD": ({}, ["step", "eta", "mu", "ax"]),
    "Rprop": ({}, ["step", "prev", "step_size"]),
}


@pytest.mark.parametrize("name", KEPT)
def test_state(name):
    options, names = KEPT[name]
    param = numgrad.ones(4, 3).t().requires_grad_()
    optimizer = getattr(optim, name)([param], **options)
    param.grad = numgrad.ones(3, 4)
    for _ in range(3):
        optimizer.step()
    kept = optimizer.state[param]
    assert list(kept) == names
    for key, value in kept.items():
        assert value.dtype is numgrad.float32
        assert not value.requires_grad
        if key in ("step", "mu_product", "eta", "mu"):
            assert value.shape == ()
            assert key != "step" or value.item() == 3
        else:
            assert value.shape == (3, 4)
            assert value.stride() == (1, 3)


def test_sgd_without_momentum_keeps_nothing():
    param = numgrad.ones(3, requires_grad=True)
    optimizer = optim.SGD([param])
    param.grad = numgrad.ones(3)
    optimizer.step()
    assert optimizer.state_dict()["state"] == {}


def test_numbers_are_kept_as_the_default_dtype():
    param = numgrad.ones(3, requires_grad=True)
    optimizer = optim.NAdam([param])
    param.grad = numgrad.ones(3)
    before = numgrad.get_default_dtype()
    numgrad.set_default_dtype(numgrad.float64)
    try:
        optimizer.step()
    finally:
        numgrad.set_default_dtype(before)
    assert {key: str(value.dtype) for key, value in optimizer.state[param].items()} == {
        "step": "torch.float64", "mu_product": "torch.float64", "exp_avg": "torch.float32",
        "exp_avg_sq": "torch.float32",
    }


@pytest.mark.parametrize("name", [name for name in FORMULAS if name != "Rprop"])
def test_no_decay_takes_nothing_from_an_infinite_parameter(name):
    """0 times infinity would be NaN."""
    param = numgrad.tensor([np.inf, 1.0], requires_grad=True)
    optimizer = getattr(optim, name)([param], weight_decay=0)
    param.grad = numgrad.ones(2)
    optimizer.step()
    assert param[0].item() == np.inf


def test_a_mean_that_forgets_all_is_the_gradient():
    """Exactly, however large the gradient before was."""
    param = numgrad.zeros(2, requires_grad=True)
    optimizer = optim.Adam([param], betas=(0.0, 0.9))
    for gradient in ([1e9, -1e9], [1.0, 0.1]):
        param.grad = numgrad.tensor(gradient)
        optimizer.step()
    np.testing.assert_array_equal(optimizer.state[param]["exp_avg"].numpy(), np.array([1.0, 0.1], np.float32))
