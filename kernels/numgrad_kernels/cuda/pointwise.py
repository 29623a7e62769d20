"""From a pointwise op's scalar functions to the text of its kernel for a GPU.

Each thread computes the element of its own number, and then every element that is as many threads further on as there
are, so that one kernel does for any number of threads and of elements.
"""

from __future__ import annotations

import re

from ..pointwise import Program, cast, dtype_names

__all__ = ["kernel_text"]


def kernel_text(program: Program, rank: int) -> str:
    """The module text of the program's kernel over arrays of ``rank`` dimensions (1 or more)."""
    variables = program.variables
    outputs = [name for name, _ in program.outputs]
    body, imports = program.body
    signature = ", ".join([variables[i.name] for i in program.arguments] + outputs)
    constants = [name for name in ("inf", "nan") if re.search(rf"\b{name}\b", " ".join(body))]

    lines = [f'"""{program.name}: one pass over memory, computed in {program.compute}, on a GPU."""', ""]
    lines += ["from numba import cuda"]
    lines += [f"from numpy import {', '.join(sorted({*dtype_names(program), *constants, 'uint64'}))}"]
    if imports:
        lines += ["", f"from numgrad_kernels.scalar import {', '.join(sorted(imports))}"]
    lines += ["", "", f"def kernel({signature}):"]
    lines += ["    i, step = uint64(cuda.grid(1)), uint64(cuda.gridsize(1))"]
    lines += [f"    while i < uint64({outputs[0]}.size):"]
    place, statements = _place(outputs[0], rank)
    for operand in program.arguments:
        name = variables[operand.name]
        value = name if operand.scalar else f"{name}[{place}]"
        statements += [f"{name}_i = {cast(operand, value, program.compute)}"]
    statements += [line.replace("[@]", f"[{place}]") for line in body]
    lines += [f"        {line}" for line in [*statements, "i += step"]]
    return "\n".join(lines) + "\n"


def _place(array: str, rank: int) -> tuple[str, list[str]]:
    """The index of element number ``i`` in row-major order, and the statements that compute it.

    Indices are unsigned, for a signed one may count from the end, and it takes time to look whether it does.
    """
    if rank == 1:
        return "i", []
    statements, rest = [], "i"
    for axis in range(rank - 1, 0, -1):
        extent = f"uint64({array}.shape[{axis}])"
        statements += [f"i{axis} = {rest} % {extent}", f"{'n' if axis > 1 else 'i0'} = {rest} // {extent}"]
        rest = "n"
    return ", ".join([f"i{axis}" for axis in range(rank)]), statements
