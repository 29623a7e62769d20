"""``python -m numgrad warm``: compile kernels ahead of time, for container images and classrooms."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from tqdm import tqdm

import numgrad as torch
from numgrad import nn
from numgrad.devices import cache_directory, compiled_kernels, keeps_kernels
from numgrad.nn import functional

from .run import run_as_main

#: Batch sizes: kernels run on one thread for a small batch and on several for a large one.
BATCHES = 4, 512


def warm(program: Sequence[str], common: bool) -> None:
    """Compile the kernels of a ``program`` (a file and arguments) by running it, or those of ``common`` networks.

    Raises:
        RuntimeError: neither or both are given, or kernels cannot be stored.
    """
    if bool(program) == common:
        raise RuntimeError("name a program, or pass --common for the kernels that networks usually need")
    cache_directory().mkdir(mode=0o700, parents=True, exist_ok=True)
    if not keeps_kernels():
        raise RuntimeError(f"{cache_directory()} cannot be written to; NUMGRAD_CACHE_DIR names another directory")
    count = _of_networks() if common else _of_program(program)
    print(f"{count} kernels compiled, kept in {cache_directory()}")


def _of_program(program: Sequence[str]) -> int:
    run_as_main(program)
    return _compiled()


def _compiled() -> int:
    return sum(kernel.origin == "compiled" for kernel in compiled_kernels())


def _of_networks() -> int:
    jobs = list(itertools.product(NETWORKS, ("float32", "float64"), BATCHES))
    with (
        ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool,
        tqdm(total=len(jobs), unit="network", desc="compile") as progress,
    ):
        result = 0
        for done in as_completed([pool.submit(_train, *job) for job in jobs]):
            result += done.result()
            progress.update()
    return result


def _train(name: str, dtype: str, batch: int) -> int:
    """Take a step with each optimizer, and predict; return the number of kernels compiled for it."""
    torch.set_default_dtype(getattr(torch, dtype))
    torch.manual_seed(0)
    model, inputs, loss_of = NETWORKS[name](batch)
    for optimizer in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        update = optimizer(model.parameters(), lr=1e-3)
        loss = loss_of(model(inputs))
        update.zero_grad()
        loss.backward()
        update.step()
    with torch.no_grad():
        model.eval()(inputs).argmax(-1)
    return _compiled()


def _perceptron(batch):
    """Return a classifier of vectors, with inputs and loss."""
    layers = nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.2), nn.LayerNorm(128), nn.Linear(128, 10)
    labels = torch.randint(10, (batch,))
    return nn.Sequential(*layers), torch.rand(batch, 64), lambda out: functional.cross_entropy(out, labels)


def _regression(batch):
    """Return a smooth function of a few numbers, with inputs and loss."""
    layers = nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1)
    targets = torch.randn(batch, 1)
    return nn.Sequential(*layers), torch.randn(batch, 2), lambda out: functional.mse_loss(out, targets)


class _Transformer(nn.Module):
    """Sequence model: embeddings, causal attention, and a network for each position."""

    def __init__(self, words: int, length: int, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(length, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(3)])
        self.projections, self.out, self.head = (nn.Linear(width, n) for n in (3 * width, width, words))
        self.network = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = self.words(x) + self.positions(torch.arange(x.shape[1]))
        parts = self.projections(self.norms[0](x)).chunk(3, dim=-1)
        q, k, v = [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts]
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return self.head(self.norms[2](x + self.network(self.norms[1](x))))


def _transformer(batch):
    words = torch.randint(65, (batch, 32))
    model = _Transformer(words=65, length=32, width=64, heads=4)
    return model, words, lambda out: functional.cross_entropy(out.flatten(0, 1), words.flatten())


#: Functions that return a network for a batch size, with inputs and a loss function of its outputs.
NETWORKS = {"perceptron": _perceptron, "regression": _regression, "transformer": _transformer}
