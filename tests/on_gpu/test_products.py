"""Matrix products on a GPU by numgrad's own kernels, against the CPU's."""

import numpy as np
import pytest
from on_gpu.product_cases import check, on_gpu, product, tensor, vector_product

import numgrad
from numgrad.devices import cpu

#: m, n and k: within one tile of the simulator's, of several tiles, with remainders in each, of one row or column.
SHAPES = [(3, 5, 4), (8, 8, 4), (9, 17, 7), (1, 9, 3), (10, 1, 5), (4, 3, 1)]


@pytest.fixture(autouse=True)
def _own_kernels(cuda, monkeypatch):
    """Not cuBLAS, which is installed on machines with a GPU."""
    monkeypatch.setattr(cuda.cublas, "routines", lambda kind: None)


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_matrices(cuda, m, n, k):
    check(cuda, tensor((m, k)), tensor((k, n), seed=1), bias=tensor((n,), seed=2))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64", "float64", "complex64", "complex128"])
def test_dtypes(cuda, dtype):
    """Integers wrap around; every dtype is summed as itself."""
    check(cuda, tensor((9, 40), dtype), tensor((40, 3), dtype, seed=1), bias=tensor((3,), dtype, seed=2))


@pytest.mark.parametrize("transposed", [(True, False), (False, True), (True, True)])
def test_transposed_factors(cuda, transposed):
    left = tensor((6, 9) if transposed[0] else (9, 6))
    right = tensor((11, 6) if transposed[1] else (6, 11), seed=1)
    check(cuda, left, right, transposed)


def test_any_strides(cuda):
    base = tensor((4, 20, 30))
    check(cuda, base[1, :9, :6], base[2, 3:9, 5:10])
    check(cuda, base[1, ::2, 1::3], base[2, :10, ::4])
    check(cuda, base[0].t()[:7, :9], base[3, :1].expand(9, 30))


def test_stacks(cuda):
    left, right = tensor((3, 5, 4)), tensor((3, 4, 9), seed=1)
    check(cuda, left, right)
    check(cuda, left.transpose(1, 2), right.transpose(0, 1).contiguous().transpose(0, 1), (True, False))
    check(cuda, left[:1].expand(3, 5, 4), right)
    check(cuda, left.transpose(0, 2)[:, :2, :], tensor((4, 3, 2), seed=2))


def test_empty(cuda):
    """A sum of nothing is 0, to which the bias is added."""
    check(cuda, tensor((9, 0)), tensor((0, 5)), bias=tensor((5,)))
    check(cuda, tensor((2, 3, 0)), tensor((2, 0, 5)))
    for m, n in ((0, 5), (5, 0)):
        left, right = tensor((m, 3)).to("cuda"), tensor((3, n)).to("cuda")
        assert product(cuda, left, right).size == 0


def test_not_finite(cuda):
    """NaN and infinities reach their row and column, and no other element."""
    left, right = tensor((9, 5)), tensor((5, 10), seed=1).abs() + 1
    left[2, 3], left[7, 0] = float("nan"), float("inf")
    check(cuda, left, right)


@pytest.mark.parametrize("length", [1, 7, 150])
def test_vectors(cuda, length, size):
    """Long ones are summed in parts."""
    length = size(length, 1000 * length)
    left, right = tensor((length, 2))[:, 0], tensor((length,), seed=1)
    for one, other in ((left, right), (right, left), (right, right)):
        assert vector_product(cuda, on_gpu(one), on_gpu(other)).host() == vector_product(cpu, one, other)
    assert vector_product(cuda, tensor((0,)).to("cuda"), tensor((0,)).to("cuda")).host() == 0


def test_matrix_and_vector(cuda):
    matrix, vector = tensor((9, 70)), tensor((70, 3), seed=1)
    for left, right in (
        (matrix, vector[:, 1]),
        (matrix[::2, :30], vector[20:50, 0]),
        (vector.t(), matrix[2]),
        (matrix.t(), vector[:9, 2]),
        (matrix[:, :0], vector[:0, 0]),
        (matrix[:0], vector[:, 0]),
    ):
        result = vector_product(cuda, on_gpu(left), on_gpu(right))
        expected = vector_product(cpu, left, right)
        np.testing.assert_array_equal(result.host(), expected)


def test_operations(cuda):
    """A layer and a stack of products, forward and backward, as on the CPU."""
    x, weight, bias = tensor((5, 6)), tensor((9, 6), seed=1), tensor((9,), seed=2)

    def gradients(*operands):
        leaves = [operand.detach().requires_grad_() for operand in operands]
        a, w, b = leaves
        layer = numgrad.nn.functional.linear(a, w, b)
        stack = layer.view(5, 3, 3) @ layer.view(5, 3, 3).transpose(1, 2)
        total = (stack * stack).sum() + numgrad.einsum("ij,jk,ik->", a, w.t(), layer) + (w @ a[0]).dot(b)
        total.backward()
        return [total.detach(), *[leaf.grad for leaf in leaves]]

    there = gradients(x.to("cuda"), weight.to("cuda"), bias.to("cuda"))
    for ours, expected in zip(there, gradients(x, weight, bias), strict=True):
        assert ours.device.type == "cuda"
        atol = 1e-6 * expected.abs().max().item()  # where large numbers cancel each other
        np.testing.assert_allclose(ours.cpu().numpy(), expected.numpy(), 1e-5, atol)
