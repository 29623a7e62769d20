"""The updates of the optimizers, over all parameters of a dtype in one launch.

A kernel takes three arrays.  ``addresses`` holds for each parameter the addresses of its operands: itself, its gradient
and its optimizer state (0 for missing operands).  ``blocks`` cuts the parameters into pieces of at most BLOCK elements,
with three numbers each: the parameter, the first element and the number of elements.  ``numbers`` holds for each
parameter the numbers of the update as float64.

Each combination of missing operands has a loop of its own, so that loops contain no checks and vectorise.  Elements do
not depend on each other, so results do not depend on the number of threads.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import numpy as np
from numba import prange

from ..local import array_at
from ..updates import UPDATES, function_of, indented

#: The global names of the kernels' text; T is a placeholder, the dtype that the kernel computes in.
_NAMES = {"__name__": __name__, "T": np.float32, "array_at": array_at, "prange": prange}


@functools.cache
def update_kernel(name: str) -> Callable[..., None]:
    """Return the kernel of an update: ``kernel(addresses, blocks, numbers)``."""
    update = UPDATES[name]
    body = [
        "which, start, count = blocks[3 * block], blocks[3 * block + 1], blocks[3 * block + 2]",
        *update.unpacked(),
    ]
    for there in itertools.product([True, False], repeat=len(update.optional)):
        present = dict(zip(update.optional, there, strict=True))
        operands = [operand for operand in update.operands if present.get(operand, True)]
        tests = [f"has_{operand} == {is_there}" for operand, is_there in present.items()]
        body += [
            f"if {' and '.join(tests) or True}:",
            *[f"    {operand}_row = array_at({operand}_at, start, count, T)" for operand in operands],
            "    for i in range(count):",
            *[f"        {operand} = {operand}_row[i]" for operand in operands],
            f"        {update.call(without=[operand for operand in present if not present[operand]])}",
            *[f"        {operand}_row[i] = {operand}" for operand in operands if operand != "grad"],
        ]
    return function_of(update, ["for block in prange(blocks.size // 3):", *indented(body)], _NAMES)
