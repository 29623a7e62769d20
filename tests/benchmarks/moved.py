"""Launches and bytes of operations on a GPU, counted by the emulator: ``NUMGRAD_GPU=emulated python ...``.

For each operation: its launches, counting a filling of memory as one; the bytes that they must move for each element of
the input, where each array of a launch counts once; and the bytes that their threads access.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numgrad as torch
from numgrad import devices, nn
from numgrad.devices import launches
from numgrad.nn import functional as F  # noqa: N812

ROWS, CLASSES = 256, 512


def cases() -> dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]]:
    """Return the shape of the input and a function of it, for each operation."""

    def ones(*shape: int) -> Any:
        return torch.ones(*shape, device="cuda")

    matrix, images, heads = (ROWS, CLASSES), (8, 8, 2048), (1, 4, 128, 64)
    target, affine, channels = torch.arange(ROWS, device="cuda"), (ones(CLASSES), ones(CLASSES)), (ones(8), ones(8))
    positions = torch.zeros(16, 64, dtype=torch.int64, device="cuda")
    lstm, lstm_cell, gru_cell = nn.LSTM(64, 64).cuda(), nn.LSTMCell(64, 64).cuda(), nn.GRUCell(64, 64).cuda()
    state, labels = torch.randn(16, 64, device="cuda"), ones(*matrix)
    return {
        "cross_entropy": (matrix, lambda x: F.cross_entropy(x, target)),
        "cross_entropy of sequences": ((16, 128, 64), lambda x: F.cross_entropy(x, positions)),
        "mse_loss": (matrix, lambda x: F.mse_loss(x, labels)),
        "l1_loss": (matrix, lambda x: F.l1_loss(x, labels)),
        "l1_loss in evaluation": (matrix, lambda x: F.l1_loss(x.detach(), labels)),
        "binary_cross_entropy": (matrix, lambda x: F.binary_cross_entropy(x, labels)),
        "dropout": (matrix, lambda x: F.dropout(x, 0.3)),
        "batch_norm": (images, lambda x: F.batch_norm(x, None, None, *channels, training=True)),
        "batch_norm in evaluation": (images, lambda x: F.batch_norm(x, *channels, *channels)),
        "batch_norm of vectors": (matrix, lambda x: F.batch_norm(x, None, None, *affine, training=True)),
        "contiguous of a transposed matrix": (matrix, lambda x: x.t().contiguous()),
        "softmax": (matrix, lambda x: F.softmax(x, 1)),
        "layer_norm": (matrix, lambda x: F.layer_norm(x, (CLASSES,), *affine)),
        "gelu": (matrix, F.gelu),
        "embedding": (matrix, lambda x: F.embedding(target, x)),
        "var of rows": (matrix, lambda x: x.var(1)),
        "sort of one row": ((ROWS * CLASSES,), lambda x: x.sort()[0]),
        "sort of one row of float16": ((ROWS * CLASSES,), lambda x: x.half().sort()[0]),
        "a step of an LSTM": ((16, 64), lambda x: lstm_cell(x, (state, state))[0]),
        "a step of a GRU": ((16, 64), lambda x: gru_cell(x, state)),
        "10 steps of an LSTM": ((10, 16, 64), lambda x: lstm(x)[0]),
        "attention": (heads, lambda x: F.scaled_dot_product_attention(x, x, x)),
    }


def counted(size: int, work: Callable[..., Any], *given: Any) -> tuple[Any, str]:
    """Return the result, and cells: launches, bytes that must be moved and those that threads access, per element."""
    emulated = devices.begin_cuda().runtime.driver
    necessary, accessed = [], []

    def count(name: str, read: int, written: int) -> None:
        accessed.append(read + written)
        if name == "fill":
            necessary.append(written)

    emulated.counters.append(count)
    try:
        with launches.listening(lambda launch: necessary.append(launch.bytes)):
            result = work(*given)
    finally:
        emulated.counters.remove(count)
    each = [sum(bytes_) / size for bytes_ in (necessary, accessed)]
    return result, f"{len(accessed)} | {each[0]:.1f} | {each[1]:.1f}"


def main() -> None:
    """Print a line for each operation, forward and backward."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="operations; all by default")
    names = parser.parse_args().names
    torch.manual_seed(0)
    print("| operation | launches | bytes moved | bytes accessed |\n|---|---|---|---|")
    for name, (shape, function) in cases().items():
        if names and name not in names:
            continue
        x = torch.rand(*shape, device="cuda", requires_grad=True) * 1
        result, forward = counted(x.numel(), function, x)
        print(f"| {name} | {forward} |", flush=True)
        if result.requires_grad:
            ones = torch.ones_like(result)
            backward = counted(x.numel(), torch.autograd.grad, result, x, ones)[1]
            print(f"| {name}, backward | {backward} |", flush=True)


if __name__ == "__main__":
    main()
