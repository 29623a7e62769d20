"""Microseconds that the host takes for an operation on a GPU: ``python tests/benchmarks/host_time.py``, without a GPU.

NVIDIA's driver is replaced by one that does nothing: a call of it costs as much as that of a Python function.  Each
figure is the least of many rounds, in processor time of the thread.  In the cases that are *recorded*, the operation
becomes a node of the graph for backward.
"""

import argparse
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep, thread_time_ns
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from driver_stub import ERROR, Driver

import numgrad as torch
from numgrad import devices, nn, optim
from numgrad.devices import needs
from numgrad.nn import functional as F  # noqa: N812


def begin() -> None:
    """Begin to use a GPU of the driver that does nothing."""
    needs.check = lambda: None  # type: ignore[assignment]
    from numgrad.devices.cuda import driver

    nothing: Any = Driver(memory=1 << 30)
    answer = (ERROR.CUDA_SUCCESS,)
    for name in ("cuLaunchKernel", "cuGraphLaunch", "cuMemcpyDtoDAsync", "cuMemcpyHtoDAsync", "cuMemsetD8Async"):
        setattr(nothing, name, lambda *arguments: answer)
    driver.cu = nothing
    driver.machine_code = lambda name, text, arguments, capability: ("entry", "code")
    devices.begin_cuda()


def cases() -> dict[str, Callable[[], Any]]:
    """Return operations on tensors of 64 x 256 elements, and a compiled training step."""
    x, y, weight, bias, square = (
        torch.empty(*shape, device="cuda") for shape in ((64, 256), (64, 256), (256,), (256,), (256, 256))
    )
    z = torch.empty(64, 256, device="cuda", requires_grad=True)
    functions: dict[str, Callable[[Any], Any]] = {
        "add": lambda x: x + y, "sum": lambda x: x.sum(), "softmax": lambda x: F.softmax(x, 1),
        "layer_norm": lambda x: F.layer_norm(x, (256,), weight, bias), "linear": lambda x: F.linear(x, square, bias),
    }
    return {
        **{name: functools.partial(function, x) for name, function in functions.items()},
        **{f"{name}, recorded": functools.partial(function, z) for name, function in functions.items()},
        "compiled training step": training_step(x),
    }


def training_step(x: Any) -> Callable[[], Any]:
    """Return a step of three linear layers with SGD, compiled and merged."""
    layers = [nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)]
    model = nn.Sequential(*layers).to("cuda")
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    labels = torch.zeros(64, dtype=torch.int64, device="cuda")

    @torch.compile(fullgraph=True)
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(20):
        step(x)
    sleep(3)  # merges kernels in the background
    return functools.partial(step, x)


def microseconds(function: Callable[[], Any], calls: int = 20) -> float:
    """Return the processor time of a call, in microseconds, as the average of ``calls``."""
    begun = thread_time_ns()
    for _ in range(calls):
        function()
    return (thread_time_ns() - begun) / calls / 1e3


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    begin()
    functions = cases()
    least = dict.fromkeys(functions, float("inf"))
    for _ in range(options.rounds):
        for name, function in functions.items():
            least[name] = min(least[name], microseconds(function))
    for name, each in least.items():
        print(f"{name:26} {each:5.1f} µs")


if __name__ == "__main__":
    main()
