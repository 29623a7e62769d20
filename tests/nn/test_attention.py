"""Attention by several heads, computed by hand."""

import math
import warnings

import numpy as np
import pytest
from ops.gradients import check_gradients

import numgrad as torch
from numgrad.nn import MultiheadAttention
from numgrad.nn.functional import multi_head_attention_forward, scaled_dot_product_attention


def randoms(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def plain(heads=1, width=2, **options):
    """Attention whose projections change nothing."""
    module = MultiheadAttention(width, heads, bias=False, dtype=torch.float64, **options)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(width).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(width))
    return module


def close(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), np.asarray(expected), 1e-13, 1e-14)


def test_one_head_without_projections():
    query = torch.tensor([[math.sqrt(2) * math.log(3), 0.0]], dtype=torch.float64)
    key = torch.tensor([[1.0, 5.0], [0.0, -5.0]], dtype=torch.float64)
    value = torch.tensor([[8.0, 4.0], [0.0, 4.0]], dtype=torch.float64)
    out, weights = plain()(query, key, value)
    close(weights, [[0.75, 0.25]])
    close(out, [[6.0, 4.0]])


def test_each_head_sees_a_part():
    query, key, value = randoms(3, 2, 4), randoms(5, 2, 4, seed=1), randoms(5, 2, 4, seed=2)
    module = plain(2, 4)
    out, weights = module(query, key, value, average_attn_weights=False)
    for example in range(2):
        for head, part in enumerate((slice(0, 2), slice(2, 4))):
            q, k, v = [x[:, example, part] for x in (query, key, value)]
            close(out[:, example, part], scaled_dot_product_attention(q, k, v))
            close(weights[example, head], (q @ k.T / math.sqrt(2)).softmax(1))
    close(module(query, key, value)[1], weights.mean(1).detach())
    without = module(query, key, value, need_weights=False)
    close(without[0], out.detach())
    assert without[1] is None
    alone = module(query[:, 1], key[:, 1], value[:, 1], average_attn_weights=False)
    close(alone[0], out[:, 1].detach())
    close(alone[1], weights[1].detach())


@pytest.mark.parametrize("need_weights", [False, True])
def test_the_batch_may_come_first(need_weights):
    module, first = plain(2, 4), plain(2, 4, batch_first=True)
    x, y = randoms(3, 2, 4), randoms(5, 2, 4, seed=1)
    for inputs in ((x, x, x), (x, y, y)):
        out, weights = module(*inputs, need_weights=need_weights)
        turned = {id(one): one.transpose(0, 1) for one in inputs}
        found, same = first(*[turned[id(one)] for one in inputs], need_weights=need_weights)
        close(found.transpose(0, 1), out.detach())
        if need_weights:
            close(same, weights.detach())


@pytest.mark.parametrize("need_weights", [False, True])
def test_masks_of_each_kind_hide_the_same(need_weights):
    module = plain(2, 4)
    x = randoms(3, 2, 4)
    hidden = torch.tensor([[False, True, True], [False, False, True], [False, False, False]])
    added = torch.zeros(3, 3, dtype=torch.float64).masked_fill(hidden, -math.inf)
    padding = torch.tensor([[False, True, False], [False, False, False]])
    expected = module(x, x, x, attn_mask=hidden, need_weights=need_weights)[0].detach()
    for mask, causal in ((added, False), (hidden.expand(4, 3, 3), False), (hidden, True)):
        close(module(x, x, x, None, need_weights, mask, is_causal=causal)[0], expected)
    both = module(x, x, x, padding, need_weights, hidden)[0]
    close(both[:, 1], expected[:, 1])
    close(both[:, 0], module(x[:, 0], x[:, 0], x[:, 0], None, need_weights, hidden | padding[0])[0].detach())


def test_keys_that_are_added():
    query, key, value = randoms(3, 1, 2), randoms(2, 1, 2, seed=1), randoms(2, 1, 2, seed=2)
    module = plain(add_bias_kv=True, add_zero_attn=True)
    hidden = torch.ones(1, 2, dtype=torch.bool)
    out, weights = module(query, key, value, hidden)
    close(weights[0, :, :2], np.zeros((3, 2)))
    scores = np.exp((query[:, 0] @ module.bias_k[0, 0]).detach().numpy() / math.sqrt(2))
    close(weights[0, :, 2], scores / (scores + 1))
    close(out[:, 0], weights[0, :, 2:3].detach() * module.bias_v[0].detach())


