"""Pointwise kernels on a GPU, over buffers and over operands of any layout, and the steps of plans that run them."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from numgrad_kernels.cuda import copying
from numgrad_kernels.cuda import pointwise as kernels
from numgrad_kernels.pointwise import PointwiseProgram

from ...core.halves import number_of
from ...core.layout import Ints, Layout, loop_nest, numel
from ..buffers import DeviceBuffer
from ..common import NUMBERS, copy_program, filler, may_share_elements, word_of
from ..plan import Buffer, Plan, PointwiseKernel, Report, Step, TensorRef
from ..recording import values_read
from .launching import THREADS, CudaKernel, compile_kernel, run_kernel
from .memory import empty_buffer, stream
from .reports import message_number

__all__ = [
    "copy_step", "filled", "is_small", "merged_kernel", "nest_step", "pointwise_kernels", "row_step", "share_elements",
    "value_of",
]  # fmt: skip

#: Number of elements from which another kernel reads buffers four elements at a time.
QUADS_FROM = 16384

#: Forms of kernels over buffers, the keys of a program's kernels; other forms are ("cuda", rank, narrow).
_ROW, _QUADS, _SUM, _SUM_OF_QUADS = [("cuda", form) for form in ("row", "quads", "sum", "sum of quads")]

#: The source of each kernel that writes its elements and reports nothing: the program, and the number of loops for
#: operands of any strides, else 0.
pointwise_kernels: dict[CudaKernel, tuple[PointwiseProgram, int]] = {}


def pointwise_kernel(program: PointwiseProgram, form: Any) -> CudaKernel:
    """Return the kernel of a program in a form: over buffers, or ("cuda", rank, narrow) for operands of any strides."""
    kernel = program.kernels.get(form)
    if kernel is None and form in (_SUM, _SUM_OF_QUADS):
        text, types = kernels.sum_text(program, form is _SUM_OF_QUADS, THREADS), kernels.sum_types(program)
        kernel = program.kernels[form] = compile_kernel(f"{program.name}_sum", text, types, kernels.sum_facts(program))
    elif kernel is None:
        rank = 0
        if form is _ROW:
            text, facts = kernels.flat_text(program), kernels.flat_facts(program)
        elif form is _QUADS:
            text, facts = kernels.quads_text(program), kernels.flat_facts(program)
        else:
            _, rank, narrow = form
            text, facts = kernels.strided_text(program, rank, narrow), kernels.strided_facts(program, rank)
        types = kernels.argument_types(program, len(facts.parameters) - len(kernels.parameters(program)))
        kernel = program.kernels[form] = compile_kernel(program.name, text, types, facts)
        if not program.probabilities:
            pointwise_kernels[kernel] = program, rank
    return kernel


def merged_kernel(
    program: PointwiseProgram, rank: int, size: int, device: int, launched: Sequence[CudaKernel]
) -> tuple[CudaKernel, tuple[int, int]]:
    """Return the kernel of a program that does the work of others, ready to run on a GPU, and its grid.

    Args:
        rank: the number of loops for operands of any strides; 0 for buffers.
        size: the number of elements.
        launched: the other kernels, which read four elements at a time only if all their buffers are aligned.
    """
    form, work = (("cuda", rank, size < 2**32), size) if rank else (_ROW, size)
    are_aligned = all(pointwise_kernels[kernel][0].kernels.get(_QUADS) is kernel for kernel in launched)
    if not rank and are_aligned and kernels.may_be_quads(program):
        form, work = _QUADS, size // 4
    kernel = pointwise_kernel(program, form)
    kernel.run.prepare(device)
    return kernel, kernel.grid(work, device)


def _run_over(program: PointwiseProgram, arguments: Sequence[Any], size: int, device: int) -> None:
    """Run a program over buffers of ``size`` elements and numbers: inputs, then outputs."""
    if not size:
        return
    form, work = _ROW, size
    if size >= QUADS_FROM and kernels.may_be_quads(program) and all(map(is_aligned, arguments)):
        form, work = _QUADS, size // 4
    kernel = program.kernels.get(form) or pointwise_kernel(program, form)
    run_kernel(kernel, *kernel.grid(work, device), stream(device), *arguments, size)


def alignment(dtype: np.dtype) -> int:
    """Return the number that divides the addresses from which four elements can be read at once."""
    return min(16, 4 * dtype.itemsize)


def is_aligned(value: Any) -> bool:
    """Return True if the address of a buffer is aligned for reading four elements at once."""
    return value.__class__ is not DeviceBuffer or value.address % alignment(value.dtype) == 0


def row_step(p: Plan, program: PointwiseProgram, operands: Sequence[Any], size: int) -> None:
    """Add the step that runs a program once, on buffers of one size, numbers and values."""
    quads = size >= QUADS_FROM and kernels.may_be_quads(program)
    aligned = (PointwiseKernel(program, _QUADS), size // 4) if quads else None
    p.steps.append(Step(PointwiseKernel(program, _ROW), (*operands, *_report(program), size), size, aligned=aligned))


def _report(program: PointwiseProgram) -> list[Any]:
    """Return the operands for a program's report, after its outputs: see Note [Reports]."""
    messages = [message_number(message) for _, message in program.probabilities]
    return [Report(), *messages] if messages else []


