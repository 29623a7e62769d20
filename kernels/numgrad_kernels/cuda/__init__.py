"""Kernels for NVIDIA GPUs, by the package ``numba-cuda``."""
