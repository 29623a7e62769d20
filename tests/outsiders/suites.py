"""The test suites that `run.py` runs, and their known differences."""

from __future__ import annotations

from typing import NamedTuple


class Suite(NamedTuple):
    """A library's tests.

    Attributes:
        version: the version of the library; empty for the newest.
        passes: the number of tests that pass with numgrad.
        tests: the folder or file with the tests, in the package or in the source distribution; empty if neither has it.
        requires: further packages to install.
        options: arguments for pytest.
        variables: variables of the environment.
        differences: parts of the names of tests that pass with PyTorch alone, each with the reason.
    """

    version: str = ""
    passes: int = 0
    tests: str = ""
    requires: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    differences: tuple[tuple[str, str], ...] = ()

    def requirement(self, name: str) -> str:
        """Return what pip installs for the library of this name."""
        return f"{name}=={self.version}" if self.version else name


#: The suites by the names of the packages on PyPI.
SUITES = {
    "autoray": Suite("0.11.0", 432, "tests", options=("-k", "torch")),
    "einops": Suite(
        "0.8.2", 61, "einops/tests", variables=(("EINOPS_TEST_BACKENDS", "numpy,torch"),),
        differences=(("test_einops_threading", "starts a Python process of its own, without numgrad"),),
    ),
    "entmax": Suite("1.3", 126, "entmax"),
    "nflows": Suite("0.14", 135, "tests", ("UMNN", "torchtestcase")),
    "normflows": Suite("1.7.3", 52, "normflows", options=("-o", "python_files=*_test.py")),
    "opt_einsum": Suite("3.4.0", 11, "opt_einsum/tests/test_backends.py", options=("-k", "torch")),
    "pytorch-minimize": Suite(
        "0.1.0", 11, "tests",
        differences=(("trust-ncg", "whether it converges depends on the last digit of a sum, with PyTorch, too"),),
    ),
    "torchquad": Suite("0.6.0", 3, "tests", ("autoray", "loguru", "tqdm"), ("-k", "not jax and not tensorflow")),
    "zuko": Suite("1.6.0", 161, "tests"),
    # Those without tests in their distributions.
    "higher": Suite("0.2.1", requires=("parameterized",)),
    "pytorch-crf": Suite("0.7.2"),
    "sympytorch": Suite("0.1.4", requires=("sympy", "mpmath")),
    "torchcde": Suite("0.2.5", requires=("torchdiffeq", "torchsde", "trampoline")),
    "torchdiffeq": Suite("0.2.5", options=("-o", "python_files=*_tests.py")),
    "torchode": Suite(
        "1.0.1", requires=("torchtyping", "typeguard<3"), options=("-o", "python_files=*_test.py"),
        differences=(("infinite_error_norm", "the norm of a float32 tensor does not overflow"),),
    ),
    "torchsde": Suite("0.2.6", requires=("trampoline", "boltons")),
}
