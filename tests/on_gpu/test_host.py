"""Host functions for tensors on a GPU: by way of the host, unless the GPU has a kernel."""

import pytest
from on_gpu.comparison import check, on_device

import numgrad
from numgrad import fft, linalg
from numgrad.core.layout import layout_of
from numgrad.devices import begin_cuda, launches

pytestmark = pytest.mark.gpu


def test_parts_of_tensors_go_to_the_host_and_the_result_comes_back():
    A = numgrad.arange(50.0).view(5, 10)[1:4, ::3].t()[:3] + 10 * numgrad.eye(3)
    wide = numgrad.arange(40.0).view(4, 10)
    for function in (
        lambda A, wide: linalg.solve(A, wide[:3, 2::4]), lambda A, wide: fft.rfft(wide.t()[2:9], 6, 0),
        lambda A, wide: linalg.matrix_exp(A / 30), lambda A, wide: linalg.eigh(A)[1].abs(),
    ):
        expected = function(A, wide)
        result = function(on_device(A), on_device(wide))
        assert result.is_cuda
        assert result.stride() == expected.stride()
        check(result, expected, 1e-6, 1e-6)


def test_it_is_reported_as_a_function_of_the_host():
    reported = []
    x = numgrad.ones(2, 4).cuda()
    with launches.listening(reported.append):
        fft.rfft(x)
    assert [(launch.name, launch.device) for launch in reported] == [("pocketfft.r2c", "cpu")]


def test_a_kernel_takes_its_place_where_the_gpu_has_one(monkeypatch):
    cuda = begin_cuda()

    def linalg_det(p, A):
        result = p.new_tensor(layout_of(A.type, A.shape[:-2]))
        p.fill(p.contiguous(result), 5.0)
        return result

    monkeypatch.setattr(cuda, "linalg_det", linalg_det, raising=False)
    assert linalg.det(numgrad.eye(6).cuda()).item() == 5
    assert linalg.det(numgrad.eye(6)).item() == 1
