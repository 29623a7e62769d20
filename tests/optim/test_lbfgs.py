"""L-BFGS and its line search."""

import copy
import importlib
import pickle

import numpy as np
import pytest
from optim.libraries import libraries

import numgrad
from numgrad import optim
from numgrad.optim.line_search import strong_wolfe

SEARCHES = [None, "strong_wolfe"]


def banana(z):
    """Rosenbrock's function, whose minimum is 0, at ones."""
    return (100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2).sum()


def closure_of(optimizer, loss, calls=None):
    def closure():
        if calls is not None:
            calls.append(len(calls))
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    return closure


def minimized(loss, *params, steps=10, **options):
    optimizer = optim.LBFGS(params, **options)
    closure = closure_of(optimizer, lambda: loss(*params))
    return optimizer, [optimizer.step(closure).item() for _ in range(steps)]


# -- minima -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", SEARCHES)
def test_a_bowl_is_descended(search):
    scale = numgrad.tensor([1.0, 10.0, 0.5], dtype=numgrad.float64)
    x = numgrad.tensor([3.0, -2.0, 1.0], dtype=numgrad.float64, requires_grad=True)
    _, losses = minimized(lambda x: (scale * (x - 1) ** 2).sum(), x, steps=2, line_search_fn=search)
    np.testing.assert_allclose(x.detach().numpy(), [1.0, 1.0, 1.0], atol=1e-5)
    assert losses[0] == pytest.approx(4 + 90)
    assert losses[1] < 1e-9


def test_a_curved_valley_is_followed():
    x = numgrad.tensor([-1.2, 1.0], dtype=numgrad.float64, requires_grad=True)
    optimizer, _ = minimized(banana, x, steps=4, line_search_fn="strong_wolfe")
    np.testing.assert_allclose(x.detach().numpy(), [1.0, 1.0], atol=1e-4)
    assert optimizer.state[x]["func_evals"] < 100


def test_steps_are_those_of_the_inverse_curvature():
    """The second step, by the formula of two vectors: with one remembered pair the inverse has three terms."""
    scale = np.array([1.0, 3.0])
    matrix = numgrad.tensor(scale)
    x = numgrad.tensor([1.0, 1.0], dtype=numgrad.float64, requires_grad=True)
    minimized(lambda x: (matrix * x * x).sum() / 2, x, steps=1, lr=0.1, max_iter=2, max_eval=9)
    value = np.ones(2)
    before = scale * value
    step = -0.1 * min(1, 1 / abs(before).sum()) * before
    value = value + step
    gradient = scale * value
    change = gradient - before
    rho, identity = 1 / (change @ step), np.eye(2)
    left = identity - rho * np.outer(step, change)
    inverse = left @ (identity / (rho * (change @ change))) @ left.T + rho * np.outer(step, step)
    np.testing.assert_allclose(x.detach().numpy(), value - 0.1 * inverse @ gradient, rtol=1e-12)


@pytest.mark.parametrize("search", SEARCHES)
def test_several_parameters_are_one_vector(search):
    """Parameters have any layout, and complex ones count as pairs; one without a gradient stays."""
    whole = numgrad.tensor([2.0, -1.0, 0.5, 3.0, 1.0, -2.0], dtype=numgrad.float64, requires_grad=True)
    x = numgrad.tensor([[2.0, 0.5], [-1.0, 3.0]], dtype=numgrad.float64).t().detach().requires_grad_()
    z = numgrad.tensor([1 - 2j], requires_grad=True, dtype=numgrad.complex128)
    unused = numgrad.ones(3, dtype=numgrad.float64, requires_grad=True)
    options = {"max_iter": 5, "line_search_fn": search, "lr": 0.1}

    def loss(x, z, unused):
        return banana(numgrad.cat([x.reshape(-1), numgrad.view_as_real(z).reshape(-1)]))

    minimized(banana, whole, steps=2, **options)
    minimized(loss, x, z, unused, steps=2, **options)
    found = numgrad.cat([x.reshape(-1), numgrad.view_as_real(z).reshape(-1)])
    np.testing.assert_allclose(found.detach().numpy(), whole.detach().numpy(), rtol=1e-9)
    assert unused.tolist() == [1.0] * 3


