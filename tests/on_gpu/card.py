"""Stages of a session with a GPU: tests, speed, and the speed of PyTorch.

``python tests/on_gpu/card.py OUT`` runs all stages, ``python tests/on_gpu/card.py OUT smoke bandwidth`` these two.
Each has its own process and time limit; its results are written to OUT before the next begins, and a stage
that fails keeps no other from running.  OUT then has ``summary.txt``, ``summary.json`` and ``log.txt``.

On a bare machine ``--wheels DIR`` installs what lies in a folder, without a network, to a folder of its own in OUT.
``--simulator`` tries the stages without a card, on tiny tensors.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import time
import xml.etree.ElementTree
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

#: Seconds that a stage has at most.
LIMIT = 480

#: The most telling tests, and the longest ones.
_FIRST = ("tensors", "launches", "moving", "memory", "streams", "waiting", "generators", "user_kernels", "cuda_module")
_LONG = ("table", "complex")

_BENCHMARKS = ("pointwise", "network", "reductions", "matrices", "small", "steps")

_MARKS = "gpu and not cupy and not simulator"


# -- what runs within a stage's process --------------------------------------------------------------------------


def smoke(simulator: bool) -> dict[str, Any]:
    """Train a network, and use memory and streams; raise an error if a result is wrong."""
    import numgrad as torch

    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 64, device="cuda").unsqueeze(1)
    model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(5 if simulator else 200):
        loss = torch.nn.functional.mse_loss(model(x), x**2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
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
        "loss, first": losses[0], "loss, last": losses[-1], "gradient's error": error,
        "peak memory, bytes": torch.cuda.max_memory_allocated(),
    }


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
    names = ("numpy", "numba", "numba-cuda", "cuda-bindings", "nvmath-python", "nvidia-cublas", "torch")
    installed = {package.metadata["Name"]: package.version for package in metadata.distributions()}
    return {
        "card": properties.name, "compute capability": f"{properties.major}.{properties.minor}",
        "memory, GB": round(properties.total_memory / 1e9, 1), "multiprocessors": properties.multi_processor_count,
        "driver": devices.gpu_driver_version(), "Python": platform.python_version(), "system": platform.platform(),
        "numgrad": numgrad.__version__, **{name: installed.get(name, "none") for name in names},
    }


_WITHIN: dict[str, Callable[[bool], dict[str, Any]]] = {"versions": versions, "smoke": smoke, "bandwidth": bandwidth}


# -- the stages --------------------------------------------------------------------------------------------------


class Stage:
    """Return a command, and a function that reads its results from the file that it writes."""

    def __init__(self, command: list[str], read: Callable[[Path], Any], needs: str | None = None):
        self.command = command
        self.read = read
        self.needs = needs  # a program


def _within(name: str, found: Path, simulator: bool) -> Stage:
    command = [sys.executable, str(Path(__file__)), str(found), "--within", name, *["--simulator"][:simulator]]
    return Stage(command, lambda file: json.loads(file.read_text()))


def _tests(paths: list[str], found: Path, simulator: bool, before: tuple[str, ...] = ()) -> Stage:
    marks = _MARKS if not simulator else "gpu and not cupy"
    shared = ["-n", str(min(8, os.cpu_count() or 1))] if importlib.util.find_spec("xdist") and not before else []
    command = [
        *before, sys.executable, "-m", "pytest", "-q", "-m", marks, "-o", "addopts=--import-mode=importlib",
        "-p", "no:cacheprovider", f"--junitxml={found}", *shared, *paths,
    ]
    return Stage(command, _counts, before[0] if before else None)


def _counts(file: Path) -> dict[str, Any]:
    """Return the number of tests, and the failed ones."""
    suites = xml.etree.ElementTree.parse(file).getroot().iter("testsuite")
    cases = [case for suite in suites for case in suite.iter("testcase")]
    failed = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return {"tests": len(cases), "failed": len(failed), "first that failed": failed[:20]}


def _benchmark(part: str, found: Path, simulator: bool) -> Stage:
    tiny = ["--no-torch", "--elements", "64", "--rounds", "1", "--seconds", "0", "--only", "relu"]
    script = str(ROOT / "tests" / "benchmarks" / "compare.py")
    command = [sys.executable, script, part, "--device", "cuda", "--json", str(found), *(tiny if simulator else [])]
    return Stage(command, lambda file: json.loads(file.read_text()))


def stages() -> dict[str, Callable[[Path, bool], Stage]]:
    """Return every stage by name, as a function of the file of its results and of a flag for the simulator."""
    of = {file.stem.removeprefix("test_"): str(file) for file in sorted(HERE.glob("test_*.py"))}
    others = [path for name, path in of.items() if name not in (*_FIRST, *_LONG)]
    return {
        **{name: partial(_within, name) for name in _WITHIN},
        "tests-first": partial(_tests, [of[name] for name in _FIRST]),
        "tests-others": partial(_tests, others),
        **{f"tests-{name}": partial(_tests, [of[name]]) for name in _LONG},
        "races": partial(
            _tests, [of["reductions"], "-k", "sum"], before=("compute-sanitizer", "--tool", "racecheck"),
        ),
        **{f"benchmark-{part}": partial(_benchmark, part) for part in _BENCHMARKS},
    }  # fmt: skip


def run(name: str, stage: Stage, found: Path, log: Path, environment: dict[str, str], limit: float) -> dict[str, Any]:
    """Run a stage, and return its status, seconds and results."""
    if stage.needs is not None and shutil.which(stage.needs) is None:
        return {"status": f"left out: there is no {stage.needs}", "seconds": 0, "found": None}
    begun = time.monotonic()
    with log.open("a") as output:
        print(f"\n==== {name}: {' '.join(stage.command)}", file=output, flush=True)
        process = subprocess.Popen(
            stage.command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT, env=environment, start_new_session=True,
        )  # fmt: skip
        try:
            status = "passed" if process.wait(limit) == 0 else f"failed: exit status {process.returncode}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = f"out of time after {limit:g} s"
    result = None
    if found.exists():
        try:
            result = stage.read(found)
        except (ValueError, xml.etree.ElementTree.ParseError) as error:  # a process that ended while it wrote
            status += f"; what it found is damaged: {error}"
        found.unlink()
    return {"status": status, "seconds": round(time.monotonic() - begun, 1), "found": result}


def install(wheels: Path, target: Path, log: Path) -> None:
    """Install every wheel of a folder, and nothing else, to a folder.

    Raises:
        CalledProcessError: pip does not.
    """
    files = [str(file) for file in sorted(wheels.glob("*.whl"))]
    command = [
        sys.executable, "-m", "pip", "install", "--no-index", "--find-links", str(wheels), "--no-deps", "--upgrade",
        "--target", str(target), *files,
    ]
    with log.open("a") as output:
        subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=True)


def table(results: dict[str, Any]) -> str:
    """The results as text, a line or few for each stage."""
    lines = []
    for name, result in results.items():
        lines.append(f"{name:22} {result['seconds']:7.1f} s  {result['status']}")
        if name in _WITHIN or name.startswith("tests"):
            lines += [f"    {key}: {_words(value)}" for key, value in (result["found"] or {}).items()]
    return "\n".join(lines) + "\n"


def _words(value: Any) -> str:
    return ", ".join(f"{key} {each}" for key, each in value.items()) if isinstance(value, dict) else str(value)


def main() -> int:
    """Run the stages of the command line; return 0 if every stage passed or was skipped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, default=Path("card"), help="the folder for what is found")
    parser.add_argument("stages", nargs="*", help="which to run (default: all)")
    parser.add_argument("--wheels", type=Path, help="install the wheels of this folder first")
    parser.add_argument("--simulator", action="store_true", help="without a card, on tiny tensors")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that a stage has at most")
    parser.add_argument("--list", action="store_true", help="print the names of the stages")
    parser.add_argument("--within", choices=_WITHIN, help=argparse.SUPPRESS)  # a stage's own process
    options = parser.parse_intermixed_args()
    if options.within:
        options.out.write_text(json.dumps(_WITHIN[options.within](options.simulator)))
        return 0
    known = stages()
    if options.list:
        print("\n".join(known))
        return 0
    unknown = [name for name in options.stages if name not in known]
    if unknown:
        parser.error(f"unknown stage: {', '.join(unknown)} (there are {', '.join(known)})")

    options.out.mkdir(parents=True, exist_ok=True)
    log = options.out / "log.txt"
    log.write_text("")
    paths = [str(ROOT), str(ROOT / "kernels")]
    if options.wheels:
        site = (options.out / "site").resolve()
        install(options.wheels, site, log)
        paths.insert(0, str(site))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])}
    if options.simulator:
        environment["NUMBA_ENABLE_CUDASIM"] = "1"
    results: dict[str, Any] = {}
    for name in dict.fromkeys(["versions", *(options.stages or known)]):
        found = (options.out / "found").resolve()
        results[name] = run(name, known[name](found, options.simulator), found, log, environment, options.limit)
        (options.out / "summary.json").write_text(json.dumps(results, indent=1))
        (options.out / "summary.txt").write_text(table(results))
        print(table({name: results[name]}), end="", flush=True)
    return int(any(not result["status"].startswith(("passed", "left out")) for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
