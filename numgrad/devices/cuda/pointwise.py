"""Pointwise kernels on a GPU: over rows, over operands of any layout, and what else is done element by element."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda import pointwise as kernels
from numgrad_kernels.pointwise import Program

from ...core.layout import Layout, loop_nest, numel
from ..common import NUMBERS, filler, may_share_elements
from ..plan import Plan, Pointwise, Step, TensorRef
from ..recording import values_read
from ..rows import DeviceRow
from .launching import Kernel, compile_kernel, run_kernel
from .memory import empty_row, stream

__all__ = ["copy_step", "filled", "is_small", "nest_step", "row_step", "share_elements", "value_of"]

#: Elements from which rows are read four at a time, which takes another kernel.
QUADS_FROM = 16384

#: The forms of kernels over rows, by which a program keeps them; others are ("cuda", rank, narrow).
_ROW, _QUADS = ("cuda", "row"), ("cuda", "quads")


def pointwise_kernel(program: Program, form: Any) -> Kernel:
    """The program's kernel over rows, or in the form ("cuda", rank, narrow) that for operands of any strides."""
    kernel = program.kernels.get(form)
    if kernel is None:
        if form is _ROW:
            text, facts = kernels.row_text(program), kernels.row_facts(program)
        elif form is _QUADS:
            text, facts = kernels.quads_text(program), kernels.row_facts(program)
        else:
            _, rank, narrow = form
            text, facts = kernels.strided_text(program, rank, narrow), kernels.strided_facts(program, rank)
        types = kernels.argument_types(program, len(facts.parameters) - len(program.parameters))
        kernel = program.kernels[form] = compile_kernel(program.name, text, types, facts)
    return kernel


def _run_rows(program: Program, arguments: Sequence[Any], size: int, device: int) -> None:
    """Run a program over rows of ``size`` elements and numbers: inputs, then outputs."""
    if not size:
        return
    form, work = _ROW, size
    if size >= QUADS_FROM and kernels.may_be_quads(program) and all(map(is_aligned, arguments)):
        form, work = _QUADS, size // 4
    kernel = program.kernels.get(form) or pointwise_kernel(program, form)
    run_kernel(kernel, *kernel.grid(work, device), stream(device), *arguments, size)


def is_aligned(value: Any) -> bool:
    """Return whether a row begins where four elements can be read at once."""
    return value.__class__ is not DeviceRow or value.address % min(16, 4 * value.dtype.itemsize) == 0


def row_step(p: Plan, program: Program, operands: Sequence[Any], size: int) -> None:
    """Add one pass of a program over buffers of one size, numbers and values."""
    quads = size >= QUADS_FROM and kernels.may_be_quads(program)
    aligned = (Pointwise(program, _QUADS), size // 4) if quads else None
    p.steps.append(Step(Pointwise(program, _ROW), (*operands, size), size, aligned=aligned))


def nest_step(p: Plan, program: Program, operands: Sequence[Any], layouts: Sequence[Layout]) -> None:
    """Add one pass of a program over tensors of these layouts, numbers and values, in a nest of loops.

    The outputs are last.
    """
    form, numbers = _nest(program, layouts[-1].shape, [(own.shape, own.strides) for own in layouts])
    given, starts = [], []
    for one in operands:
        if one.__class__ is TensorRef:
            memory, start = p.strided(one)
            given.append(memory)
            starts.append(start)
        else:
            given.append(one)
    p.steps.append(Step(Pointwise(program, form), (*given, *numbers, *starts), layouts[-1].size))


def is_small(program: Program, layouts: Sequence[Layout]) -> bool:
    """Return False: plans for GPUs are for one size each."""
    return False


def value_of(tensor: Any) -> Any:
    """The one element of a tensor on the CPU, as a number."""
    values_read("a number on the CPU for an operation on a GPU")
    return tensor._storage.item(tensor._offset)


def _nest(program: Program, shape: tuple[int, ...], layouts: Sequence[Any]) -> tuple[Any, list[int]]:
    """The form of the kernel for arrays of these layouts, and the numbers that it is given."""
    sizes, steps = loop_nest(shape, tuple(layouts))
    size = numel(sizes)
    return ("cuda", len(sizes), size < 2**32), [size, *sizes[1:], *[step for own in steps for step in own]]


def copy_step(p: Plan, program: Program, source: TensorRef, target: TensorRef) -> None:
    """Add the copy of a tensor, broadcast, into another; ``program`` copies one element."""
    p.pointwise(program, [source], target)


def filled(shape: tuple[int, ...], value: Any, type: Any) -> DeviceRow:
    """Memory for a tensor, as one row, filled with a number."""
    row = empty_row(numel(shape), type.numpy, type.device.index)
    number: Any = value if value.__class__ in NUMBERS else value.item()
    _run_rows(filler(number.__class__, type.numpy), (number, row), row.size, row.device)
    return row


def share_elements(left: Any, right: Any) -> bool:
    """Whether an element of one tensor is an element of the other, too; taken to be so where it is hard to tell."""
    return may_share_elements(_outline(left), _outline(right))


def _outline(tensor: Any) -> np.ndarray:
    """An array that lies as the tensor does, at the same addresses: for NumPy to compare, not to read."""
    row, item = tensor._storage, tensor._layout.type.numpy.itemsize
    memory = (ctypes.c_char * row.nbytes).from_address(row.address)
    steps = tuple([step * item for step in tensor._layout.strides])
    return np.ndarray(tensor._layout.shape, f"V{item}", memory, tensor._offset * item, steps)
