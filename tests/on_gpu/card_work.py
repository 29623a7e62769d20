"""Stages of ``card.py`` that need a process of their own: each returns figures, and ``faults`` by name."""

from __future__ import annotations

import importlib.util
import itertools
import platform
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any


def training(simulator: bool) -> dict[str, Any]:
    """Train a network, and compare gradients of more operations with the CPU's; raise an error if a result is wrong."""
    import numgrad as torch

    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 64, device="cuda").unsqueeze(1)
    model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses, begun = [], time.perf_counter()
    for _ in range(5 if simulator else 200):
        loss = torch.nn.functional.mse_loss(model(x), x**2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    seconds = time.perf_counter() - begun
    assert losses[-1] < losses[0], losses
    rows = torch.rand(33, 70, device="cuda", requires_grad=True)
    there = torch.softmax(rows @ rows.t(), 1).cumsum(0).sort(1).values.square().sum()
    here = rows.detach().cpu().requires_grad_()
    torch.softmax(here @ here.t(), 1).cumsum(0).sort(1).values.square().sum().backward()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        there.backward()
    torch.cuda.current_stream().wait_stream(side)
    error = ((rows.grad.cpu() - here.grad).norm() / here.grad.norm()).item()
    assert error < 1e-4, error
    return {
        "loss, first": losses[0], "loss, last": losses[-1], "milliseconds a step": 1e3 * seconds / len(losses),
        "gradient's error": error, "peak memory, bytes": torch.cuda.max_memory_allocated(),
    }


def smoke(simulator: bool) -> dict[str, Any]:
    """Try the calls that need a real driver, independently of each other; the result names those that failed."""
    import numgrad as torch

    def products(dtype: Any) -> None:
        """Multiply in every orientation: matrices, a matrix and a vector, vectors."""
        a, b, v = (torch.rand(*shape, device="cuda").to(dtype) for shape in ((5, 7), (7, 6), (7,)))
        for left, right in itertools.product((a, a.t().contiguous().t()), (b, b.t().contiguous().t(), v)):
            wanted = left.cpu().numpy() @ right.cpu().numpy()
            assert abs((left @ right).cpu().numpy() - wanted).max() < 1e-4
            assert abs((right.t() @ left.t()).cpu().numpy() - wanted.T).max() < 1e-4
        assert abs((v @ v).item() - (v.cpu().numpy() ** 2).sum()) < 1e-4

    def bad_index() -> None:
        """Index out of bounds: the error is raised at the next wait at the latest."""
        try:
            torch.rand(5, device="cuda")[torch.tensor([9], device="cuda")].cpu()
        except IndexError:
            return
        raise AssertionError("no error")

    def event_in_a_thread() -> None:
        """Query an event in a thread that has used no GPU."""
        event = torch.cuda.Event()
        event.record()
        with ThreadPoolExecutor(1) as thread:
            thread.submit(event.synchronize).result()
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(event.query).result()

    def context_of_numba() -> None:
        """Start in a context that Numba removes."""
        from numba import cuda

        def begin() -> float:
            with cuda.gpus[0]:
                torch.ones(3, device="cuda")
            return torch.ones(3, device="cuda").sum().item()

        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(begin).result() == 3

    def graphs() -> None:
        """Compile a training step with products, and compare what its CUDA graphs compute with the step itself."""
        from numgrad.devices.cuda import runtime

        def trained(wrap: Callable[..., Any]) -> list[Any]:
            torch.manual_seed(0)
            layers = [torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2)]
            model = torch.nn.Sequential(*layers).to("cuda")
            optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

            def step(x: Any) -> Any:
                optimizer.zero_grad()
                loss = model(x).square().mean()
                loss.backward()
                optimizer.step()
                return loss.detach()

            step = wrap(step)
            losses = [step(torch.full((75, 8), number / 8, device="cuda")) for number in range(12)]
            return [value.cpu() for value in (*losses, *[parameter.detach() for parameter in model.parameters()])]

        launched = []
        launch = runtime.driver.launch_graph
        runtime.driver.launch_graph = lambda *given: launched.append(launch(*given))
        try:
            found = trained(partial(torch.compile, fullgraph=True))
        finally:
            runtime.driver.launch_graph = launch
        assert launched or simulator, "no graph was launched"
        for ours, expected in zip(found, trained(lambda step: step), strict=True):
            torch.testing.assert_close(ours, expected)

    dtypes = (torch.float32, torch.float64, torch.complex64, torch.complex128)
    checks: dict[str, Callable[[], Any]] = {
        **{f"products of {str(dtype).rpartition('.')[2]}": partial(products, dtype) for dtype in dtypes},
        "bad index": bad_index, "event in a thread": event_in_a_thread, "context of Numba": context_of_numba,
        "graphs of a compiled program": graphs,
    }
    if simulator:
        del checks["context of Numba"]
    faults = {}
    for name, check in checks.items():
        try:
            check()
        except Exception as error:
            faults[name] = f"{type(error).__name__}: {error}"
    return {"tried": list(checks), "faults": faults}


