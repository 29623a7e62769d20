"""Kernels for NVIDIA GPUs, by the package ``numba-cuda``."""

from numba.core import config

__all__ = ["how_to_install"]


def how_to_install() -> str:
    """The command that installs what these kernels need; in Numba's simulator nothing of NVIDIA's stack is."""
    return f'pip install -e ".[{"simulator" if config.ENABLE_CUDASIM else "cuda"}]"'
