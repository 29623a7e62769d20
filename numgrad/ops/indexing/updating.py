"""Operations that change a part of a tensor: in place, or on a copy; and the numbers that they write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.device import CPU
from ...core.layout import Layout, layout_of
from ...core.tensor import Tensor, tensor_of
from ...core.types import TensorType, dtype, tensor_type
from ..batching.batches import is_mapped
from ..memory.copying import copier, empty_of, filled_of, kept_layout
from ..memory.overwriting import fill_
from ..table.operation import operation
from ..table.planned import Planned, planned
from ..table.promotion import check_fits


def updating(
    node: str, *, kept: bool = False, export: bool = False, **declared: Any
) -> Callable[[Callable[..., Any]], Planned]:
    """Decorate the function that decides how a part of the first input is changed: see ``Planned.changing``.

    Called, the operation changes a copy, row-major or with the strides ``kept``.  One to ``export`` has a public
    function and a method in place, which follow from its declaration: see ``operation``.
    """

    def decorate(decide: Callable[..., Any]) -> Planned:
        made = operation(node, in_place=True, **declared) if export else planned(node, **declared)
        op: Planned = made(decide)

        def on_copy(input: Layout, *others: Any) -> Any:
            layout = kept_layout(input) if kept else layout_of(input.type, input.shape)
            copy, change = copier(input, layout), decide(layout, *others)

            def launch(*operands: Any) -> Any:
                memory = copy(operands[0])
                change(*operands, tensor_of(layout, memory))
                return memory

            return layout, launch

        op.prepare, op.prepare_change = on_copy, decide
        return op

    return decorate


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


def number_in(value: Any, type: TensorType) -> Any:
    """The number, or that in a 0-d tensor, as the dtype holds it, but a Python number.

    Raises:
        TypeError, RuntimeError: see :func:`number_as`.
    """
    if value.__class__ in (float, int) and type.dtype.is_floating_point and _is_held(value):
        return float(value)  # kernels round it
    if isinstance(value, Tensor):
        check_held(value, type.dtype)
        if value._layout.type.dtype is type.dtype:
            return value.item()
        value = value.item()
    return fill_(empty_of((), tensor_type(type.dtype)), value).item()


def number_row(type: TensorType) -> Callable[[Any], Any]:
    """What gives a number as a row of one element; it raises if the dtype cannot hold it."""
    floating, layout = type.dtype.is_floating_point, layout_of(type, ())

    def row(value: Any) -> Any:
        if floating and value.__class__ is not complex and _is_held(value):
            return type.backend.filled((), value, type)
        return fill_(tensor_of(layout, type.backend.empty((), type)), value)._storage

    return row
