"""Run operations in the simulator, with two warps of threads in a block, while races are detected.

``python race_cases.py`` runs each kind of kernel that has barriers, or writes where others read, forward and backward,
on sizes for which it takes its different ways.  A race, or a barrier that not all threads come to, is an error.
"""

from __future__ import annotations

import os

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

from numgrad_kernels.cuda import adapter, simulator

adapter.simulated_threads = 64
simulator.watch_races = True

import numgrad as torch  # noqa: E402
from numgrad.nn import functional  # noqa: E402


def both_ways(function, *shapes, dtype=torch.float32):
    """Forward and backward, on leaves of these shapes."""
    leaves = [torch.rand(*shape, dtype=dtype, device="cuda").requires_grad_() for shape in shapes]
    result = function(*leaves)
    for output in result if isinstance(result, tuple) else (result,):
        if output.requires_grad:
            torch.autograd.grad(output, leaves, torch.ones_like(output), retain_graph=True, allow_unused=True)


def reductions():
    for shape, dim in (((7, 40), 1), ((1, 2500), 1), ((40, 7), 0), ((600, 3), 0)):
        for name in ("sum", "var", "argmin"):
            both_ways(lambda x, name=name, dim=dim: getattr(x, name)(dim), shape)


def scans():
    for shape, dim in (((7, 40), 1), ((1, 2000), 1), ((200, 3), 0)):
        for name in ("cumsum", "logcumsumexp"):
            both_ways(lambda x, name=name, dim=dim: getattr(x, name)(dim), shape)
        both_ways(lambda x, dim=dim: x.cummax(dim)[0], shape)


def rows():
    for shape, dim in (((9, 5), 1), ((2, 700), 1), ((100, 7), 0)):
        both_ways(lambda x, dim=dim: x.softmax(dim), shape)
        both_ways(lambda x, dim=dim: x.log_softmax(dim), shape)
    for lines, length in ((9, 5), (5, 100), (1, 1200)):
        both_ways(
            lambda x, weight, bias: functional.layer_norm(x, bias.shape, weight, bias), (lines, length), (length,),
            (length,),
        )  # fmt: skip
    target = torch.arange(2000, device="cuda") % 3
    both_ways(lambda x: functional.cross_entropy(x, target), (2000, 3))


def attention():
    for dtype, causal in ((torch.float32, True), (torch.float64, False)):
        both_ways(
            lambda q, k, v, causal=causal: functional.scaled_dot_product_attention(q, k, v, is_causal=causal),
            (1, 1, 35, 9), (1, 1, 33, 9), (1, 1, 33, 9), dtype=dtype,
        )  # fmt: skip


def products():
    both_ways(lambda x, y: x @ y, (2, 9, 11), (2, 11, 10))
    both_ways(lambda x, y: x @ y, (3, 700), (700,))
    both_ways(lambda x, y: x @ y, (2000,), (2000,))


def sorting():
    for shape, dim in (((5, 30), 1), ((2, 700), 1), ((60, 3), 0)):
        x = torch.randint(0, 9, shape, device="cuda")
        x.sort(dim)
        x.topk(3, dim)
        x.mode(dim)
        x.unique(return_inverse=True, return_counts=True)
    torch.bincount(torch.randint(0, 9, (700,), device="cuda"), torch.rand(700, device="cuda"))
    (torch.rand(700, device="cuda") > 0.5).nonzero()
    torch.rand(700, device="cuda").histc(7)


def indexing():
    places = torch.tensor([3, 1, 3, 0], device="cuda")
    both_ways(lambda x: x.index_select(0, places), (5, 9))
    both_ways(lambda x: x.gather(0, places.unsqueeze(1)), (5, 1))
    both_ways(lambda x, y: x.index_add(0, places, y), (5, 9), (4, 9))
    both_ways(lambda x, y: torch.cat([x, y, x]).tril().flip(0), (5, 9), (2, 9))
    for deterministic in (True, False):
        torch.use_deterministic_algorithms(deterministic)
        both_ways(lambda x, y: x.index_put((places,), y, accumulate=True), (5, 9), (4, 9))


def sequences():
    targets = torch.arange(80, device="cuda").reshape(2, 40) % 3 + 1
    both_ways(lambda x: functional.ctc_loss(x.log_softmax(2), targets, (45, 44), (40, 31)), (45, 2, 4))


if __name__ == "__main__":
    for part in (reductions, scans, rows, attention, products, sorting, indexing, sequences):
        part()
