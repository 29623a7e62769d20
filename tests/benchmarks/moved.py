"""Launches and bytes of operations on a GPU, counted by the emulator: ``NUMGRAD_GPU=emulated python ...``.

For each operation: its launches, counting a filling of memory as one; the bytes that they must move for each element of
the input, where each array of a launch counts once; and the bytes that their threads access.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numgrad as torch
from numgrad import devices
from numgrad.devices import launches
from numgrad.nn import functional as F  # noqa: N812

ROWS, CLASSES = 256, 512


def cases() -> dict[str, Callable[[], Any]]:
    """Return a function of the input for each operation."""

    def ones(*shape: int) -> Any:
        return torch.ones(*shape, device="cuda")

    target, affine, channels = torch.arange(ROWS, device="cuda"), (ones(CLASSES), ones(CLASSES)), (ones(8), ones(8))
    return {
        "cross_entropy": lambda x: F.cross_entropy(x, target),
        "dropout": lambda x: F.dropout(x, 0.3),
        "batch_norm": lambda x: F.batch_norm(x.view(8, 8, -1), None, None, *channels, training=True),
        "batch_norm of vectors": lambda x: F.batch_norm(x, None, None, *affine, training=True),
        "contiguous of a transposed matrix": lambda x: x.t().contiguous(),
        "softmax": lambda x: F.softmax(x, 1),
        "layer_norm": lambda x: F.layer_norm(x, (CLASSES,), *affine),
        "gelu": F.gelu,
    }


def counted(work: Callable[..., Any], *given: Any) -> tuple[Any, str]:
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
    each = [sum(bytes_) / (ROWS * CLASSES) for bytes_ in (necessary, accessed)]
    return result, f"{len(accessed)} | {each[0]:.1f} | {each[1]:.1f}"


def main() -> None:
    """Print a line for each operation, forward and backward."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="operations; all by default")
    names = parser.parse_args().names
    torch.manual_seed(0)
    given = torch.randn(ROWS, CLASSES, device="cuda", requires_grad=True)
    print("| operation | launches | bytes moved | bytes accessed |\n|---|---|---|---|")
    for name, function in cases().items():
        if names and name not in names:
            continue
        x = given * 1
        result, forward = counted(function, x)
        print(f"| {name} | {forward} |")
        print(f"| {name}, backward | {counted(torch.autograd.grad, result, x, torch.ones_like(result))[1]} |")


if __name__ == "__main__":
    main()
