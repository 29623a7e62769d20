"""Pointwise kernels on operands that lie in memory in any way: what a launch needs, found out once for a layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.pointwise import Program

from ..._layout import loop_nest, numel
from ..launches import bind
from ..memory import empty_row, out_of_memory
from .launching import inner_strides, pointwise_kernel, worth_threads

__all__ = ["Layout", "layout_launcher"]

#: The shape and the strides (None for row-major) of a tensor; None for a number.
Layout = tuple[tuple[int, ...], tuple[int, ...] | None] | None


def layout_launcher(
    program: Program, shape: tuple[int, ...], operands: Sequence[Layout], outs: Sequence[tuple[int, ...] | None],
    type: Any,
) -> Callable[[Sequence[Any]], list[np.ndarray]]:
    """A function that runs ``program`` on tensors of these layouts, broadcast to ``shape``, and on numbers.

    It returns the new outputs as rows, which are to be read with the strides ``outs`` (None for row-major), on the
    device of ``type``.
    """
    size = numel(shape)
    dtypes = [dtype for _, dtype in program.outputs]
    layouts = [layout for layout in operands if layout is not None]
    if all(strides is None for strides in outs) and all(layout == (shape, None) for layout in layouts):
        return _flat(program, shape, dtypes)
    arrays = [operand for operand in program.arguments if not operand.scalar]
    itemsizes = [operand.dtype.itemsize for operand in arrays if operand.dtype] + [d.itemsize for d in dtypes]
    sizes, steps = loop_nest(shape, (*layouts, *[(shape, strides) for strides in outs]), tuple(itemsizes))
    inputs, outputs = _per_operand(operands, steps), steps[len(layouts) :]
    rank, inner, work = len(sizes), inner_strides(steps, itemsizes), size * program.weight
    new = np.ndarray
    serial: Callable[..., None] | None = None

    def take_entry() -> None:
        nonlocal serial
        serial = pointwise_kernel(program, rank, False, False, inner).entry

    def launch(values: Sequence[Any]) -> list[np.ndarray]:
        try:
            rows = [empty_row(size, dtype) for dtype in dtypes]
        except RuntimeError:
            raise out_of_memory(shape, dtypes[0]) from None
        if not size:
            return rows
        arguments = []
        for value, own in zip(values, inputs):  # noqa: B905 - of one length; strict= costs time
            if own is None:
                arguments.append(value)
            else:
                kind = value._layout.type.numpy
                arguments.append(new(sizes, kind, value._storage, value._offset * kind.itemsize, own))
        for row, own in zip(rows, outputs):  # noqa: B905
            arguments.append(new(sizes, row.dtype, row, 0, own))
        if worth_threads(work):
            pointwise_kernel(program, rank, False, True, inner).entry(*arguments)
        else:
            if serial is None:
                bind(take_entry)
            serial(*arguments)  # type: ignore[misc]
        return rows

    return launch


def _flat(
    program: Program, shape: tuple[int, ...], dtypes: Sequence[np.dtype]
) -> Callable[[Sequence[Any]], list[np.ndarray]]:
    """The function for tensors that all lie in rows."""
    size = numel(shape)
    numbers, work = [operand.scalar for operand in program.arguments], size * program.weight

    def launch(values: Sequence[Any]) -> list[np.ndarray]:
        try:
            rows = [empty_row(size, dtype) for dtype in dtypes]
        except RuntimeError:
            raise out_of_memory(shape, dtypes[0]) from None
        given = [v if number else v._flat for v, number in zip(values, numbers)]  # noqa: B905
        pointwise_kernel(program, 1, True, worth_threads(work)).entry(*given, *rows)
        return rows

    return launch


def _per_operand(operands: Sequence[Layout], steps: Sequence[Any]) -> list[Any]:
    """The steps of each operand, None for a number."""
    left = iter(steps)
    return [None if layout is None else next(left) for layout in operands]
