"""Histograms in one dimension and in several."""

import re

import numpy as np
import pytest

import numgrad as torch

RNG = np.random.default_rng(0)
POINTS, WEIGHTS = RNG.normal(size=(40, 3)), RNG.random(40)


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHTS])
@pytest.mark.parametrize(("bins", "limits"), [(4, None), (5, (-1.0, 0.5)), ([-1.0, 0.0, 0.3], None)])
def test_one_dimension(bins, limits, weight, density):
    x, given = POINTS[:, 0].copy(), None if weight is None else torch.tensor(weight)
    own = torch.tensor(bins, dtype=torch.float64) if isinstance(bins, list) else bins
    hist, edges = torch.histogram(torch.tensor(x), own, range=limits, weight=given, density=density)
    wanted = np.histogram(x, bins, limits, density, weight)
    np.testing.assert_allclose(hist.numpy(), wanted[0])
    np.testing.assert_allclose(edges.numpy(), wanted[1])


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize(("bins", "limits"), [
    ([2, 3, 4], None), (3, [-1.0, 1.0, 0.0, 1.0, -2.0, 2.0]), ([[0.0, 1.0], [-1.0, 0.0, 2.0], [-3.0, 3.0]], None),
])
def test_several_dimensions(bins, limits, density):
    own = [torch.tensor(one).double() if isinstance(one, list) else one for one in bins] if bins != 3 else bins
    found = torch.histogramdd(torch.tensor(POINTS), own, range=limits, weight=torch.tensor(WEIGHTS), density=density)
    pairs = None if limits is None else np.reshape(limits, (3, 2))
    hist, edges = np.histogramdd(POINTS, bins, pairs, density, WEIGHTS)
    np.testing.assert_allclose(found.hist.numpy(), hist)
    for one, wanted in zip(found.bin_edges, edges, strict=True):
        np.testing.assert_allclose(one.numpy(), wanted)


def test_the_last_bin_has_its_upper_edge_and_what_is_nowhere_does_not_count():
    x = torch.tensor([0.0, 1.0, 2.0, 2.5, float("nan"), -1.0])
    assert x.histogram(torch.tensor([0.0, 1.0, 2.0])).hist.tolist() == [1.0, 2.0]
    assert repr(torch.ones(2).histogram(1)) == (
        "torch.return_types.histogram(\nhist=tensor([2.]),\nbin_edges=tensor([0.5000, 1.5000]))"
    )
    assert torch.ones(0).histogram(2).hist.tolist() == [0, 0]


def test_more_elements_than_are_counted_at_a_time():
    x = torch.tensor(np.arange(70000) % 8)
    assert x.double().histc(7, 0, 6).tolist() == [8750.0] * 7


ROW = torch.arange(4.0)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: (ROW / 0).histogram(4), RuntimeError, "dimension 0's range [nan, nan] is not finite"),
    (lambda: ROW.histogram(0), RuntimeError, "bins must be > 0, but got 0 for dimension 0"),
    (lambda: ROW.histogram(ROW[:1]), RuntimeError, "bins must be > 0, but got 1 edges, which bound none"),
    (lambda: torch.histogramdd(ROW, 4), RuntimeError, "should have at least 2 dimensions, but got 1"),
    (lambda: ROW.histogram(4, range=(2, 1)), RuntimeError, "min should not exceed max, but got min 2 max 1"),
    (lambda: ROW.long().histogram(2), NotImplementedError, '"histogramdd" not implemented for \'Long\''),
    (lambda: ROW.histogram(4, weight=ROW[:3]), RuntimeError, "input with shape [4, 1] and weight with shape [3]"),
    (lambda: ROW.histogram(4, weight=ROW.double()), RuntimeError, "input tensor and weight tensor should"),
    (lambda: ROW.histogram(torch.ones(2, 2)), RuntimeError, "but got 2 dimensions in the bins tensor for dimension 0"),
    (lambda: ROW.histogram(ROW.double()), RuntimeError, "input tensor and bins tensors should have the same dtype"),
    (lambda: torch.histogramdd(torch.ones(2, 3), [1, 2]), RuntimeError, "2 bins, shape [2, 3]"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()
