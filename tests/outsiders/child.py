"""Run pytest with numgrad or PyTorch as torch, and write the outcome of each test to a file.

    python tests/outsiders/child.py numgrad results.txt tests -q

`run.py` starts it in a process of its own.  Each line of the file has an outcome and the name of a test, and is written
when the test ends, so that the file is of use if the process does not end by itself.  A test with subtests has a line
for each of them.
"""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path

import numpy as np
import pytest


class Results:
    """Plugin that writes outcomes to a file and seeds the generators before each test."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.path.write_text("")

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Seed all generators, so that the result of a test does not depend on those before it."""
        random.seed(0)
        np.random.seed(0)
        importlib.import_module("torch").manual_seed(0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the outcome of a test, or of a subtest; of setting up and tearing down, write failures alone."""
        if report.when == "call" or report.failed:
            self._write(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write that a file of tests could not be imported."""
        if report.failed:
            self._write(report)

    def _write(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        with self.path.open("a") as file:
            file.write(f"{report.outcome} {report.nodeid}\n")


if __name__ == "__main__":
    library, path, *options = sys.argv[1:]
    if library == "numgrad":
        importlib.import_module("numgrad").install_as_torch()
    sys.exit(pytest.main(options, plugins=[Results(path)]))
