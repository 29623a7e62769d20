"""``torch.__config__``: descriptions of this installation."""

from __future__ import annotations

import numgrad

from .torch_version import TORCH_VERSION

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Return the version and the kinds of devices, in one line."""
    devices = "CPU and CUDA" if numgrad.cuda.is_available() else "CPU"
    return f"numgrad {numgrad.__version__} in place of PyTorch {TORCH_VERSION}: kernels compiled by Numba for {devices}"


def parallel_info() -> str:
    """Return the number of threads."""
    return f"numgrad.get_num_threads() : {numgrad.get_num_threads()}"
