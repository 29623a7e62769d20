"""``torch.cuda.graphs``: names that programs mention; in numgrad, ``compile`` records launches and replays them."""

from __future__ import annotations

from typing import Any

from .streams import is_current_stream_capturing

__all__ = ["CUDAGraph", "graph", "is_current_stream_capturing"]


class CUDAGraph:
    """Launches recorded by PyTorch.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError("numgrad captures CUDA graphs by itself: use numgrad.compile")


class graph(CUDAGraph):  # noqa: N801 - PyTorch's name
    """Context in which PyTorch records launches.

    Raises:
        NotImplementedError: always.
    """
