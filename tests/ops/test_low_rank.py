"""A few eigenvalues, singular values and principal components of matrices."""

import numpy as np
import pytest

import numgrad

MATRIX = np.random.default_rng(0).standard_normal((12, 12))
A = numgrad.from_numpy(MATRIX @ MATRIX.T)
B = numgrad.from_numpy(MATRIX.T @ MATRIX / 12 + np.eye(12))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("other", [None, B])
def test_eigenvalues_by_iteration(largest, other):
    L = numgrad.linalg.cholesky(numgrad.eye(12, dtype=A.dtype) if other is None else other)
    inverse = numgrad.linalg.inv(L)
    expected = numgrad.linalg.eigvalsh(inverse @ A @ inverse.mT)
    values, vectors = numgrad.lobpcg(A, 3, other, largest=largest, iK=None if largest else A.inverse(), tol=1e-9)
    numgrad.testing.assert_close(values, expected.flip(0)[:3] if largest else expected[:3], rtol=1e-8, atol=0)
    times = vectors if other is None else other @ vectors
    numgrad.testing.assert_close(A @ vectors, times * values, rtol=0, atol=1e-6)
    numgrad.testing.assert_close(vectors.mT @ times, numgrad.eye(3, dtype=A.dtype), rtol=0, atol=1e-12)


def test_eigenvalues_of_a_batch_and_their_derivatives():
    batch = numgrad.stack([A, 2 * A]).reshape(2, 1, 12, 12)
    values, vectors = numgrad.lobpcg(batch, X=numgrad.ones(2, 1, 12, 1).double())
    assert values.shape == (2, 1, 1)
    assert vectors.shape == (2, 1, 12, 1)
    numgrad.testing.assert_close(values[1], 2 * values[0])
    small, other = [matrix[:3, :3].clone().requires_grad_() for matrix in (A, B)]
    for function in (lambda A: numgrad.lobpcg(A), lambda A, B: numgrad.lobpcg(A, B=B)):
        inputs = (small, other)[: function.__code__.co_argcount]
        absolute = lambda *given, f=function: [result.abs() for result in f(*given)]  # noqa: E731
        assert numgrad.autograd.gradcheck(absolute, inputs)
        assert numgrad.autograd.gradgradcheck(absolute, inputs)


@pytest.mark.parametrize(("arguments", "error"), [
    ({"A": A[:5, :5], "k": 2}, "smaller than 3 x the number of requested eigenpairs"), ({"A": A[0]}, "at least 2"),
    ({"A": A, "X": A[:4, :1]}, "expected X of shape"), ({"A": A, "k": 0}, "must be positive"),
    ({"A": A, "method": "other"}, "method must be"), ({"A": A, "tracker": print}, "tracker is not supported"),
])
def test_refusals_of_lobpcg(arguments, error):
    with pytest.raises((RuntimeError, ValueError), match=error):
        numgrad.lobpcg(**arguments)


def test_singular_values_of_low_rank():
    left, right = [numgrad.from_numpy(array) for array in np.split(MATRIX, [3], 1)]
    low = left @ left.mT @ right  # 12 x 9, of rank 3
    for given in (low, low.mT, numgrad.stack([low, low])):
        U, S, V = numgrad.svd_lowrank(given, 4)
        numgrad.testing.assert_close(U @ numgrad.diag_embed(S) @ V.mT, given, rtol=0, atol=1e-10)
    mean = low.mean(0, keepdim=True)
    U, S, V = numgrad.pca_lowrank(low, 4)
    numgrad.testing.assert_close(U @ S.diag() @ V.mT, low - mean, rtol=0, atol=1e-10)
    shifted = numgrad.svd_lowrank(low, 4, M=mean)
    numgrad.testing.assert_close(shifted[1], S, rtol=1e-10, atol=1e-10)
    with pytest.raises(ValueError, match="not greater than min"):
        numgrad.pca_lowrank(low, 10)
