"""Generate the text of a pointwise op's kernel for a GPU from its scalar functions.

Each thread computes the element whose index is the number of the thread, and then the elements at steps of the total
number of threads.  So the same kernel serves any number of threads and of elements.  There are four forms: over
buffers; over buffers, four elements at a time, which is fastest for long buffers; over operands of any strides; and one
that adds the elements up instead of writing them.  All forms report an element of the program's ``probabilities`` that
is not in [0, 1], unless there is a report already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numba.core import types
from numba.np.numpy_support import from_dtype

from ..facts import Facts
from ..halves import passed
from ..pointwise import Operand, PointwiseProgram, cast, numpy_names, pointwise_facts
from .language import IMPORT


def parameters(program: PointwiseProgram) -> list[str]:
    """Return the first parameters of a kernel: inputs, outputs, the report and the numbers of messages in it."""
    messages = [f"{program.variables[name]}_m" for name, _ in program.probabilities]
    return [*program.parameters, *["report"] * bool(messages), *messages]


def argument_types(program: PointwiseProgram, numbers: int) -> tuple[Any, ...]:
    """Return Numba's types of a kernel's arguments: those of :func:`parameters`, and ``numbers`` whole numbers."""
    from .adapter import pointer_type  # needs numba-cuda, unlike the text

    def pointer(dtype: Any) -> Any:
        return pointer_type(from_dtype(passed(dtype)))

    inputs = [from_dtype(i.dtype) if i.scalar else pointer(i.dtype) for i in program.arguments]  # type: ignore[arg-type]
    outputs = [pointer(dtype) for name, dtype in program.outputs if name not in program.arrays]
    reports = [pointer(np.dtype(np.int64))] * bool(program.probabilities)
    return (*inputs, *outputs, *reports, *[types.int64] * (len(program.probabilities) + numbers))


def sum_types(program: PointwiseProgram) -> tuple[Any, ...]:
    """Return Numba's types of the arguments of :func:`sum_text`."""
    return (*argument_types(program, 1), types.float64)


def flat_text(program: PointwiseProgram) -> str:
    """Return the module text of the kernel over buffers: ``kernel(inputs, outputs, count of elements)``."""
    text = _KernelText(program, ["n"])
    text.loop("uint64(n)", text.element("i"))
    return text.whole()


def may_be_quads(program: PointwiseProgram) -> bool:
    """Return True if a kernel over four elements at a time is possible: not for complex numbers."""
    dtypes = [i.dtype for i in program.arguments if not i.scalar] + [dtype for _, dtype in program.outputs]
    return all(dtype is not None and dtype.kind != "c" for dtype in dtypes)


def quads_text(program: PointwiseProgram) -> str:
    """Return the text of the kernel over buffers, four elements at a time, aligned as ``language.load4`` requires."""
    text = _KernelText(program, ["n"], ["load4", "store4"])
    results = [(name, ", ".join(f"{name}_q{lane}" for lane in range(4))) for name in program.written]
    text.loop_over_quads([f"store4({name}, i, {lanes})" for name, lanes in results], text.element("i"))
    return text.whole()


def sum_text(program: PointwiseProgram, quads: bool, threads: int) -> str:
    """Return the text of ``kernel(inputs, sums, count of elements, divisor)``, for blocks of ``threads`` threads.

    Each block divides the sum of its elements of the one output, which are those of a kernel over buffers, and has an
    element of ``sums``.  The order of the additions depends on the numbers of elements and of blocks alone.
    """
    text = _KernelText(program, ["n", "divisor"], ["load4"] if quads else [], {"divide"})
    ((out, dtype),) = program.outputs
    one = [f"{name}_r = {name}[i]" for name in program.arrays] + text.element("_r", "_r") + [f"total += {out}_r"]
    text.lines += [
        f"    part = cuda.shared.array({threads}, {dtype.name})",
        "    thread = cuda.threadIdx.x",
        f"    total = {dtype.name}(0)",
    ]
    if quads:
        text.loop_over_quads([f"total += ({out}_q0 + {out}_q1) + ({out}_q2 + {out}_q3)"], one)
    else:
        text.loop("uint64(n)", one)
    text.lines += [
        "    part[thread] = total",
        f"    half = {threads // 2}",
        "    while half:",
        "        cuda.syncthreads()",
        "        if thread < half:",
        "            total += part[thread + half]",
        "            part[thread] = total",
        "        half //= 2",
        "    if thread == 0:",
        f"        {out}[cuda.blockIdx.x] = divide(total, {dtype.name}(divisor))",
    ]
    return text.whole()


def strided_text(program: PointwiseProgram, rank: int, narrow: bool) -> str:
    """Return the module text of the kernel over operands of any strides, in nests of ``rank`` loops.

    Its numbers are the count of elements, the extents of all dimensions but the first, the strides of each array, in
    elements, and the offset of the first element in each.  In a ``narrow`` kernel the count is below 2**32.
    """
    text = _KernelText(program, _strided_numbers(program, rank), ["quotient", "rest"] if narrow and rank > 1 else [])
    arrays = program.all_arrays
    statements, left = [], "i"
    for axis in range(rank - 1, 0, -1):
        extent = f"uint64(n{axis})"
        parts = (f"rest({left}, {extent})", f"quotient({left}, {extent})")
        if not narrow:
            parts = (f"{left} % {extent}", f"{left} // {extent}")
        statements += [f"i{axis} = int64({parts[0]})", f"left = {parts[1]}"]
        left = "left"
    statements += [f"i0 = int64({left})"]
    for name in arrays:
        index = " + ".join(f"i{axis} * {name}_s{axis}" for axis in range(rank))
        statements += [f"{name}_q = {name}_o + {index}"]
    text.loop("uint64(n)", [*statements, *text.element("_q")])
    return text.whole()


