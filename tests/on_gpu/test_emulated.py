"""The emulator runs numgrad's own kernels, and finds what is wrong with changed ones."""

import re

import pytest

import numgrad as torch
from numgrad.nn import functional as F  # noqa: N812


@pytest.fixture(autouse=True)
def _emulated(cuda):
    if not cuda.runtime.is_emulated():
        pytest.skip("only the emulator finds such faults in compiled kernels")


@pytest.fixture
def changed(monkeypatch):
    """``changed(before, after)``: run the kernels with this change in their PTX."""
    from numgrad_kernels.cuda.emulator import EmulatedKernel

    run = EmulatedKernel.run

    def change(before, after):
        def run_changed(kernel, *arguments):
            return run(EmulatedKernel(kernel.name, re.sub(before, after, kernel.ptx)), *arguments)

        monkeypatch.setattr(EmulatedKernel, "run", run_changed)

    return change


@pytest.mark.parametrize("operation", [
    lambda x: x.sum(1), lambda x: F.softmax(x, 1), lambda x: F.layer_norm(x, (1200,)), lambda x: x @ x.t(),
    lambda x: x.cumsum(1), lambda x: x.sort(1), lambda x: x.sum(),
], ids=["sum of rows", "softmax", "layer_norm", "product", "cumsum", "sort", "sum"])
def test_barriers_of_warps_in_place_of_blocks_are_found(changed, operation):
    x = torch.randn(3, 1200, device="cuda")
    changed(r"bar\.sync\s+0;", "bar.warp.sync 0xffffffff;")
    with pytest.raises(RuntimeError, match="a race: it"):
        operation(x)


def test_a_dropped_check_of_alignment_is_found(cuda, monkeypatch):
    x = torch.randn(cuda.pointwise.QUADS_FROM + 5, device="cuda")[1:]
    for module in (cuda.executing, cuda.pointwise):
        monkeypatch.setattr(module, "is_aligned", lambda value: True)
    with pytest.raises(RuntimeError, match=r"a misaligned access: thread \d+ of block \d+"):
        torch.sinh(x)
