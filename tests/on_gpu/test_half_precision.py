"""float16 and bfloat16 on a GPU: the same bits as on the CPU, and autocast with PyTorch's lists for GPUs."""

import pytest

import numgrad as torch

VALUES = [1.5, 0.1, -3.0, float("inf"), 1e-7, 70000.0]

FUNCTIONS = {
    "add": lambda x: x + x,
    "comparison": lambda x: x > 0,
    "conversion": lambda x: x.float(),
    "strided": lambda x: x.reshape(2, 3).t().contiguous(),
    "sum": lambda x: x[:3].sum(),
    "product": lambda x: x[None, :3].T @ x[None, :3],
    "index": lambda x: x[[2, 0]],
    "written": lambda x: x.clone().index_fill_(0, torch.tensor([1], device=x.device), 3.0),
    "joined": lambda x: torch.cat([x, x]),
    "triangle": lambda x: x.reshape(2, 3).tril(),
    "filled": lambda x: x.masked_fill(x > 0, 2.0),
    "spaced": lambda x: torch.linspace(0, 1, 5, dtype=x.dtype, device=x.device),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_results_are_those_of_the_cpu(dtype):
    x, on_cpu = torch.tensor(VALUES).cuda().to(dtype), torch.tensor(VALUES).to(dtype)
    assert x.tolist() == on_cpu.tolist()
    for name, function in FUNCTIONS.items():
        result, expected = function(x), function(on_cpu)
        assert result.dtype is expected.dtype, name
        assert result.tolist() == expected.tolist(), name
    w = x[:3].clone().requires_grad_()
    (w * w).sum().backward()
    assert w.grad.dtype is dtype
    assert w.grad.tolist() == (2 * on_cpu[:3]).tolist()


def test_autocast():
    x = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda"):
        y = x @ x
        assert y.dtype is torch.float16
        assert y.exp().dtype is y.sum().dtype is y.softmax(-1).dtype is torch.float32
        assert (y.cpu() @ x.cpu().half()).dtype is torch.float16  # autocast is for GPUs alone
