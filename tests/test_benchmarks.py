"""Every case of the benchmark runs in both libraries on small tensors; its options for GPUs."""

import functools
import importlib
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import numgrad


@pytest.fixture(scope="module")
def benchmarks():
    """``benchmarks(name)`` imports a module of the benchmark."""
    directory = str(Path(__file__).parent / "benchmarks")
    sys.path.insert(0, directory)
    yield importlib.import_module
    sys.path.remove(directory)


@pytest.fixture(scope="module")
def parts(benchmarks):
    return benchmarks("parts").PARTS


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own, in its forward mode
def test_every_case_runs(parts):
    import torch

    torch.set_num_threads(1)  # its threads and Numba's would wait for each other
    count = 0
    for name, tables in parts.items():
        if name in ("matrices", "overhead", "drawn"):  # of sizes that do not depend on the rows and columns; see below
            continue
        for table in tables(10 if name == "shapes" else 40, 128):
            assert table.limit or table.seconds or table.each
            for case in table.cases:
                for module in (numgrad, torch):
                    case.make(module)()
                count += 1
    assert count > 150


@pytest.mark.torch
@pytest.mark.parametrize("name", ["overhead", "drawn"])
def test_small_operations_are_the_same_in_either_library(parts, benchmarks, monkeypatch, name):
    import torch

    torch.set_num_threads(1)
    monkeypatch.setattr(benchmarks("parts.overhead"), "CALLS", {"forward": 1, "backward": 1})
    for table in parts[name](40, 128):
        for case in table.cases:
            results = []
            for module in (numgrad, torch):
                module.manual_seed(0)
                result = case.make(module)()
                results.append(result if isinstance(result, tuple | list) else [result])
            for ours, theirs in zip(*results, strict=True):
                assert str(ours.dtype) == str(theirs.dtype), case.name
                np.testing.assert_allclose(ours.detach(), theirs.detach(), 2e-5, 2e-6, err_msg=case.name)


def test_small_operations(parts, benchmarks):
    """The list of operations is long, and excludes random numbers."""
    forward, backward = parts["overhead"](40, 128)
    assert (forward.limit, backward.limit, forward.each, backward.each) == (0.8, 0.6, 1.5, 1.5)
    names = [case.name for case in forward.cases]
    assert len(names) > 100
    assert len(backward.cases) > 72
    others = [code for codes in benchmarks("parts.operations").OTHERS.values() for code in codes]
    assert len({*names, *others}) == len(names) + len(others)
    drawn, _ = parts["drawn"](40, 128, seed=3)
    assert len(drawn.cases) == 20
    assert [case.name for case in drawn.cases] == [case.name for case in next(parts["drawn"](40, 128, seed=3)).cases]
    assert {case.name for case in drawn.cases} <= set(others)


def test_cases_above_their_limits(benchmarks):
    part = benchmarks("timing").Part("", [], each=1.5, seconds=15e-6)
    assert [part.misses(*times) for times in ((15e-6, 1.5), (16e-6, 1.5), (15e-6, 1.6))] == [False, True, True]
    assert not benchmarks("timing").Part("", []).misses(1, 100)


def test_the_solver_solves(benchmarks):
    """dy/dt = -y, with steps chosen for a tolerance that the result keeps; a stiffer equation needs more of them."""
    solver = benchmarks("parts.solver")
    solve = functools.partial(solver.dormand_prince, end=3.0, tolerance=1e-9, mixed=solver.summed)
    start = numgrad.ones(2, 2, dtype=numgrad.float64, requires_grad=True)
    end, tried = solve(lambda time, state: -state, start)
    np.testing.assert_allclose(end.detach(), np.full((2, 2), np.exp(-3)), 1e-7)
    (slope,) = numgrad.autograd.grad(end.sum(), start)
    np.testing.assert_allclose(slope, np.full((2, 2), np.exp(-3)), 1e-7)
    assert tried < solve(lambda time, state: -10 * state, start)[1] < 500
    slopes = [start.detach() * number for number in range(7)]
    stacked = solver.stacked(numgrad)([slope.float() for slope in slopes], solver.DIFFERENCE, 0.5)
    np.testing.assert_allclose(stacked, solver.summed(slopes, solver.DIFFERENCE, 0.5), 1e-5, 1e-7)


@pytest.fixture
def options():
    """Return the options that the tables of compiled programs use, for the shortest run."""
    threads = numgrad.get_num_threads()
    yield SimpleNamespace(threads=1, rounds=1, seconds=0, only="", torch_compile=False, jax=None)
    numgrad.set_num_threads(threads)


