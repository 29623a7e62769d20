"""Environments in which an extra of the package is tested with nothing else installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["python_with"]


def python_with(extra: str) -> str:
    """The Python of an environment with this extra and nothing else; "core" stands for no extra.

    ``.ci/run`` makes an environment for each and names their directory in ``NUMGRAD_ENVIRONMENTS``. Without it, the
    Python that runs the tests has to do.
    """
    directory = os.environ.get("NUMGRAD_ENVIRONMENTS")
    return str(Path(directory, extra, "bin", "python")) if directory else sys.executable
