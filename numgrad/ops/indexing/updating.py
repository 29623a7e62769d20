"""Operations that change a part of a tensor: in place, or on a copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import devices
from ..._device import CPU
from ..._layout import contiguous_strides
from ..._tensor import Tensor, check_in_place, strided
from ..._types import dtype, tensor_type
from ...autograd.grad_mode import GRAD, TRANSFORMED, state
from ...autograd.views import record_inplace
from ..batches import is_mapped
from ..copying import kept_copy, kept_strides, write
from ..new import empty_of, filled_of
from ..numbers import check_fits
from ..overwriting import fill_, recorded_edges
from ..table import operation, parameters
from ..transforms import ChangeCall, transformed

__all__ = ["check_held", "in_place", "number_as", "number_in", "updating"]


def updating(
    node: str,
    *,
    inputs: Sequence[str] = ("input",),
    nondifferentiable: Sequence[str] = (),
    kept: bool = False,
    dims: Sequence[str] | None = None,
) -> Callable[[Callable[..., None]], Any]:
    """Decorate a function that changes its first argument, a tensor, to make it an operation.

    Called, the operation changes a copy, row-major or with the strides ``kept``, and gives that;
    ``operation.in_place`` takes the same arguments and changes the tensor itself.
    """

    def decorate(change: Callable[..., None]) -> Any:
        op: Any = operation(node, inputs=inputs, nondifferentiable=nondifferentiable, dims=dims)(change)

        def on_copy(input: Tensor, *args: Any) -> Tensor:
            layout = input._layout
            strides = kept_strides(input) if kept else contiguous_strides(layout.shape)
            out = strided(devices.empty(layout.shape, layout.type), layout.shape, strides, 0, layout.type)
            write(out, input)
            change(out, *args)
            return out

        op.function = on_copy
        op.in_place = lambda *args: in_place(op, change, *args)
        return op

    return decorate


def in_place(op: Any, change: Callable[..., None], *args: Any) -> Tensor:
    """Run ``change(*args)``, which overwrites the first argument, and record it as the operation ``op``.

    Raises:
        RuntimeError: the tensor may not be written to.
    """
    if state.mode & TRANSFORMED:
        return transformed(ChangeCall(op, args))
    target = args[0]
    tensors = [args[place] for place in op.positions]
    check_in_place(target, *[tensor for tensor in tensors[1:] if tensor is not None])
    edges = recorded_edges(*tensors)
    recorded = any(edges) and target._layout.type.dtype.differentiable
    mode = state.mode
    state.mode = mode & ~GRAD
    try:
        kept = args
        rules = [op.rules[name] for name, edge in zip(op.differentiable, edges, strict=False) if edge is not None]
        if recorded and any("input" in parameters(rule) for rule in rules):
            kept = (kept_copy(target), *args[1:])
        change(*args)
    finally:
        state.mode = mode
    target._counter[0] += 1
    if recorded:
        node = op.node_class(edges, target._layout)
        node.names, node.saved, node.versions = (), None, ()
        record_inplace(target, node)  # before it is saved: it has been changed, whatever a hook does
        op._save(node, kept, (target,))
    return target


def check_held(value: Tensor, kind: dtype) -> None:
    """Raise if a dtype cannot hold the number in a tensor; one on a GPU or under ``vmap`` is not read for that.

    Raises:
        RuntimeError: it cannot.
    """
    if value._layout.type.dtype is not kind and value._layout.type.device is CPU and not is_mapped(value):
        check_fits(value.item(), kind)


def number_as(value: Any, like: Tensor) -> Tensor:
    """A 0-d tensor with the number, of the dtype of ``like``.

    Raises:
        TypeError, RuntimeError: it is no number, or one that the dtype cannot hold.
    """
    type = like._layout.type
    if isinstance(value, Tensor):
        check_held(value, type.dtype)
    elif value.__class__ in (bool, int, float) and type.dtype.is_floating_point and _is_held(value):
        return filled_of((), value, type)  # which fill_ would find to fit
    return fill_(empty_of((), type), value)


def _is_held(value: float) -> bool:
    """Whether every floating-point dtype holds a number, perhaps rounded; NaN is not answered for."""
    return -1e30 < value < 1e30 or value in _INFINITIES


_INFINITIES = (float("inf"), float("-inf"))


def number_in(value: Any, like: Tensor) -> Any:
    """The number, or that in a 0-d tensor, as the dtype of ``like`` holds it, but a Python number.

    Raises:
        TypeError, RuntimeError: see :func:`number_as`.
    """
    type = like._layout.type
    if value.__class__ in (float, int) and type.dtype.is_floating_point and _is_held(value):
        return float(value)  # kernels round it
    if type.device is not CPU:  # what is filled there could only be read when the GPU has done all its work
        value = value.item() if isinstance(value, Tensor) else value
        return fill_(empty_of((), tensor_type(type.dtype)), value).item()
    return number_as(value, like).item()
