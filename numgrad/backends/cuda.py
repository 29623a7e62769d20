"""``torch.backends.cuda``: how products and attention are computed on GPUs; remembered only."""

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

#: Products of float32 are computed in float32, whatever these say.
matmul = SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
)

#: Which kinds of attention may be chosen.  numgrad's kernel keeps no table of all scores, like flash attention.
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def _may_choose(kind: str) -> bool:
    state_read("which kinds of attention may be chosen")
    return _attention[kind]


def is_built() -> bool:
    """Whether GPUs can be used where there are any: the extra ``cuda`` is installed."""
    return importlib.util.find_spec("numba_cuda") is not None


def flash_sdp_enabled() -> bool:
    """Return the setting of :func:`enable_flash_sdp`."""
    return _may_choose("flash")


def enable_flash_sdp(enabled: bool) -> None:
    """Remember whether flash attention may be chosen."""
    _attention["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Return the setting of :func:`enable_mem_efficient_sdp`."""
    return _may_choose("mem_efficient")


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Remember whether attention that saves memory may be chosen."""
    _attention["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Return the setting of :func:`enable_math_sdp`."""
    return _may_choose("math")


def enable_math_sdp(enabled: bool) -> None:
    """Remember whether attention made of other operations may be chosen."""
    _attention["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Return the setting of :func:`enable_cudnn_sdp`."""
    return _may_choose("cudnn")


def enable_cudnn_sdp(enabled: bool) -> None:
    """Remember whether cuDNN's attention may be chosen."""
    _attention["cudnn"] = bool(enabled)


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[dict[str, Any]]:
    """A context in which these kinds of attention may be chosen."""
    before = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _attention.update(before)
