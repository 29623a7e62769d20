"""Systems of linear equations against PyTorch: values, strides, gradients, nodes, errors."""

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch


def regular(A, *others):
    """The arrays, the first with matrices that are far from singular."""
    return A + (4 * np.eye(*A.shape[-2:])).astype(A.dtype), *others


def solve(m, A, B):
    return m.linalg.solve(A, B)


SHAPES = [
    ((3, 3), (3,)), ((3, 3), (3, 2)), ((1, 1), (1,)), ((2, 3, 3), (2, 3)), ((2, 3, 3), (3,)), ((3, 3, 3), (3, 3)),
    ((3, 3), (2, 3, 2)), ((2, 1, 3, 3), (4, 3, 1)), ((2, 4, 3, 3), (2, 4, 3)), ((1, 3, 3), (2, 3, 1)),
    ((0, 0), (0, 2)), ((0, 0), (0,)), ((3, 3), (3, 0)), ((0, 3, 3), (0, 3, 2)), ((2, 0, 3, 3), (3, 2)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_solutions_and_their_gradients(left, right):
    for layout in ("contiguous", "transposed", "stepped"):
        assert_same(solve, *regular(*randoms(left, right, layout=layout)))
    for dtype in ("float32", "complex128", "complex64"):
        assert_same(solve, *regular(*randoms(left, right, dtype=dtype)))
    for given in (lambda m, A, B: solve(m, A.detach(), B), lambda m, A, B: solve(m, A, B.detach())):
        assert_same(given, *regular(*randoms(left, right)))


@pytest.mark.parametrize(("A", "B"), [((3, 3), (2, 3)), ((2, 3, 3), (2, 2, 3)), ((2, 3, 3), (1, 3))])
def test_from_the_right(A, B):
    for dtype in ("float64", "complex128"):
        assert_same(lambda m, A, B: m.linalg.solve(A, B, left=False), *regular(*randoms(A, B, dtype=dtype)))


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("shapes", [((2, 2), (2, 2)), ((3, 2, 2), (2, 2))], ids=str)
def test_second_derivatives(shapes, left):
    def gradients(m, A, B):
        X = m.linalg.solve(A, B, left=left)
        return m.autograd.grad((X * X.abs()).sum(), (A, B), create_graph=True)

    for dtype in ("float64", "complex128"):
        assert_same(gradients, *regular(*randoms(*shapes, dtype=dtype)), graph=False)


@pytest.mark.parametrize("dims", [(0, 0), (None, 0), (0, None), (1, 0)])
@pytest.mark.parametrize("shapes", [((3, 3, 3), (3, 3)), ((3, 3, 3), (3, 3, 3)), ((3, 3, 3), (3, 3, 2, 3))], ids=str)
def test_batches(shapes, dims):
    def batches(m, A, B):
        return m.func.vmap(m.linalg.solve, dims)(A, B)

    arrays = regular(*randoms(*shapes))
    if None not in dims:
        assert_same(batches, *arrays, graph=False)
    elif dims[0] is None:
        assert_same(batches, arrays[0][0], arrays[1], graph=False)
    else:
        assert_same(batches, arrays[0], arrays[1][0], graph=False)


@pytest.mark.parametrize(("A", "B", "left"), [
    ((2, 3), (3, 2), True), ((3,), (3, 2), True), ((3, 3), (4, 2), True), ((3, 3), (4,), True), ((3, 3), (), True),
    ((2, 3, 3), (4, 3, 2), True), ((2, 5, 3, 3), (5, 3), True), ((3, 3), (3, 2), False), ((3, 3), (3,), False),
    ((1, 1), (1,), False), ((2, 2, 2), (2, 2), False),
], ids=str)
def test_arguments_that_do_not_fit(A, B, left):
    theirs, own = messages(lambda m, A, B: m.linalg.solve(A, B, left=left), *randoms(A, B))
    assert str(own).startswith(str(theirs))


@pytest.mark.parametrize(("A", "B"), [("int64", "int64"), ("bool", "bool"), ("float32", "float64")])
def test_dtypes_that_are_refused(A, B):
    theirs, own = messages(solve, np.ones((2, 2), A), np.ones((2, 2), B))
    assert str(own).startswith(str(theirs))


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize(("A", "B"), [((2, 2), (2, 2)), ((3, 2, 2), (2, 2)), ((2, 2), (3, 2, 2))])
def test_singular_matrices(A, B, left):
    matrices, values = randoms(A, B)
    matrices[..., 1:, :] = 0
    if len(A) == 3:
        matrices[0] = np.eye(2)
    theirs, own = messages(lambda m, A, B: m.linalg.solve(A, B, left=left), matrices, values)
    assert str(own).startswith(str(theirs))
    assert (type(theirs).__name__ == "_LinAlgError") == (type(own).__name__ == "LinAlgError")
