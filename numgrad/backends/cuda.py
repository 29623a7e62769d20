"""``torch.backends.cuda``: settings of products and attention on GPUs, which are kept but have no effect."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from ..devices.recording import state_read

__all__ = [
    "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp",
    "flash_sdp_enabled", "is_built", "math_sdp_enabled", "matmul", "mem_efficient_sdp_enabled", "sdp_kernel",
]

#: numgrad computes products of float32 in float32, whatever these settings.
matmul = SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
)

#: The kinds of attention that may be chosen.  Like flash attention, numgrad's kernel keeps no matrix of all scores.
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def _may_choose(kind: str) -> bool:
    state_read("which kinds of attention may be chosen")
    return _attention[kind]


def is_built() -> bool:
    """Return True if numgrad can use GPUs, that is, if the extra ``cuda`` is installed."""
    return importlib.util.find_spec("numba_cuda") is not None


def flash_sdp_enabled() -> bool:
    """Return the setting of :func:`enable_flash_sdp`."""
    return _may_choose("flash")


def enable_flash_sdp(enabled: bool) -> None:
    """Allow or forbid flash attention; numgrad only keeps the setting."""
    _attention["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Return the setting of :func:`enable_mem_efficient_sdp`."""
    return _may_choose("mem_efficient")


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allow or forbid memory-efficient attention; numgrad only keeps the setting."""
    _attention["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Return the setting of :func:`enable_math_sdp`."""
    return _may_choose("math")


def enable_math_sdp(enabled: bool) -> None:
    """Allow or forbid attention composed of other operations; numgrad only keeps the setting."""
    _attention["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Return the setting of :func:`enable_cudnn_sdp`."""
    return _may_choose("cudnn")


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allow or forbid cuDNN's attention; numgrad only keeps the setting."""
    _attention["cudnn"] = bool(enabled)


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[dict[str, Any]]:
    """Return a context manager that allows these kinds of attention in the block; see ``enable_flash_sdp``."""
    before = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _attention.update(before)
