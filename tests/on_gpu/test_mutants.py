"""Tests of the tests: kernels with a planted fault are caught, by an error or by a wrong result.

Numba's simulator, where a block has 4 threads and not 256, lets some of them pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import numgrad as torch
from numgrad.nn import functional as F  # noqa: N812


@dataclass(frozen=True)
class Mutant:
    """A change of a kernel's text, by a regular expression; ``passes`` is "simulator" if that does not catch it."""

    name: str
    before: str
    after: str
    run: Callable
    shape: tuple[int, ...] = (3, 1200)
    small: tuple[int, ...] = (3, 13)
    passes: str = ""


def added(x):
    """Add all elements to 5 others, at indices that repeat."""
    indices = torch.arange(x.numel(), device=x.device) % 5
    return torch.zeros(5, device=x.device).index_add(0, indices, x.reshape(-1))


def sum_of_rows(x):
    return x.sum(1)


def softmax(x):
    return F.softmax(x, 1)


def layer_norm(x):
    return F.layer_norm(x, x.shape[1:])


def product(x):
    return x @ x.t()


def cumsum(x):
    return x.cumsum(1)


def order(x):
    return (x * 4).round().argsort(1, stable=True)


def softmax_of_columns(x):
    return F.softmax(x, 0)


def gradient_of_channels(x):
    """The gradient of the weight in evaluation, which sums over each channel."""
    weight = torch.ones(x.shape[1], device=x.device, requires_grad=True)
    mean = torch.full_like(weight.detach(), 2.0)
    return torch.autograd.grad((F.batch_norm(x, mean, mean, weight) ** 2).sum(), weight)[0]


BARRIER = r" *if reach\d* > WARP:\n +cuda\.syncthreads\(\)\n +else:\n +cuda\.syncwarp\(\)\n"
WEAK = r"if (reach\d*|lanes) > WARP:", r"if \1 > 1024:"
ALWAYS_WEAK = r"cuda\.syncthreads\(\)", "cuda.syncwarp()"
MUTANTS = [
    Mutant("weak barrier: sum", *WEAK, sum_of_rows, passes="simulator"),
    Mutant("weak barrier: softmax", *ALWAYS_WEAK, softmax, passes="simulator"),
    Mutant("weak barrier: layer_norm", *ALWAYS_WEAK, layer_norm, passes="simulator"),
    Mutant("weak barrier: cumsum", *WEAK, cumsum, passes="simulator"),
    Mutant("weak barrier: product", *ALWAYS_WEAK, product, (70, 90), (9, 13), passes="simulator"),
    Mutant("weak barrier: sort", *ALWAYS_WEAK, order, passes="simulator"),
    Mutant("a barrier one step too weak", WEAK[0], r"if \1 > 64:", sum_of_rows, (3, 1000), passes="simulator"),
    Mutant("no barrier in a tree", BARRIER + r"(?= +if level)", "", sum_of_rows),
    Mutant("no barrier between warps: softmax", r"cuda\.syncthreads\(\)\n(?= +begin)", "pass\n", softmax,
           passes="simulator"),
    Mutant("a wrong lane: softmax", r"xor_sync\((\w+), (\w+), half\)", r"xor_sync(\1, \2, half ^ 1)", softmax),
    Mutant("no barrier after tiles", r"cuda\.syncthreads\(\)\n(?=    \w+ = top)", "pass\n", product, (70, 90), (9, 13)),
    Mutant("a bound too large", "while offset <= last:", "while offset <= last + 1:", softmax, (3, 1201), (3, 9)),
    Mutant("a bound of four too large", r"\+ 3 \* step <= last:", "+ 3 * step <= last + step:", softmax, (3, 1001)),
    Mutant("no clamp to the last line", r"min\((\w+), lines - 1\)", r"\1", softmax, (70, 5), (2, 2)),
    Mutant("a wrong partner", r"thread \+ half \* apart\)", "thread + (half - 1) * apart)", sum_of_rows),
    Mutant("no tail", r"if at \+ 2 \* gap < end:", "if at + 3 * gap < end:", sum_of_rows, (3, 1803), (3, 27)),
    Mutant("a plain addition for an atomic one", r"atomic_add\((\w+), (\w+), (.*)\)", r"\1[\2] += \3", added,
           passes="simulator"),
    Mutant("too little shared memory", r"cuda\.shared\.array\(THREADS, T\)", "cuda.shared.array(128, T)", sum_of_rows,
           passes="simulator"),
    Mutant("a wrong pitch", r"j \+= np\.uint64\(TILE \+ 1\)", "j += np.uint64(TILE)", product, (70, 90), (9, 13)),
    Mutant("no bound of a tile", r"if line < width and inner < depth:", "if line < width:", product, (70, 90), (9, 13)),
    Mutant("a scan that omits a lane", "if lane >= apart:", "if lane > apart:", cumsum, small=(3, 27)),
    Mutant("a wrong rank", r"rank - \(0 if left else width\)", "rank - (0 if left else width - 1)", order),
    Mutant("ties on both sides", "ties = not left", "ties = False", order),
    Mutant("no barrier of a warp: digits", r"cuda\.syncwarp\(\)\n(?= +if i < end)", "pass\n", order, (1, 20_000),
           (1, 270)),
    Mutant("digits without a sign", r"(\w+) \| sign\d*", r"\1", order, (1, 20_000), (1, 270)),
    Mutant("elements of a channel that are not added", r"for turn in range\(3\)", "for turn in range(1)",
           gradient_of_channels, (3, 4, 1203), (3, 4, 11)),
    Mutant("a wrong step of columns", "else 1 << shift", "else 2 << shift", softmax_of_columns, (300, 20), (9, 4)),
]  # fmt: skip


