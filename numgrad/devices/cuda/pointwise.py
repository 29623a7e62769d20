"""Pointwise kernels on a GPU: over rows, over operands of any layout, and what else is done element by element."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda import pointwise as kernels
from numgrad_kernels.pointwise import Program

from ...core.layout import Layout, loop_nest, numel
from ..common import NUMBERS, filler, may_share_elements
from ..recording import values_read
from ..rows import DeviceRow
from .launching import Kernel, compile_kernel
from .memory import empty_row, stream

__all__ = ["copy_launcher", "filled", "pointwise_launcher", "share_elements"]

#: Elements from which rows are read four at a time, which takes another kernel.
QUADS_FROM = 16384

#: The forms of kernels over rows, by which a program keeps them; others are ("cuda", rank, narrow).
_ROW, _QUADS = ("cuda", "row"), ("cuda", "quads")


def _kernel(program: Program, form: Any) -> Kernel:
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
    if size >= QUADS_FROM and kernels.may_be_quads(program) and all(map(_is_aligned, arguments)):
        form, work = _QUADS, size // 4
    kernel = program.kernels.get(form) or _kernel(program, form)
    kernel.run(*kernel.grid(work, device), stream(device), *arguments, size)


def _is_aligned(value: Any) -> bool:
    """Whether a row begins where four elements can be read at once."""
    return value.__class__ is not DeviceRow or value.address % min(16, 4 * value.dtype.itemsize) == 0


def pointwise_launcher(
    program: Program, operands: Sequence[Any], outs: Sequence[Layout], into: bool = False
) -> Callable[..., Any]:
    """A function that runs ``program`` on tensors of these layouts, and on numbers, for which anything else stands.

    It returns the memory of new outputs of the layouts ``outs``, in a tuple if there are several.  With ``into`` it
    takes after the operands the tensors to write to, and returns nothing.  A tensor for a scalar of the
    program is one on the CPU that has one value, which is read.
    """
    size, shape = outs[0].size, outs[0].shape
    device: Any = outs[0].type.device.index
    forms = [
        None if layout.__class__ is not Layout else _as_value if operand.scalar else layout
        for layout, operand in zip(operands, program.arguments, strict=True)
    ]
    arrays = [form for form in forms if isinstance(form, Layout)]
    layouts = [*arrays, *outs]
    dtypes = [dtype for _, dtype in program.outputs]
    count = len(forms)
    flat = all(layout.contiguous and layout.shape == shape for layout in layouts)
    if not flat:
        form, numbers = _nest(program, shape, [(layout.shape, layout.strides) for layout in layouts])

    def launch(*values: Any) -> Any:
        rows = [] if into else [empty_row(size, dtype, device) for dtype in dtypes]
        given, starts = [], []
        for value, own in zip(values[:count], forms, strict=True):
            if own is None:
                given.append(value)
            elif own is _as_value:
                given.append(_as_value(value))
            else:
                given.append(value._flat if flat else value._storage)
                starts.append(value._offset)
        if into:
            targets = values[count:]
            given += [target._flat if flat else target._storage for target in targets]
            starts += [target._offset for target in targets]
        else:
            given += rows
            starts += [0] * len(rows)
        if flat:
            _run_rows(program, given, size, device)
        elif size:
            kernel = _kernel(program, form)
            kernel.run(*kernel.grid(size, device), stream(device), *given, *numbers, *starts)
        return None if into else tuple(rows) if len(rows) > 1 else rows[0]

    return launch


def _as_value(tensor: Any) -> Any:
    values_read("a number on the CPU for an operation on a GPU")
    return tensor._storage.item(tensor._offset)


def _nest(program: Program, shape: tuple[int, ...], layouts: Sequence[Any]) -> tuple[Any, list[int]]:
    """The form of the kernel for arrays of these layouts, and the numbers that it is given."""
    sizes, steps = loop_nest(shape, tuple(layouts))
    size = numel(sizes)
    return ("cuda", len(sizes), size < 2**32), [size, *sizes[1:], *[step for own in steps for step in own]]


def copy_launcher(program: Program, source: Layout, target: Layout) -> Callable[[Any, Any], None]:
    """What overwrites a tensor, the second argument, with another, broadcast; ``program`` copies one element."""
    if source.contiguous and target.contiguous and source.size == target.size and source.type is target.type:
        return lambda given, written: written._flat.put(given._flat)
    return pointwise_launcher(program, [source], [target], into=True)


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
