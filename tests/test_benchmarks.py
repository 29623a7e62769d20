"""Every case of the benchmark runs, in either library, on tensors of modest size; what it has for GPUs."""

import importlib
import sys
from pathlib import Path

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
        if name == "matrices":  # whose sizes do not depend on the rows and columns
            continue
        for table in tables(40, 128):
            assert table.limit
            for case in table.cases:
                for module in (numgrad, torch):
                    case.make(module)()
                count += 1
    assert count > 150


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
def test_what_is_missing_for_a_gpu(benchmarks, monkeypatch):
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
