"""Two sources of heat, located from temperatures measured on a plate that several processes compute together.

    python -m numgrad launch --processes 2 examples/heat.py

Each process has some rows of the plate.  In each step of time, neighbours exchange the rows at their common border;
gradients travel back through these exchanges.  Any number of processes finds the same sources.
"""

from __future__ import annotations

from collections.abc import Sequence

from common import Losses, options

import numgrad as torch
import numgrad.distributed as dist
from numgrad.distributed.nn.functional import broadcast, sendrecv
from numgrad.nn.functional import pad

SIZE, STEPS_OF_TIME, MEASURED_EVERY = 32, 60, 15
SPACING = 1 / (SIZE + 1)

#: Row, column and strength of each source.
TRUTH = [[0.3, 0.35, 1.0], [0.6, 0.7, 0.7]]


class Plate:
    """The rows of this process, on a square plate whose border is cold."""

    def __init__(self, rank: int, processes: int):
        positions = torch.linspace(SPACING, 1 - SPACING, SIZE, dtype=torch.float64)
        self.rows, self.columns = positions.tensor_split(processes)[rank].unsqueeze(1), positions
        self.above = rank - 1 if rank > 0 else None
        self.below = rank + 1 if rank < processes - 1 else None

    def source(self, sources: torch.Tensor) -> torch.Tensor:
        """Return the heat that comes from the sources in each unit of time."""
        row, column, strength = sources.unsqueeze(-1).unsqueeze(-1).unbind(1)
        distance = (self.rows - row).square() + (self.columns - column).square()
        return (strength * torch.exp(-distance / 0.01)).sum(0)

    def step(self, heat: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        """Return the temperatures after one step of time."""
        row_above = sendrecv(heat[-1:], self.below, self.above)  # its last row is what the next process has above it
        row_below = sendrecv(heat[:1], self.above, self.below)
        whole = pad(torch.cat([row_above, heat, row_below]), (1, 1))
        neighbours = whole[:-2, 1:-1] + whole[2:, 1:-1] + whole[1:-1, :-2] + whole[1:-1, 2:]
        return heat + 0.2 * (neighbours - 4 * heat + SPACING**2 * source)

    def measure(self, sources: torch.Tensor) -> torch.Tensor:
        """Return the temperatures of the plate, which is cold at first, at some times."""
        source, measured = self.source(sources), []
        heat = torch.zeros_like(source)
        for time in range(1, STEPS_OF_TIME + 1):
            heat = self.step(heat, source)
            if time % MEASURED_EVERY == 0:
                measured.append(1000 * heat)
        return torch.stack(measured)


def main(arguments: Sequence[str] | None = None) -> Losses:
    """Find the sources; the first process prints them with the true ones."""
    given = options("Sources of heat", 150, arguments)
    dist.init_process_group("mpi")
    is_first = dist.get_rank() == 0
    plate = Plate(dist.get_rank(), dist.get_world_size())
    with torch.no_grad():
        observed = plate.measure(torch.tensor(TRUTH, dtype=torch.float64))

    # The first process has the parameters.  The others receive them in each step, and it receives their gradients.
    sources = torch.tensor([[0.45, 0.4, 0.8], [0.5, 0.6, 0.8]], dtype=torch.float64, requires_grad=is_first)
    optimizer = torch.optim.Adam([sources], lr=0.02) if is_first else None
    losses = Losses()
    for _ in losses.during(given.steps) if is_first else range(given.steps):
        loss = (plate.measure(broadcast(sources, 0)) - observed).square().sum()
        if optimizer is not None:
            optimizer.zero_grad()
        loss.backward()
        if optimizer is not None:
            optimizer.step()
        total = loss.detach()
        dist.all_reduce(total)
        losses.append(total.item())
    if is_first:
        for found, true in zip(sources.tolist(), TRUTH, strict=True):
            print("found", *[f"{value:.4f}" for value in found], " true", *true)
        losses.draw(given.plot, "Sources of heat")
    return losses


if __name__ == "__main__":
    main()
