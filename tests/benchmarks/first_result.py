"""Time to the first results, in this process, of a compiled program of ``parts/compiled.py``.

    python first_result.py LIBRARY NAME

It prints the seconds that the import took, those from then until each of three results, and what these were.
"""

from __future__ import annotations

import importlib
import json
import sys
import time

from parts.compiled import COMPILED, means


def main(library: str, name: str) -> None:
    """Import the library, build the program, compile it and compute."""
    (case,) = [case for case in COMPILED if case.name == name]
    began = time.perf_counter()
    module = importlib.import_module(library)
    start = time.perf_counter()
    step = case.make(module)
    compiled = module.compile(step.function)
    seconds, results = [], []
    for _ in range(3):
        results.append(compiled(*step.arguments))
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"import": start - began, "seconds": seconds, "results": [means(result) for result in results]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
