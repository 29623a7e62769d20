"""Gradients brought into the form that their place in the graph expects."""

from __future__ import annotations

from typing import Any

from ..core.layout import Layout
from ..core.types import real_of, tensor_type
from .node import Edge, Node
from .operations import operations


def fit(gradient: Any, layout: Layout, source: Node | None, edge: Edge) -> Any:
    """Undo broadcasting, once for all operations, and give the gradient the dtype of what it belongs to."""
    given, shape, type = gradient._layout, layout.shape, layout.type
    if given is layout or (given.shape == shape and given.type is type):
        return gradient
    extra = len(given.shape) - len(shape)
    if extra < 0 or any(
        wanted not in (1, extent) for wanted, extent in zip(shape, given.shape[extra:], strict=True)
    ):
        name, index = _origin(source, edge)
        raise RuntimeError(
            f"Function {name} returned an invalid gradient at index {index} - got {list(gradient.shape)} "
            f"but expected shape compatible with {list(shape)}"
        )
    if type is not None and type.device is not given.type.device:
        return _moved(gradient, shape, type, source, edge)
    if type is None:  # see Tensor.grad_dtype: any will do, but that of a real leaf is real
        type = given.type
        leaf = getattr(edge[0] if edge else None, "variable", None)
        if type.dtype.is_complex and leaf is not None and not leaf._layout.type.dtype.is_complex:
            type = tensor_type(real_of(type.dtype), type.device)
    return operations.fit(gradient, shape, type)


def _moved(gradient: Any, shape: tuple[int, ...], type: Any, source: Node | None, edge: Edge) -> Any:
    """The gradient of one number, on the device where that is; others have to be there already, as in PyTorch."""
    if shape:
        name, index = _origin(source, edge)
        raise RuntimeError(
            f"Function {name} returned an invalid gradient at index {index} - expected device {type.device} but got "
            f"{gradient._layout.type.device}"
        )
    return operations.fit(gradient, shape, tensor_type(type.dtype, gradient._layout.type.device)).to(type.device)


def _origin(source: Node | None, edge: Edge) -> tuple[str, int]:
    """The node that made a gradient, and which one of its gradients it is."""
    if source is None:
        return "backward", 0
    return source.name(), next(n for n, other in enumerate(source.edges) if other is edge)
