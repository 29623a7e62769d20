"""Growth of the cost with the size of the tensors and the depth of the graph, as tables and as a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from timing import Input, Program, best_times, tensor_of

__all__ = ["compare_growth", "plot"]

SIZES = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000]
DEPTHS = [10, 100, 1000, 10_000, 100_000]


def _sized(module: Any, size: int) -> Program:
    """Three operations on ``size`` elements, forward and backward."""
    x, y = tensor_of(module, Input((size,), 0.1, 0.9), 0), tensor_of(module, Input((size,), 0.1, 0.9), 1)

    def program() -> None:
        (x * y + y).tanh().sum().backward()
        x.grad = y.grad = None

    return program


def _deep(module: Any, depth: int) -> Program:
    """A chain of ``depth`` nodes on 8 elements, forward and backward."""
    x, y = tensor_of(module, Input((8,), 0.1, 0.9), 0), tensor_of(module, Input((8,), 0.99, 1.0, grad=False), 1)

    def program() -> None:
        z = x
        for _ in range(depth):
            z = z * y
        z.sum().backward()
        x.grad = None

    return program


def compare_growth(rounds: int) -> dict[str, list[tuple[int, float, float]]]:
    """Print both tables; gives for each size and depth the seconds that numgrad and PyTorch take."""
    import torch

    import numgrad

    figures = {}
    for title, program, counts, unit in (
        ("tanh(x * y + y), forward and backward, by the number of elements", _sized, SIZES, "element"),
        ("A chain of products of 8 elements, forward and backward, by its depth", _deep, DEPTHS, "node"),
    ):
        print(f"\n{title}")
        print(f"{'':>12s}{'numgrad':>14s}{'PyTorch':>14s}{'ratio':>8s}   (microseconds; nanoseconds per {unit})")
        rows = []
        for count in counts:
            ours, theirs = best_times([program(numgrad, count), program(torch, count)], rounds, 0.03)
            rows.append((count, ours, theirs))
            each = f"{ours / count * 1e9:12.2f}{theirs / count * 1e9:12.2f}"
            print(f"{count:12,d}{ours * 1e6:14.1f}{theirs * 1e6:14.1f}{ours / theirs:8.2f}{each}", flush=True)
        figures[unit] = rows
    return figures


def plot(figures: dict[str, list[tuple[int, float, float]]], path: Path) -> None:
    """Draw both tables on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    names = {"element": "elements of each tensor", "node": "nodes of the graph"}
    for axis, (unit, rows) in zip(axes, figures.items(), strict=True):
        counts = [row[0] for row in rows]
        axis.loglog(counts, [row[1] * 1e6 for row in rows], "o-", label="numgrad")
        axis.loglog(counts, [row[2] * 1e6 for row in rows], "s--", label="PyTorch")
        axis.set_xlabel(names[unit])
        axis.grid(True, which="major", alpha=0.3)
    axes[0].set_ylabel("forward and backward, microseconds")
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(path)
