"""Kernels that users write with Numba's ``@cuda.jit``, on numgrad's tensors and in its graph."""

import numpy as np
import pytest
from numba import cuda as numba_cuda

import numgrad
from numgrad import tensor

pytestmark = pytest.mark.filterwarnings("ignore:Grid size .* will likely result in GPU under-utilization")


@pytest.fixture(autouse=True)
def _in_use(users_launches):
    """Every test here uses GPUs and launches its own kernels."""


@numba_cuda.jit
def scale(x, factor, out):
    i = numba_cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * factor


@numba_cuda.jit
def turn(x, out):
    i, j = numba_cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[j, i] = x[i, j]


@numba_cuda.jit
def total(x, out):
    shared = numba_cuda.shared.array(4, np.float32)
    thread = numba_cuda.threadIdx.x
    shared[thread] = x[thread]
    numba_cuda.syncthreads()
    if thread == 0:
        out[0] = shared[0] + shared[1] + shared[2] + shared[3]


def test_a_kernel_takes_tensors():
    x, out = numgrad.arange(5.0, device="cuda"), numgrad.zeros(5, device="cuda")
    scale[2, 4](x, np.float32(3), out)
    assert out.tolist() == [0, 3, 6, 9, 12]
    scale[2, 4](out, np.float32(2), out)
    assert (out + 1).tolist() == [1, 7, 13, 19, 25]


@pytest.mark.parametrize("kind", [numgrad.float64, numgrad.int32, numgrad.int64, numgrad.complex64], ids=str)
def test_tensors_of_other_dtypes(kind):
    x = tensor([1, 2, 3], dtype=kind, device="cuda")
    out = numgrad.empty_like(x)
    scale[1, 4](x, kind.numpy.type(2), out)
    assert out.tolist() == [2, 4, 6]


def test_tensors_of_any_strides():
    x = numgrad.arange(6.0, device="cuda").reshape(2, 3)
    out = numgrad.zeros(2, 3, device="cuda")
    turn[(2, 1), (2, 4)](x, out.t())
    assert out.tolist() == x.tolist()
    part = numgrad.zeros(4, 2, device="cuda")
    turn[(2, 1), (1, 4)](x, part[:3])
    assert part.tolist() == [[0, 3], [1, 4], [2, 5], [0, 0]]


def test_shared_memory():
    x, out = tensor([1.0, 2.0, 3.0, 4.0], device="cuda"), numgrad.zeros(1, device="cuda")
    total[1, 4](x, out)
    assert out.item() == 10


def test_tensors_and_numbas_arrays_side_by_side():
    array = numba_cuda.to_device(np.arange(4, dtype=np.float32))
    out = numgrad.zeros(4, device="cuda")
    scale[1, 4](array, np.float32(2), out)
    assert out.tolist() == [0, 2, 4, 6]
    taken = numgrad.as_tensor(array)
    assert taken.is_cuda
    taken += 1
    assert array.copy_to_host().tolist() == [1, 2, 3, 4]
    assert numgrad.as_tensor(array, dtype=numgrad.int64).tolist() == [1, 2, 3, 4]
    assert tensor(array).tolist() == [1, 2, 3, 4]


def test_a_tensor_that_requires_a_gradient_is_to_be_detached():
    x = tensor([1.0], device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        scale[1, 1](x, np.float32(2), numgrad.zeros(1, device="cuda"))


# --- in the graph -----------------------------------------------------------------------


@numba_cuda.jit
def forward_kernel(x, out):
    i = numba_cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * x[i] * x[i]


@numba_cuda.jit
def backward_kernel(x, grad, out):
    i = numba_cuda.grid(1)
    if i < x.size:
        out[i] = 3 * x[i] * x[i] * grad[i]


class Cube(numgrad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        out = numgrad.empty_like(x)
        forward_kernel.forall(x.numel())(x.detach(), out)
        return out

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        out = numgrad.empty_like(x)
        backward_kernel.forall(x.numel())(x.detach(), grad.contiguous(), out)
        return out


def test_a_kernel_in_the_graph():
    x = tensor([1.0, 2.0, 3.0], device="cuda", requires_grad=True)
    y = Cube.apply(x * 2)
    assert y.tolist() == [8, 64, 216]
    assert y.grad_fn.name() == "CubeBackward"
    y.sum().backward()
    assert x.grad.tolist() == [24, 96, 216]


def test_its_derivative_is_right():
    x = tensor([0.5, -1.5], dtype=numgrad.float64, device="cuda", requires_grad=True)
    assert numgrad.autograd.gradcheck(Cube.apply, (x,))
