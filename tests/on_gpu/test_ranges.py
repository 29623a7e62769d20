"""Numbers at equal distances: ``arange`` and ``linspace`` on a GPU."""

import numpy as np
import pytest

import numgrad

KINDS = [numgrad.uint8, numgrad.int8, numgrad.int16, numgrad.int32, numgrad.int64, numgrad.float32, numgrad.float64]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("bounds", [(0, 10, 1), (3, 40, 7), (5, 5, 1), (60, 2, -9)])
def test_counting(cuda, kind, bounds):
    found = numgrad.arange(*bounds, dtype=kind, device="cuda")
    expected = numgrad.arange(*bounds, dtype=kind)
    assert (found.dtype, found.tolist()) == (kind, expected.tolist())


def test_counting_by_fractions(cuda, size):
    count = size(1000, 1 << 22)
    found, expected = (numgrad.arange(0.5, 0.1 * count, 0.1, device=place) for place in ("cuda", "cpu"))
    np.testing.assert_allclose(found.cpu().numpy(), expected.numpy(), rtol=1e-7)
    assert numgrad.arange(2**53, 2**53 + 3, device="cuda").tolist() == [2**53, 2**53 + 1, 2**53 + 2]


@pytest.mark.parametrize("kind", [*KINDS, numgrad.complex64], ids=str)
@pytest.mark.parametrize("steps", [0, 1, 2, 7, 12])
def test_spreading(cuda, kind, steps):
    found, expected = (numgrad.linspace(2, 29.5, steps, dtype=kind, device=place) for place in ("cuda", "cpu"))
    assert (found.dtype, found.shape) == (kind, expected.shape)
    np.testing.assert_allclose(found.cpu().numpy(), expected.numpy(), rtol=1e-6)
    if steps > 1:
        assert (found[0].item(), found[-1].item()) == (expected[0].item(), expected[-1].item())
