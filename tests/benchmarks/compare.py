"""Numgrad against PyTorch in one process: times as ratios, below 1 where numgrad is ahead.

    python tests/benchmarks/compare.py                      everything
    python tests/benchmarks/compare.py small pointwise      only these parts; see --help
    python tests/benchmarks/compare.py growth --plot growth.svg
    python tests/benchmarks/compare.py compile compile-first --torch-compile --jax jax/bin/python
    python tests/benchmarks/compare.py --device cuda        on a GPU
    python tests/benchmarks/compare.py pointwise --device cuda --elements 1000000 --no-torch

Each figure is the best of several rounds in which the two take turns, so that a machine whose speed drifts does not
favour either.  Both run the same Python code, given the module to compute with, on the same number of threads.  On a
GPU times are those between events that the GPU records, in either library.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpu
from compiling import compare_compiled, compare_first_results
from first import compare_first_runs
from growth import compare_growth, plot
from parts import PARTS
from timing import Part, best_times, by_events, geometric_mean, use_device

#: Parts that are not tables of cases, and need PyTorch.
WITH_PYTORCH = ("growth", "first", "compile", "compile-first")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [*PARTS, *WITH_PYTORCH]
    parser.add_argument("parts", nargs="*", help=f"any of: {', '.join(every)} (default: all)")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads for both libraries")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of which the best counts")
    parser.add_argument("--seconds", type=float, default=0.05, help="about how long a round of one program takes")
    parser.add_argument("--rows", type=int, default=1000, help="rows of the large tensors")
    parser.add_argument("--columns", type=int, default=2000, help="columns of the large tensors")
    parser.add_argument("--seed", type=int, default=0, help="of the operations that the part 'drawn' draws")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    parser.add_argument("--plot", type=Path, help="draw how the cost grows here (needs matplotlib)")
    parser.add_argument("--torch-compile", action="store_true", help="have torch.compile for comparison")
    parser.add_argument("--jax", metavar="PYTHON", help="have JAX for comparison: a Python that it is in")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where both libraries compute")
    parser.add_argument(
        "--elements", type=int, nargs="+", default=[1 << 20, 1 << 23, 1 << 26],
        help="elements of the large tensors on a GPU (default: 1, 8 and 64 million)",
    )  # fmt: skip
    parser.add_argument("--no-torch", action="store_true", help="times of numgrad alone")
    options = parser.parse_args()
    if options.device == "cuda":
        every = list(gpu.PARTS_ON_GPU)
    unknown = set(options.parts) - set(every)
    if unknown:
        parser.error(f"unknown part for {options.device}: {', '.join(sorted(unknown))} (it has {', '.join(every)})")

    modules = load(options.threads, not options.no_torch)
    if options.device == "cuda":
        lack = gpu.missing(not options.no_torch)
        if lack:
            parser.exit(1, f"Nothing to time: {lack}\n")
        results = on_gpu(options.parts or list(gpu.TARGETS), options, modules)
    else:
        results = on_cpu(options.parts or every, options, modules)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


def load(threads: int, with_torch: bool) -> list[Any]:
    """Return numgrad and, if requested and installed, PyTorch, each with this number of threads."""
    modules: list[Any] = []
    if with_torch:
        try:
            import torch  # before Numba starts its threads: the later one of two OpenMP libraries runs very slowly
        except ImportError:
            print("PyTorch is not installed.")
        else:
            modules.append(torch)

    import numgrad

    modules.insert(0, numgrad)
    use_threads(threads, modules)
    names = ["numgrad", "PyTorch"]
    versions = [f"{name} {module.__version__}" for name, module in zip(names, modules, strict=False)]
    print(f"{', '.join(versions)}, {threads} threads")
    return modules


def use_threads(threads: int, modules: list[Any]) -> None:
    """Have each library compute with so many threads."""
    for module in modules:
        module.set_num_threads(threads)


def on_cpu(names: list[str], options: Any, modules: list[Any]) -> dict[str, Any]:
    """Time these parts and print their tables."""
    results: dict[str, Any] = {}
    for name in names:
        if name in WITH_PYTORCH and len(modules) == 1:
            print(f"\nThe part '{name}' needs PyTorch.")
        elif name == "first":
            results[name] = compare_first_runs()
        elif name == "compile":
            results[name] = compare_compiled(options, *modules)
        elif name == "compile-first":
            results[name] = compare_first_results(options, modules[0])
        elif name == "growth":
            results[name] = compare_growth(options.rounds)
            if options.plot:
                plot(results[name], options.plot)
        else:
            further = {"seed": options.seed} if name == "drawn" else {}
            tables = PARTS[name](options.rows, options.columns, **further)
            results[name] = [run(part, options, modules) for part in tables]
    return results


def on_gpu(names: list[str], options: Any, modules: list[Any]) -> dict[str, Any]:
    """Time these parts on the GPU and print their tables."""
    use_device("cuda")
    numgrad = modules[0]
    print(f"on {numgrad.cuda.get_device_name()}")
    bandwidth = gpu.copy_bandwidth(modules, max(options.elements), options.rounds)
    print(f"copying {max(options.elements):,} float32 reads and writes {bandwidth / 1e9:,.0f} GB/s")
    results: dict[str, Any] = {"device": numgrad.cuda.get_device_name(), "copy": bandwidth}

    def keep(result: dict[str, Any]) -> None:
        """Write the figures so far, as the time on a GPU may end at any case."""
        if options.json:
            options.json.write_text(json.dumps({**results, "unfinished": result}))

    for name in names:
        results[name] = []
        for part, size in gpu.tables(name, options.elements):
            passes = bandwidth / (4 * size) if name in gpu.BANDWIDTH_BOUND else 0
            results[name].append(run(part, options, modules, passes, keep))
    return results


def run(
    part: Part, options: Any, modules: list[Any], passes: float = 0, keep: Callable[[dict[str, Any]], Any] = len
) -> dict[str, Any]:
    """Time the cases of a part and print their lines, then the geometric mean of the ratios.

    ``passes``, if it is not 0, says how often a second the GPU could read or write each element of the large tensors.
    ``keep`` is called with the result so far after each case.
    """
    watches = [by_events(module) for module in modules] if options.device == "cuda" else []
    print(f"\n{part.title}")
    heads = f"{'PyTorch':>10s}{'ratio':>8s}" if len(modules) > 1 else ""
    print(f"{'':50s}{'numgrad':>10s}{heads}{'of copy' * bool(passes):>10s}   (times in microseconds)")
    figures: dict[str, dict[str, float]] = {}
    result = {"title": part.title, "limit": part.limit, "each": part.each, "cases": figures}
    above: list[str] = []
    rounds, seconds = (4 * options.rounds, options.seconds / 20) if part.brief else (options.rounds, options.seconds)
    use_threads(part.threads or options.threads, modules)
    for case in part.cases:
        if options.only not in case.name:
            continue
        programs = [case.make(module) for module in modules]
        times = [time / case.calls for time in best_times(programs, rounds, seconds, *[watches] * bool(watches))]
        figure = figures[case.name] = dict(zip(("numgrad", "torch"), times, strict=False))
        line = f"{case.name:50s}{times[0] * 1e6:10.1f}"
        if len(times) > 1:
            figure["ratio"] = times[0] / times[1]
            line += f"{times[1] * 1e6:10.1f}{figure['ratio']:8.2f}"
        if passes and case.name in gpu.MOVED:
            figure["share"] = gpu.MOVED[case.name] / passes / times[0]
            line += f"{figure['share']:10.0%}"
        if part.misses(times[0], figure.get("ratio", 0)):
            above.append(case.name)
            line += " !"
        print(line, flush=True)
        keep(result)
    if not figures:
        return {}
    ratios = [figure["ratio"] for figure in figures.values() if "ratio" in figure]
    shares = [figure["share"] for figure in figures.values() if "share" in figure]
    if ratios:
        result["mean"] = geometric_mean(ratios)
        aim = "" if part.limit is None else f"   at most {part.limit}"
        print(f"{'geometric mean':70s}{result['mean']:8.2f}{aim}")
    if above:
        print(f"above the limit of each: {', '.join(above)}")
    if shares:
        result["share"] = geometric_mean(shares)
        aim = "" if part.limit is None else f"   at least {gpu.SHARE:.0%}"
        print(f"{'of the bandwidth of a copy':70s}{result['share']:8.0%}{aim}")
    return result


if __name__ == "__main__":
    main()
