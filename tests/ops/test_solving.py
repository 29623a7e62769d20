"""``linalg.solve`` through its public name, beyond the samples."""

import numpy as np
import pytest

import numgrad
from numgrad import linalg
from numgrad.func import vmap


def test_a_vector_and_float32():
    A, b = numgrad.tensor([[2.0, 1.0], [1.0, 3.0]]), numgrad.tensor([3.0, 5.0])
    assert linalg.solve(A, b).tolist() == pytest.approx([0.8, 1.4])
    assert linalg.solve(A, b).dtype is numgrad.float32
    assert linalg.solve(A, b, out=numgrad.empty(0)).tolist() == linalg.solve(A, b).tolist()
    assert linalg.solve(A=A, B=b[None], left=False).shape == (1, 2)


@pytest.mark.parametrize("dims", [(0, 0), (None, 0), (0, None)])
@pytest.mark.parametrize(("left", "right"), [((2, 2), (2,)), ((3, 2, 2), (2,)), ((2, 2), (3, 2, 1)), ((2, 2), (2, 2))])
def test_examples_with_fewer_dimensions(left, right, dims):
    random = np.random.default_rng(0)
    A, B = [numgrad.from_numpy(random.normal(size=(2, *shape))) for shape in (left, right)]
    given = [tensor if dim == 0 else tensor[0] for tensor, dim in zip((A, B), dims, strict=True)]
    expected = [linalg.solve(A[n if dims[0] == 0 else 0], B[n if dims[1] == 0 else 0]) for n in range(2)]
    np.testing.assert_allclose(vmap(linalg.solve, dims)(*given), numgrad.stack(expected), 1e-12)


def test_a_singular_matrix_is_named():
    A = numgrad.stack([numgrad.eye(2), numgrad.ones(2, 2)])
    said = r"^torch.linalg.solve: \(Batch element 1\): The solver failed because the input matrix is singular\."
    with pytest.raises(linalg.LinAlgError, match=said):
        linalg.solve(A, numgrad.ones(2, 3))
    with pytest.raises(RuntimeError, match=r"^torch\.linalg\.solve: The solver failed"):
        linalg.solve(A[1], numgrad.ones(3, 2), left=False)


@pytest.mark.parametrize(("A", "B", "left", "said"), [
    ((2, 3), (3, 2), True, "A must be batches of square matrices, but they are 2 by 3 matrices"),
    ((3, 3), (4, 2), True, r"Incompatible shapes of A and B for the equation AX = B \(3x3 and 4x2\)"),
    ((3, 3), (3, 2), False, r"Incompatible shapes of A and B for the equation XA = B \(3x3 and 3x2\)"),
    ((3,), (3,), True, "The input tensor A must have at least 2 dimensions."),
    ((1, 1), (1,), False, "Vector broadcasting of the left hand side is not supported for left=False."),
])
def test_shapes_that_do_not_fit(A, B, left, said):
    with pytest.raises(RuntimeError, match=f"^linalg.solve: {said}"):
        linalg.solve(numgrad.ones(A), numgrad.ones(B), left=left)
