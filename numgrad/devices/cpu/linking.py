"""Kernels linked to one function: LLVM IR that calls their machine code in sequence, without Python in between.

The function takes the address of a table that contains the addresses of the blocks of memory.  All operands of the
kernels lie in these blocks.  The function allocates nothing.  Linking compiles these calls, and no kernel.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from llvmlite import binding as llvm
from numba.core.compiler_lock import global_compiler_lock

from numgrad_kernels.store import lock
from numgrad_kernels.target import target_context

from .step_text import BEFORE_DATA, Copied, Place, ReadNumber, Run, StepWriter
from .tiling import Tiles, write_tiles

__all__ = ["Copied", "Linked", "Place", "ReadNumber", "Run", "Tiles", "link"]


@dataclass(slots=True)
class Linked:
    """Linked program: ``run(address of the table)`` returns 0, or the number of the step that reports, from 1 on.

    If buffers are passed, it is ``run(address of the table, id(buffers))``, where ``buffers`` is a tuple.
    """

    run: Callable[..., int]
    text: str
    address: int


_number = itertools.count()

_DECLARATIONS = (
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    "declare i32 @get_num_threads()",  # the next two functions are Numba's
    "declare void @numba_parallel_for(ptr, ptr, ptr, ptr, ptr, i64, i64, i32)",
)

#: Greatest number of steps of one function: LLVM's compile time grows faster than the length.
_PART = 512


def _finds_rows() -> bool:
    array = np.zeros(1)
    return ctypes.c_int64.from_address(id(array) + BEFORE_DATA).value == array.ctypes.data


#: True if buffers can be passed as arrays.
FINDS_ROWS = _finds_rows()


def link(steps: Sequence[Run | Copied | Tiles], passed: Sequence[int] = (), brief: bool = False) -> Linked:
    """Return the function that runs these steps.

    Note [Passed buffers]
    Reading the address of an array from NumPy takes Python longer than a small kernel runs.  The address is the first
    field of an array after those of every object (``PyArray_DATA``, part of NumPy's binary interface), and the items
    of a tuple are contiguous.  So the buffers of a call are passed in a tuple, and the program reads their addresses.

    Args:
        steps: the steps, in order.
        passed: the lines of the table for the addresses of the passed buffers, in their order.
        brief: True if the steps are so short that other Python threads can wait for them.
    """
    name = f"numgrad_program_{next(_number)}"
    with lock, global_compiler_lock:  # in the order in which the kernel store takes them
        text = _text(name, steps, passed)  # the addresses of kernels may need LLVM, too
        target_context()  # initializes LLVM for this processor
        # opt=0 is fastest: the called code is optimized, and the calls themselves take little time
        machine = llvm.Target.from_default_triple().create_target_machine(opt=0, jit=True)  # the engine takes ownership
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
        engine.finalize_object()
    address = engine.get_function_address(name)
    kind = ctypes.PYFUNCTYPE if brief else ctypes.CFUNCTYPE  # CFUNCTYPE lets other Python threads run
    run = kind(ctypes.c_int64, *[ctypes.c_void_p] * (1 + bool(passed)))(address)
    run.machine_code = engine  # type: ignore[attr-defined]
    return Linked(run, text, address)


def _text(name: str, steps: Sequence[Run | Copied | Tiles], passed: Sequence[int]) -> str:
    """Return the text of the module, in which the function of this name calls one for each ``_PART`` steps."""
    parameters = f"ptr %table{', ptr %buffers' * bool(passed)}"
    parts: list[str] = []
    tiles: list[str] = []
    for begin in range(0, len(steps), _PART):
        writer = StepWriter(passed)
        for number, step in enumerate(steps[begin : begin + _PART], begin + 1):
            if isinstance(step, Tiles):
                tiles += write_tiles(writer, step, f"{name}.tiles{number}")
            else:
                writer.copy(step) if isinstance(step, Copied) else writer.run(step, number)
        parts.append(writer.function(name if len(steps) <= _PART else f"{name}.{len(parts)}", parameters))
    if len(parts) != 1:
        lines = [f"define i64 @{name}({parameters}) {{"]
        for number in range(len(parts)):
            lines += [
                f"  %part{number} = call i64 @{name}.{number}({parameters})",
                f"  %wrong{number} = icmp ne i64 %part{number}, 0",
                f"  br i1 %wrong{number}, label %end{number}.wrong, label %end{number}",
                f"end{number}.wrong:", f"  ret i64 %part{number}", f"end{number}:",
            ]
        parts.append("\n".join([*lines, "  ret i64 0", "}", ""]))
    return "\n".join([*_DECLARATIONS, *parts, *tiles])


