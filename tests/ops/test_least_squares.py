"""Least squares by each driver, and derivatives where singular values that are not 0 count as 0."""

import numpy as np
import pytest
from ops.gradients import check_gradients

import numgrad
from numgrad import linalg
from numgrad.func import hessian

DTYPES = ["float64", "complex128"]


def numbers(*shape, dtype="float64", seed=0):
    parts = np.random.default_rng(seed).standard_normal((2, *shape))
    return numgrad.from_numpy(parts[0] + 1j * parts[1] if dtype[0] == "c" else parts[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_drivers_agree(driver, dtype):
    for m, n in ((4, 2), (2, 4), (3, 3)):
        A, B = numbers(1, m, n, dtype=dtype), numbers(3, m, 2, dtype=dtype, seed=1)
        X, residuals, rank, values = linalg.lstsq(A, B, driver=driver)
        expected = np.linalg.pinv(A) @ np.asarray(B)
        np.testing.assert_allclose(X, expected, 1e-10)
        if m > n and driver != "gelsy":
            np.testing.assert_allclose(residuals, (np.abs(A @ expected - np.asarray(B)) ** 2).sum(-2), 1e-10)
        else:
            assert residuals.shape == (0,)
        assert rank.tolist() == ([] if driver == "gels" else [min(m, n)])
        assert values.shape == ((1, min(m, n)) if driver in ("gelsd", "gelss") else (0,))
        x = linalg.lstsq(A[0], B[0, :, 0], driver=driver).solution
        np.testing.assert_allclose(x, expected[0, :, 0], 1e-10)


def test_ranks_and_the_least_norm():
    A, B = numgrad.ones(3, 2), numgrad.ones(3, 1)
    for driver in (None, "gelsd"):
        found = linalg.lstsq(A, B, driver=driver)
        assert found.rank == 1
        np.testing.assert_allclose(found.solution, [[0.5], [0.5]], 1e-5)
    assert linalg.lstsq(numgrad.diag(numgrad.tensor([3.0, 1.0])), B[:2], 0.5).rank == 1
    for m, n in ((0, 2), (2, 0)):
        assert linalg.lstsq(numgrad.ones(m, n), numgrad.ones(m, 3)).solution.tolist() == [[0.0] * 3] * n


@pytest.mark.parametrize("driver", ["gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(20, 5), (5, 20)])
def test_matrices_without_full_rank_as_in_numpy(driver, shape):
    """A product of thin matrices, equal columns, a column of zeros in the first place, and nothing but zeros."""
    matrices = np.random.default_rng(0).standard_normal((4, *shape)).astype(np.float32)
    matrices[0] = matrices[0, :, :2] @ matrices[0, :2]
    matrices[1, :, 3:] = matrices[1, :, 3:4]
    matrices[2, :, 0] = 0
    matrices[3] = 0
    B = numbers(4, shape[0], 2).float()
    X, _, rank, _ = linalg.lstsq(numgrad.from_numpy(matrices), B, driver=driver)
    tolerance = max(shape) * np.finfo(np.float32).eps
    expected = [np.linalg.lstsq(A, np.asarray(b), tolerance) for A, b in zip(matrices, B, strict=True)]
    assert rank.tolist() == [found[2] for found in expected]
    np.testing.assert_allclose(X, [found[0] for found in expected], 1e-4, 1e-5)


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)])
def test_gels_raises_for_a_singular_factor(shape):
    A = numgrad.eye(*shape).repeat(2, 1, 1)
    A[1, 1, 1] = 0
    message = r"lstsq: \(Batch element 1\): .* does not have full rank \(error code: 2\)"
    with pytest.raises(numgrad.linalg.LinAlgError, match=message):
        linalg.lstsq(A, numgrad.ones(2, shape[0], 1), driver="gels")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 2), *[pytest.param(s, marks=pytest.mark.long) for s in ((2, 3), (2, 3, 3))]])
def test_derivatives_where_the_tolerance_cuts(shape, dtype):
    """The derivative of the pseudoinverse of the part that is kept, of which PyTorch neglects a part."""
    U, _, Vh = np.linalg.svd(numbers(*shape, dtype=dtype), full_matrices=False)
    A = numgrad.from_numpy((U * np.linspace(3, 1, min(shape[-2:]))) @ Vh)
    B = numbers(*shape[:-1], 1, dtype=dtype, seed=1)
    check_gradients(lambda A: linalg.pinv(A, rtol=0.5), A.requires_grad_())
    check_gradients(lambda A: linalg.pinv(A, atol=2.5), A)
    check_gradients(lambda A: linalg.lstsq(A, B, 0.5).solution, A)


def test_second_derivatives_where_the_tolerance_cuts_nothing():
    def program(A, **tolerance):
        return linalg.pinv(A, **tolerance).square().sum()

    A = numgrad.eye(3, dtype=numgrad.float64)
    given = hessian(lambda A: program(A, rtol=0.1))(A)
    np.testing.assert_allclose(given, hessian(program)(A), atol=1e-12)
