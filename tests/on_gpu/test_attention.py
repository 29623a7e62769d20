"""Attention on a GPU, compared with the CPU's."""

import numpy as np
import pytest

import numgrad as torch
from numgrad.devices import launches
from numgrad.nn.functional import scaled_dot_product_attention

#: Stacks, heads, queries, keys and width, small and real: less than a tile, several, parts of one.
SHAPES = [
    ((1, 2, 5, 9, 3), (2, 3, 50, 90, 32)), ((2, 1, 10, 10, 9), (2, 2, 300, 300, 64)),
    ((1, 1, 18, 7, 20), (1, 2, 129, 63, 100)), ((1, 1, 1, 17, 1), (1, 1, 1, 1000, 1)),
]  # fmt: skip


def heads(shape, dtype, seed=0):
    """Queries, keys, values and a gradient."""
    stacks, heads, queries, keys, width = shape
    random = np.random.default_rng(seed)
    return [random.normal(size=(stacks, heads, n, width)).astype(dtype) for n in (queries, keys, keys, queries)]


def attended(arrays, device, **options):
    """Attention's result and gradients, as arrays."""
    *operands, grad = [torch.tensor(array, device=device) for array in arrays]
    for operand in operands:
        operand.requires_grad_()
    out = scaled_dot_product_attention(*operands, **options)
    out.backward(grad)
    return [x.detach().cpu().numpy() for x in (out, *[operand.grad for operand in operands])]


def check(results, expected):
    for result, each in zip(results, expected, strict=True):
        tolerance = 2e-5 if result.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(result, each, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("small", "real"), SHAPES)
@pytest.mark.parametrize(("dtype", "causal"), [(np.float32, True), (np.float64, False)])
def test_attention_is_that_of_the_cpu(cuda, size, small, real, dtype, causal):
    arrays = heads(size(small, real), dtype)
    expected = attended(arrays, "cpu", is_causal=causal, scale=0.7)
    check(attended(arrays, "cuda", is_causal=causal, scale=0.7), expected)


def test_one_kernel_is_launched_forward_and_two_backward(cuda):
    launched = []
    with launches.listening(lambda launch: launched.append(launch.name)):
        attended(heads((1, 1, 3, 3, 2), np.float32), "cuda")
    assert [name for name in launched if "attention" in name] == ["attention", "attention_queries", "attention_keys"]


def test_adjacent_heads(cuda):
    """In one tensor for queries, keys and values of all heads, as in a transformer."""
    random = np.random.default_rng(0)
    together, grad = random.normal(size=(2, 6, 3, 2, 4)), random.normal(size=(2, 6, 2, 4))
    results = []
    for device in ("cpu", "cuda"):
        x = torch.tensor(together, device=device, requires_grad=True)
        q, k, v = [x[:, :, i].transpose(1, 2) for i in range(3)]
        out = scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        out.backward(torch.tensor(grad, device=device))
        results.append([out.detach().cpu().numpy(), x.grad.cpu().numpy()])
    check(results[1], results[0])


def test_a_gradient_that_is_the_same_everywhere(cuda):
    arrays = heads((1, 2, 3, 5, 2), np.float64)
    q, k, v, grad = (torch.tensor(x, device="cuda", requires_grad=True) for x in arrays)
    scaled_dot_product_attention(q, k, v).sum().backward()
    arrays[3] = np.ones(grad.shape)
    check([x.grad.cpu().numpy() for x in (q, k, v)], attended(arrays, "cpu")[1:])


def test_infinite_scores_and_nan(cuda):
    q, k, v, grad = heads((1, 3, 2, 9, 2), np.float64)
    q[0, 0, 0] = np.inf
    k[0, 1, 4] = np.nan
    k[0, 2] = [-1e308, -1e308]
    q[0, 2] = [1e10, 1e10]
    expected = attended((q, k, v, grad), "cpu")
    check(attended((q, k, v, grad), "cuda"), expected)


def test_scores_that_grow_from_tile_to_tile_and_shrink_again(cuda):
    q, k, v, grad = heads((1, 1, 3, 30, 2), np.float64)
    k[0, 0, :15] *= np.linspace(1, 200, 15)[:, None]
    expected = attended((q, k, v, grad), "cpu")
    check(attended((q, k, v, grad), "cuda"), expected)


@pytest.mark.parametrize("causal", [False, True])
def test_backward_has_the_weights_of_forward_however_large_the_scores(cuda, causal):
    q, k, v, grad = heads((1, 1, 9, 9, 2), np.float32)
    q, k = 1e3 + q, 1e3 + k / 1e3
    *_, of_values = attended((q, k, v, np.ones_like(grad)), "cuda", is_causal=causal, scale=0.45)
    np.testing.assert_allclose(of_values.sum(), grad.size, 1e-6)


def test_masks_are_composed(cuda):
    arrays = [x[0] for x in heads((1, 2, 3, 3, 4), np.float64)]
    mask = np.array([[True, False, True], [False, False, False], [True, True, True]])
    expected = attended(arrays, "cpu", attn_mask=torch.tensor(mask))
    check(attended(arrays, "cuda", attn_mask=torch.tensor(mask, device="cuda")), expected)
    check(attended(arrays, "cuda", is_causal=True), attended(arrays, "cpu", is_causal=True))


def test_second_derivatives(cuda):
    def loss(*operands):
        return scaled_dot_product_attention(*operands, is_causal=True)

    q, k, v, _ = (torch.tensor(x, device="cuda", requires_grad=True) for x in heads((1, 1, 3, 3, 2), np.float64))
    assert torch.autograd.gradgradcheck(loss, (q, k, v))
