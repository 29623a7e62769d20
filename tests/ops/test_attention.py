"""Attention in one kernel, against a composition of operations and against PyTorch's."""

import math

import numba
import numpy as np
import pytest
from ops.gradients import check_gradients

import numgrad
from numgrad.devices import cpu
from numgrad.nn.functional import scaled_dot_product_attention as attend
from numgrad.ops.table.entries import forget_calls


def heads(*shape, kind=np.float64, seed=0):
    """Heads that require gradients."""
    return numgrad.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(kind)).requires_grad_()


def results(function, *tensors, seed=9):
    """Return the function's results and the gradients of the tensors, as arrays."""
    for tensor in tensors:
        tensor.grad = None
    out = function(*tensors)
    weights = np.random.default_rng(seed).normal(size=out.shape)
    out.backward(numgrad.from_numpy(weights.astype(out.detach().numpy().dtype)))
    return [out.detach().numpy(), *[tensor.grad.numpy() for tensor in tensors]]


# Fewer or more queries than keys, a single one, and more than a block of each; all too small for several threads.
SIZES = [((2, 3, 5, 4), 5), ((1, 1, 64, 8), 130), ((1, 1, 150, 33), 70), ((1, 1, 1, 1), 1), ((2, 1, 3, 2), 65)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("shape", "keys"), SIZES)
def test_the_kernel_computes_what_the_operations_do(shape, keys, causal):
    others = (*shape[:2], keys, shape[3])
    tensors = heads(*shape), heads(*others, seed=1), heads(*others, seed=2)
    mask = numgrad.ones(shape[2], keys, dtype=numgrad.bool)
    fused = results(lambda q, k, v: attend(q, k, v, is_causal=causal), *tensors)
    composed = results(lambda q, k, v: attend(q, k, v, attn_mask=mask.tril() if causal else mask), *tensors)
    for found, expected in zip(fused, composed, strict=True):
        np.testing.assert_allclose(found, expected, 1e-11, 1e-13)


def test_heads_side_by_side_and_other_layouts():
    plain = [heads(2, 7, 3, 4, seed=seed) for seed in range(3)]
    expected = results(lambda *x: attend(*[t.transpose(1, 2).contiguous() for t in x], is_causal=True), *plain)
    found = results(lambda *x: attend(*[t.transpose(1, 2) for t in x], is_causal=True), *plain)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-12)
    assert attend(*[t.transpose(1, 2) for t in plain]).stride() == (84, 4, 12, 1)
    together = heads(2, 7, 3, 3, 4)
    parts = together.permute(2, 0, 3, 1, 4).unbind(0)
    assert attend(*parts).stride() == (84, 4, 12, 1)
    attend(*parts).sum().backward()  # whose gradient repeats one number
    assert np.isfinite(together.grad.numpy()).all()


@pytest.mark.parametrize("parallel", [False, True])
def test_float32_without_other_bits_for_other_threads(parallel):
    count = 8 if parallel else 1
    tensors = [heads(count, 2, 90, 24, kind=np.float32, seed=seed) for seed in range(3)]
    before, found = numba.get_num_threads(), []
    try:
        for threads in (before, 1):
            numba.set_num_threads(threads)
            found.append(results(lambda q, k, v: attend(q, k, v, is_causal=True), *tensors))
    finally:
        numba.set_num_threads(before)
    exact = results(  # of the first example, since all are equal
        lambda q, k, v: attend(q, k, v, is_causal=True),
        *[numgrad.from_numpy(t.detach().numpy()[:1].astype(np.float64)).requires_grad_() for t in tensors],
    )
    for one, other, right in zip(*found, exact, strict=True):
        assert one.dtype == np.float32
        assert one.tobytes() == other.tobytes()
        np.testing.assert_allclose(one[:1], right, 2e-4, 2e-5)


def test_large_scores_and_nan():
    query, key = numgrad.full((1, 1, 2, 4), 1e3), numgrad.ones(1, 1, 100, 4)
    value = numgrad.arange(400.0).view(1, 1, 100, 4)
    key[0, 0, 99] = 1e3  # far above all others, in the second block
    assert attend(query, key, value)[0, 0, 0].tolist() == [396.0, 397.0, 398.0, 399.0]
    query[0, 0, 0, 0] = math.nan
    found = attend(query, key, value)[0, 0]
    assert found[0].isnan().all()
    assert found[1].tolist() == [396.0, 397.0, 398.0, 399.0]


def test_a_query_whose_scores_are_all_minus_infinity_gets_nothing():
    query, key, value = (heads(1, 1, 3, 2, seed=seed) for seed in range(3))
    with numgrad.no_grad():
        query[0, 0, 1, 0], key[0, 0, :, 0] = -math.inf, 1.0
    out = attend(query, key, value)
    assert out[0, 0, 1].tolist() == [0.0, 0.0]
    assert np.isfinite(out[0, 0, ::2].detach().numpy()).all()


@pytest.mark.parametrize("causal", [False, True])
def test_first_and_second_derivatives(causal):
    tensors = heads(1, 2, 3, 2), heads(1, 2, 4, 2, seed=1), heads(1, 2, 4, 2, seed=2)
    check_gradients(lambda q, k, v: attend(q, k, v, is_causal=causal, scale=-0.7), *tensors)


