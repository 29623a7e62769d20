"""Pointwise kernels on a GPU: over rows, over operands of any layout, and what else is done element by element."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda.pointwise import argument_types, may_be_quads, quads_text, row_text, strided_text
from numgrad_kernels.pointwise import Program

from ..._layout import loop_nest, numel
from ..cpu.launching import NUMBERS, filler, row_adder
from ..rows import DeviceRow
from .launching import Kernel, compile_kernel
from .memory import empty_row, stream

__all__ = [
    "add_rows", "as_number", "copy", "filled", "flat_launcher", "layout_launcher", "run_pointwise", "share_elements",
]

#: Elements from which rows are read four at a time, which takes another kernel.
QUADS_FROM = 16384

Layout = tuple[tuple[int, ...], tuple[int, ...] | None] | None


#: The forms of kernels over rows, by which a program keeps them; others are ("cuda", rank, narrow).
_ROW, _QUADS = ("cuda", "row"), ("cuda", "quads")


def _kernel(program: Program, form: Any) -> Kernel:
    """The program's kernel over rows, or in the form ("cuda", rank, narrow) that for operands of any strides."""
    kernel = program.kernels.get(form)
    if kernel is None:
        if form is _ROW:
            text, numbers = row_text(program), 1
        elif form is _QUADS:
            text, numbers = quads_text(program), 1
        else:
            _, rank, narrow = form
            arrays = sum(not operand.scalar for operand in program.arguments) + len(program.outputs)
            text, numbers = strided_text(program, rank, narrow), rank * (1 + arrays) + arrays
        kernel = program.kernels[form] = compile_kernel(program.name, text, argument_types(program, numbers))
    return kernel


def _run_rows(program: Program, arguments: Sequence[Any], size: int, device: int) -> None:
    """Run a program over rows of ``size`` elements and numbers: inputs, then outputs."""
    if not size:
        return
    form, work = _ROW, size
    if size >= QUADS_FROM and may_be_quads(program) and all(map(_is_aligned, arguments)):
        form, work = _QUADS, size // 4
    kernel = program.kernels.get(form) or _kernel(program, form)
    kernel.run(*kernel.grid(work, device), stream(device), *arguments, size)


def _is_aligned(value: Any) -> bool:
    """Whether a row begins where four elements can be read at once."""
    return value.__class__ is not DeviceRow or value.address % min(16, 4 * value.dtype.itemsize) == 0


def flat_launcher(program: Program, type: Any) -> Callable[..., Any]:
    """A function that runs ``program`` over rows of equal length and returns the new output, or outputs."""
    dtypes = [dtype for _, dtype in program.outputs]
    lead = next(n for n, operand in enumerate(program.arguments) if not operand.scalar)

    def launch(*rows: Any) -> list[DeviceRow]:
        first = rows[lead]
        outs = [empty_row(first.size, dtype, first.device) for dtype in dtypes]
        _run_rows(program, (*rows, *outs), first.size, first.device)
        return outs

    def launch_for_one(*rows: Any) -> DeviceRow:
        first = rows[lead]
        out = empty_row(first.size, only, first.device)
        _run_rows(program, (*rows, out), first.size, first.device)
        return out

    only = dtypes[0]
    return launch_for_one if len(dtypes) == 1 else launch


