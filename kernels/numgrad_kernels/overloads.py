"""Registration with Numba of the functions of this package that ``@njit`` code may call."""

from . import blocks, local, scalar  # noqa: F401 - they declare the functions
from .declarations import pending, pending_on_gpu


def register() -> None:
    """Register with Numba the functions of this package that ``@njit`` code may call.

    The kernel store calls this; for other ``@njit`` code the package's entry point for Numba extensions does.
    """
    while pending:
        pending.pop()()


def register_on_gpu() -> None:
    """Register with Numba the functions that GPUs compute in another way; numba-cuda must have been imported."""
    while pending_on_gpu:
        pending_on_gpu.pop()()
