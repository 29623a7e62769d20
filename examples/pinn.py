"""A network that solves Burgers' equation, u_t + u u_x = nu u_xx, by L-BFGS (Raissi, Perdikaris and Karniadakis, 2019).

    python -m numgrad run examples/pinn.py

The solution is a front that moves to the right, u = 1 / 2 - tanh((x - t / 2) / (4 nu)) / 2, which is known, so that
the error can be told.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from common import Losses, options
from torch import nn

NU, WIDTH, INSIDE, EDGE = 0.05, 32, 1000, 200


def solution(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """The front."""
    return 0.5 - 0.5 * torch.tanh((x - t / 2) / (4 * NU))


def derivative(u: torch.Tensor, of: torch.Tensor) -> torch.Tensor:
    """Return the derivative of each element of u with respect to its own element of another tensor."""
    return torch.autograd.grad(u.sum(), of, create_graph=True)[0]


def main(arguments: Sequence[str] | None = None) -> Losses:
    """Fit the network to the equation inside of [-1, 1] x [0, 1], and to the solution where that is given."""
    given = options("A network that solves Burgers' equation", 40, arguments)
    torch.manual_seed(given.seed)
    net = nn.Sequential(nn.Linear(2, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1))

    x = (2 * torch.rand(INSIDE, 1) - 1).requires_grad_()
    t = torch.rand(INSIDE, 1).requires_grad_()
    begin = torch.cat([2 * torch.rand(EDGE, 1) - 1, torch.zeros(EDGE, 1)], dim=1)  # t = 0
    sides = torch.cat([torch.randint(2, (EDGE, 1)) * 2.0 - 1, torch.rand(EDGE, 1)], dim=1)  # x = -1 and x = 1
    edge = torch.cat([begin, sides])
    wanted = solution(edge[:, :1], edge[:, 1:])

    optimizer = torch.optim.LBFGS(
        net.parameters(), max_iter=20, tolerance_change=0, history_size=50, line_search_fn="strong_wolfe"
    )

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        u = net(torch.cat([x, t], dim=1))
        u_x = derivative(u, x)
        residual = derivative(u, t) + u * u_x - NU * derivative(u_x, x)
        loss = residual.square().mean() + (net(edge) - wanted).square().mean()
        loss.backward()
        return loss

    losses = Losses()
    for _ in losses.during(given.steps):
        losses.append(optimizer.step(closure).item())

    with torch.no_grad():
        grid = torch.cartesian_prod(torch.linspace(-1, 1, 101), torch.linspace(0, 1, 51))
        error = (net(grid) - solution(grid[:, :1], grid[:, 1:])).abs().max().item()
    print(f"largest error of the solution on a grid of 101 x 51: {error:.2e}")
    losses.draw(given.plot, "Burgers' equation by L-BFGS")
    return losses


if __name__ == "__main__":
    main()
