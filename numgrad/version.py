"""``torch.version``: which release this is, and which of CUDA it was built for."""

from __future__ import annotations

__all__ = ["cuda", "debug", "git_version", "hip", "xpu"]

#: None: kernels are compiled for whatever CUDA there is.
cuda = None
hip = None
xpu = None
debug = False
git_version = "unknown"