@pytest.fixture
def plant(cuda, monkeypatch):
    """``plant(before, after)``: change the texts of kernels from now on; returns the names of those that change."""
    if cuda.runtime.driver.__name__.endswith(".driver"):
        pytest.skip("a card may not survive such kernels")

    def plant(before, after):
        changed = []
        compile_kernel = cuda.launching.compile_kernel

        def compile_changed(name, text, *arguments):
            text, count = re.subn(before, after, text)
            changed.extend([name] * count)
            return compile_kernel(name, text, *arguments)

        monkeypatch.setattr(cuda.launching, "compile_kernel", compile_changed)
        monkeypatch.setattr(cuda.launching, "_hand_written", {})
        return changed

    return plant


def is_caught(run, x):
    expected = run(x)
    try:
        found = run(x.to("cuda")).cpu()
    except (RuntimeError, IndexError, ValueError):
        return True
    return not torch.allclose(found, expected, 1e-4, 1e-4)


@pytest.mark.parametrize("number", range(len(MUTANTS)), ids=[mutant.name for mutant in MUTANTS])
def test_a_mutant_is_caught(cuda, plant, number):
    mutant, emulated = MUTANTS[number], cuda.runtime.is_emulated()
    rows, *rest = mutant.shape if emulated else mutant.small
    x = np.random.default_rng(0).normal(size=(rows + number, *rest))  # a shape that no earlier test has planned
    changed = plant(mutant.before, mutant.after)
    caught = is_caught(mutant.run, torch.from_numpy(x).float())
    assert changed
    assert caught != (mutant.passes == "simulator" and not emulated)


def test_a_dropped_check_of_alignment_is_caught(cuda, plant, monkeypatch):
    x = torch.randn(cuda.pointwise.QUADS_FROM + 5)
    for module in (cuda.executing, cuda.pointwise):
        monkeypatch.setattr(module, "is_aligned", lambda value: True)
    assert is_caught(lambda x: torch.sinh(x[1:]), x) == cuda.runtime.is_emulated()
