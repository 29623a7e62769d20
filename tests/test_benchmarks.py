"""Every case of the benchmark runs, in either library, on tensors of modest size."""

import sys
from pathlib import Path

import pytest

import numgrad


@pytest.fixture(scope="module")
def parts():
    directory = str(Path(__file__).parent / "benchmarks")
    sys.path.insert(0, directory)
    try:
        from parts import PARTS
    finally:
        sys.path.remove(directory)
    return PARTS


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
