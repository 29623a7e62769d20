"""Optimizers that see a matrix as a whole: Adafactor and Muon."""

import copy

import numpy as np
import pytest
from optim.libraries import libraries

import numgrad
from numgrad import optim

SHAPES = [(3, 5), (7,), (), (2, 3, 4), (41, 30), (4, 1)]


def adafactor(lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, maximize=False):
    small = np.finfo(np.float64).eps if eps[0] is None else eps[0]

    def length(x):
        return np.sqrt(np.mean(x**2))

    def step(p, g, t, kept):
        g = -g if maximize else g
        weight = t**beta2_decay
        rate = max(eps[1], length(p)) * min(lr, 1 / np.sqrt(t))
        p = p * (1 - lr * weight_decay)
        if g.ndim > 1:
            for axis in (-1, -2):
                kept[axis] = (1 - weight) * kept.get(axis, 0) + weight * np.mean(g**2, axis, keepdims=True)
            scale = np.maximum(np.mean(kept[-1], -2, keepdims=True), small)
            variance = kept[-1] * kept[-2] / scale
        else:
            variance = kept["v"] = (1 - weight) * kept.get("v", 0) + weight * g**2
        change = g / np.sqrt(np.maximum(variance, small**2))
        return p - rate / max(1, length(change) / d) * change

    return step


def muon(
    lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.7750, 2.0315), ns_steps=5,
    adjust_lr_fn=None,
):
    a, b, c = ns_coefficients

    def step(p, g, t, kept):
        kept["v"] = momentum * kept.get("v", 0) + (1 - momentum) * g
        change = (1 - momentum) * g + momentum * kept["v"] if nesterov else kept["v"]
        left, values, right = np.linalg.svd(change, full_matrices=False)
        values = values / np.sqrt(np.sum(values**2))
        for _ in range(ns_steps):  # on singular values the matrix polynomial is one of numbers
            values = a * values + b * values**3 + c * values**5
        rows, columns = p.shape
        factor = np.sqrt(max(1, rows / columns))
        if adjust_lr_fn == "match_rms_adamw":
            factor = 0.2 * np.sqrt(max(rows, columns))
        return p * (1 - lr * weight_decay) - lr * factor * (left * values) @ right

    return step


CASES = [
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.3, "beta2_decay": -0.5, "eps": (0.1, 0.5), "d": 2.0, "weight_decay": 0.2}),
    ("Adafactor", {"lr": 0.5, "maximize": True}),
    ("Muon", {}),
    ("Muon", {"lr": 0.1, "weight_decay": 0.5, "momentum": 0.3, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}),
    ("Muon", {"lr": 0.1, "ns_coefficients": (2.0, -1.5, 0.5), "ns_steps": 3, "adjust_lr_fn": "original"}),
]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_formulas(name, options):
    random = np.random.default_rng(0)
    shapes = SHAPES if name == "Adafactor" else [(4, 3), (3, 5), (6, 6)]
    values = [random.standard_normal(shape) for shape in shapes]
    params = [numgrad.tensor(value, requires_grad=True) for value in values]
    optimizer = getattr(optim, name)(params, **options)
    formula = {"Adafactor": adafactor, "Muon": muon}[name](**options)
    kept = [{} for _ in params]
    for t in range(1, 6):
        for place, param in enumerate(params):
            gradient = random.standard_normal(tuple(param.shape))
            param.grad = numgrad.tensor(gradient)
            values[place] = formula(values[place], gradient, t, kept[place])
        optimizer.step()
    tolerance = 1e-6 if "beta2_decay" in optimizer.defaults else 1e-9  # steps are counted in float32
    for param, value in zip(params, values, strict=True):
        np.testing.assert_allclose(param.detach().numpy(), value, rtol=tolerance, atol=1e-12)