# -- when it ends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "calls"),
    [
        ({"max_iter": 3}, 3),  # the gradient after the last one would not be used
        ({"max_iter": 1}, 1),
        ({"max_eval": 4}, 4),
        ({"tolerance_grad": 1e9}, 1),
        ({"tolerance_change": 1e9}, 1),
        ({"tolerance_change": 1e-3, "lr": 1e-6}, 2),
    ],
)
def test_when_it_ends(options, calls):
    x = numgrad.tensor([-1.2, 1.0], dtype=numgrad.float64, requires_grad=True)
    optimizer = optim.LBFGS([x], **{"lr": 1e-3, **options})
    seen = []
    optimizer.step(closure_of(optimizer, lambda: banana(x), seen))
    assert len(seen) == calls
    assert optimizer.state[x]["func_evals"] == calls


def test_the_history_has_a_length():
    x = numgrad.tensor([-1.2, 1.0, 0.5], dtype=numgrad.float64, requires_grad=True)
    optimizer, _ = minimized(banana, x, steps=1, max_iter=8, history_size=3, line_search_fn="strong_wolfe")
    assert [len(optimizer.state[x][name]) for name in ("old_dirs", "old_stps", "ro", "al")] == [3] * 4
    optimizer, losses = minimized(banana, x, steps=3, history_size=0, line_search_fn="strong_wolfe")
    assert losses == sorted(losses, reverse=True)


def test_refusals():
    x = numgrad.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        optim.LBFGS([{"params": [x]}, {"params": [numgrad.ones(1, requires_grad=True)]}])
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        optim.LBFGS([x], lr=-1)
    optimizer = optim.LBFGS([x], line_search_fn="backtracking")
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure_of(optimizer, lambda: (x * x).sum()))
    assert x.tolist() == [1, 1]
    optimizer.add_param_group({"params": [numgrad.ones(1, requires_grad=True)]})
    with pytest.raises(AssertionError, match="exactly one param_group, but got 2"):
        optimizer.step(closure_of(optimizer, lambda: (x * x).sum()))


def test_a_closure_that_fails_in_the_search_leaves_the_parameters():
    x = numgrad.tensor([-1.2, 1.0], requires_grad=True)
    optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe")
    seen = []

    def closure():
        seen.append(x.tolist())
        if len(seen) == 2:
            raise ZeroDivisionError
        return closure_of(optimizer, lambda: banana(x))()

    with pytest.raises(ZeroDivisionError):
        optimizer.step(closure)
    assert seen[1] != seen[0]
    assert x.tolist() == seen[0]


# -- the line search --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-4, 0.03, 1.0, 50.0])
@pytest.mark.parametrize(
    ("loss", "slope"),
    [
        (lambda s: (s - 1) ** 2, lambda s: 2 * (s - 1)),
        (lambda s: -s / (s**2 + 2), lambda s: (s**2 - 2) / (s**2 + 2) ** 2),  # Moré and Thuente's first
        (lambda s: (s + 0.004) ** 5 - 2 * (s + 0.004) ** 4, lambda s: 5 * (s + 0.004) ** 4 - 8 * (s + 0.004) ** 3),
        (lambda s: np.exp(-s) + 0.1 * s**2 - np.cos(3 * s) / 9, lambda s: -np.exp(-s) + 0.2 * s + np.sin(3 * s) / 3),
    ],
)
def test_the_conditions_hold(loss, slope, size):
    direction = numgrad.ones(1, dtype=numgrad.float64)

    def at(size):
        return loss(size), numgrad.tensor([slope(size)], dtype=numgrad.float64)

    value, gradient, found, calls = strong_wolfe(at, size, direction, loss(0.0), at(0.0)[1], slope(0.0), 25)
    assert (value, gradient.item()) == (loss(found), slope(found))
    assert calls < 25
    assert value <= loss(0.0) + 1e-4 * found * slope(0.0)
    assert abs(slope(found)) <= 0.9 * abs(slope(0.0))


@pytest.mark.parametrize(
    ("loss", "slope", "limit", "size"),
    [
        (lambda s: -s, -1.0, 3, 1000.0),  # a straight line: ten times as far at every try
        (lambda s: np.nan if s else 0.0, -1.0, 2, 1.0),
        (lambda s: 0.0, 0.0, 5, 1.0),
    ],
)
def test_lines_without_a_minimum(loss, slope, limit, size):
    gradient = numgrad.tensor([slope], dtype=numgrad.float64)
    direction = numgrad.ones(1, dtype=numgrad.float64)
    _, _, found, calls = strong_wolfe(lambda s: (loss(s), gradient), 1.0, direction, 0.0, gradient, slope, limit)
    assert calls <= limit + 1
    assert found == size or np.isnan(loss(1.0))


