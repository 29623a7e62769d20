"""NVIDIA GPUs: devices, their memory, and streams.

CUDA packages are imported only when a program first uses or queries a GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.missing import found_later as _found_later
from ..core.types import dtype as _dtype
from ..devices.needs import OutOfMemoryError
from . import checking as _checking
from . import gpus as _gpus
from . import memory, nvtx, random, streams
from .checking import *  # noqa: F403
from .gpus import *  # noqa: F403
from .memory import *  # noqa: F403
from .random import *  # noqa: F403
from .streams import *  # noqa: F403

#: PyTorch's classes of tensors on a GPU, one for each dtype.
_TYPES = [f"{_type.legacy}Tensor" for _type in _dtype.named.values() if not (_type.is_complex or _type.is_limited)]

__all__ = ["CUDAGraph", "OutOfMemoryError", "amp", "graph", "memory", "nvtx", "random", "streams"]
__all__ += _checking.__all__
__all__ += _gpus.__all__
__all__ += memory.__all__
__all__ += random.__all__
__all__ += streams.__all__
__all__ += _TYPES

if TYPE_CHECKING:
    from . import amp as amp
    from .graphs import CUDAGraph, graph
else:
    _GRAPHS = dict.fromkeys(["graphs", "CUDAGraph", "graph"], "graphs")
    _LATER = {"amp": "amp", **_GRAPHS, **dict.fromkeys(_TYPES, "tensor_types")}
    __getattr__, __dir__ = _found_later(globals(), "cuda", _LATER)
