from dataclasses import replace

import numpy as np
import pytest
from on_gpu.comparison import check
from ops import padded_convolutions

import numgrad
from numgrad.core.layout import layout_of
from numgrad.devices.plan import Plan


@pytest.mark.parametrize("value", [numgrad.nan, numgrad.inf])
@pytest.mark.parametrize("case", padded_convolutions.CASES)
def test_padding_does_not_spread_nan_or_infinity(cuda, case, value):
    padded_convolutions.check(*case, value, "cuda")


@pytest.mark.parametrize("case", padded_convolutions.CASES)
def test_nor_among_complex_numbers(cuda, case):
    padded_convolutions.check(*case, numgrad.nan, "cuda", numgrad.complex64)


@pytest.mark.parametrize("images", [(5, 2, 6, 5), (1, 2, 12, 5)])
@pytest.mark.parametrize("filters", [(4, 2, 3, 3), (4, 1, 3, 3)])
def test_windows_are_copied_some_images_or_some_rows_at_a_time(cuda, images, filters, monkeypatch):
    monkeypatch.setattr(cuda.convolution, "workspace", lambda device: 2000)
    tensors = [numgrad.arange(1.0, 1 + np.prod(shape)).cos().reshape(shape) for shape in (images, filters, (4,))]

    def results(device):
        given = [tensor.to(device).requires_grad_() for tensor in tensors]
        out = numgrad.conv2d(*given, stride=(2, 1), groups=2 // filters[1])
        return [out, *numgrad.autograd.grad(out, given, out.detach())]

    for found, wanted in zip(results("cuda"), results("cpu"), strict=True):
        check(found, wanted, 1e-5, 1e-5)


@pytest.mark.parametrize(("gigabytes", "launches"), [(4, 12), (16, 6), (80, 3)])
def test_the_more_memory_a_gpu_has_the_fewer_launches_there_are(cuda, monkeypatch, gigabytes, launches):
    known = cuda.runtime.driver.device_properties(0)
    monkeypatch.setattr(
        cuda.runtime.driver, "device_properties", lambda device: replace(known, total_memory=gigabytes << 30)
    )
    p, type = Plan(cuda, 0), numgrad.empty(1, device="cuda")._layout.type
    images, filters = p.operand(layout_of(type, (32, 64, 58, 58))), p.new(64 * 64 * 9, type.numpy)
    cuda.correlation(p, images, filters, None, (32, 64, 56, 56), (3, 3), (1, 1), (1, 1), 1)
    assert len(p.steps) == launches
