"""Stages of a session with a GPU: tests, speed, and the speed of PyTorch.

``python tests/on_gpu/card.py OUT`` runs all stages, ``python tests/on_gpu/card.py OUT smoke bandwidth`` these two, and
``--group 1`` to ``--group 5`` those that take nine minutes together, the most telling first.  Each stage has its own
process and time limit; its results are written to OUT before the next begins, and a stage that fails keeps no other
from running.  OUT then has ``summary.txt``, ``summary.json`` and ``log.txt``.

On a bare machine ``--wheels DIR`` installs the packages in a folder, without a network, to the folder ``--site``, which
later calls need not install again.  ``--simulator`` tries the stages without a card, on tiny tensors.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from card_work import WITHIN

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

#: Seconds that a stage has at most, and those that begin a session, and all stages of a group.
LIMIT = 480
LIMITS = {"versions": 30, "machine-code": 60, "bandwidth": 45, "training": 45}
GROUP_LIMIT = 530

#: The most telling tests, and the longest ones.
_FIRST = ("tensors", "launches", "moving", "memory", "streams", "waiting", "generators", "user_kernels", "cuda_module")
_LONG = ("table", "complex")

_BENCHMARKS = ("pointwise", "network", "reductions", "matrices", "small", "steps")

#: The tools of compute-sanitizer.
_TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")

#: The stages of each group.
GROUPS = (
    ("versions", "machine-code", "bandwidth", "training", "smoke", "tests-first"),
    ("benchmark-pointwise", "benchmark-reductions", "benchmark-network"),
    ("benchmark-steps", "benchmark-matrices", "benchmark-small"),
    ("tests-others",),
    ("tests-table", "tests-complex", *[f"sanitizer-{tool}" for tool in _TOOLS], "profile"),
)

_MARKS = "gpu and not cupy and not simulator"


class Stage:
    """Return a command, and a function that reads its results from the file that it writes."""

    def __init__(
        self, command: list[str], read: Callable[[Path], Any], needs: str | None = None,
        environment: dict[str, str] | None = None,
    ):  # fmt: skip
        self.command = command
        self.read = read
        self.needs = needs  # a program
        self.environment = environment or {}


def _within(name: str, found: Path, simulator: bool) -> Stage:
    command = [sys.executable, str(Path(__file__)), str(found), "--within", name, *["--simulator"][:simulator]]
    return Stage(command, lambda file: json.loads(file.read_text()))


def _sanitizer(tool: str, found: Path, simulator: bool) -> Stage:
    """The workload under a tool of compute-sanitizer, each tensor with separate memory."""
    inner = _within("workload", found, simulator)
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *inner.command]
    return Stage(command, inner.read, command[0], {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"})


def _profile(found: Path, simulator: bool) -> Stage:
    """Nsight Compute's figures of the kernels of the operations that read and write the most memory per computation."""
    wanted = "regex:cuda_[a-z_]*(copy|lines|sort|merge|likelihood|attention|normal|philox)"
    command = [
        "ncu", "--set", "basic", "--section", "MemoryWorkloadAnalysis", "--launch-count", "60", "--kernel-name", wanted,
        "--kernel-name-base", "mangled",  # without namespaces, every kernel's name is "kernel"
        "--csv", "--log-file", str(found), *_within("workload", Path(f"{found}.json"), simulator).command,
    ]
    return Stage(command, lambda file: [line for line in file.read_text().splitlines() if line[:2] != "=="], command[0])


def _tests(paths: list[str], found: Path, simulator: bool) -> Stage:
    marks = _MARKS if not simulator else "gpu and not cupy"
    shared = ["-n", str(min(8, os.cpu_count() or 1))] if importlib.util.find_spec("xdist") else []
    command = [
        sys.executable, "-m", "pytest", "-q", "-m", marks, "-o", "addopts=--import-mode=importlib",
        "-p", "no:cacheprovider", f"--junitxml={found}", *shared, *paths,
    ]
    return Stage(command, _counts)


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
        **{name: partial(_within, name) for name in WITHIN if name != "workload"},
        "tests-first": partial(_tests, [of[name] for name in _FIRST]),
        "tests-others": partial(_tests, others),
        **{f"tests-{name}": partial(_tests, [of[name]]) for name in _LONG},
        **{f"sanitizer-{tool}": partial(_sanitizer, tool) for tool in _TOOLS},
        "profile": _profile,
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
            stage.command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT,
            env={**environment, **stage.environment}, start_new_session=True,
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
        if name in WITHIN or name.startswith("tests"):
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
    site = Path(tempfile.gettempdir()) / "numgrad-card-site"
    parser.add_argument("--site", type=Path, default=site, help="where it installs them, not in OUT (%(default)s)")
    parser.add_argument("--group", type=int, choices=range(1, 6), help="the stages that take nine minutes together")
    parser.add_argument("--simulator", action="store_true", help="without a card, on tiny tensors")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that a stage has at most")
    parser.add_argument("--list", action="store_true", help="print the names of the stages")
    parser.add_argument("--within", choices=WITHIN, help=argparse.SUPPRESS)  # a stage's own process
    options = parser.parse_intermixed_args()
    if options.within:
        result = WITHIN[options.within](options.simulator)
        options.out.write_text(json.dumps(result))
        return int(bool(result.get("faults")))
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
        install(options.wheels, options.site, log)
    if options.site.exists():
        paths.insert(0, str(options.site.resolve()))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])}
    if options.simulator:
        environment["NUMBA_ENABLE_CUDASIM"] = "1"
    results: dict[str, Any] = {}
    grouped = GROUPS[options.group - 1] if options.group else ()
    end = time.monotonic() + (GROUP_LIMIT if grouped else float("inf"))
    for name in dict.fromkeys(["versions", *(options.stages or grouped or known)]):
        found = (options.out / "found").resolve()
        limit = min(options.limit, LIMITS.get(name, LIMIT), max(1.0, end - time.monotonic()))
        results[name] = run(name, known[name](found, options.simulator), found, log, environment, limit)
        (options.out / "summary.json").write_text(json.dumps(results, indent=1))
        (options.out / "summary.txt").write_text(table(results))
        print(table({name: results[name]}), end="", flush=True)
    return int(any(not result["status"].startswith(("passed", "left out")) for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
