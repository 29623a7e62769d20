"""Benchmarks on a GPU, their comparisons, and their requirements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from parts import PARTS, matrices
from parts.pointwise import BINARY, UNARY
from timing import Input, Part, Stopwatch, by_events, tensor_of

__all__ = [
    "BANDWIDTH_BOUND", "MOVED", "PARTS_ON_GPU", "SHARE", "SIZED", "TARGETS", "copy_bandwidth", "missing",
    "shape_of", "tables",
]

#: What the geometric mean of the ratios may be at most, by part; for bandwidth-bound ones, of tensors as large as FULL.
TARGETS = {"pointwise": 0.9, "network": 0.9, "reductions": 1.0, "matrices": 1.05, "small": 1.5, "steps": 1.2}

#: The parts whose size is given, and the others.
SIZED = ("pointwise", "layouts", "double", "reductions", "network", "indexing")
PARTS_ON_GPU = (*TARGETS, *[name for name in (*SIZED, "scalar", "attention", "optimizers") if name not in TARGETS])

BANDWIDTH_BOUND = ("pointwise", "network")
FULL = 60_000_000

#: The share of the bandwidth of a copy that pointwise operations and normalizations should reach at least.
SHARE = 0.8

#: Number of accesses to each element of the large tensors, forward and backward together, by case: operands
#: and result forward; the gradients of the result and of the operands, and the saved values, backward.
MOVED = {
    **dict.fromkeys(UNARY, 5),
    **dict.fromkeys(("neg", "x * 0.5"), 4),
    **{name: 8 for name in BINARY if name not in ("add", "sub", "where", "lerp", "addcmul")},
    "add": 6, "sub": 6, "lerp": 6, "where": 8,
    **dict.fromkeys(("softmax over rows", "softmax over short rows", "softmax over columns"), 5),
    **dict.fromkeys(("log_softmax over rows", "log_softmax over short rows"), 5),
    **dict.fromkeys(("layer_norm", "layer_norm of short rows"), 5),
    **dict.fromkeys(("cross_entropy", "cross_entropy of short rows"), 3),
}  # fmt: skip

#: Cases too small to keep a GPU busy, in tables that are to do so.
_SMALL = ("layer_norm of few rows",)


def missing(with_torch: bool) -> str | None:
    """Return the reason why the benchmark cannot run on a GPU, as a sentence; None if it can."""
    import numgrad

    try:
        numgrad.zeros(1, device="cuda")
    except (ImportError, RuntimeError, AssertionError) as error:
        return f"numgrad cannot use a GPU: {error}"
    if not with_torch:
        return None
    try:
        import torch
    except ImportError:
        return 'PyTorch is not installed: pip install -e ".[benchmarks]", or --no-torch for the times of numgrad alone'
    if not torch.cuda.is_available():
        built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built without CUDA"
        return f"PyTorch {torch.__version__}, {built}, cannot use a GPU: --no-torch gives the times of numgrad alone"
    return None


def shape_of(elements: int) -> tuple[int, int]:
    """Rows and columns of about so many elements: rows of at most 2,000, and of a multiple of 20."""
    columns = min(2000, max(20, math.isqrt(elements) // 20 * 20))
    return max(1, elements // columns), columns


def tables(name: str, sizes: list[int]) -> Iterator[tuple[Part, int]]:
    """The tables of a part with their targets, and the elements of their large tensors (0 where there are none)."""
    if name == "matrices":
        made = [(part, 0) for part in matrices.large()]
    elif name in SIZED:
        shapes = [shape_of(size) for size in sizes]
        made = [(part, rows * columns) for rows, columns in shapes for part in PARTS[name](rows, columns)]
    else:
        made = [(part, 0) for part in PARTS[name](1000, 2000)]
    for part, elements in made:
        cases = [case for case in part.cases if case.name not in _SMALL and "PINN" not in case.name]
        named = not elements or f"{elements:,}" in part.title
        title = part.title if named else f"{part.title}, {elements:,} elements"
        aimed = name not in BANDWIDTH_BOUND or elements >= FULL
        yield replace(part, title=title, cases=cases, limit=TARGETS.get(name) if aimed else None, each=None), elements


def copy_bandwidth(modules: list[Any], elements: int, rounds: int) -> float:
    """Bytes per second that the faster library reads and writes when it copies a tensor of this number of float32."""
    best = 0.0
    for module in modules:
        source, target = (tensor_of(module, Input((elements,), grad=False), seed) for seed in (0, 1))
        best = max(best, 8 * elements / _fastest(by_events(module), lambda t=target, s=source: t.copy_(s), rounds))
    return best


def _fastest(watch: Stopwatch, program: Callable[[], Any], rounds: int) -> float:
    program()
    return min(watch(program, 5) for _ in range(rounds))
