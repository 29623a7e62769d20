"""Registration with Numba of the functions of this package that ``@njit`` code may call."""

from . import blocks, local, scalar  # noqa: F401 - they declare the functions
from .declarations import pending_on_gpu, register

__all__ = ["register", "register_on_gpu"]


def register_on_gpu() -> None:
    """Register with Numba the functions that GPUs compute in another way; numba-cuda must have been imported."""
    while pending_on_gpu:
        pending_on_gpu.pop()()
