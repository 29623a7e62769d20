"""Numgrad beside PyTorch in one process: times as ratios, below 1 where numgrad is ahead.

    python tests/benchmarks/compare.py                      everything
    python tests/benchmarks/compare.py small pointwise      only these parts; see --help
    python tests/benchmarks/compare.py growth --plot growth.svg

Each figure is the best of several rounds in which the two take turns, so that a machine whose speed drifts does not
favour either.  Both run the same Python code, given the module to compute with, on the same number of threads.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from growth import compare_growth, plot
from parts import PARTS
from start import compare_starts
from timing import Part, best_times, geometric_mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [*PARTS, "growth", "start"]
    parser.add_argument("parts", nargs="*", help=f"any of: {', '.join(every)} (default: all)")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads for both libraries")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of which the best counts")
    parser.add_argument("--seconds", type=float, default=0.05, help="about how long a round of one program takes")
    parser.add_argument("--rows", type=int, default=1000, help="rows of the large tensors")
    parser.add_argument("--columns", type=int, default=2000, help="columns of the large tensors")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    parser.add_argument("--plot", type=Path, help="draw how the cost grows here (needs matplotlib)")
    options = parser.parse_args()
    unknown = set(options.parts) - set(every)
    if unknown:
        parser.error(f"unknown part: {', '.join(sorted(unknown))}")

    import torch  # before Numba starts its threads: the later one of two OpenMP libraries runs very slowly

    import numgrad

    import numba  # isort: skip

    torch.set_num_threads(options.threads)
    numba.set_num_threads(options.threads)
    print(f"numgrad {numgrad.__version__}, PyTorch {torch.__version__}, {options.threads} threads")
    results: dict[str, Any] = {}
    for name in options.parts or every:
        if name == "start":
            results[name] = compare_starts()
        elif name == "growth":
            results[name] = compare_growth(options.rounds)
            if options.plot:
                plot(results[name], options.plot)
        else:
            results[name] = [run(part, options) for part in PARTS[name](options.rows, options.columns)]
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


def run(part: Part, options: Any) -> dict[str, Any]:
    """Time the cases of a part and print their lines, then the geometric mean of the ratios."""
    import torch

    import numgrad

    print(f"\n{part.title}")
    print(f"{'':50s}{'numgrad':>10s}{'PyTorch':>10s}{'ratio':>8s}   (times in microseconds)")
    figures = {}
    for case in part.cases:
        if options.only not in case.name:
            continue
        ours, theirs = best_times([case.make(numgrad), case.make(torch)], options.rounds, options.seconds)
        figures[case.name] = {"numgrad": ours, "torch": theirs, "ratio": ours / theirs}
        over = part.each is not None and ours / theirs > part.each
        line = f"{case.name:50s}{ours * 1e6:10.1f}{theirs * 1e6:10.1f}{ours / theirs:8.2f}"
        print(line + " !" * over, flush=True)
    if not figures:
        return {}
    mean = geometric_mean(figure["ratio"] for figure in figures.values())
    aim = "" if part.limit is None else f"   at most {part.limit}"
    print(f"{'geometric mean':70s}{mean:8.2f}{aim}")
    return {"title": part.title, "limit": part.limit, "each": part.each, "mean": mean, "cases": figures}


if __name__ == "__main__":
    main()
