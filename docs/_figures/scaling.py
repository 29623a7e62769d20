"""Predict how training by ``DistributedDataParallel`` scales, and draw the figure of the guide "Data parallelism".

    python docs/_figures/scaling.py [--network ethernet] [--gradients 100e6] [--step 0.25]

A message of m bytes takes alpha + beta m.  An all-reduce of m bytes over p ranks then takes

- by recursive doubling, a tree: log2(p) (alpha + beta m), best for small m;
- by a ring: 2 (p - 1) (alpha + beta m / p), best for large m.

MPI chooses by the size; the model takes the better one.  Each bucket is reduced by itself.  Backward hides all but the
last bucket, as far as it lasts long enough.  The script prints a table and writes ``docs/_static/scaling.svg``; it
needs Matplotlib.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt


class Network(NamedTuple):
    """A network: the latency of a message in seconds, and seconds per byte."""

    name: str
    alpha: float
    beta: float


NETWORKS = {
    "ethernet": Network("10 Gbit/s Ethernet, 30 us", 30e-6, 8 / 10e9),
    "infiniband": Network("200 Gbit/s InfiniBand, 2 us", 2e-6, 8 / 200e9),
}

#: The share of a training step that is backward, in which communication is hidden.
BACKWARD = 2 / 3

RANKS = [2**power for power in range(11)]


def tree(ranks: int, size: float, network: Network) -> float:
    """The time of an all-reduce by recursive doubling, in seconds."""
    return math.ceil(math.log2(ranks)) * (network.alpha + network.beta * size)


def ring(ranks: int, size: float, network: Network) -> float:
    """The time of an all-reduce around a ring, in seconds."""
    return 2 * (ranks - 1) * (network.alpha + network.beta * size / ranks)


def step(ranks: int, computing: float, gradients: float, network: Network, bucket: float = 25 * 2**20) -> float:
    """The time of a step: that of computing, and of the communication that backward does not hide."""
    if ranks == 1:
        return computing
    count = max(1, math.ceil(gradients / bucket))
    each = min(tree(ranks, gradients / count, network), ring(ranks, gradients / count, network))
    hidden = BACKWARD * computing * (count - 1) / count
    return computing + each + max(0.0, (count - 1) * each - hidden)


def efficiencies(
    computing: float, gradients: float, network: Network, fixed_batch: bool, accumulated: int = 1
) -> list[float]:
    """The share of the ideal speed for each number of ranks, with as many gradients accumulated before a reduction.

    With a fixed global batch, each of p ranks computes a p-th of it.
    """
    result = []
    for ranks in RANKS:
        own = computing / ranks if fixed_batch else computing
        time = step(ranks, own, gradients, network) + (accumulated - 1) * own
        result.append(accumulated * own / time)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=NETWORKS, help="only this one")
    parser.add_argument("--gradients", type=float, default=100e6, help="bytes of all gradients")
    parser.add_argument("--step", type=float, default=0.25, help="seconds of a step of one process")
    given = parser.parse_args()
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
    shown = (8, 64, 1024)
    print(f"{'':62}{''.join([f'{ranks:>8}' for ranks in shown])}")
    for axis, fixed in zip(axes, (False, True), strict=True):
        for network in [NETWORKS[given.network]] if given.network else NETWORKS.values():
            for label, gradients, accumulated in (
                ("float32", given.gradients, 1), ("bfloat16", given.gradients / 2, 1),
                ("bfloat16, 8 accumulated", given.gradients / 2, 8),
            ):
                if fixed and accumulated > 1:  # the batch has no more parts
                    continue
                values = efficiencies(given.step, gradients, network, fixed, accumulated)
                style = {"float32": "-", "bfloat16": "--"}.get(label, ":")
                color = "C0" if network.alpha > 1e-5 else "C1"
                axis.plot(RANKS, values, style, color=color, label=f"{network.name}, {label}")
                row = f"{'the batch' if fixed else 'batch per rank'} fixed, {network.name}, {label}"
                print(f"{row:62}{''.join([f'{values[RANKS.index(ranks)]:8.0%}' for ranks in shown])}")
        axis.set_xscale("log", base=2)
        axis.set_xlabel("processes")
        axis.set_title("the global batch is fixed" if fixed else "the batch per process is fixed", fontsize=10)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("share of ideal speed")
    axes[0].set_ylim(0, 1.05)
    axes[0].legend(fontsize=6, loc="lower left")
    figure.savefig(Path(__file__).parents[1] / "_static" / "scaling.svg")


if __name__ == "__main__":
    main()
