"""How long a fresh process takes to its first results, and how long its kernels take to compile."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

__all__ = ["compare_starts"]

#: The README's first example.
FIRST = """
import {module} as torch
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = (x**2).sum()
y.backward()
repr((y, x.grad))
"""

#: A step of training, as a first program would have it.
TRAINING = """
import {module} as torch
from {module} import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = torch.randn(16, 8), torch.randint(4, (16,))
loss = nn.functional.cross_entropy(model(x), y)
loss.backward()
optimizer.step()
"""

COUNTED = """
import json
from numgrad_kernels.store import compiled_kernels
print(json.dumps([(k.name, k.origin, k.seconds) for k in compiled_kernels()]))
"""


def _process(code: str, cache: str) -> tuple[float, str]:
    """Seconds that a fresh process takes, and what it prints."""
    start = time.perf_counter()
    environment = {**os.environ, "NUMGRAD_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True, text=True)
    return time.perf_counter() - start, done.stdout


def _best(code: str, cache: str, runs: int = 5) -> float:
    best = math.inf
    for _ in range(runs):
        best = min(best, _process(code, cache)[0])
    return best


def compare_starts() -> dict[str, Any]:
    """Print the times, the best of five processes each (of one, where the kernel cache has to be empty)."""
    figures: dict[str, Any] = {}

    def show(name: str, seconds: float) -> None:
        figures[name] = seconds
        print(f"{name:58s}{seconds:10.2f}", flush=True)

    print("\nA fresh process, in seconds")
    with tempfile.TemporaryDirectory() as nothing:
        show("import numba", _best("import numba", nothing))
        for module in ("numgrad", "torch"):
            show(f"import {module}", _best(f"import {module}", nothing))
    for title, program in (("the README's first example", FIRST), ("a first step of training", TRAINING)):
        with tempfile.TemporaryDirectory() as cache:
            ours = program.format(module="numgrad")
            seconds, output = _process(ours + COUNTED, cache)
            show(f"numgrad: {title}, empty kernel cache", seconds)
            show(f"numgrad: {title}, warm kernel cache", _best(ours, cache))
            again = json.loads(_process(ours + COUNTED, cache)[1])
        show(f"torch: {title}", _best(program.format(module="torch"), ""))
        kernels = json.loads(output)
        figures[f"kernels of {title}"] = kernels
        repeated = sum(origin == "compiled" for _, origin, _ in again)
        print(f"  {len(kernels)} kernels compiled, in milliseconds; {repeated} when the program is run again")
        for name, _, time_taken in kernels:
            print(f"    {name:54s}{time_taken * 1e3:10.0f}")
    return figures
