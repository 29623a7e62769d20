"""Dual tensors inside of ``vmap``: batches of tangents, their layout, and those of views."""

import pytest

import numgrad
from numgrad import _vmap_internals, ones, zeros
from numgrad.autograd import forward_ad
from numgrad.autograd.forward_ad import make_dual, unpack_dual
from numgrad.func import vmap


def tangent(tensor):
    return unpack_dual(tensor).tangent


def test_a_batch_of_tangents_laid_out_as_the_tensor_is_taken_itself():
    def given_back(direction, primal):
        with forward_ad.dual_level():
            return tangent(make_dual(primal, direction))

    batch = numgrad.arange(12.0).view(3, 2, 2)
    assert vmap(given_back, (0, None))(batch, zeros(2, 2)) is batch
    copied = vmap(given_back, (0, None))(batch, zeros(2, 2).t())
    assert copied is not batch
    assert copied.tolist() == batch.tolist()
    assert copied[0].stride() == (1, 2)


def test_of_no_examples():
    batch = ones(0, 2)
    value, slope = vmap(lambda x, t: numgrad.func.jvp(lambda x: x * x, (x,), (t,)))(batch, batch)
    assert (value.shape, slope.shape) == ((0, 2), (0, 2))


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize(("view", "whole"), [
    (lambda base: base.view_as(base), True), (lambda base: base.t().t(), True), (lambda base: base.t(), False),
    (lambda base: base[:1], False),
], ids=["whole", "twice transposed", "transposed", "row"])
def test_a_view_that_shows_all_of_its_base_shares_its_tangent(view, whole, batched):
    base = zeros(2, 2)
    shown = view(base)
    directions = numgrad.arange(1.0, 3 * shown.numel() + 1).view(3, *shown.shape)

    def written(direction):
        with forward_ad.dual_level():
            shown.copy_(make_dual(ones(shown.shape), direction))
            of_view, of_base = tangent(shown), tangent(base)
            assert (of_view is of_base) is whole
            assert of_view is not direction
            return of_view.clone(), of_base.clone()

    for of_view, of_base, direction in zip(
        *(vmap(written)(directions) if batched else zip(*map(written, directions), strict=True)), directions,
        strict=True,
    ):
        assert of_view.tolist() == direction.tolist()
        assert view(of_base).tolist() == direction.tolist()
        assert of_base.sum() == direction.sum()


def test_the_older_names_of_vmap():
    batch = ones(3, 2)
    assert _vmap_internals._vmap(numgrad.sum)(batch).tolist() == [2.0, 2.0, 2.0]
    with pytest.warns(FutureWarning, match="Please use `torch.vmap` instead of `torch._vmap_internals.vmap`"):
        assert numgrad._vmap_internals.vmap(numgrad.sum, 1)(batch).tolist() == [3.0, 3.0]
