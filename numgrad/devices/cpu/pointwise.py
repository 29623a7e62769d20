"""Pointwise kernels and their launchers: what a launch needs is found out once for operands of these layouts.

A launcher is a function of the operands.  It does nothing but take memory for the outputs and run one kernel: over
rows of elements, where all operands and outputs have the same shape and are contiguous, or over a nest of loops.
Launchers of one form differ only in what they are bound to, so that a new layout costs no new code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.pointwise import (
    Program,
    argument_types,
    kernel_text,
    nest_facts,
    nest_types,
    row_facts,
)
from numgrad_kernels.store import Kernel

from ...core.layout import Layout, loop_nest
from .. import recording
from ..launches import compile_kernel
from ..memory import LARGE, check_countable, empty_row, out_of_memory
from ..recording import number_at
from .threads import PARALLEL_FROM, worth_threads

__all__ = ["pointwise_kernels", "pointwise_launcher"]

#: What each pointwise kernel was made from: the program, the rank of its arrays and whether these are rows.
pointwise_kernels: dict[Kernel, tuple[Program, int, bool]] = {}


def pointwise_kernel(program: Program, rank: int, contiguous: bool, parallel: bool, inner: str = "") -> Kernel:
    """The program's kernel over rows (``rank`` 1 and ``contiguous``) or over a nest of ``rank`` loops."""
    key = (rank, contiguous, parallel, inner)
    kernel = program.kernels.get(key)
    if kernel is None:
        kernel = program.kernels[key] = compile_kernel(
            program.name,
            lambda: kernel_text(program, rank, parallel, inner, nest=not contiguous),
            argument_types(program) if contiguous else nest_types(program),
            row_facts(program) if contiguous else nest_facts(program),
            parallel=parallel,
        )
        pointwise_kernels[kernel] = program, rank, contiguous
    return kernel


def pointwise_launcher(
    program: Program, operands: Sequence[Any], outs: Sequence[Layout], into: bool = False
) -> Callable[..., Any]:
    """A function that runs ``program`` on tensors of these layouts, and on numbers, for which anything else stands.

    It returns the memory of new outputs of the layouts ``outs``, in a tuple if there are several.  With ``into`` it
    takes after the operands the tensors to write to, and returns nothing.  A tensor for a scalar of the
    program repeats one value, which is read.
    """
    size, shape = outs[0].size, outs[0].shape
    check_countable(shape, outs[0].type.numpy)
    forms = "".join([
        "n" if own.__class__ is not Layout else "v" if operand.scalar else "a"
        for own, operand in zip(operands, program.arguments, strict=True)
    ])
    layouts = [*[own for own, form in zip(operands, forms, strict=True) if form == "a"], *outs]
    rows = all(layout.contiguous and layout.shape == shape for layout in layouts)
    rank, inner, nest = 1, "", None
    if not rows:
        rank, inner, nest = _nest(shape, layouts)
    work = size * program.weight
    large = max([layout.size * layout.type.numpy.itemsize for layout in outs]) >= LARGE
    threads = work >= PARALLEL_FROM
    # Over rows one launcher serves all small sizes: it reads the size of the first array.
    shared = rows and size > 0 and not (large or threads) and (into or "a" in forms)
    launch = program.launchers.get((forms, into)) if shared else None
    if launch is None:
        bind = _form(forms, len(outs), rows, into, large, threads, size > 0, shared)
        launch = bind(
            lambda: pointwise_kernel(program, rank, rows, worth_threads(work), inner), size, outs,
            [layout.type.numpy for layout in outs], nest,
        )
        if shared:
            program.launchers[forms, into] = launch
    return launch


def _nest(shape: tuple[int, ...], layouts: Sequence[Layout]) -> tuple[int, str, np.ndarray]:
    """The nest of loops over operands of these layouts: its depth, how each lies in the innermost, and its numbers."""
    sizes, steps = loop_nest(shape, tuple([(own.shape, own.strides) for own in layouts]))
    inner = "".join(["c" if own[-1] == 1 else "r" if own[-1] == 0 else "a" for own in steps])
    if "a" in inner:
        inner = "a" * len(inner)  # one kernel for all that is not simple
    return len(sizes), inner, np.array([*sizes, *[step for own in steps for step in own]], np.int64)


def _new_row(layout: Layout) -> np.ndarray:
    """Memory for a large output."""
    try:
        return empty_row(layout.size, layout.type.numpy)
    except RuntimeError:
        raise out_of_memory(layout.shape, layout.type.numpy) from None


@functools.cache
def _form(
    forms: str, count: int, rows: bool, into: bool, large: bool, threads: bool, runs: bool, shared: bool
) -> Callable[..., Callable[..., Any]]:
    """What binds a launcher of one form to a kernel, sizes and dtypes.

    ``forms`` has a letter for each operand: "a" for an array, "v" for a value read from a tensor, "n" for a number.
    """
    names = [f"x{n}" for n in range(len(forms))]
    outputs = [f"o{n}" for n in range(count)]
    given: list[str] = []
    lines: list[str] = []
    if shared:
        lines += [f"size = {outputs[0] if into else names[forms.index('a')]}._layout.size"]
    for name, form in zip(names, forms, strict=True):
        if form == "v":
            number = f"{name}._storage.item({name}._offset)"
            given += [f"{number} if told.recorder is None else number_at({name}._storage, {name}._offset)"]
        elif form == "n":
            given += [name]
        elif rows:
            lines += [f"r{name} = {name}._storage", f"if {name}._offset:", f"    r{name} = r{name}[{name}._offset:]"]
            given += [f"r{name}"]
        else:
            given += [f"{name}._storage", f"{name}._offset"]
    for n, out in enumerate(outputs):
        if into and rows:
            part = f"if r{out}.size != size:", f"    r{out} = r{out}[{out}._offset : {out}._offset + size]"
            lines += [f"r{out} = {out}._storage", *part]
            given += [f"r{out}"]
        elif into:
            given += [f"{out}._storage", f"{out}._offset"]
        else:
            lines += [f"{out} = new_row(outs[{n}])" if large else f"{out} = empty(size, dtypes[{n}])"]
            given += [out] if rows else [out, "0"]
    if not rows:
        given += ["nest"]
    if runs and threads:
        lines += [f"kernel_of().entry({', '.join(given)})"]
    elif runs:
        lines += ["if kernel is None:", "    kernel = kernel_of()", f"kernel.entry({', '.join(given)})"]
    if not into:
        lines += [f"return {', '.join(outputs)}"]
    text = [
        f"def bind(kernel_of, {'whole' if shared else 'size'}, outs, dtypes, nest):",
        "    kernel = None",
        f"    def launch({', '.join([*names, *outputs] if into else names)}):",
        "        nonlocal kernel",
        *["        " + line for line in lines],
        "    return launch",
    ]
    namespace: dict[str, Any] = {"empty": np.empty, "new_row": _new_row, "number_at": number_at, "told": recording}
    exec("\n".join(text), namespace)
    return namespace["bind"]