def _strided_numbers(program: PointwiseProgram, rank: int) -> list[str]:
    """Return the names of the numbers that :func:`strided_text` describes."""
    arrays = program.all_arrays
    steps = [f"{name}_s{axis}" for name in arrays for axis in range(rank)]
    return ["n", *[f"n{axis}" for axis in range(1, rank)], *steps, *[f"{name}_o" for name in arrays]]


def flat_facts(program: PointwiseProgram) -> Facts:
    """Return the facts of the kernels over buffers."""
    return pointwise_facts(program, [*parameters(program), "n"], _count)


def sum_facts(program: PointwiseProgram) -> Facts:
    """Return the facts of the kernel that adds elements up."""
    return pointwise_facts(program, [*parameters(program), "n", "divisor"], _count)


def strided_facts(program: PointwiseProgram, rank: int) -> Facts:
    """Return the facts of the kernel over operands of any strides."""
    return pointwise_facts(program, [*parameters(program), *_strided_numbers(program, rank)], _count)


def _count(args: Any) -> int:
    return args.n


class _KernelText:
    """Builder of a kernel's text."""

    def __init__(
        self, program: PointwiseProgram, numbers: list[str], words: Sequence[str] = (), scalars: Iterable[str] = ()
    ):
        variables = program.variables
        self.program = program
        self.parameters = [*parameters(program), *numbers]
        self.words = words
        self.scalars = program.body[1].union(scalars)
        self.lines: list[str] = []
        for operand in program.arguments:
            if operand.scalar:
                name = variables[operand.name]
                value = f"{name}_i = {cast(operand, name, program.compute)}"
                self.lines += [f"    {line}" for line in (value, *self._check(operand))]

    def element(self, index: str, result: str = "") -> list[str]:
        """Return the statements that compute one element.

        ``index`` is an index for all arrays, the suffix of one variable per array with its index (``_q``), or of
        elements that were read before (``_q[0]``).  With ``result``, elements are read from and stored in variables
        whose names end in these suffixes.
        """
        lines = []
        for operand in self.program.arguments:
            name = self.program.variables[operand.name]
            if not operand.scalar:
                value = f"{name}{index}" if result else f"{name}[{self._index(name, index)}]"
                lines += [f"{name}_i = {self._read(operand, value)}", *self._check(operand)]
        for line in self.program.body[0]:
            for name in self.program.written:
                target = f"{name}{result}" if result else f"{name}[{self._index(name, index)}]"
                line = line.replace(f"{name}[@]", target)
            lines.append(line)
        return lines

    def _read(self, operand: Operand, value: str) -> str:
        """Return the value to compute with for an element, which is 0 or 1 for a truth value."""
        if operand.dtype is not None and operand.dtype.kind == "b":
            value = f"({value} != 0)"
        return cast(operand, value, self.program.compute)

    def _check(self, operand: Operand) -> list[str]:
        """Return the statements that report the element of an operand if it should be a probability and is not."""
        if operand.name not in dict(self.program.probabilities):
            return []
        name, dtype = self.program.variables[operand.name], self.program.compute.name
        return [
            f"if not ({name}_i >= {dtype}(0) and {name}_i <= {dtype}(1)) and report[0] == 0:",
            f"    report[0] = {name}_m",
        ]

    @staticmethod
    def _index(name: str, index: str) -> str:
        return f"{name}{index}" if index.startswith("_") else index

    def loop(self, count: str, statements: list[str]) -> None:
        """Add a loop of the statements over the numbers ``i`` below ``count`` that belong to this thread."""
        self.lines += ["    i, step = uint64(cuda.grid(1)), uint64(cuda.gridsize(1))", f"    while i < {count}:"]
        self.lines += [f"        {line}" for line in [*statements, "i += step"]]

    def loop_over_quads(self, statements: list[str], rest: list[str]) -> None:
        """Add a loop of the statements over four elements at a time, and ``rest`` for each of the last elements.

        The statements use the outputs ``out_q0`` to ``out_q3``.
        """
        lanes = [f"{name}_q = load4({name}, i)" for name in self.program.arrays]
        for lane in range(4):
            lanes += self.element(f"_q[{lane}]", f"_q{lane}")
        self.lines += ["    quads = uint64(n) // uint64(4)"]
        self.loop("quads", [*lanes, *statements])
        self.lines += ["    i = uint64(4) * quads + uint64(cuda.grid(1))", "    if i < uint64(n):"]
        self.lines += [f"        {line}" for line in rest]

    def whole(self) -> str:
        """Return the text of the module."""
        program, body = self.program, "\n".join(self.lines)
        words = [name for name in ("int64", "uint64") if re.search(rf"\b{name}\b", body)]
        numbers = sorted({*numpy_names(program), *words})
        lines = [f'"""{program.name}: one pass over memory, computed in {program.compute}, on a GPU."""', ""]
        lines += [IMPORT, f"from numpy import {', '.join(numbers)}"]
        lines += [""] if self.words or self.scalars else []
        if self.words:
            lines += [f"from numgrad_kernels.cuda.language import {', '.join(self.words)}"]
        if self.scalars:
            lines += [f"from numgrad_kernels.scalar import {', '.join(sorted(self.scalars))}"]
        return "\n".join([*lines, "", "", f"def kernel({', '.join(self.parameters)}):", body]) + "\n"
