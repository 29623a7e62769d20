"""Peak memory of recording and going backward, against PyTorch's; a ratio below 1 means that numgrad takes less.

    python tests/benchmarks/memory.py

Each figure is the peak memory of a fresh process minus its memory before the program began, from Linux's account of the
process.  Before that, the program runs on small tensors, and the C library returns free memory.  The garbage collector
is off, so that only reference counts free memory.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from parts.steps import STEPS


def chain(step: Callable[[Any, Any], Any]) -> Callable[[Any, int, int], None]:
    """Run forward and backward through ``depth`` steps on ``size`` elements."""

    def run(module: Any, depth: int, size: int) -> None:
        x = module.full((size,), 0.5, requires_grad=True)
        y = module.full((size,), 0.25)
        z = x
        for _ in range(depth):
            z = step(z, y)
        z.sum().backward()

    return run


def unrecorded(module: Any, depth: int, size: int) -> None:
    """Run the same forward under no_grad."""
    z = module.full((size,), 0.5)
    with module.no_grad():
        for _ in range(depth):
            z = z.tanh() * 0.5


def second_derivative(module: Any, depth: int, size: int) -> None:
    """Compute a gradient of a gradient through ``depth`` steps."""
    x = module.full((size,), 0.5, requires_grad=True)
    z = x
    for _ in range(depth):
        z = z.tanh()
    first, = module.autograd.grad(z.sum(), x, create_graph=True)
    (first * first).sum().backward()


def training(name: str) -> Callable[[Any, int, int], None]:
    """Create a model and train it for some steps."""

    def run(module: Any, steps: int, size: int) -> None:
        step = STEPS[name](module)
        for _ in range(steps):
            step()

    return run


PROGRAMS: dict[str, tuple[Callable[[Any, int, int], None], int, int]] = {
    "tanh, 200 times on 250,000 elements": (chain(lambda z, y: z.tanh()), 200, 250_000),
    "z * y + y, 200 times on 250,000 elements": (chain(lambda z, y: z * y + y), 200, 250_000),
    "relu(z) * 0.5, 200 times on 250,000 elements": (chain(lambda z, y: z.relu() * 0.5), 200, 250_000),
    "z + y, 200 times on 250,000 elements": (chain(lambda z, y: z + y), 200, 250_000),
    "tanh, 100,000 times on 8 elements": (chain(lambda z, y: z.tanh()), 100_000, 8),
    "z * y + y, 50,000 times on 8 elements": (chain(lambda z, y: z * y + y), 50_000, 8),
    "second derivative of tanh, 100 times on 250,000": (second_derivative, 100, 250_000),
    "tanh(z) * 0.5 under no_grad, 200 times on 250,000": (unrecorded, 200, 250_000),
    **{f"5 steps, {name}": (training(name), 5, 0) for name in STEPS},
}


def resident(field: str) -> int:
    """Return a field of the process's memory account, in bytes: VmRSS is the present size, VmHWM its peak."""
    match = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert match is not None
    return 1024 * int(match[1])


def measure(name: str, module: str) -> None:
    """Print the peak of one program, in bytes, in this process."""
    import gc

    program, depth, size = PROGRAMS[name]
    library = importlib.import_module(module)
    if module == "torch":
        library.set_num_threads(1)
    else:
        numba.set_num_threads(1)
    program(library, 3, size // 10 + 1)
    gc.collect()
    gc.disable()
    if module == "numgrad":
        from numgrad.devices.memory import pool

        pool.release()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    program(library, depth, size)
    print(resident("VmHWM") - before)


def peak(name: str, module: str) -> float:
    """Return the peak of one program in a new process, in MB: the least of three, since allocators vary."""
    command = [sys.executable, __file__, "--program", name, "--module", module]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(3)]
    return min(map(int, runs)) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", choices=[*PROGRAMS], help="measure only this one, in this process")
    parser.add_argument("--module", choices=["numgrad", "torch"], help="with this library")
    options = parser.parse_args()
    if options.program and options.module:
        measure(options.program, options.module)
        return
    print(f"{'':58s}{'numgrad':>10s}{'PyTorch':>10s}{'ratio':>8s}   (megabytes)")
    for name in PROGRAMS:
        ours, theirs = peak(name, "numgrad"), peak(name, "torch")
        print(f"{name:58s}{ours:10.1f}{theirs:10.1f}{ours / theirs:8.2f}", flush=True)


if __name__ == "__main__":
    main()
