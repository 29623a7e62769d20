"""A network of infinitely many equal layers, whose output is a fixed point (Bai et al., 2019).

    python -m numgrad run examples/equilibrium.py

The gradient at the fixed point ``z = f(z)`` is that of the implicit function theorem: what arrives at ``z`` becomes the
solution ``g`` of ``g = grad + g @ df/dz``, another fixed point. No iteration towards ``z`` is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from common import Losses, options
from torch import nn

WIDTH, POINTS, TOLERANCE, MOST = 32, 64, 1e-6, 200


def iterated(step: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor) -> torch.Tensor:
    """Return the point at which ``step`` stays, beginning at ``start``."""
    z = start
    for _ in range(MOST):
        previous, z = z, step(z)
        if (z - previous).abs().max() < TOLERANCE:
            break
    return z


def fixed_point(f: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor) -> torch.Tensor:
    """Return ``z = f(z)``, with the gradient of the implicit function theorem for all that ``f`` depends on."""
    with torch.no_grad():
        z = iterated(f, start)
    out, at = f(z), z.requires_grad_()
    following = f(at)

    def solved(grad: torch.Tensor) -> torch.Tensor:
        return iterated(lambda g: grad + torch.autograd.grad(following, at, g, retain_graph=True)[0], grad)

    out.register_hook(solved)
    return out


class Equilibrium(nn.Module):
    """A layer ``z = tanh(W z + U x + b)``, and a linear function of it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH, WIDTH) / WIDTH)
        self.input = nn.Linear(1, WIDTH)
        self.output = nn.Linear(WIDTH, 1)

    def layer(self, x: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return the function of ``z``, which shrinks distances by a tenth at least."""
        weight = 0.9 * self.weight / self.weight.abs().sum(1, keepdim=True).clamp(min=1)
        driven = self.input(x)
        return lambda z: torch.tanh(z @ weight.T + driven)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = fixed_point(self.layer(x), torch.zeros(len(x), WIDTH))
        return self.output(z)


def main(arguments: Sequence[str] | None = None) -> Losses:
    """Learn a curve, and compare the gradient with the one through all iterations."""
    given = options("A network whose output is a fixed point", 1500, arguments)
    torch.manual_seed(given.seed)
    x = torch.linspace(-1, 1, POINTS)[:, None]
    y = torch.sin(5 * x) * torch.exp(-x)

    model = Equilibrium()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = Losses()
    for _ in losses.during(given.steps):
        loss = (model(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    (implicit,) = torch.autograd.grad((model(x) - y).square().mean(), [model.weight])
    recorded = model.output(iterated(model.layer(x), torch.zeros(POINTS, WIDTH)))
    (unrolled,) = torch.autograd.grad((recorded - y).square().mean(), [model.weight])
    difference = (implicit - unrolled).norm() / unrolled.norm()
    print(f"root of the mean squared error: {losses[-1] ** 0.5:.4f}")
    print(f"difference from the gradient through all iterations, relative to it: {difference:.1e}")
    losses.draw(given.plot, "A network whose output is a fixed point")
    return losses


if __name__ == "__main__":
    main()
