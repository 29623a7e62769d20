"""``torch.version``: this release, and the CUDA version that it was built for."""

from __future__ import annotations

__all__ = ["cuda", "debug", "git_version", "hip", "xpu"]

#: None, because kernels are compiled for the installed CUDA version.
cuda = None
hip = None
xpu = None
debug = False
git_version = "unknown"