def layout_launcher(
    program: Program, shape: tuple[int, ...], operands: Sequence[Layout], outs: Sequence[tuple[int, ...] | None],
    type: Any,
) -> Callable[[Sequence[Any]], list[DeviceRow]]:
    """A function that runs ``program`` on tensors of these layouts, broadcast to ``shape``, and on numbers.

    It returns the new outputs as rows, which are to be read with the strides ``outs`` (None for row-major).
    """
    size, device = numel(shape), type.device.index
    dtypes = [dtype for _, dtype in program.outputs]
    layouts = [layout for layout in operands if layout is not None]
    flat = all(strides is None for strides in outs) and all(layout == (shape, None) for layout in layouts)
    if not flat:
        form, numbers = _nest(program, shape, (*layouts, *[(shape, strides) for strides in outs]))

    def launch(values: Sequence[Any]) -> list[DeviceRow]:
        rows = [empty_row(size, dtype, device) for dtype in dtypes]
        if flat:
            given = [v if layout is None else v._flat for v, layout in zip(values, operands, strict=True)]
            _run_rows(program, (*given, *rows), size, device)
        elif size:
            given = [v if layout is None else v._storage for v, layout in zip(values, operands, strict=True)]
            starts = [v._offset for v, layout in zip(values, operands, strict=True) if layout is not None]
            starts += [0] * len(rows)
            kernel = _kernel(program, form)
            kernel.run(*kernel.grid(size, device), stream(device), *given, *rows, *numbers, *starts)
        return rows

    return launch


def _nest(program: Program, shape: tuple[int, ...], layouts: Sequence[Any]) -> tuple[Any, list[int]]:
    """The form of the kernel for arrays of these layouts, and the numbers that it is given."""
    sizes, steps = loop_nest(shape, tuple(layouts), (1,) * len(layouts))
    size = numel(sizes)
    return ("cuda", len(sizes), size < 2**32), [size, *sizes[1:], *[step for own in steps for step in own]]


def run_pointwise(program: Program, values: Sequence[Any], outs: Sequence[Any]) -> None:
    """Run a program over tensors, broadcast to the shape of ``outs``; numbers are passed as they are."""
    shape, device = outs[0]._layout.shape, outs[0]._storage.device
    everything = (*values, *outs)
    tensors = [value for value in everything if value.__class__ not in NUMBERS]
    if all(tensor._flat is not None and tensor._layout.shape == shape for tensor in tensors):
        rows = [value if value.__class__ in NUMBERS else value._flat for value in everything]
        _run_rows(program, rows, numel(shape), device)
    elif numel(shape):
        form, numbers = _nest(program, shape, [(tensor._layout.shape, tensor._layout.strides) for tensor in tensors])
        given = [value if value.__class__ in NUMBERS else value._storage for value in everything]
        starts = [tensor._offset for tensor in tensors]
        kernel = _kernel(program, form)
        kernel.run(*kernel.grid(numbers[0], device), stream(device), *given, *numbers, *starts)


def as_number(tensor: Any) -> None:
    """None: to know the value that a tensor on a GPU repeats is to wait for all that was launched before."""


def add_rows(total: DeviceRow, row: DeviceRow) -> None:
    """Add a row to another of its length and dtype, in place."""
    _run_rows(row_adder(total.dtype), (total, row, total), total.size, total.device)


def copy(program: Program, source: Any, target: Any) -> None:
    """Overwrite a tensor with another, broadcast to its shape; ``program`` copies one element."""
    row, other = target._flat, source._flat
    if row is not None and other is not None and row.size == other.size and row.dtype == other.dtype:
        row.put(other)
    else:
        run_pointwise(program, [source], [target])


def filled(shape: tuple[int, ...], value: Any, type: Any) -> DeviceRow:
    """Memory for a tensor, as one row, filled with a number."""
    row = empty_row(numel(shape), type.numpy, type.device.index)
    number: Any = value if value.__class__ in NUMBERS else value.item()
    _run_rows(filler(number.__class__, type.numpy), (number, row), row.size, row.device)
    return row


def share_elements(left: Any, right: Any) -> bool:
    """Whether an element of one tensor is an element of the other, too; taken to be so where it is hard to tell."""
    try:
        return np.shares_memory(_outline(left), _outline(right), max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _outline(tensor: Any) -> np.ndarray:
    """An array that lies as the tensor does, at the same addresses: for NumPy to compare, not to read."""
    row, item = tensor._storage, tensor._layout.type.numpy.itemsize
    memory = (ctypes.c_char * row.nbytes).from_address(row.address)
    steps = tuple([step * item for step in tensor._layout.strides])
    return np.ndarray(tensor._layout.shape, f"V{item}", memory, tensor._offset * item, steps)
