"""Objects that programs send to other processes, and pools of processes."""

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

import numgrad as torch
from numgrad import nn
from numgrad.nn import functional


@torch.vectorize
def leaky(x, slope):
    return x if x > 0 else slope * x


@torch.vectorize(nondifferentiable=["n"])
def powered(x, n):
    return x**n


@powered.gradient("x")
def _(grad, x, n):
    return grad * n * x ** (n - 1)


@torch.differentiable(checkpoint=3)
def total(a):
    result = 0.0
    for i in range(a.shape[0]):
        result += a[i]
    return result


@torch.compile
def doubled(x):
    return 2 * x


def by_pickle(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("function", [
    torch.tanh, torch.clamp, torch.arccos_, torch.Tensor.add_, torch.Tensor.addmm_, functional.softsign,
    functional.relu, torch.special.bessel_j0, torch.linalg.solve, leaky, powered, total, doubled,
])  # fmt: skip
def test_functions_are_pickled_by_name(function):
    assert by_pickle(function) is function


def test_every_public_function_can_be_pickled():
    functions = [getattr(torch, name) for name in torch.__all__]
    functions = [function for function in functions if isinstance(function, FunctionType)]
    assert [function for function in functions if by_pickle(function) is not function] == []


def test_functions_defined_within_functions_are_pickled_with_their_source():
    @torch.vectorize
    def shifted(x):
        return leaky(x, 0.5) + offset

    offset = 2.0
    copy = by_pickle(shifted)
    assert copy is not shifted
    assert copy(torch.tensor([-1.0, 1.0])).tolist() == [1.5, 3.0]
    assert by_pickle(shifted) is copy  # is not compiled again

    @torch.vectorize
    def scaled(x):
        return x * 3

    @scaled.gradient("x")
    def _(grad):
        return grad * 4  # wrong, to tell it from the derived one

    x = torch.ones(1, requires_grad=True)
    by_pickle(scaled)(x).backward()
    assert x.grad.tolist() == [4.0]


def test_a_model_and_its_optimizer_still_share_parameters():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    compiled = torch.compile(model)
    other, copy, of_copy = by_pickle((model, optimizer, compiled))
    of_copy(torch.ones(1, 2)).sum().backward()
    copy.step()
    assert other.weight is copy.param_groups[0]["params"][0]
    assert not torch.equal(other.weight, model.weight)


def test_pools_of_processes(tmp_path):
    kinds = [kind for kind in ("fork", "spawn", "forkserver") if sys.platform != "win32" or kind == "spawn"]
    program = Path(__file__).with_name("sweep.py")
    copied = tmp_path / program.name  # whose directory is not on the path of the processes
    copied.write_text(program.read_text())
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, copied, *kinds, "loky"], env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *pools, loky = map(ast.literal_eval, done.stdout.splitlines())
    # the derivative of huber is -1 beyond the threshold, that of the energy 1, and that of cubes 3/4
    steps = [[0.5 - rate * (slope - i) for i in range(3)] for rate, slope in ((0.1, 1.0), (0.2, 1.0))]
    assert len(pools) == len(kinds)
    for pool in pools:
        assert pool == [[pytest.approx(step)] for step in steps]
    with_cubes = [[weight - rate * 0.75 for weight in step] for rate, step in zip((0.1, 0.2), steps, strict=True)]
    assert loky == [[pytest.approx(step)] for step in with_cubes]
