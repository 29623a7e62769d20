"""Kernels for NVIDIA GPUs, by the package ``numba-cuda``."""

from numba.core import config

__all__ = ["how_to_install"]


def how_to_install() -> str:
    """Return the command that installs what these kernels need, which for Numba's simulator excludes NVIDIA's stack."""
    return f'pip install -e ".[{"simulator" if config.ENABLE_CUDASIM else "cuda"}]"'