def test_singular_values_become_one():
    random = np.random.default_rng(0)
    param = numgrad.zeros(6, 4, requires_grad=True)
    optimizer = optim.Muon([param], lr=1.0, ns_coefficients=(1.875, -1.25, 0.375), ns_steps=20)
    param.grad = numgrad.tensor(random.standard_normal((6, 4)).astype("f4"))
    optimizer.step()
    change = param.detach().numpy() / np.sqrt(6 / 4)
    np.testing.assert_allclose(change.T @ change, np.eye(4), atol=1e-5)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_copies_go_on_alike(name):
    random = np.random.default_rng(0)

    def stepped(optimizer, param):
        param.grad = numgrad.tensor(gradient)
        assert optimizer.step(lambda: "loss") == "loss"

    gradient = random.standard_normal((3, 4))
    param = numgrad.tensor(random.standard_normal((3, 4)), requires_grad=True)
    optimizer = getattr(optim, name)([param], lr=0.1)
    stepped(optimizer, param)
    fresh = param.detach().clone().requires_grad_()
    loaded = getattr(optim, name)([fresh])
    loaded.load_state_dict(optimizer.state_dict())
    twins = [copy.deepcopy((optimizer, param)), (loaded, fresh)]
    gradient = random.standard_normal((3, 4))
    stepped(optimizer, param)
    for other, twin in twins:
        assert twin.tolist() != param.tolist()
        stepped(other, twin)
        assert twin.tolist() == param.tolist()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: optim.Muon([numgrad.ones(3)]), ValueError, r"only supports 2D parameters .* torch.Size\(\[3\]\)"),
        (lambda: optim.Muon([numgrad.ones(2, 2)], adjust_lr_fn="mine"), ValueError, "function mine is not supported"),
        (lambda: optim.Muon([numgrad.ones(2, 2)], lr=numgrad.ones(2)), ValueError, "Tensor lr must be 1-element"),
        (lambda: optim.Adafactor([numgrad.ones(2, 2)], d=0.5), ValueError, "d should be >= 1 but is: 0.5"),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("Adafactor", {}, "does not support complex parameters"),
        ("Muon", {}, "does not support complex parameters"),
        ("Muon", {"ns_steps": 100}, "must be less than 100"),
        ("Muon", {"ns_coefficients": (1.0, 2.0)}, "exactly 3 values"),
    ],
)
def test_a_refused_step_changes_nothing(name, options, message):
    first = numgrad.ones(2, 2, requires_grad=True)
    second = numgrad.ones(2, 2, dtype=numgrad.complex64) if "complex" in message else numgrad.ones(2, 2)
    optimizer = getattr(optim, name)([first, second], **options)
    first.grad, second.grad = numgrad.ones_like(first), numgrad.ones_like(second)
    with pytest.raises((RuntimeError, ValueError), match=message):
        optimizer.step()
    assert first.tolist() == [[1, 1], [1, 1]]
    assert not optimizer.state


def test_state():
    matrix, vector, empty = [numgrad.ones(*shape, requires_grad=True) for shape in [(2, 3, 4), (3,), (0, 4)]]
    optimizer = optim.Adafactor([matrix, vector, empty])
    for param in (matrix, vector, empty):
        param.grad = numgrad.ones_like(param)
    optimizer.step()
    shapes = {key: list(value.shape) for key, value in optimizer.state[matrix].items()}
    assert shapes == {"step": [], "row_var": [2, 3, 1], "col_var": [2, 1, 4]}
    assert {key: list(value.shape) for key, value in optimizer.state[vector].items()} == {"step": [], "variance": [3]}


# -- against PyTorch ---------------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_trajectories(name, options, dtype):
    shapes = SHAPES if name == "Adafactor" else [(4, 3), (3, 5), (16, 16)]
    results = []
    for module, library in libraries():
        random = np.random.default_rng(0)
        params = [module.tensor(random.standard_normal(s).astype(dtype), requires_grad=True) for s in shapes]
        optimizer = getattr(library, name)(params, **options)
        for step in range(10):
            for place, param in enumerate(params):
                gradient = module.tensor(random.standard_normal(param.shape).astype(dtype))
                param.grad = None if step == 2 and place == 1 else gradient
            optimizer.step()
            for group in optimizer.param_groups:
                group["lr"] = group["lr"] * 0.9
        state = [{key: value.numpy() for key, value in optimizer.state[param].items()} for param in params]
        results.append(([param.detach().numpy() for param in params], state, repr(optimizer)))
    (ours, kept, text), (theirs, others, expected) = results
    assert text == expected
    tolerance = 2e-5 if dtype is np.float32 else 1e-12
    for own, other in zip(kept, others, strict=True):
        assert list(own) == list(other)
        for key, value in own.items():
            assert (value.shape, value.dtype) == (other[key].shape, other[key].dtype)
            np.testing.assert_allclose(value, other[key], rtol=tolerance, atol=tolerance)
    if name == "Muon":  # whose steps PyTorch rounds to bfloat16: 8 bits, of ten changes of about the learning rate
        tolerance = 0.05 * options.get("lr", 1e-3)
    for own, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(own, other, rtol=tolerance, atol=tolerance)


BAD = {
    "lr": lambda m, x: m.optim.Adafactor([x], lr=-1),
    "decay of beta2": lambda m, x: m.optim.Adafactor([x], beta2_decay=1),
    "eps1": lambda m, x: m.optim.Adafactor([x], eps=(-1, 1)),
    "eps2": lambda m, x: m.optim.Adafactor([x], eps=(None, -1)),
    "d": lambda m, x: m.optim.Adafactor([x], d=0.9),
    "weight decay": lambda m, x: m.optim.Adafactor([x], weight_decay=-1),
    "muon lr": lambda m, x: m.optim.Muon([x], lr=-1),
    "momentum": lambda m, x: m.optim.Muon([x], momentum=-1),
    "muon decay": lambda m, x: m.optim.Muon([x], weight_decay=-1),
    "adjustment": lambda m, x: m.optim.Muon([x], adjust_lr_fn="x"),
    "no matrix": lambda m, x: m.optim.Muon([x[0].detach()]),
}


@pytest.mark.torch
@pytest.mark.parametrize("case", BAD)
def test_errors(case):
    messages = []
    for module, _ in libraries():
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the kind and the words are compared
            BAD[case](module, module.ones(2, 2, requires_grad=True))
        messages.append((caught.type, str(caught.value)))
    assert messages[0] == messages[1]
