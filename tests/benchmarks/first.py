"""Time from the start of a process to its first results, with an empty and with a warm kernel cache."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

__all__ = ["compare_first_runs"]

#: The README's first example.
EXAMPLE = """
import {module} as torch
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = (x**2).sum()
y.backward()
repr((y, x.grad))
"""

#: The command of the README, which has no twin in PyTorch.
DIGITS = """
from {module}.__main__ import main
main(["train", "digits"])
"""

#: A step of training of a transformer of two layers.
GPT = """
import {module} as torch
from {module} import nn
from {module}.nn import functional as F

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])
        self.projections, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.network = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        stacks, length, width = x.shape
        q, k, v = self.projections(self.norms[0](x)).split(width, dim=2)
        q, k, v = [each.view(stacks, length, self.heads, -1).transpose(1, 2) for each in (q, k, v)]
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).contiguous().view(stacks, length, width))
        return x + self.network(self.norms[1](x))

class GPT(nn.Module):
    def __init__(self, words, length, width):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads=4) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, x):
        x = self.words(x) + self.positions(torch.arange(x.shape[1]))
        return self.head(self.norm(self.blocks(x)))

torch.manual_seed(0)
model = GPT(words=65, length=64, width=64)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = torch.randint(65, (8, 64)), torch.randint(65, (8, 64))
loss = F.cross_entropy(model(x).view(-1, 65), y.view(-1))
loss.backward()
optimizer.step()
"""

#: Programs, whether PyTorch runs them, too, and the seconds that they may take with an empty cache.
PROGRAMS = {
    "the README's first example": (EXAMPLE, True, 0.9),
    "train digits": (DIGITS, False, 4.0),
    "the first step of a GPT": (GPT, True, 5.0),
}

#: End of a program: it prints the kernels that it has compiled.
COUNTED = """
import json
from numgrad_kernels.store import compiled_kernels
print("\\n", json.dumps([(k.name, k.origin, k.seconds) for k in compiled_kernels()]))
"""


def _process(code: str, cache: str) -> tuple[float, str]:
    """Return the seconds that a fresh process takes, and its output."""
    start = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["NUMGRAD_CACHE_DIR"] = cache
    done = subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True, text=True)
    return time.perf_counter() - start, done.stdout


def _best(code: str, cache: str, runs: int = 5) -> float:
    return min(_process(code, cache)[0] for _ in range(runs))


def _kernels(output: str) -> list[Any]:
    return json.loads(output.splitlines()[-1])


def compare_first_runs() -> dict[str, Any]:
    """Print the times: the best of five processes, or of three where each begins with an empty kernel cache."""
    figures: dict[str, Any] = {}

    def show(name: str, seconds: float, limit: float = 0.0) -> None:
        figures[name] = seconds
        print(f"{name:58s}{seconds:10.2f}{f'   at most {limit}' if limit else ''}", flush=True)

    print("\nA fresh process, in seconds")
    with tempfile.TemporaryDirectory() as nothing:
        show("import numba", _best("import numba", nothing))
        for module in ("numgrad", "torch"):
            show(f"import {module}", _best(f"import {module}", nothing))
    for title, (program, in_torch, limit) in PROGRAMS.items():
        ours, cold = program.format(module="numgrad"), math.inf
        for _ in range(3):
            with tempfile.TemporaryDirectory() as cache:
                seconds, output = _process(ours + COUNTED, cache)
                if seconds < cold:
                    cold, kernels = seconds, _kernels(output)
                warm = _best(ours, cache, runs=2)
                again = _kernels(_process(ours + COUNTED, cache)[1])
        show(f"numgrad: {title}, empty kernel cache", cold, limit)
        show(f"numgrad: {title}, warm kernel cache", warm)
        if in_torch:
            show(f"torch: {title}", _best(program.format(module="torch"), ""))
        figures[f"kernels of {title}"] = kernels
        repeated = sum(origin == "compiled" for _, origin, _ in again)
        print(f"  {len(kernels)} kernels compiled, in milliseconds; {repeated} when the program is run again")
        for name, _, taken in sorted(kernels, key=lambda kernel: -kernel[2]):
            print(f"    {name:54s}{taken * 1e3:10.0f}")
    return figures