# -- saving and loading -----------------------------------------------------------------------------------------------


def test_copies_go_on_alike():
    x = numgrad.tensor([-1.2, 1.0], dtype=numgrad.float64, requires_grad=True)
    optimizer, _ = minimized(banana, x, steps=1, max_iter=4, line_search_fn="strong_wolfe")
    twins = [copy.deepcopy((optimizer, x)), pickle.loads(pickle.dumps((optimizer, x)))]
    fresh = x.detach().clone().requires_grad_()
    twins.append((optim.LBFGS([fresh]), fresh))
    twins[-1][0].load_state_dict(optimizer.state_dict())
    optimizer.step(closure_of(optimizer, lambda: banana(x)))
    for other, twin in twins:
        assert twin.tolist() != x.tolist()
        other.step(closure_of(other, lambda twin=twin: banana(twin)))
        assert twin.tolist() == x.tolist()
        assert repr(other) == repr(optimizer)


# -- against PyTorch ---------------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize(
    "options",
    [
        {"lr": 0.002},
        {"lr": 0.002, "history_size": 4, "max_iter": 9},
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "lr": 0.5, "history_size": 3, "max_iter": 7},
        {"line_search_fn": "strong_wolfe", "max_eval": 9},
        {"line_search_fn": "strong_wolfe", "tolerance_change": 0.01, "tolerance_grad": 0.1},
    ],
    ids=str,
)
def test_steps_are_pytorchs(options):
    results = []
    for module, library in libraries():
        x = module.tensor([-1.2, 1.0, 0.5, 2.0], dtype=module.float64, requires_grad=True)
        y = module.tensor([[-0.5, 2.0]], dtype=module.float64, requires_grad=True)
        optimizer = library.LBFGS([x, y], **options)
        loss = closure_of(optimizer, lambda m=module, x=x, y=y: banana(m.cat([x, y.reshape(-1)])))
        losses = [optimizer.step(loss).item() for _ in range(4)]
        (state,) = optimizer.state_dict()["state"].values()
        kept = [state["d"], state["prev_flat_grad"], *state["old_dirs"], *state["old_stps"]]
        numbers = [float(state[name]) for name in ("t", "H_diag", "prev_loss")] + list(map(float, state["ro"]))
        results.append((
            [losses, x.tolist(), y.tolist(), numbers, *(tensor.tolist() for tensor in kept)],
            (sorted(state), state["func_evals"], state["n_iter"], repr(optimizer)),
        ))
    assert results[0][1] == results[1][1]
    for own, other in zip(results[0][0], results[1][0], strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-6, atol=1e-9)


@pytest.mark.torch
@pytest.mark.parametrize("search", SEARCHES)
def test_float32_against_pytorch(search):
    losses = []
    for module, library in libraries():
        x = module.tensor([-1.2, 1.0, 0.5], requires_grad=True)
        optimizer = library.LBFGS([x], lr=0.01 if search is None else 1, line_search_fn=search, max_iter=8)
        losses.append([optimizer.step(closure_of(optimizer, lambda x=x: banana(x))).item() for _ in range(3)])
        assert x.dtype is module.float32
    np.testing.assert_allclose(*losses, rtol=2e-3)


@pytest.mark.torch
def test_the_line_search_under_pytorchs_name():
    results = []
    for library, optimizers in libraries():
        search = importlib.import_module(optimizers.LBFGS.__module__)._strong_wolfe

        def at(x, t, d, library=library):
            point = (x + t * d).detach().requires_grad_(True)
            loss = banana(point)
            loss.backward()
            return loss.item(), point.grad

        x = library.tensor([-1.0, 2.0, 0.5], dtype=library.float64)
        loss, gradient = at(x, 0, x)
        slope = gradient.dot(-gradient)
        cubic = importlib.import_module(optimizers.LBFGS.__module__)._cubic_interpolate
        slopes = library.tensor(-4.0), library.tensor(2.0)
        assert float(cubic(0.0, 4.0, slopes[0], 3.0, 1.0, slopes[1])) == pytest.approx(2.0)  # of (x - 2)²
        *numbers, size, calls = search(at, x, 1e-3, -gradient, loss, gradient, slope, c2=0.1, max_ls=12)
        results.append([numbers[0], numbers[1].tolist(), size, calls])
    ours, theirs = results
    assert ours[3] == theirs[3]
    assert ours[0] == pytest.approx(theirs[0], rel=1e-12)
    assert ours[1] == pytest.approx(theirs[1], rel=1e-9)
