"""Measure training by several processes against training by one, with the same global batch.

    mpiexec -n 2 python tests/benchmarks/data_parallel.py [--steps 50] [--processor]

For each model it prints the time of a step in one process with all threads, and that of a step in all processes.  For
the latter it prints the time that a step takes without communication, the time of the reductions alone, that which the
latency and the time per byte of an all-reduce predict for one after the other, and how much of the reductions the
backward pass hides.  Times are the shortest of many, in milliseconds.  Finally it prints these two numbers.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import numgrad as torch
import numgrad.distributed as dist
from numgrad import nn
from numgrad.nn.functional import cross_entropy
from numgrad.nn.parallel import DistributedDataParallel


class Letters(nn.Module):
    """A transformer that predicts letters."""

    def __init__(self, width: int = 128, letters: int = 65):
        super().__init__()
        self.letter = nn.Embedding(letters, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(width, letters)

    def forward(self, text: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(text.shape[1])
        return self.out(self.blocks(self.letter(text), mask, is_causal=True)).transpose(1, 2)


def perceptron() -> tuple[nn.Module, Any, Any]:
    layers = nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
    return nn.Sequential(*layers), torch.randn(256, 64), torch.randint(10, (256,))


def images() -> tuple[nn.Module, Any, Any]:
    layers = (
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip
    return nn.Sequential(*layers), torch.randn(128, 1, 8, 8), torch.randint(10, (128,))


def letters() -> tuple[nn.Module, Any, Any]:
    return Letters(), torch.randint(65, (16, 32)), torch.randint(65, (16, 32))


#: The clock that measures; with ``--processor``, time that other programs or waiting take does not count.
CLOCKS = [time.perf_counter]

MODELS = {"digits MLP": perceptron, "ConvNet": images, "GPT": letters}


def times_of(run: Callable[[], Any], steps: int, together: bool = True) -> np.ndarray:
    """The times of runs that begin on all ranks at once, or on this one alone, in milliseconds."""
    times = []
    for _ in range(steps + 3):
        if together:
            dist.barrier()
        start = CLOCKS[0]()
        run()
        times.append((CLOCKS[0]() - start) * 1e3)
    return np.array(times[3:])


def shortest(run: Callable[[], Any], steps: int) -> float:
    """The shortest time in which all ranks have completed a run, in milliseconds."""
    slowest = torch.from_numpy(times_of(run, steps))
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return slowest.min().item()


def step_of(model: nn.Module, x: Any, y: Any) -> Callable[[], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def measure(name: str, steps: int, threads: int, latency: float, per_byte: float) -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    module, x, y = MODELS[name]()
    alone = 0.0
    if rank == 0:
        torch.set_num_threads(threads)
        alone = float(times_of(step_of(module, x, y), steps, together=False).min())
    torch.set_num_threads(max(1, threads // size))
    dist.barrier()
    model = DistributedDataParallel(module, gradient_as_bucket_view=True, bucket_cap_mb=0.25)
    step = step_of(model, x[rank::size].contiguous(), y[rank::size].contiguous())
    together = shortest(step, steps)
    with model.no_sync():
        computing = shortest(step, steps)

    def reduce() -> None:
        works: list[Any] = [dist.all_reduce(bucket.buffer(), async_op=True) for bucket in model.reducer.buckets]
        for work in works:
            work.wait()

    reductions = shortest(reduce, steps)
    count = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    reduced = sum(bucket.buffer().numel() * bucket.buffer().element_size() for bucket in model.reducer.buckets)
    predicted = 1e3 * (latency * len(model.reducer.buckets) + per_byte * reduced)
    if rank == 0:
        exposed = max(together - computing, 0.0)
        hidden = max(0.0, 1 - exposed / reductions)
        print(
            f"| {name} | {count / 1e6:.2f} | {alone:.2f} | {together:.2f} | {computing:.2f} | "
            f"{reductions:.2f} | {predicted:.2f} | {exposed / together:.0%} | {hidden:.0%} | {reduced / count:.2f} |"
        )


def latency_and_time_per_byte(steps: int) -> tuple[float, float]:
    """The two numbers that describe an all-reduce of various sizes best."""
    sizes = [1 << power for power in range(2, 22, 2)]
    times = []
    for size in sizes:
        values = torch.zeros(size)
        times.append(shortest(lambda values=values: dist.all_reduce(values), steps) / 1e3)
    count = np.array([4.0 * size for size in sizes])
    weights = 1 / np.array(times)  # relative errors
    design = np.stack([np.ones_like(count), count], 1) * weights[:, None]
    latency, per_byte = np.linalg.lstsq(design, np.array(times) * weights, rcond=None)[0]
    return float(latency), float(per_byte)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--processor", action="store_true", help="measure processor time, on one thread")
    given = parser.parse_args()
    if given.processor:
        CLOCKS[0] = time.process_time
    dist.init_process_group("mpi")
    threads = 1 if given.processor else len(os.sched_getaffinity(0))
    if dist.get_rank() == 0:
        print(
            f"{dist.get_world_size()} processes, {threads} processors; milliseconds\n\n"
            "| model | gradients, MB | one process | all | without communication | reductions alone | predicted | "
            "share | hidden | reduced bytes / least |\n|---|---|---|---|---|---|---|---|---|---|"
        )
    latency, per_byte = latency_and_time_per_byte(given.steps)
    for name in [given.model] if given.model else MODELS:
        measure(name, given.steps, threads, latency, per_byte)
    if dist.get_rank() == 0:
        print(f"\nan all-reduce takes {latency * 1e6:.1f} us and {per_byte * 1e9:.3f} ns per byte")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
