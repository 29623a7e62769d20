"""The parameters of an epidemic, fitted through a simulator that Numba compiles.

    python examples/epidemic.py

The simulator is a loop over days and age groups, as one writes it for Numba.  Its derivatives are made from its source.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
from common import Losses, options

import numgrad

TRUTH = {"contagion": 0.45, "recovery": 0.12, "between groups": 0.3}
DAYS, SUBSTEPS = 120, 4


@numba.njit
def simulate(parameters: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the infected of each group on each day, by a model of susceptible, infected and recovered people."""
    groups = sizes.shape[0]
    susceptible, infected = sizes.copy(), np.zeros(groups)
    infected[0] = 1e-4
    susceptible[0] -= 1e-4
    daily = np.empty((DAYS, groups))
    for day in range(DAYS):
        for _ in range(SUBSTEPS):
            everywhere = infected.sum()
            for group in range(groups):
                met = (1.0 - parameters[2]) * infected[group] / sizes[group] + parameters[2] * everywhere
                new = parameters[0] * susceptible[group] * met / SUBSTEPS
                susceptible[group] -= new
                infected[group] += new - parameters[1] * infected[group] / SUBSTEPS
        for group in range(groups):
            daily[day, group] = infected[group]
    return daily


differentiable = numgrad.differentiable(simulate)


def main(arguments: Sequence[str] | None = None) -> Losses:
    """Fit the parameters to noisy observations; print them with the true values."""
    given = options("An epidemic", 200, arguments)
    sizes = np.array([0.3, 0.5, 0.2])
    truth = np.array([*TRUTH.values()])
    noise = np.random.default_rng(given.seed).normal(size=(DAYS, len(sizes)))
    observed = numgrad.from_numpy(simulate(truth, sizes) * (1 + 0.05 * noise))

    logarithms = numgrad.tensor([0.3, 0.2, 0.5], dtype=numgrad.float64).log().requires_grad_()
    optimizer = numgrad.optim.Adam([logarithms], lr=0.03)
    losses = Losses()
    for _ in losses.during(given.steps):
        loss = (differentiable(logarithms.exp(), sizes) - observed).square().mean().sqrt()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    for name, fitted, true in zip(TRUTH, logarithms.exp().tolist(), truth, strict=True):
        print(f"{name:>16}: {fitted:.4f}, in truth {true:.4f}")
    losses.draw(given.plot, "An epidemic")
    return losses


if __name__ == "__main__":
    main()
