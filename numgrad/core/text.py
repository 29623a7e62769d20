"""The text of a tensor: its elements, as ``printing`` writes them, and what it is besides."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import LEVELS, state
from ..autograd.levels import outside, tangent_of
from . import printing
from .types import bool_, complex_of, get_default_dtype, int64


def text_of(tensor: Any) -> str:
    """What ``repr`` gives: the elements, and what else there is to say of the tensor."""
    if hasattr(tensor, "_mapped"):
        return _mapped_text(tensor)
    kind = tensor._layout.type.dtype
    default = get_default_dtype()
    hidden = (default,) if tensor._layout.size == 0 else (default, complex_of(default), int64, bool_)
    origin = origin_text(tensor)
    suffixes = [] if origin is None else [origin]
    if state.mode & LEVELS:
        suffixes += _tangent_texts(tensor)
    return printing.tensor_text(
        tensor._host_array(),
        device_text=repr(str(tensor.device)) if tensor.is_cuda else None,
        dtype_text=None if kind in hidden else repr(kind),
        suffixes=suffixes,
    )


def origin_text(tensor: Any) -> str | None:
    """What made the tensor, or that it requires a gradient."""
    try:
        name = None if tensor.grad_fn is None else type(tensor.grad_fn).__name__
    except RuntimeError:  # a view that cannot follow the change of its base
        name = "Invalid"
    if name is not None:
        return f"grad_fn=<{name}>"
    return "requires_grad=True" if tensor.requires_grad else None


def _mapped_text(tensor: Any) -> str:
    """The text of a tensor under ``vmap``: that of the physical one, and at which level it is mapped."""
    level, own, batched = tensor._mapped
    number, outer = 0, level
    while outer is not None:
        number, outer = number + 1, outer.outer
    with outside(level):
        text = text_of(own).replace("\n", "\n    ")
    dim = "bdim=0, " if batched else ""
    return f"BatchedTensor(lvl={number}, {dim}value=\n    {text}\n)"


def _tangent_texts(tensor: Any) -> list[str]:
    """The tangents at the levels of forward mode that there are."""
    level, texts = state.level, []
    while level is not None:
        tangent = tangent_of(tensor, level)
        if tangent is not None:
            with outside(level):
                texts.append(f"tangent={tangent if tangent._layout.shape else tangent.item()}")
        level = level.outer
    return texts
