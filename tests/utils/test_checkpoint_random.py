"""Random programs with checkpoints in one another: the calls, gradients, random numbers and errors are PyTorch's."""

import random
import warnings

import pytest

import numgrad

pytestmark = pytest.mark.torch

STEPS = {
    "sin": lambda m, x, w: x.sin(),
    "exp": lambda m, x, w: (x * 0.1).exp(),
    "mul": lambda m, x, w: x * w,
    "add": lambda m, x, w: x + w,
    "cos": lambda m, x, w: x.cos() * x,
    "pow": lambda m, x, w: x**2 * 0.1,
    "rand": lambda m, x, w: x * m.rand(2, dtype=m.float64),
    "in place": lambda m, x, w: (x * 1).mul_(2),
    "view": lambda m, x, w: x.view(2, 1)[:, 0] * x.sin(),
    "detach": lambda m, x, w: x + x.detach() * 0.3,
}


def made(choose, depth):
    """The steps of a random function: operations and, up to ``depth`` in one another, checkpoints of such functions."""
    steps = []
    for _ in range(choose.randint(1, 3)):
        if depth and choose.random() < 0.5:
            inner = made(choose, depth - 1)
            reentrant = choose.random() < 0.1
            options = {} if reentrant else {"early_stop": choose.random() < 0.75}
            steps.append((inner, {"use_reentrant": reentrant, **options}))
        else:
            steps.append(choose.choice(list(STEPS)))
    return steps


def run(m, steps, x, w, calls):
    calls.append(id(steps))
    for step in steps:
        if isinstance(step, str):
            x = STEPS[step](m, x, w)
        else:
            inner, options = step
            x = m.utils.checkpoint.checkpoint(lambda x, inner=inner: run(m, inner, x, w, calls), x, **options)
    calls.append("end")
    return x


def differentiate(m, y, x, how):
    """Go back in one of several ways."""
    if how == "once":
        y.sum().backward()
    elif how == "twice":
        y.sum().backward(retain_graph=True)
        y.sum().backward()
    elif how == "parts":
        y[0].backward(retain_graph=True)
        y[1].backward()
    else:
        (first,) = m.autograd.grad(y.sum(), x, create_graph=how == "derivative")
        if how == "grad":
            x.grad = first
        elif first.requires_grad:
            first.pow(2).sum().backward()


def outcome(m, steps, seed, how):
    m.manual_seed(seed)
    x, w = [m.tensor(values, dtype=m.float64, requires_grad=True) for values in ([0.3, 0.7], [0.9, 1.1])]
    calls, error = [], None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            y = run(m, steps, x, w, calls)
            calls.append("backward")
            differentiate(m, y, x, how)
        except RuntimeError as failure:
            error = type(failure).__name__, str(failure)[:50]
    gradients = [None if leaf.grad is None else leaf.grad.tolist() for leaf in (x, w)]
    return {"calls": calls, "error": error, "x": gradients[0], "w": gradients[1], "drawn": m.rand(1).item()}


@pytest.mark.parametrize("how", ["once", "twice", "parts", "grad", "derivative"])
def test_random_programs(how):
    import torch

    errors = 0
    for seed in range(25):
        steps = made(random.Random(seed), 3)
        found, expected = outcome(numgrad, steps, seed, how), outcome(torch, steps, seed, how)
        for name in ("calls", "error", "drawn"):
            assert found[name] == expected[name], seed
        for name in ("x", "w"):
            assert (found[name] is None) == (expected[name] is None), seed
            assert found[name] is None or found[name] == pytest.approx(expected[name], rel=1e-9), seed
        errors += found["error"] is not None
    assert errors < 13  # the reentrant ones refuse grad