def sum_step(step: Any, x: Buffer, sums: Buffer, divisor: float, grid: Any) -> Step | None:
    """Return the step that adds up the elements ``x`` that another computes: a sum for each block, over ``divisor``.

    Return None if the other step is not a pass over buffers that computes ``x`` alone, in the dtype of the sums.
    """
    if step.__class__ is not Step or step.kernel[1] is not _ROW:
        return None
    program, operands, size = step.kernel.program, [*step.operands, divisor], step.work
    last = len(program.parameters) - 1
    if operands[last] != x or len(program.outputs) > 1 or not program.compute == x.dtype == sums.dtype:
        return None
    operands[last] = sums
    aligned = step.aligned and (PointwiseKernel(program, _SUM_OF_QUADS), size)
    return Step(PointwiseKernel(program, _SUM), tuple(operands), size, grid=grid, aligned=aligned)


def nest_step(p: Plan, program: PointwiseProgram, operands: Sequence[Any], layouts: Sequence[Layout]) -> None:
    """Add the step that runs a program once, in a nest of loops, on tensors of these layouts, numbers and values.

    The outputs are last.
    """
    sizes, strides = loop_nest(layouts[-1].shape, tuple([(layout.shape, layout.strides) for layout in layouts]))
    size, memory, starts = numel(sizes), [], []
    for operand in operands:
        if operand.__class__ is TensorRef:
            operand, start = p.strided(operand)
            starts.append(start)
        memory.append(operand)
    if (copied := layouts[0].type.numpy) is layouts[-1].type.numpy and program is copy_program(copied, copied):
        transposition = _transposition(sizes, *strides)
        if transposition is not None:
            (x, out), (start, target) = [buffer.view(word_of(copied)) for buffer in memory], starts
            _transpose(p, x, out, start, target, transposition)
            return
    kernel = PointwiseKernel(program, ("cuda", len(sizes), size < 2**32))
    numbers = size, *sizes[1:], *itertools.chain(*strides), *starts
    p.steps.append(Step(kernel, (*memory, *_report(program), *numbers), size))


#: Side of the tiles in which transposed matrices are copied, and least number of rows and of columns for it.
TILE, LEAST = (32, 16) if THREADS >= 32 else (2, 2)


class Transposition(NamedTuple):
    """Matrices to be transposed: their numbers and the steps of ``copying.transpose``."""

    x_step: int
    x_row: int
    out_step: int
    out_column: int
    rows: int
    columns: int
    matrices: int


def _transposition(sizes: Ints, x_steps: Ints, out_steps: Ints) -> Transposition | None:
    """Return the transposition that a nest of two or three loops performs; None if it is another copy."""
    if len(sizes) not in (2, 3) or 1 not in x_steps or 1 not in out_steps:
        return None
    column, row = x_steps.index(1), out_steps.index(1)
    if row == column or min(sizes[row], sizes[column]) < LEAST:
        return None
    (outer,) = {*range(len(sizes))} - {row, column} or {None}
    step, out_step, matrices = (0, 0, 1) if outer is None else (x_steps[outer], out_steps[outer], sizes[outer])
    return Transposition(step, x_steps[row], out_step, out_steps[column], sizes[row], sizes[column], matrices)


def _transpose(p: Plan, x: Any, out: Any, start: Any, target: Any, moved: Transposition) -> None:
    """Add the step that copies transposed matrices tile by tile."""
    across, down = -(-moved.columns // TILE), -(-moved.rows // TILE)
    p.run(
        copying.transpose, x.dtype, x, start, moved.x_step, moved.x_row, out, target, moved.out_step, moved.out_column,
        moved.rows, moved.columns, moved.matrices, across, across * down,
        grid=(across * down * moved.matrices, THREADS), TILE=TILE, PITCH=TILE + 1, ELEMENTS=TILE * (TILE + 1),
    )


def is_small(program: PointwiseProgram, layouts: Sequence[Layout]) -> bool:
    """Return False: a plan for a GPU serves one size."""
    return False


def value_of(tensor: Any) -> Any:
    """Return the one element of a tensor on the CPU, as a number."""
    values_read("a number on the CPU for an operation on a GPU")
    return number_of(tensor._storage.item(tensor._offset))


def copy_step(p: Plan, program: PointwiseProgram, source: TensorRef, target: TensorRef) -> None:
    """Add the step that copies a tensor, broadcast, into another; ``program`` copies one element."""
    p.pointwise(program, [source], target)


def filled(shape: tuple[int, ...], value: Any, type: Any) -> DeviceBuffer:
    """Return memory for a tensor, filled with a number."""
    buffer = empty_buffer(numel(shape), type.numpy, type.device.index)
    number: Any = value if value.__class__ in NUMBERS else value.item()
    _run_over(filler(number.__class__, type.numpy), (number, buffer), buffer.size, buffer.device)
    return buffer


def share_elements(left: Any, right: Any) -> bool:
    """Return True if two tensors share an element, or if that is hard to decide."""
    return may_share_elements(_outline(left), _outline(right))


def _outline(tensor: Any) -> np.ndarray:
    """Return an array with the addresses of a tensor's elements, which NumPy must compare but not read."""
    buffer, item = tensor._storage, tensor._layout.type.numpy.itemsize
    memory = (ctypes.c_char * buffer.nbytes).from_address(buffer.address)
    steps = tuple([step * item for step in tensor._layout.strides])
    return np.ndarray(tensor._layout.shape, f"V{item}", memory, tensor._offset * item, steps)
