"""Draw the figure of the guide "Differentiate your own Numba code".

``python docs/_figures/spring.py`` writes ``docs/_static/spring.svg``; it needs Matplotlib.
"""

from pathlib import Path

import matplotlib
import numba
import numpy as np

import numgrad as torch

matplotlib.use("svg")
import matplotlib.pyplot as plt

STEPS, DT = 200, 0.05


@numba.njit
def simulate(parameters, steps, dt):
    x, v = 1.0, 0.0
    positions = np.empty(steps)
    for i in range(steps):
        v += dt * (-parameters[0] * x - parameters[1] * v)
        x += dt * v
        positions[i] = x
    return positions


def fitted(measured, start):
    """Return the stiffness and damping that fit the measured positions."""
    differentiable = torch.differentiable(simulate)
    parameters = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([parameters], line_search_fn="strong_wolfe", max_iter=50)

    def loss():
        optimizer.zero_grad()
        error = (differentiable(parameters, STEPS, DT) - torch.from_numpy(measured)).square().mean()
        error.backward()
        return error

    optimizer.step(loss)
    return parameters.detach().numpy()


def main():
    start = [3.0, 0.1]
    measured = simulate(np.array([4.0, 0.3]), STEPS, DT) + 0.1 * np.random.default_rng(0).normal(size=STEPS)
    times = DT * np.arange(1, STEPS + 1)
    plt.rcParams["svg.fonttype"] = "none"
    plt.rcParams["svg.hashsalt"] = "spring"
    figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
    axes.plot(times, measured, ".", color="0.6", label="measured")
    axes.plot(times, simulate(np.array(start), STEPS, DT), "--", label="before the fit")
    axes.plot(times, simulate(fitted(measured, start), STEPS, DT), label="fitted")
    axes.set_xlabel("seconds")
    axes.set_ylabel("position")
    axes.legend(loc="upper right")
    figure.savefig(Path(__file__).parents[1] / "_static" / "spring.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
