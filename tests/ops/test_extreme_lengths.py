"""Norms and distances of numbers whose squares overflow, or are 0 in float32."""

import numpy as np
import pytest

import numgrad
from numgrad.nn import functional

SIZES = [1e-30, 1e30]
NORMS = {
    "norm": lambda x: x.norm(), "norm over a dimension": lambda x: x.norm(dim=0), "order 3": lambda x: x.norm(3),
    "matrix_norm": lambda x: numgrad.linalg.matrix_norm(x[None]),
    "columns": lambda x: x[:, None].expand(2, 3).norm(dim=0),
    "complex": lambda x: numgrad.linalg.vector_norm(numgrad.complex(x[:1], x[1:])),
    "hypot": lambda x: numgrad.hypot(*x), "abs of complex": lambda x: numgrad.complex(*x).abs(),
    "dist": lambda x: numgrad.dist(x, x * 0), "cdist": lambda x: numgrad.cdist(x[None], x[None] * 0),
    "pairwise_distance": lambda x: functional.pairwise_distance(x, x.detach() * 0, eps=0),
    "pdist": lambda x: functional.pdist(numgrad.stack([x, x.detach() * 0])),
}  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NORMS)
def test_norms_and_their_gradients(name, size):
    near_1, x = [numgrad.tensor([3 * each, -4 * each], requires_grad=True) for each in (1.0, size)]
    right, found = [NORMS[name](each) for each in (near_1, x)]
    right.sum().backward()
    found.sum().backward()
    np.testing.assert_allclose(found.detach().numpy() / np.float32(size), right.detach().numpy(), 1e-6)
    np.testing.assert_allclose(x.grad.numpy(), near_1.grad.numpy(), 1e-6)


@pytest.mark.parametrize("length", [1, 7, 300, 5000, 70000])
def test_one_number_and_many(length):
    for size in SIZES:
        x = numgrad.full((length,), size)
        assert x[:1].norm().item() == np.float32(size)
        assert x.norm().item() == pytest.approx(size * length**0.5, 1e-6)
        assert x.view(-1, 1).norm(dim=0).item() == pytest.approx(size * length**0.5, 1e-6)


def test_each_row_with_infinity_and_nan():
    inf, nan = np.inf, np.nan
    x = numgrad.tensor([[3e30, 4e30], [0, 0], [3, 4], [inf, 1e30], [1e30, nan], [3e-30, 4e-30], [1e-38, 0]])
    for rows in (x, x.t().contiguous().t()):
        np.testing.assert_allclose(rows.norm(dim=1).numpy(), [5e30, 0, 5, inf, nan, 5e-30, 1e-38], 1e-6)
    assert numgrad.tensor([3e38, 3e38]).norm().item() == inf


@pytest.mark.parametrize("size", SIZES)
def test_unit_vectors_and_angles(size):
    x, y = numgrad.tensor([3 * size, 4 * size], requires_grad=True), numgrad.tensor([4 * size, 3 * size])
    unit = numgrad.tensor([0.6, 0.8])
    numgrad.testing.assert_close(functional.normalize(x, dim=0, eps=0), unit)
    numgrad.testing.assert_close(functional.cosine_similarity(x, y, 0, eps=0), numgrad.tensor(0.96))
    numgrad.testing.assert_close(numgrad._weight_norm(x[None], numgrad.ones(1, 1), 0)[0], unit)
    (slopes,) = numgrad.autograd.grad(numgrad.atan2(x[0], x[1]), x)
    np.testing.assert_allclose(slopes.numpy() * np.float32(size), [0.16, -0.12], 1e-6)


def test_gradients_of_any_size_are_clipped():
    parameter = numgrad.zeros(2, requires_grad=True)
    parameter.grad = numgrad.tensor([3e30, 4e30])
    assert numgrad.nn.utils.clip_grad_norm_([parameter], 1.0).item() == pytest.approx(5e30)
    numgrad.testing.assert_close(parameter.grad, numgrad.tensor([0.6, 0.8]))
