"""Copies of what views show, such as ``transpose_copy``; and ``as_strided_scatter``, a copy with a view overwritten."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from ...core.layout import normal_dim
from ...core.types import contiguous_format
from ...tensors.tensor import Tensor
from ..memory.copying import clone, zeros_of
from ..memory.overwriting import copy_
from ..table.checks import check
from ..table.op import attach, composite, named, public, public_functions
from ..table.out import write_out
from ..table.public_signatures import linked, of_function, with_out
from .broadcasting import expand
from .parts import slice_op
from .views import alias, view
from .windows import as_strided, unfold_op


def _alias(input: Tensor) -> Tensor:
    return alias(input)


def _detach(input: Tensor) -> Tensor:
    return input.detach()


def _slice(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    dim = normal_dim(dim, len(input._layout.shape))
    check(step > 0, "slice step must be positive, not {}", step)
    first, stop, _ = slice(start, end, step).indices(input._layout.shape[dim])
    return slice_op(input, dim, first, max(stop, first), step)


def _copied(shown: Tensor) -> Tensor:
    return clone(shown, memory_format=contiguous_format)


def _copying(name: str, view: Callable[..., Any]) -> None:
    """Export the function ``name``, which copies the tensor or the tensors that ``view`` returns."""

    def copy(*args: Any, out: Any = None, **keywords: Any) -> Any:
        shown = view(*args, **keywords)
        result = tuple(map(_copied, shown)) if isinstance(shown, tuple | list) else _copied(shown)
        return result if out is None else write_out(name, out, result)

    own = not hasattr(view, "__wrapped__")  # then its annotations are text
    linked(copy, view, lambda function: with_out(of_function(function) if own else signature(function)))
    original = name.removesuffix("_copy")
    doc = f"Return what ``{original}`` shows, as a contiguous copy instead of a view; gradients flow back."
    public(named(copy, name, doc), method=False, direct=True)


#: Views that ``numgrad`` exports as functions.
_EXPORTED = [
    "as_strided", "diagonal", "narrow", "permute", "select", "split", "split_with_sizes", "squeeze", "t", "transpose",
    "unbind", "unsqueeze", "view_as_complex", "view_as_real",
]

for _name, _view in {
    **{name: public_functions[name] for name in _EXPORTED},
    "alias": _alias, "detach": _detach, "expand": expand, "slice": _slice, "unfold": unfold_op.public, "view": view,
}.items():
    _copying(f"{_name}_copy", _view)
attach("narrow_copy", public_functions["narrow_copy"])


@composite
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """Return a copy of ``input`` with ``src`` written into its view ``as_strided(size, stride, storage_offset)``.

    Raises:
        RuntimeError: if the view exceeds the storage, or ``src`` has another shape than ``size``.

    Example:
        >>> import numgrad
        >>> numgrad.as_strided_scatter(numgrad.zeros(2, 2), numgrad.ones(2), (2,), (3,))
        tensor([[1., 0.],
                [0., 1.]])
    """
    layout = input._layout
    whole = layout.contiguous and input._offset == 0
    if whole:
        memory = clone(input)
    else:  # in the strides of the input, as the view is one of the storage
        memory = zeros_of((input._storage.size,), layout.type)
        copy_(as_strided(memory, layout.shape, layout.strides, input._offset), input)
    part = as_strided(memory, size, stride, input._offset if storage_offset is None else storage_offset)
    check(
        part._layout.shape == src._layout.shape,
        "expected src to have a size equal to the slice of self. src size = {}, slice size = {}", src, part,
    )
    copy_(part, src)
    return memory if whole else as_strided(memory, layout.shape, layout.strides, input._offset)