def test_one_product_projects_what_is_one_tensor():
    module = MultiheadAttention(4, 2)
    x = torch.ones(3, 2, 4)

    def products(*inputs):
        """How many there are, that of the result among them."""
        with torch.autograd.profiler.profile() as profile:
            module(*inputs, need_weights=False)
        return sum(event.name == "aten::addmm" for event in profile.function_events)

    assert products(x, x, x) == 2
    assert products(x, x.clone(), x) == 4


def test_derivatives():
    module = MultiheadAttention(4, 2, kdim=3, vdim=2, add_bias_kv=True, dtype=torch.float64)
    parameters = dict(module.named_parameters())
    inputs = [randoms(2, 1, 4), randoms(3, 1, 3, seed=1), randoms(3, 1, 2, seed=2), randoms(2, 3, seed=3)]

    def program(query, key, value, mask, *given):
        own, how = dict(zip(parameters, given, strict=False)), {"attn_mask": mask, "need_weights": not given}
        return torch.func.functional_call(module, own, (query, key, value), how)[0]

    leaves = [x.requires_grad_() for x in inputs]
    check_gradients(program, *leaves)
    check_gradients(program, *leaves, *[p.detach().clone().requires_grad_() for p in parameters.values()])


@pytest.mark.parametrize("need_weights", [False, True])
def test_vmap(need_weights):
    module = MultiheadAttention(4, 2, dtype=torch.float64)
    x, y, masks = randoms(5, 3, 2, 4), randoms(3, 2, 4, seed=1), randoms(5, 3, 3, seed=2)

    def program(x, y, mask):
        return module(x, y, y, attn_mask=mask, need_weights=need_weights)[0] + module(x, x, x)[0]

    for dims in ((0, None, None), (None, None, 0), (0, None, 0)):
        given = [a if dim == 0 else b for a, b, dim in zip((x, y, masks), (x[0], y, masks[0]), dims, strict=True)]
        found = torch.vmap(program, dims)(*given)
        each = [
            program(*[a[i] if dim == 0 else a for a, dim in zip(given, dims, strict=True)]) for i in range(5)
        ]
        close(found, torch.stack(each).detach())


def test_dropout_only_in_training():
    module = plain(dropout=1.0)
    x = randoms(3, 2, 2)
    out, weights = module(x, x, x)
    assert out.abs().max() == weights.abs().max() == 0
    out, weights = module.eval()(x, x, x)
    close(weights.sum(-1), np.ones((2, 3)))


def test_a_program_that_trains():
    torch.manual_seed(0)
    module = MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(4, 6, 8)
    target = x.flip(1)
    optimizer = torch.optim.Adam(module.parameters(), 0.02)
    losses = []
    for _ in range(60):
        loss = ((module(x, x, x, need_weights=False)[0] - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]


def test_masks_of_two_kinds_are_deprecated():
    module = plain()
    x = randoms(3, 1, 2)
    with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask"):
        module(x, x, x, torch.zeros(1, 3, dtype=torch.bool), attn_mask=torch.zeros(3, 3, dtype=torch.float64))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module(x, x, x, torch.zeros(1, 3, dtype=torch.bool), attn_mask=torch.zeros(3, 3, dtype=torch.bool))


def test_heads_that_are_given():
    query, key, value = randoms(3, 2, 4), randoms(4, 5, 2, seed=1), randoms(4, 5, 2, seed=2)
    eye = torch.eye(4, dtype=torch.float64)
    out, _ = multi_head_attention_forward(
        query, query, query, 4, 2, eye.repeat(3, 1), None, None, None, False, 0.0, eye, None, static_k=key,
        static_v=value,
    )
    for example in range(2):
        for head in range(2):
            part, row = slice(2 * head, 2 * head + 2), 2 * example + head
            close(out[:, example, part], scaled_dot_product_attention(query[:, example, part], key[row], value[row]))
