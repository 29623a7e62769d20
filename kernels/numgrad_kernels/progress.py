"""A line on the terminal while kernels are compiled, shown once compiling has taken a second.

``NUMGRAD_PROGRESS=0`` silences it.  Nothing is written if the error output is not a terminal, nor under pytest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

#: Seconds of compiling in this process after which the line is shown.
PATIENCE = 1.0


class _Waited:
    """The number of kernels that this process has compiled, and the seconds that took."""

    kernels = 0
    seconds = 0.0


_waited = _Waited()


def compiled() -> int:
    """Return the number of kernels this process has compiled."""
    return _waited.kernels


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Show the line, with this name, while a kernel is compiled, and count the kernel."""
    begun = perf_counter()
    try:
        if _waited.seconds < PATIENCE or not _is_shown():
            yield
        else:
            from tqdm import tqdm  # which few processes need

            text = f"numgrad compiles {name}, kernel {_waited.kernels + 1} of this program"
            with tqdm(bar_format="{desc}", desc=text, leave=False):
                yield
    finally:
        _waited.kernels += 1
        _waited.seconds += perf_counter() - begun


def _is_shown() -> bool:
    environment = os.environ
    return environment.get("NUMGRAD_PROGRESS") != "0" and "PYTEST_VERSION" not in environment and sys.stderr.isatty()
