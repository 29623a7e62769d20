"""Attention, alone and by several heads: values by hand, masks, derivatives, errors."""

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


def leaves(*shapes):
    return [randoms(*shape, seed=seed).requires_grad_() for seed, shape in enumerate(shapes)]


def close(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), np.asarray(expected), 1e-12, 1e-14)


# -- alone --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leading", [(), (2,), (1, 2), (1, 2, 1)])
def test_values(leading):
    query, key, value = leaves((*leading, 3, 4), (*leading, 5, 4), (*leading, 5, 2))
    scores = query.detach().numpy() @ np.swapaxes(key.detach().numpy(), -1, -2) / 2
    mask = np.random.default_rng(3).normal(size=(3, 5))
    for given, added in (
        ({}, np.zeros((3, 5))),
        ({"is_causal": True}, np.where(np.tri(3, 5, dtype=bool), 0, -np.inf)),
        ({"attn_mask": torch.tensor(mask > 0)}, np.where(mask > 0, 0, -np.inf)),
        ({"attn_mask": torch.tensor(mask)}, mask),
        ({"attn_mask": torch.tensor(mask[0])}, mask[0]),
    ):
        powers = np.exp(scores + added)
        expected = powers / powers.sum(-1, keepdims=True) @ value.detach().numpy()
        close(scaled_dot_product_attention(query, key, value, **given), expected)


def test_a_query_that_may_see_nothing_gets_nothing():
    query, key, value = leaves((2, 4), (3, 4), (3, 4))
    mask = torch.tensor([[True, False, True], [False, False, False]])
    out = scaled_dot_product_attention(query, key, value, attn_mask=mask)
    assert out[1].tolist() == [0.0] * 4
    out.sum().backward()
    assert all(np.isfinite(x.grad.numpy()).all() for x in (query, key, value))
    assert query.grad[1].tolist() == [0.0] * 4


def test_heads_of_keys_may_serve_several_queries():
    query, key, value = leaves((1, 4, 3, 2), (1, 2, 3, 2), (1, 2, 3, 2))
    found = scaled_dot_product_attention(query, key, value, enable_gqa=True)
    each = [scaled_dot_product_attention(query[:, head], key[:, head // 2], value[:, head // 2]) for head in range(4)]
    close(found, torch.stack(each, 1).detach())
    with pytest.raises(RuntimeError, match="must divide the number of heads in query"):
        scaled_dot_product_attention(randoms(1, 3, 3, 2), key, value, enable_gqa=True)


MASKED = torch.tensor([[True, False, True], [False, False, False]])


@pytest.mark.parametrize(("options", "mask"), [
    ({"is_causal": True}, ()), ({"attn_mask": MASKED}, ()), ({}, (2, 3)), ({}, (1, 3)), ({"scale": -0.7}, (1, 2, 1, 1)),
    ({"enable_gqa": True}, (2, 3)),
], ids=str)  # fmt: skip
def test_derivatives_with_masks(options, mask):
    heads = 1 if "enable_gqa" in options else 2
    inputs = leaves((1, 2, 2, 2), (1, heads, 3, 2), (1, heads, 3, 2), *[mask] if mask else [])
    check_gradients(lambda *tensors: scaled_dot_product_attention(*tensors, **options), *inputs)


@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 3), (1, 2, 2, 3)])
def test_vmap_over_masks(shape):
    query, key, masks = randoms(1, 2, 2, 4), randoms(1, 2, 3, 4, seed=1), randoms(5, *shape, seed=2)
    for mask in (masks, masks > 0):
        found = torch.vmap(lambda m: scaled_dot_product_attention(query, key, key, m))(mask)
        close(found, torch.stack([scaled_dot_product_attention(query, key, key, m) for m in mask]))


@pytest.mark.parametrize(
    ("shapes", "options", "error", "message"),
    [
        (((4,), (4,), (4,)), {}, RuntimeError, "at least 2 dimensional"),
        (((2, 4),) * 3, {"attn_mask": torch.tensor([[0]])}, RuntimeError, "Expected attn_mask dtype"),
        (((2, 4),) * 3, {"attn_mask": torch.ones(3, 2, 2)}, RuntimeError, "doesn't match the broadcast shape.*mask"),
        (((2, 4),) * 3, {"enable_gqa": True}, IndexError, "Dimension out of range"),
    ],
)
def test_refusals(shapes, options, error, message):
    with pytest.raises(error, match=message):
        scaled_dot_product_attention(*[randoms(*shape) for shape in shapes], **options)


def test_there_must_be_one_dtype():
    x = randoms(2, 4)
    with pytest.raises(RuntimeError, match="to have the same dtype"):
        scaled_dot_product_attention(x, x.float(), x)


# -- by several heads ---------------------------------------------------------------------------------------------


def plain(heads=1, width=2, **options):
    """Attention whose projections change nothing."""
    module = MultiheadAttention(width, heads, bias=False, dtype=torch.float64, **options)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(width).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(width))
    return module


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
        transposed = {id(input): input.transpose(0, 1) for input in inputs}
        found, same = first(*[transposed[id(one)] for one in inputs], need_weights=need_weights)
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
        """Return the number of products, including that of the result."""
        with torch.autograd.profiler.profile() as profile:
            module(*inputs, need_weights=False)
        return sum(event.name == "aten::addmm" for event in profile.function_events)

    assert products(x, x, x) == 2
    assert products(x, x.clone(), x) == 4


def test_derivatives_for_inputs_and_parameters():
    module = MultiheadAttention(4, 2, kdim=3, vdim=2, add_bias_kv=True, dtype=torch.float64)
    parameters = dict(module.named_parameters())
    inputs = leaves((2, 1, 4), (3, 1, 3), (3, 1, 2), (2, 3))

    def program(query, key, value, mask, *given):
        own, how = dict(zip(parameters, given, strict=False)), {"attn_mask": mask, "need_weights": not given}
        return torch.func.functional_call(module, own, (query, key, value), how)[0]

    check_gradients(program, *inputs)
    check_gradients(program, *inputs, *[p.detach().clone().requires_grad_() for p in parameters.values()])


@pytest.mark.parametrize("need_weights", [False, True])
def test_vmap_of_the_module(need_weights):
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


def test_weights_are_dropped_only_in_training():
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