def workload(simulator: bool) -> dict[str, Any]:
    """Run a kernel or more of each kind, forward and backward, on small tensors."""
    import numgrad as torch

    f = torch.nn.functional
    x = torch.rand(*((6, 5) if simulator else (300, 130)), device="cuda", requires_grad=True)
    image = torch.rand(2, 3, 6, 5, device="cuda", requires_grad=True)
    labels = torch.arange(len(x), device="cuda") % x.shape[1]
    weight = torch.rand(4, 3, 3, 3, device="cuda", requires_grad=True)
    results = [
        x.exp() + x.t().contiguous().t(), x.sum(0), x.max(1).values, x.cumsum(0), x.sort(1).values, x @ x.t(),
        torch.softmax(x, 1), f.cross_entropy(x, labels), f.layer_norm(x, x.shape[1:]), x[labels],
        f.embedding(labels, x), f.dropout(x, 0.5), f.conv2d(image, weight, padding=1),
        f.batch_norm(image, None, None, training=True), f.scaled_dot_product_attention(image, image, image),
        f.max_pool2d(image, 2),
    ]
    sum(result.square().sum() for result in results).backward()
    torch.optim.Adam([x, image, weight]).step()
    torch.cuda.synchronize()
    return {"finite": bool(x.isfinite().all()), "faults": {}}


def machine_code(simulator: bool) -> dict[str, Any]:
    """Compare the parameters of kernels, as the driver reads them in machine code, with the slots of their launches."""
    workload(simulator)
    if simulator:
        return {"kernels": "none in the simulator", "faults": {}}
    from cuda.bindings import driver as cu

    import numgrad
    from numgrad.devices.cuda import launching, packing
    from numgrad_kernels.cuda.store import machine_code

    capability = numgrad.cuda.get_device_capability(0)
    kernels = list(launching.kernels.values())[:30]
    faults = {}
    for kernel in kernels:
        entry, code = machine_code(kernel.name, kernel.text, kernel.arguments, capability)
        function = cu.cuModuleGetFunction(cu.cuModuleLoadData(code)[1], entry.encode())[1]
        answers = (cu.cuFuncGetParamInfo(function, number) for number in itertools.count())
        known = itertools.takewhile(lambda answer: not answer[0], answers)
        laid_out, packed = [int(size) for _, _, size in known], packing.sizes(kernel.arguments)
        if not code.startswith(b"\x7fELF"):
            faults[kernel.name] = "is PTX: there is no linker, or the GPU is newer than the compiler"
        elif laid_out != packed:
            faults[kernel.name] = f"has parameters of {laid_out} bytes, but launches pack {packed}"
    return {"kernels": len(kernels), "faults": faults}


def bandwidth(simulator: bool) -> dict[str, Any]:
    """Print GB/s of copies, pointwise operations and reductions of numgrad and of PyTorch, and of the card."""
    import numgrad

    properties = numgrad.cuda.get_device_properties(0)
    peak = 2e3 * properties.memory_clock_rate * properties.memory_bus_width / 8 / 1e9
    size, repeats = (64, 2) if simulator else (1 << 28, 20)
    result: dict[str, Any] = {"peak by clock and bus": round(peak), "numgrad": _rates(numgrad, size, repeats)}
    if importlib.util.find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            result["PyTorch"] = _rates(torch, size, repeats)
    return result


def _rates(torch: Any, size: int, repeats: int) -> dict[str, float]:
    """GB/s by operation, of a library with PyTorch's names: bytes read and written over the median of the times."""
    x, y = (torch.rand(size, device="cuda") for _ in range(2))
    rows = x.view(size // 64, 64)
    cases: dict[str, tuple[int, Callable[[], Any]]] = {  # numbers of accesses to each element, and functions
        "copy": (2, lambda: y.copy_(x)),
        "x * 2": (2, lambda: x * 2),
        "x + y": (3, lambda: x + y),
        "tanh": (2, lambda: x.tanh()),
        "sum": (1, lambda: x.sum()),
        "sum of rows": (1, lambda: rows.sum(1)),
        "sum of columns": (1, lambda: rows.sum(0)),
    }
    rates = {}
    for name, (times, run) in cases.items():
        run()
        torch.cuda.synchronize()
        seconds = []
        for _ in range(repeats):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            run()
            end.record()
            torch.cuda.synchronize()
            seconds.append(start.elapsed_time(end) / 1e3)
        rates[name] = float(f"{4 * size * times / statistics.median(seconds) / 1e9:.4g}")
    return rates


def versions(simulator: bool) -> dict[str, Any]:
    """The card, its driver, and the packages that take part."""
    from importlib import metadata

    import numgrad
    from numgrad import devices

    properties = numgrad.cuda.get_device_properties(0)
    compilers, advice = devices.gpu_compilers()
    names = ("numpy", "numba", "numba-cuda", "cuda-bindings", "nvmath-python", "nvidia-cublas", "torch")
    installed = {package.metadata["Name"]: package.version for package in metadata.distributions()}
    return {
        "card": properties.name, "compute capability": f"{properties.major}.{properties.minor}",
        "memory, GB": round(properties.total_memory / 1e9, 1), "multiprocessors": properties.multi_processor_count,
        "driver": devices.gpu_driver_version(), "Python": platform.python_version(), "system": platform.platform(),
        "compilers": compilers, "faults": {"versions": advice} if advice else {},
        "numgrad": numgrad.__version__, **{name: installed.get(name, "none") for name in names},
    }


#: The functions by the name of their stage; the workload belongs to several.
WITHIN: dict[str, Callable[[bool], dict[str, Any]]] = {
    "versions": versions, "machine-code": machine_code, "bandwidth": bandwidth, "training": training, "smoke": smoke,
    "workload": workload,
}  # fmt: skip
