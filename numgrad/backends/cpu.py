"""``torch.backends.cpu``."""

from __future__ import annotations

import llvmlite.binding as llvm

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """Return the widest vector instructions of the processor: "AVX512", "AVX2", "NEON" or "DEFAULT"."""
    features = llvm.get_host_cpu_features()
    capabilities = (("avx512f", "AVX512"), ("avx2", "AVX2"), ("neon", "NEON"))
    return next((name for feature, name in capabilities if features.get(feature)), "DEFAULT")
