"""Run the test suites of libraries for PyTorch with numgrad in its place.

    python tests/outsiders/run.py                      # all suites
    python tests/outsiders/run.py zuko nflows --torch  # two of them, and again with PyTorch
    python tests/outsiders/run.py torchcde --tests path/to/its/tests

The libraries are installed from PyPI without their dependencies, in a folder outside of the repository, together with
the few other packages that they import.  Their tests come with their source distributions; ``--tests`` names a folder
for libraries whose distributions have none.  A table of the results is printed at the end.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Suite(NamedTuple):
    """A library's tests.

    Attributes:
        tests: the folder or file with the tests, in the source distribution; empty if it has none.
        requires: further packages to install.
        options: arguments for pytest.
        variables: variables of the environment.
    """

    tests: str = ""
    requires: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


#: The suites by the names of the packages on PyPI.
SUITES = {
    "autoray": Suite("tests", options=("-k", "torch")),
    "einops": Suite("einops/tests", variables=(("EINOPS_TEST_BACKENDS", "numpy,torch"),)),
    "entmax": Suite("entmax"),
    "nflows": Suite("tests", ("UMNN", "torchtestcase")),
    "normflows": Suite("normflows", options=("-o", "python_files=*_test.py")),
    "opt_einsum": Suite("opt_einsum/tests/test_backends.py", options=("-k", "torch")),
    "pytorch-crf": Suite(),
    "pytorch-minimize": Suite("tests"),
    "sympytorch": Suite(requires=("sympy", "mpmath")),
    "torchcde": Suite(requires=("torchdiffeq", "torchsde", "trampoline")),
    "torchdiffeq": Suite(),
    "torchquad": Suite("tests", ("autoray", "loguru", "tqdm"), ("-k", "not jax and not tensorflow")),
    "zuko": Suite("tests"),
}

#: What a child process runs: pytest, with numgrad as torch.
_WITH_NUMGRAD = "import numgrad; numgrad.install_as_torch(); import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
_WITH_TORCH = "import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"


def installed(name: str, suite: Suite, folder: Path) -> Path:
    """Install a library and the packages that it requires; return the folder that holds them."""
    packages = folder / name / "packages"
    if not packages.exists():
        for package in (name, *suite.requires):
            _pip("install", "--no-deps", "--target", str(packages), package)
    return packages


def tests_of(name: str, suite: Suite, folder: Path) -> Path | None:
    """Return the tests of a library, from its source distribution; None if it has none."""
    if not suite.tests:
        return None
    source = folder / name / "source"
    if not any(source.glob("*/")):
        download = "download", "--no-deps", "--no-binary", name, "--dest", str(source), name
        if not (_pip(*download) or _pip(*download, "--no-build-isolation")):  # some import torch to be built
            return None
        archive, *_ = source.glob("*.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(source, filter="data")
    (root,) = source.glob("*/")
    return root / suite.tests


def _pip(command: str, *arguments: str) -> bool:
    """Run pip and return True if it succeeds."""
    done = subprocess.run([sys.executable, "-m", "pip", command, "-qq", *arguments], capture_output=True, check=False)
    return done.returncode == 0


def counts(tests: Path, packages: Path, suite: Suite, torch: bool, seconds: float) -> str:
    """Run the tests and return pytest's summary, such as "3 failed, 29 passed"."""
    program = _WITH_TORCH if torch else _WITH_NUMGRAD
    folders = packages, tests.parent, ROOT, ROOT / "kernels", os.environ.get("PYTHONPATH", "")
    environment = {**os.environ, **dict(suite.variables), "PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [
        sys.executable, "-c", program, str(tests), "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-W", "ignore",
        "--tb=line", "--rootdir", str(tests if tests.is_dir() else tests.parent), *suite.options,
    ]  # fmt: skip
    log = packages.parent / f"{'torch' if torch else 'numgrad'}.log"
    with log.open("w") as file:
        try:
            subprocess.run(
                command, env=environment, cwd=packages.parent, stdout=file, stderr=subprocess.STDOUT, timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"not finished in {seconds:.0f} s"
    lines = [line for line in log.read_text().splitlines() if re.search(r"\d+ (passed|failed|error)", line)]
    return re.sub(r" in [\d.]+s.*", "", lines[-1]).strip("= ") if lines else f"no tests ran (see {log})"


def main() -> None:
    """Run the suites named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="the libraries; all unless given", metavar="library")
    parser.add_argument("--torch", action="store_true", help="run the tests with PyTorch, too")
    parser.add_argument("--tests", type=Path, help="the folder with the tests of the one library that is named")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "outsiders")
    parser.add_argument("--seconds", type=float, default=1800, help="the limit for each run")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.names or SUITES:
        suite = SUITES.get(name, Suite())
        packages = installed(name, suite, arguments.folder)
        tests = arguments.tests or tests_of(name, suite, arguments.folder)
        if tests is None:
            rows.append([name, "no tests in its source distribution: give --tests"])
            continue
        kinds = [False, True] if arguments.torch else [False]
        rows.append([name, *[counts(tests, packages, suite, kind, arguments.seconds) for kind in kinds]])
        print(" | ".join(rows[-1]), flush=True)
    width = max(len(row[0]) for row in rows)
    print("\n" + "\n".join(f"{name:{width}}  {'  |  '.join(results)}" for name, *results in rows))


if __name__ == "__main__":
    main()
