"""PyTorch's private functions for Jacobians, which libraries import."""

from __future__ import annotations

from typing import Any

from . import gradients

__all__ = ["as_tuple", "grad_postprocess", "grad_preprocess", "tuple_postprocess"]


def as_tuple(inp: Any, arg_name: str = "inputs", fn_name: str = "a function") -> tuple[bool, Any]:
    """Return True if a value is a tuple, and the tuple, of one element for a tensor."""
    tensors, several = gradients.as_tensors(inp, arg_name, fn_name)
    return several, tensors


def grad_preprocess(inputs: Any, create_graph: bool, need_graph: bool) -> Any:
    """Return other tensors on the same memory, for the computation."""
    return gradients.prepared(inputs, create_graph, need_graph)


def grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Return a tuple of tensors, or of tuples of tensors, detached unless ``create_graph``."""
    if inputs and isinstance(inputs[0], tuple):
        return tuple([grad_postprocess(part, create_graph) for part in inputs])
    return gradients.cut(inputs, create_graph)


def tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """Return results without the tuples around single ones: a flag for each level is True where there is a tuple."""
    outer, *inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack,)
    if inner and not inner[0]:
        res = tuple([part[0] for part in res])
    return gradients.alone(res, outer)
