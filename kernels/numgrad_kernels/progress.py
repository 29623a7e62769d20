"""A line on the terminal while kernels are compiled, for who has waited for a second already.

``NUMGRAD_PROGRESS=0`` silences it.  Where the error output is no terminal nothing is written, nor under pytest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

#: Seconds of compiling in this process after which there is something to tell.
PATIENCE = 1.0


class _Waited:
    """What this process has compiled: how many kernels, in how many seconds."""

    kernels = 0
    seconds = 0.0


_waited = _Waited()


def compiled() -> int:
    """How many kernels this process has compiled."""
    return _waited.kernels


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Around what compiles the kernel of this name: the line says it, and goes when that is done."""
    begun = perf_counter()
    try:
        if _waited.seconds < PATIENCE or not _wanted():
            yield
        else:
            from tqdm import tqdm  # which few processes need

            text = f"numgrad compiles {name}, kernel {_waited.kernels + 1} of this program"
            with tqdm(bar_format="{desc}", desc=text, leave=False):
                yield
    finally:
        _waited.kernels += 1
        _waited.seconds += perf_counter() - begun


def _wanted() -> bool:
    environment = os.environ
    return environment.get("NUMGRAD_PROGRESS") != "0" and "PYTEST_VERSION" not in environment and sys.stderr.isatty()
