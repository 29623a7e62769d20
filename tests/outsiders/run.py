"""Run the test suites of libraries for PyTorch with numgrad in its place.

    python tests/outsiders/run.py                      # all suites
    python tests/outsiders/run.py zuko nflows --torch  # two of them, and again with PyTorch
    python tests/outsiders/run.py torchcde --tests path/to/its/tests

The libraries are installed from PyPI without their dependencies, in a folder outside of the repository, together with
the few other packages that they import.  Their tests come with their source distributions; ``--tests`` names a folder
for libraries whose distributions have none.  A table of the results is printed at the end.

The exit status is 1 if a suite passes fewer tests than `suites.py` says, or if a test passes with PyTorch alone and is
not among the suite's differences.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

from suites import SUITES, Suite

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


class Run(NamedTuple):
    """The results of a suite.

    Attributes:
        passed: the names of the tests that passed.
        failed: the names of those that failed, and of files that could not be imported.
        seconds: the processor time that it took.
        complete: True if pytest ended by itself within the limit.
    """

    passed: set[str]
    failed: set[str]
    seconds: float
    complete: bool

    def __str__(self) -> str:
        ended = "" if self.complete else ", not complete"
        return f"{len(self.passed)} of {len(self.passed) + len(self.failed)} in {self.seconds:.0f} s{ended}"


def installed(name: str, suite: Suite, folder: Path) -> Path:
    """Install a library and the packages that it requires; return the folder that holds them."""
    packages = folder / name / "packages"
    wanted = suite.requirement(name), *suite.requires
    if not packages.exists() and not _pip("install", "--no-deps", "--target", packages, *wanted):
        sys.exit(f"{name} could not be installed")
    return packages


def tests_of(name: str, suite: Suite, folder: Path, packages: Path) -> Path:
    """Return the tests of a library, from its package if they are there, or from its source distribution."""
    if not suite.tests:
        sys.exit(f"{name} has no tests in its distributions: name their folder with --tests")
    if (packages / suite.tests).exists():
        return packages / suite.tests
    source = folder / name / "source"
    if not any(source.glob("*/")):
        download = "download", "--no-deps", "--no-binary", name, "--dest", source, suite.requirement(name)
        if not (_pip(*download) or _pip(*download, "--no-build-isolation")):  # some import torch to be built
            sys.exit(f"the source distribution of {suite.requirement(name)} could not be downloaded")
        archive, *_ = source.glob("*.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(source, filter="data")
    (root,) = source.glob("*/")
    return root / suite.tests


def _pip(command: str, *arguments: str | Path) -> bool:
    """Run pip and return True if it succeeds."""
    done = subprocess.run([sys.executable, "-m", "pip", command, "-qq", *map(str, arguments)], check=False)
    return done.returncode == 0


def run(library: str, tests: Path, packages: Path, suite: Suite, seconds: float) -> Run:
    """Run the tests with `library`, numgrad or torch."""
    folders = packages, tests.parent, ROOT, ROOT / "kernels", os.environ.get("PYTHONPATH", "")
    environment = {**os.environ, **_ONE_THREAD, **dict(suite.variables), "PYTHONPATH": ":".join(map(str, folders))}
    results, log = (packages.parent / f"{library}.{kind}" for kind in ("results", "log"))
    results.unlink(missing_ok=True)
    command = [
        sys.executable, str(HERE / "child.py"), library, str(results), str(tests), "-q", "-p", "no:cacheprovider",
        "-p", "no:randomly", "-W", "ignore", "--tb=short", "--rootdir", str(tests if tests.is_dir() else tests.parent),
        "--continue-on-collection-errors", *suite.options,
    ]  # fmt: skip
    before, status = os.times(), -1
    with log.open("w") as file, contextlib.suppress(subprocess.TimeoutExpired):
        status = subprocess.run(
            command, env=environment, cwd=packages.parent, stdout=file, stderr=file, timeout=seconds, check=False
        ).returncode
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    lines = [line.partition(" ")[::2] for line in results.read_text().splitlines()] if results.exists() else []
    failed = {name for outcome, name in lines if outcome == "failed"}
    passed = {name for outcome, name in lines if outcome == "passed"} - failed
    return Run(passed, failed, used, complete=status in (0, 1))


def compared(name: str, suite: Suite, tests: Path, packages: Path, torch: bool, seconds: float) -> tuple[str, bool]:
    """Run a suite; return its row of the table, and True if the results are the expected ones."""
    ours = run("numgrad", tests, packages, suite, seconds)
    row, expected = f"{suite.requirement(name)}: numgrad {ours}", ours.complete and len(ours.passed) >= suite.passes
    if not expected:
        row += f" ({suite.passes} should pass; see {packages.parent / 'numgrad.log'})"
    if torch:
        theirs = run("torch", tests, packages, suite, seconds)
        row += f", PyTorch {theirs}"
        expected &= theirs.complete
        for test in sorted(theirs.passed - ours.passed):
            reason = next((reason for part, reason in suite.differences if part in test), None)
            expected &= reason is not None
            row += f"\n    with PyTorch alone: {test}: {reason or 'unexpected'}"
    return row, expected


def main() -> None:
    """Run the suites named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="the libraries; all unless given", metavar="library")
    parser.add_argument("--torch", action="store_true", help="run the tests with PyTorch, too, and compare each")
    parser.add_argument("--tests", type=Path, help="the folder with the tests of the one library that is named")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "outsiders")
    parser.add_argument("--seconds", type=float, default=1800, help="the limit for each run")
    arguments = parser.parse_args()
    rows, all_expected = [], True
    for name in arguments.names or [name for name, suite in SUITES.items() if suite.tests]:
        suite = SUITES.get(name, Suite())
        packages = installed(name, suite, arguments.folder)
        if arguments.tests:
            tests, suite = arguments.tests.absolute(), suite._replace(passes=0)
        else:
            tests = tests_of(name, suite, arguments.folder, packages)
        row, expected = compared(name, suite, tests, packages, arguments.torch, arguments.seconds)
        print(row, flush=True)
        rows.append(row)
        all_expected &= expected
    print("\n" + "\n".join(rows))
    sys.exit(0 if all_expected else 1)


if __name__ == "__main__":
    main()
