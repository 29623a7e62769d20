"""A neural ordinary differential equation that learns how a spiral moves (Chen et al., 2018).

    python -m numgrad run examples/neural_ode.py

The gradients go through the solver, a Runge-Kutta method of fourth order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from common import Losses, options
from torch import nn

WIDTH, POINTS, WINDOW, BATCH, STEP = 48, 400, 8, 32, 0.05


def solve(field: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor, count: int) -> torch.Tensor:
    """Return the points to which the field moves ``start`` in ``count`` steps: (count + 1, *shape)."""
    path = [start]
    for _ in range(count):
        y = path[-1]
        k1 = field(y)
        k2 = field(y + STEP / 2 * k1)
        k3 = field(y + STEP / 2 * k2)
        k4 = field(y + STEP * k3)
        path.append(y + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return torch.stack(path)


def spiral(y: torch.Tensor) -> torch.Tensor:
    """The field that is to be learnt: the cubes of the coordinates, turned and damped."""
    return y**3 @ torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


class Field(nn.Module):
    """A network in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 2))

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        return self.net(y**3)


def main(arguments: Sequence[str] | None = None) -> Losses:
    """Learn from short pieces of a path, and compare the whole path."""
    given = options("A neural ordinary differential equation", 1000, arguments)
    torch.manual_seed(given.seed)
    path = solve(spiral, torch.tensor([2.0, 0.0]), POINTS)

    field = Field()
    optimizer = torch.optim.Adam(field.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, given.steps)
    losses = Losses()
    for _ in losses.during(given.steps):
        starts = torch.randint(POINTS - WINDOW, (BATCH,))
        wanted = torch.stack([path[starts + step] for step in range(WINDOW + 1)])
        loss = (solve(field, wanted[0], WINDOW) - wanted).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())

    with torch.no_grad():
        error = (solve(field, path[0], POINTS) - path).norm(dim=1).mean().item()
    print(f"mean distance from the true path over {POINTS} steps: {error:.3f}")
    losses.draw(given.plot, "A neural differential equation on a spiral")
    return losses


if __name__ == "__main__":
    main()
