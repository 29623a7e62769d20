"""The updates of the optimizers, over all parameters of a dtype in one launch.

A kernel takes the same arrays as the CPU's.  A block of threads processes a block of elements, four at a time if all
operands begin at multiples of 16 bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from ..updates import UPDATES, UpdateRule, function_of, indented
from .adapter import cuda
from .language import load4, row_at, store4

#: The global names in the text of the kernels.  Placeholders are T, the dtype in which they compute, and THREADS, the
#: number of threads of a block.
_NAMES = {
    "__name__": __name__, "T": np.float32, "THREADS": 256, "cuda": cuda, "load4": load4, "np": np, "row_at": row_at,
    "store4": store4,
}


@functools.cache
def update_kernel(name: str) -> Callable[..., None]:
    """Return the kernel of an update: ``kernel(addresses, blocks, numbers)``."""
    update = UPDATES[name]
    addresses = " | ".join(f"{operand}_at" for operand in update.operands)
    lines = [
        "block, thread = 3 * cuda.blockIdx.x, cuda.threadIdx.x",
        "which, start, count = blocks[block], blocks[block + 1], blocks[block + 2]",
        *update.unpacked(),
        *[f"{operand}_row = row_at({operand}_at, T)" for operand in update.operands],
        f"quads = 0 if ({addresses}) & 15 else count // 4",
        "for number in range(thread, quads, THREADS):",
        "    quad = np.uint64(start // 4 + number)",
        *indented(_elements(update, ["0", "1", "2", "3"], "load4({}_row, quad)", "store4({}_row, quad, {})")),
        "for i in range(start + 4 * quads + thread, start + count, THREADS):",
        *indented(_elements(update, [""], "{}_row[i]", "{}_row[i] = {}")),
    ]
    return function_of(update, lines, _NAMES)


def _elements(update: UpdateRule, lanes: list[str], read: str, write: str) -> list[str]:
    """Return the statements that read, update and write the elements in some lanes."""
    before, after = [], []
    for operand in update.operands:
        names = ", ".join(f"{operand}{lane}" for lane in lanes)
        reading, writing = [f"{names} = {read.format(operand)}"], [write.format(operand, names)]
        if operand in update.optional:
            before += [f"{names} = {', '.join(['T(0)'] * len(lanes))}"]
            reading, writing = [[f"if has_{operand}:", *indented(lines)] for lines in (reading, writing)]
        before += reading
        after += writing if operand != "grad" else []
    return [*before, *[update.call(lane) for lane in lanes], *after]