def test_without_blas_the_operations_stand_in(monkeypatch):
    tensors = [heads(1, 2, 5, 3, seed=seed) for seed in range(3)]
    expected = results(lambda q, k, v: attend(q, k, v, is_causal=True), *tensors)
    forget_calls()
    monkeypatch.setattr(cpu, "attention_is_fused", lambda kind: False)
    found = results(lambda q, k, v: attend(q, k, v, is_causal=True), *tensors)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-12)
    assert attend(*tensors).grad_fn.name() == "ScaledDotProductFlashAttentionForCpuBackward0"
    forget_calls()


def test_the_node_and_what_it_saves():
    query, key, value = (heads(1, 2, 3, 4, seed=seed) for seed in range(3))
    out = attend(query, key, value, is_causal=True)
    node = out.grad_fn
    assert node.name() == "ScaledDotProductFlashAttentionForCpuBackward0"
    assert [edge[0].variable for edge in node.next_functions] == [query, key, value]
    assert node._saved_query is query
    assert node._saved_statistics.shape == (1, 2, 3, 2)
    assert (node._saved_is_causal, node._saved_scale) == (True, 0.5)
    first = (query[..., :1, :] @ key[..., :1, :].transpose(2, 3))[..., 0, 0]
    np.testing.assert_allclose(node._saved_statistics[..., 0, 0].numpy(), first.detach().numpy(), 1e-14)
    np.testing.assert_array_equal(node._saved_statistics[..., 0, 1].numpy(), 1.0)
    with numgrad.no_grad():
        key.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("factor", [30, 100, 1e4, 1e5])
@pytest.mark.parametrize("scale", [None, -0.25, 0.0])
def test_weights_of_large_scores_sum_to_one_in_backward(scale, factor, causal):
    query, key = (heads(1, 2, 3, 16, kind=np.float32, seed=seed).detach() * factor for seed in range(2))
    value = heads(1, 2, 3, 16, kind=np.float32, seed=2)
    attend(query, key, value, is_causal=causal, scale=scale).sum().backward()
    np.testing.assert_allclose(value.grad.sum(-2).numpy(), 3.0, 1e-6)


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_a_mask_and_is_causal_hide_what_either_hides(kind):
    tensors = [heads(1, 2, 4, 3, seed=seed) for seed in range(3)]
    seen = numgrad.tensor([[1, 0, 1, 1], [0, 1, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1]]).bool()
    mask = seen if kind == "bool" else numgrad.where(seen, 0.5, -math.inf).double()
    both = numgrad.where(seen.tril(), 0.0, -math.inf).double()
    found = results(lambda *x: attend(*x, attn_mask=mask, is_causal=True), *tensors)
    for one, other in zip(found, results(lambda *x: attend(*x, attn_mask=both), *tensors), strict=True):
        np.testing.assert_allclose(one, other, 1e-12, 1e-14)


def test_gradients_that_nobody_needs():
    query, key, value = (heads(1, 1, 3, 2, seed=seed) for seed in range(3))
    everything = results(attend, query, key, value)
    found = results(lambda q: attend(q, key.detach(), value.detach()), query)
    assert np.array_equal(found[1], everything[1])


@pytest.mark.torch
def test_nodes_and_strides_are_pytorchs():
    import torch

    plain = [np.random.default_rng(seed).normal(size=(2, 5, 3, 4)) for seed in range(3)]
    programs = [
        lambda f, q, k, v: f(q, k, v),
        lambda f, q, k, v: f(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True),
        lambda f, q, k, v: f(q, k[:, :, :2], v[:, :, :2], scale=2.0),
        lambda f, q, k, v: f(q.transpose(2, 3), k.transpose(2, 3), v.transpose(2, 3)),
        lambda f, q, k, v: f(q[0], k[0], v[0], is_causal=True),
        lambda f, q, k, v: f(q, k, v[..., :2]),
        lambda f, q, k, v: f(q, k[:1], v),
        lambda f, q, k, v: f(q, k[:, :1], v[:, :1], enable_gqa=True),
    ]
    for program in programs:
        seen = []
        for module in (torch, numgrad):
            leaves = [module.from_numpy(array.copy()).requires_grad_() for array in plain]
            out = program(module.nn.functional.scaled_dot_product_attention, *leaves)
            out.backward(module.ones(*out.shape, dtype=module.float64))
            seen.append((type(out.grad_fn).__name__, out.stride(), [leaf.grad.numpy() for leaf in leaves]))
        assert seen[0][:2] == seen[1][:2]
        for one, other in zip(seen[0][2], seen[1][2], strict=True):
            np.testing.assert_allclose(one, other, 1e-11, 1e-12)


def test_gradients_for_many_cotangents_of_one_call():
    query, key = heads(1, 2, 3, 2).detach(), heads(1, 2, 4, 2, seed=1).detach()

    def attended(query):
        return attend(query, key, key)

    found = numgrad.func.jacrev(attended)(query)
    np.testing.assert_allclose(found, numgrad.func.jacfwd(attended)(query), 1e-12, 1e-14)
