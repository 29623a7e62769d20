"""The functions of ``torch.fx`` and ``torch.onnx`` that are useful without traces."""

from __future__ import annotations

from typing import Any

from ...nn.modules.module import Module

__all__ = ["GraphModule", "is_in_onnx_export", "wrap"]


class GraphModule(Module):
    """A module from a symbolic trace, of which there are none.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError("torch.fx.GraphModule: numgrad has no symbolic traces")


def wrap(fn_or_name: Any) -> Any:
    """Return the argument: a function, or its name, which traces would record as one call."""
    return fn_or_name


def is_in_onnx_export() -> bool:
    """Return False: nothing is exported."""
    return False
