"""Three ways to transpose a matrix on a GPU, and the steps that a warp takes for each access of memory.

    python tests/benchmarks/transposes.py                     # prints the reports; needs no GPU
    python tests/benchmarks/transposes.py --plot picture.svg  # and draws the steps
"""

from __future__ import annotations

import argparse

import numpy as np
from numba import cuda, float32

import numgrad

SIZE, ROWS = 64, 8


@cuda.jit
def direct(x, out):
    left, top = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for row in range(cuda.threadIdx.y, 32, ROWS):
        out[left + cuda.threadIdx.x, top + row] = x[top + row, left + cuda.threadIdx.x]


def through_tile(width):
    """Return a kernel that turns tiles of 32 x 32 elements in shared memory, in rows of ``width`` elements."""

    @cuda.jit
    def tiled(x, out):
        tile = cuda.shared.array((32, width), float32)
        across, down = cuda.threadIdx.x, cuda.threadIdx.y
        left, top = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
        for row in range(down, 32, ROWS):
            tile[row, across] = x[top + row, left + across]
        cuda.syncthreads()
        for row in range(down, 32, ROWS):
            out[left + row, top + across] = tile[across, row]

    return tiled


KERNELS = {"direct": direct, "tile of 32 x 32": through_tile(32), "tile of 32 x 33": through_tile(33)}


def reports():
    """Return the report of each kernel, whose result is checked."""
    x = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    found = {}
    for name, kernel in KERNELS.items():
        out = np.zeros_like(x)
        found[name] = numgrad.cuda.check(kernel)[(SIZE // 32, SIZE // 32), (32, ROWS)](x, out)
        np.testing.assert_array_equal(out, x.T)
    return found


def plot(found, file):
    """Draw the steps of each access, and the least possible as a line."""
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "numgrad"})
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), sharex=True, layout="constrained")
    for part, (name, report) in zip(axes, found.items(), strict=True):
        accesses = sorted(report.accesses, key=lambda access: (access.line, access.kind), reverse=True)
        labels = [f"{access.space} {access.kind}" for access in accesses]
        colours = ["tab:red" if access.steps > access.least else "tab:blue" for access in accesses]
        part.barh(labels, [access.steps for access in accesses], color=colours)
        for number, access in enumerate(accesses):
            part.plot([access.least] * 2, [number - 0.4, number + 0.4], color="black")
        part.set(title=name, xlim=(0, 34), xlabel="steps of a warp's access")
    figure.savefig(file, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plot", metavar="FILE", help="draw the steps to this file")
    options = parser.parse_args()
    found = reports()
    for report in found.values():
        print(report)
    if options.plot:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
