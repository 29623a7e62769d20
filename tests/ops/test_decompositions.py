"""Decompositions beyond the samples: vectors with a free sign or phase, degenerate matrices, errors."""

import math

import numpy as np
import pytest

import numgrad
from numgrad import linalg
from numgrad.devices.cpu import linear_algebra, orthogonal
from numgrad.func import grad, hessian, jvp


def numbers(shape, dtype="float64", seed=0):
    parts = np.random.default_rng(seed).standard_normal((2, *shape))
    return numgrad.from_numpy(np.asarray(parts[0] + 1j * parts[1] if dtype[0] == "c" else parts[0], dtype))


def real_part(x):
    return x.real if x.is_complex() else x


def weighted(output, seed):
    return real_part(numbers(output.shape, str(output.dtype).split(".")[-1], seed).conj() * output).sum()


def assert_derivatives(function, *inputs):
    """First and second derivatives along two directions, in all nestings of both modes, by differences of values."""
    kinds = [str(x.dtype).split(".")[-1] for x in inputs]
    first, second = [[numbers(x.shape, kind, seed) for x, kind in zip(inputs, kinds, strict=True)] for seed in (7, 8)]

    def scalar(*args):
        outputs = function(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return sum([weighted(output, 10 + n) for n, output in enumerate(outputs)])

    def along(function, direction, step=1e-5):
        ahead, behind = [
            function(*[x + sign * step * d for x, d in zip(inputs, direction, strict=True)]) for sign in (1, -1)
        ]
        return float(ahead - behind) / (2 * step)

    def tangent(*args):
        return jvp(scalar, args, tuple(first))[1]

    def product(*args):
        gradients = grad(scalar, tuple(range(len(args))))(*args)
        return sum([real_part(g.conj() * d).sum() for g, d in zip(gradients, first, strict=True)])

    expected, curvature = along(scalar, first), along(tangent, second)
    reverse = grad(product, tuple(range(len(inputs))))(*inputs)
    found = {
        "reverse": float(product(*inputs)) - expected, "forward": float(tangent(*inputs)) - expected,
        "forward over forward": float(jvp(tangent, inputs, tuple(second))[1]) - curvature,
        "forward over reverse": float(jvp(product, inputs, tuple(second))[1]) - curvature,
        "reverse over reverse":
            float(sum([real_part(g.conj() * d).sum() for g, d in zip(reverse, second, strict=True)])) - curvature,
    }
    scale = 1 + abs(expected) + abs(curvature)
    assert {name for name, difference in found.items() if not abs(difference) < 1e-6 * scale} == set()


def of_vectors(V):
    """A function of vectors that does not depend on their phases."""
    return (V * numgrad.arange(1.0, 1 + V.shape[-1], dtype=numgrad.float64).to(V.dtype)) @ V.mH


def of_eigh(A):
    values, V = linalg.eigh(A + A.mH)
    return values, of_vectors(V)


def of_svd(A):
    U, S, Vh = linalg.svd(A, full_matrices=False)
    return S, of_vectors(U), of_vectors(Vh.mH), (U * S.to(U.dtype) ** 2) @ Vh


def of_eig(A):
    values, V = linalg.eig(A)
    return values.square().sum(), (V.abs() * values.abs()).sum()


def positive(A):
    return A @ A.mH + numgrad.eye(A.shape[-2], dtype=A.dtype)


PROGRAMS = {
    "cholesky": (lambda A: linalg.cholesky(positive(A)), (3, 3)), "eigh": (of_eigh, (3, 3)), "eig": (of_eig, (2, 2)),
    "svd of wide": (of_svd, (2, 3)), "svd of tall": (of_svd, (3, 2)), "qr": (lambda A: tuple(linalg.qr(A)), (3, 2)),
    "qr of wide": (lambda A: tuple(linalg.qr(A)), (2, 3)), "lu of wide": (lambda A: linalg.lu(A)[1:], (2, 3)),
    "lu of tall": (lambda A: linalg.lu(A)[1:], (3, 2)), "slogdet": (lambda A: tuple(linalg.slogdet(A)), (2, 2, 2)),
    "pinv": (linalg.pinv, (2, 3)), "solve from the right": (lambda A: linalg.solve(A, A[:1], left=False), (2, 2)),
    "householder_product": (lambda A: linalg.householder_product(A, A[0]), (3, 2)),
    "lu_solve": (lambda A: linalg.lu_solve(*linalg.lu_factor(A), A[:, :1], adjoint=True), (2, 2)),
    "cholesky_solve": (lambda A: numgrad.cholesky_solve(A, A.tril()), (2, 2)),
    "cholesky_inverse": (lambda A: numgrad.cholesky_inverse(A.triu(), True), (2, 2)),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_in_all_nestings(name, dtype):
    program, shape = PROGRAMS[name]
    assert_derivatives(program, numbers(shape, dtype, 3))


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_derivatives_of_determinants_of_singular_matrices(rank):
    A = numbers((3, rank)) @ numbers((rank, 3), seed=1)
    assert_derivatives(linalg.det, A)


def test_the_hessian_of_a_determinant_at_the_identity():
    found = hessian(linalg.det)(numgrad.eye(2, dtype=numgrad.float64))
    assert found.reshape(4, 4).tolist() == [[0, 0, 0, 1], [0, 0, -1, 0], [0, -1, 0, 0], [1, 0, 0, 0]]


def test_repeated_values_have_gradients_unless_their_vectors_count():
    A = numgrad.eye(3, dtype=numgrad.float64).requires_grad_()
    for values in (linalg.eigh(A)[0], linalg.eigvalsh(A), linalg.svd(A)[1], linalg.svdvals(A)):
        (gradient,) = numgrad.autograd.grad(values.sum(), A)
        np.testing.assert_allclose(gradient, np.eye(3), atol=1e-15)
    (gradient,) = numgrad.autograd.grad(linalg.eigh(A)[1][0, 1], A)
    assert not gradient.isfinite().all()


@pytest.mark.parametrize(("program", "message"), [
    (lambda A: linalg.eigh(A + A.mH)[1], "linalg_eigh_backward: The eigenvectors in the complex case are specified"),
    (lambda A: linalg.eig(A)[1], "linalg_eig_backward: The eigenvectors in the complex case are specified"),
    (lambda A: linalg.svd(A)[0], "svd_backward: The singular vectors in the complex case are specified"),
])
def test_functions_of_phases_have_no_gradient(program, message):
    A = numbers((2, 2), "complex128").requires_grad_()
    with pytest.raises(RuntimeError, match=message):
        weighted(program(A), 1).backward()


@pytest.mark.parametrize("n", [3, 20])
def test_one_triangle_is_read(n):
    A = positive(numbers((n, n)))
    lower, upper = [A.where(part, float("nan")) for part in (A.isfinite().tril(), A.isfinite().triu())]
    for function in (linalg.cholesky, linalg.eigvalsh, lambda x: linalg.ldl_factor(x)[0]):
        np.testing.assert_array_equal(function(lower), function(A))
    np.testing.assert_allclose(linalg.cholesky(upper, upper=True), linalg.cholesky(A).mT, 1e-12)
    np.testing.assert_allclose(linalg.eigvalsh(upper, "U"), linalg.eigvalsh(A), 1e-10)
    for part, is_upper in ((lower, False), (upper, True)):
        assert linalg.solve_triangular(part, A, upper=is_upper).isfinite().all()


@pytest.mark.parametrize("n", [2, 20])
@pytest.mark.parametrize(("function", "message"), [
    (linalg.cholesky, "linalg.cholesky: .* positive-definite .the leading minor of order 2 is not positive-definite"),
    (linalg.inv, "linalg.inv: .*The diagonal element 2 is zero, the inversion could not be completed because"),
    (lambda A: linalg.solve(A, A), "torch.linalg.solve: .*The solver failed because the input matrix is singular"),
    (linalg.lu_factor, r"torch.linalg.lu_factor: .*U\[2,2\] is zero"),
    (linalg.ldl_factor, r"torch.linalg.ldl_factor: .*D\[2,2\] is zero"),
])
def test_a_matrix_that_is_refused_is_named(function, message, n):
    A = numgrad.eye(n)
    A[1, 1] = 0
    with pytest.raises(linalg.LinAlgError, match=message):
        function(A)
    with pytest.raises(linalg.LinAlgError, match=r": \(Batch element 1\): "):
        function(numgrad.stack([numgrad.eye(n), A]))


def test_norms_of_singular_values():
    A = numgrad.tensor([[3.0, 0.0], [0.0, 4.0]])
    assert numgrad.norm(A, "nuc") == A.norm("nuc", (0, 1)) == linalg.norm(A, "nuc") == 7
    assert (linalg.norm(A, 2), linalg.norm(A, -2)) == (4, 3)
    assert linalg.matrix_norm(A[None].mT, 2, (2, 1), keepdim=True).shape == (1, 1, 1)


@pytest.mark.parametrize("pivots", [[0, 2], [1, 3], [-1, 2], [1, 10**6]])
def test_pivots_that_lead_outside_are_refused(pivots):
    A, pivots = numgrad.eye(2), numgrad.tensor(pivots, dtype=numgrad.int32)
    for solve, text in ((linalg.lu_solve, "Pivots given to lu_solve"), (linalg.ldl_solve, "Expected pivots")):
        with pytest.raises(RuntimeError, match=text):
            solve(A, pivots, A)


def test_norms_of_integers_are_refused():
    for order in ("nuc", 2, -2, 1, math.inf, "fro"):
        with pytest.raises(RuntimeError, match="xpected a floating point or complex"):
            linalg.matrix_norm(numgrad.tensor([[2, 1], [1, 3]]), order)


@pytest.mark.parametrize("p", [None, 1, math.inf, "fro"])
def test_singular_matrices_have_an_infinite_condition(p):
    matrices = numgrad.tensor([[[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    assert linalg.cond(matrices[:2] if p else matrices[:1], p).min() > 1e6
    assert linalg.cond(matrices[2], p).item() == pytest.approx(2 if p == "fro" else 1)


def test_gradients_of_eigenvectors_are_symmetric():
    A = numgrad.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]], requires_grad=True)
    (linalg.eigh(A)[1].square() * numgrad.eye(3)).sum().backward()
    assert A.grad.abs().max() > 0.01
    np.testing.assert_allclose(A.grad, A.grad.mT, atol=1e-5)


def test_a_factor_without_the_other_has_no_gradient():
    A = numgrad.eye(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="mode='r'"):
        linalg.qr(A, "r")[1].sum().backward()


def test_reports_instead_of_errors():
    A = numgrad.stack([numgrad.eye(2), numgrad.zeros(2, 2)])
    assert linalg.cholesky_ex(A).info.tolist() == linalg.inv_ex(A).info.tolist() == [0, 1]
    assert linalg.lu_factor_ex(A).info.tolist() == linalg.solve_ex(A, A).info.tolist() == [0, 1]
    assert linalg.ldl_factor_ex(A).info.tolist() == [0, 1]


def test_numbers_that_are_not_finite():
    A = numgrad.full((2, 2), float("nan"))
    with pytest.raises(linalg.LinAlgError, match=r"linalg\.svd: .*contained non-finite values"):
        linalg.svd(A)
    with pytest.raises(RuntimeError, match=r"torch\.linalg\.eig: input tensor should not contain infs or NaNs"):
        linalg.eig(A)
    for result in (linalg.det(A), linalg.inv(A), linalg.solve(A, A), numgrad.matrix_exp(A), linalg.qr(A)[1][0]):
        assert result.isnan().all()
    A = numgrad.eye(20)
    A[18, 0] = float("inf")
    assert linalg.cholesky_ex(A).info.item() == 19


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_lapack_decomposes_larger_matrices(dtype):
    A = numbers((2, 20, 20), dtype)
    B = positive(A)
    tolerance = 1e-3 if dtype in ("float32", "complex64") else 1e-11
    P, L, U = linalg.lu(A)
    Q, R = linalg.qr(A)
    V, S, Wh = linalg.svd(A)
    values, X = linalg.eigh(B)
    C, (complex_values, Y) = linalg.cholesky(B), linalg.eig(A)
    LD, pivots = linalg.ldl_factor(B, hermitian=True)
    for found, expected in (
        (P @ L @ U, A), (Q @ R, A), ((V * S.unsqueeze(-2)) @ Wh, A), (C @ C.mH, B), (linalg.inv(A) @ A @ B, B),
        ((X * values.unsqueeze(-2)) @ X.mH, B), (A.to(Y.dtype) @ Y, Y * complex_values.unsqueeze(-2)),
        (A @ linalg.solve(A, B), B), (B @ linalg.ldl_solve(LD, pivots, A, hermitian=True), A),
        (C @ linalg.solve_triangular(C, A, upper=False), A),
    ):
        np.testing.assert_allclose(found, expected, tolerance, tolerance * 100)
    np.testing.assert_allclose(linalg.det(A).to(Y.dtype), linalg.eigvals(A).prod(-1), tolerance * 10)


def test_without_lapack_numpy_decomposes(monkeypatch):
    for module in (linear_algebra, orthogonal):
        monkeypatch.setattr(module, "has_lapack", lambda dtype: False)
    A = numbers((1, 5, 4))
    S = positive(A)
    Q, R = linalg.qr(A)
    U, s, Vh = linalg.svd(A, full_matrices=False)
    values, V = linalg.eigh(S)
    for found, expected in (
        (Q @ R, A), ((U * s.unsqueeze(-2)) @ Vh, A), ((V * values.unsqueeze(-2)) @ V.mH, S),
        (linalg.eigvals(S).real.sort()[0], values), (linalg.svdvals(A), s),
    ):
        np.testing.assert_allclose(found, expected, 1e-9, 1e-12)


@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_small_matrices(dtype, n):
    """As many as are decomposed in vector lanes, more than fit into one tile, in several layouts."""
    tolerance = 2e-3 if dtype == "float32" else 1e-9
    A, B = numbers((5, 14, n, n), dtype), numbers((14, n, 2), dtype, 1)
    for given in (A, A.mT, A[:, :, :1].expand(A.shape).tril() + numgrad.eye(n, dtype=A.dtype), A[..., ::2, ::2]):
        size, right = given.shape[-1], B[:, : given.shape[-1]]
        array, other = np.asarray(given, np.float64), np.asarray(right, np.float64)
        positive = given @ given.mT + numgrad.eye(size, dtype=A.dtype)
        values, V = linalg.eigh(positive)
        for found, expected in (
            (given @ linalg.solve(given, right), np.broadcast_to(other, (5, *other.shape))),
            (linalg.solve(given, right.mT, left=False) @ given, np.broadcast_to(other.mT, (5, *other.mT.shape))),
            (linalg.inv(given) @ given, np.broadcast_to(np.eye(size), array.shape)),
            (linalg.det(given), np.linalg.det(array)), (linalg.cholesky(positive), np.linalg.cholesky(positive)),
            (linalg.cholesky(positive.triu(), upper=True), np.linalg.cholesky(positive).mT),
            ((V * values.unsqueeze(-2)) @ V.mT, positive), (V.mT @ V, np.broadcast_to(np.eye(size), array.shape)),
            (linalg.eigvalsh(positive.triu(), "U"), np.linalg.eigvalsh(positive)), (values.diff(dim=-1) >= 0, True),
        ):
            scale = 1 + abs(np.asarray(expected)).max()
            np.testing.assert_allclose(found, expected, tolerance, tolerance * scale)


def test_many_matrices_of_extreme_numbers():
    A = numbers((40, 3, 3))
    A = A + A.mT
    for scale in (1e-300, 1e300):
        np.testing.assert_allclose(linalg.eigvalsh(A * scale) / scale, np.linalg.eigvalsh(A), 1e-12, 1e-12)
    np.testing.assert_array_equal(linalg.eigvalsh(numgrad.zeros(40, 2, 2)), np.zeros((40, 2)))
    values, V = linalg.eigh(numgrad.tensor([3.0, 1.0, 2.0]).diag().expand(40, 3, 3))
    assert values[39].tolist() == [1.0, 2.0, 3.0]
    assert V[39].abs().argmax(0).tolist() == [1, 2, 0]


def test_one_of_many_matrices_is_refused():
    A = numgrad.eye(3).repeat(40, 1, 1)
    A[33, 1, 1] = 0
    for function in (linalg.inv, linalg.cholesky, lambda A: linalg.solve(A, A)):
        with pytest.raises(linalg.LinAlgError, match=r": \(Batch element 33\): .*(2|singular)"):
            function(A)
    assert linalg.inv_ex(A).info.nonzero().tolist() == linalg.cholesky_ex(A).info.nonzero().tolist() == [[33]]
    A[34, 2, 0] = float("nan")
    with pytest.raises(linalg.LinAlgError, match=r"linalg.eigh: \(Batch element 34\): .*converge"):
        linalg.eigh(A)
    assert linalg.det(A)[32:35].nan_to_num(7).tolist() == [1, 0, 7]


def test_backward_of_factors_without_derivatives_raises():
    A = numgrad.eye(2, requires_grad=True)
    for factor, message in ((linalg.ldl_factor, "'linalg_ldl_factor: A'"), (numgrad.geqrf, "'geqrf: A'")):
        with pytest.raises(NotImplementedError, match=message):
            factor(A)[0].sum().backward()
        with pytest.raises(NotImplementedError, match=message):
            jvp(lambda A, factor=factor: factor(A)[0], (numgrad.eye(2),), (numgrad.ones(2, 2),))


def test_eigenvalues_of_many_matrices_with_infinite_elements_are_refused():
    A = numgrad.eye(2).repeat(40, 1, 1)
    A[7, 0, 0] = math.inf
    with pytest.raises(linalg.LinAlgError, match="Batch element 7"):
        linalg.eigh(A)


def test_conditions_of_empty_matrices():
    for p in (None, 1, -1, 2, -2, math.inf, -math.inf):
        assert linalg.cond(numgrad.ones(0, 3), p) == linalg.cond(numgrad.ones(0, 0), p) == 0
        assert linalg.cond(numgrad.ones(2, 3, 0), p).tolist() == [0, 0]


ONES = numgrad.ones(3, 3)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: linalg.vecdot(ONES.long(), ONES.long()), "linalg.vecdot: Expected a floating point or complex tensor"),
    (lambda: linalg.vecdot(ONES, ONES.double()), "linalg.vecdot: Expected x and y to have the same dtype"),
    (lambda: linalg.cross(ONES, ONES.double()), "expected scalar type Float but found Double"),
    (lambda: linalg.householder_product(ONES.long(), ONES[0].long()), "\"orgqr_cpu\" not implemented for 'Long'"),
    (lambda: numgrad.ormqr(ONES, ONES[0, :2], ONES), r"tau.shape\[-1\] must be equal to min\(other.shape\[-2\]"),
    (lambda: numgrad.ormqr(ONES, ONES, ONES), "Expected tau to have one dimension less than input"),
    (lambda: numgrad.ormqr(ONES, ONES[0], ONES[0]), "Expected other to have the same number of dimensions as input"),
    (lambda: numgrad.cholesky_solve(ONES, ONES.double()), "Expected b and A to have the same dtype"),
    (lambda: numgrad.cholesky_solve(ONES[:2], ONES), "Incompatible matrix sizes for cholesky_solve: each A matrix is"),
    (lambda: linalg.vander(ONES[0] > 0), "linalg.vander supports floating point, complex, and integer tensors"),
    (lambda: linalg.matrix_norm(ONES.cfloat(), 1, dtype=numgrad.float32), "dtype should be complex for complex inputs"),
    (lambda: linalg.vector_norm(ONES.cfloat(), dtype=numgrad.float32), "dtype should be complex for complex inputs"),
    (lambda: linalg.matrix_norm(ONES.long(), 2, dtype=numgrad.float32), "Expected a floating point or complex tensor"),
    (lambda: linalg.lstsq(ONES, ONES[None]), r"input.dim\(\) must be greater or equal to other.dim\(\)"),
    (lambda: linalg.lstsq(ONES.expand(2, 3, 3), numgrad.ones(4, 3, 1)), "size of tensor a [(]2[)] must match"),
])
def test_arguments_that_are_refused(call, message):
    with pytest.raises((RuntimeError, NotImplementedError), match=message):
        call()


def test_reports_have_the_batch_of_the_matrices():
    A, B = numgrad.eye(2), numgrad.ones(40, 2, 1)
    assert linalg.solve_ex(A, B).info.shape == ()
    assert linalg.solve_ex(A.expand(2, 1, 2, 2), B[:3]).info.shape == (2, 1)
    assert numgrad.triangular_solve(B, A).cloned_coefficient.shape == (40, 2, 2)