@pytest.mark.torch
def test_compiled_programs_have_the_results_of_either_library(benchmarks, options, monkeypatch, capsys):
    """Results are compared before anything is timed, in the first calls of each."""
    import torch

    compiling = benchmarks("compiling")
    monkeypatch.setattr(compiling, "FUSED", benchmarks("parts.fused").programs(smaller=500))
    figures = compiling.compare_compiled(options, numgrad, torch)
    titles = [case.title for case in (*compiling.COMPILED, *compiling.FUSED)]
    assert list(figures) == [*titles, compiling.CALL_TITLE]
    assert all(time > 0 for title in titles for time in figures[title].values())
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("|")]) == len(titles) + 2 + 3


@pytest.mark.torch
@pytest.mark.parametrize("wrong", ["numbers", "memory"])
def test_other_results_of_a_compiled_program_are_not_timed(benchmarks, options, monkeypatch, wrong):
    """The results are a hundredth too large, or kept from the first call."""
    import torch

    def wrongly(function):
        if wrong == "numbers":
            return lambda *inputs: tuple(1.01 * each for each in function(*inputs))
        kept = []

        def call(*inputs):
            if not kept:
                kept.append(function(*inputs))
            return kept[0]

        return call

    monkeypatch.setattr(numgrad, "compile", wrongly)
    options.only = "chain"
    with pytest.raises(AssertionError, match="30 pointwise operations on 8 elements: compiled"):
        benchmarks("compiling").compare_compiled(options, numgrad, torch)


def test_the_overhead_of_a_compiled_call_excludes_its_program(benchmarks, options, monkeypatch):
    """A call that sleeps for 3 ms takes at least 3 ms, whatever its program takes."""

    def waiting(function):
        def call(x):
            time.sleep(3e-3)
            return function(x)

        return call

    monkeypatch.setattr(numgrad, "compile", waiting)
    options.rounds = 5
    assert 2.5e-3 < benchmarks("compiling").time_of_call(numgrad, options) < 5e-3


@pytest.mark.long
def test_first_results_of_compiled_programs(benchmarks, options):
    options.only = "chain"
    (runs,) = benchmarks("compiling").compare_first_results(options, numgrad).values()
    for seconds in runs.values():
        assert 0 < seconds[0] < seconds[1] < seconds[2]
    assert runs["kernels on disk"][0] < runs["empty cache"][0]


def test_tables_for_a_gpu(benchmarks):
    """Each part in each size, with the target it has there."""
    gpu = benchmarks("gpu")
    for name in gpu.PARTS_ON_GPU:
        tables = [table for table, _ in gpu.tables(name, [400])]
        assert all(table.cases for table in tables)
        assert {table.limit for table in tables} == {None if name in gpu.BANDWIDTH_BOUND else gpu.TARGETS.get(name)}
        if name in gpu.BANDWIDTH_BOUND:
            assert {case.name for case in tables[0].cases} <= set(gpu.MOVED) | {"addcmul"}
    tables = list(gpu.tables("network", [1 << 20, 1 << 26]))
    assert [table.limit for table, _ in tables] == [None, 0.9]
    assert [size for _, size in tables] == [1_048_560, 67_108_000]
    assert not any("PINN" in case.name for table, _ in gpu.tables("steps", []) for case in table.cases)


def test_shapes_for_a_gpu(benchmarks):
    gpu = benchmarks("gpu")
    assert [gpu.shape_of(size) for size in (1, 400, 10_000, 1 << 26)] == [(1, 20), (20, 20), (100, 100), (33554, 2000)]


@pytest.mark.torch
def test_missing_packages_for_a_gpu(benchmarks, monkeypatch):
    gpu = benchmarks("gpu")
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(numgrad, "zeros", lambda *shape, device: None)
    assert gpu.missing(with_torch=False) is None
    assert "cannot use a GPU: --no-torch" in gpu.missing(with_torch=True)

    def refuse(*shape, device):
        raise RuntimeError("Found no NVIDIA driver")

    monkeypatch.setattr(numgrad, "zeros", refuse)
    assert gpu.missing(with_torch=True) == "numgrad cannot use a GPU: Found no NVIDIA driver"


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Converting a tensor:UserWarning")  # a comparison determines a step
def test_differentiated_programs_have_the_gradients_of_pytorch(benchmarks):
    import torch

    differentiated = benchmarks("differentiated")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    for program in differentiated.programs(1):
        gradients = []
        for module in (numgrad, torch):
            function, inputs = differentiated.prepared(module, program)
            gradients.append(module.autograd.grad(function(), inputs))
        for ours, theirs in zip(*gradients, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-8, 1e-10, err_msg=program.name)
    torch.set_default_dtype(before)
