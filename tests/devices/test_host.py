"""Host functions: NumPy instead of a kernel, on the memory of tensors, in the layouts of the results."""

import numpy as np
import pytest

import numgrad
from numgrad.core.layout import layout_of
from numgrad.core.types import CPU, float32, tensor_type
from numgrad.devices import Plan, cpu, launches
from numgrad.devices.host_functions import host

SINGLE = tensor_type(float32, CPU)


def hosted(function, out, *given):
    """The plan of a call of a host function with operands of these layouts and classes."""
    p = Plan(cpu)
    return p.returns(*function.add_to(p, out, [p.operand(one) for one in given]))


@pytest.mark.parametrize("bound", [False, True])
def test_a_host_function_works_on_the_memory_of_tensors(bound):
    seen = []

    @host("numpy.multiply")
    def scaled(input, number, other):
        seen.extend([input, other])
        return input * number

    given, x = layout_of(SINGLE, (2, 3), (1, 2)), numgrad.arange(6.0).view(3, 2).t()
    buffer = hosted(scaled, given, given, float, None).launcher(bound)(x, 2.0, None)
    assert np.shares_memory(seen[0], x.numpy())
    assert seen[0].strides == (4, 8)
    assert seen[1] is None
    assert buffer.tolist() == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize(("strides", "shared"), [((3, 1), True), ((1, 2), False)])
def test_a_result_is_laid_out_as_the_operation_decides(strides, shared):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)

    @host("numpy.arange")
    def numbers():
        return array

    buffer = hosted(numbers, layout_of(SINGLE, (2, 3), strides))()
    assert buffer.shape == (6,)
    assert np.shares_memory(buffer, array) == shared
    assert np.lib.stride_tricks.as_strided(buffer, (2, 3), [4 * step for step in strides]).tolist() == array.tolist()


def test_several_results_of_other_dtypes():
    @host("numpy.divmod")
    def parts(x):
        return np.divmod(x, 2.0)

    outs = layout_of(SINGLE, (3,)), layout_of(tensor_type(numgrad.int64, CPU), (3,))
    whole, rest = hosted(parts, outs, outs[1])(numgrad.tensor([3, 4, 5]))
    assert (whole.tolist(), whole.dtype) == ([1, 2, 2], np.float32)
    assert (rest.tolist(), rest.dtype) == ([1, 0, 1], np.int64)


def test_functions_of_a_library_are_reported():
    reported = []
    with launches.listening(reported.append):
        numgrad.fft.rfft(numgrad.ones(6))
    (launch,) = [launch for launch in reported if launch.kernel is None]
    assert (launch.name, launch.device) == ("pocketfft.r2c", "cpu")
    assert (launch.read, launch.written) == (6 * 4, 4 * 8)


def test_a_kernel_takes_its_place_where_the_device_has_one(monkeypatch):
    def linalg_matrix_exp(p, A):
        assert A.shape == (7, 7)
        result = p.new_tensor(A.layout)
        p.fill(p.contiguous(result), 5.0)
        return result

    monkeypatch.setattr(cpu, "linalg_matrix_exp", linalg_matrix_exp, raising=False)
    assert numgrad.matrix_exp(numgrad.eye(7)).tolist() == [[5] * 7] * 7
