"""Programs as functions of arrays that can be called from functions compiled by Numba.

The function is generated for the program: it checks the arrays, allocates the results, and runs the program.  It calls
Python to evaluate guards, count the steps of optimizers, and increment version counters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numba
import numpy as np
from numba.core import types
from numba.core.types.containers import Tuple
from numba.np.numpy_support import from_dtype

from ..autograd.grad_mode import is_grad_enabled, set_grad_enabled
from ..core.layout import Layout, span
from ..devices.cpu.calling import BUSY, caller
from ..ops.creation.from_data import from_array
from ..tensors.tensor import Tensor
from .recorder import CaptureError
from .side_effects import advance_all, undo_all
from .standalone import Standalone
from .trees import Placeholder, filled, mapped, tensors_in, with_placeholders


def numba_function(
    program: Standalone, function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]
) -> Any:
    """Return the program of a call of ``function`` with these arguments as a compiled function.

    Raises:
        CaptureError: it returns a value that is not a tensor.
    """
    mapped(program.result, _check_result)
    text, names = _text(program), _names(program, _Python(program, function, args, keywords))
    exec(compile(text, f"<{function!r} for Numba>", "exec"), names)
    layouts = enumerate(program.argument_layouts)
    arrays = [_array_type(layout, "A", number in program.changed) for number, layout in layouts]
    return numba.njit([names["result_type"](*arrays)])(names["program"])


def _check_result(value: Any) -> None:
    if value is not None and not isinstance(value, Placeholder):
        raise CaptureError(f"the program returns a {type(value).__name__}: this function can return tensors only")


def _array_type(layout: Layout, order: Literal["A", "C"], writable: bool = True) -> types.Array[Any]:
    return types.Array(from_dtype(layout.type.numpy), len(layout.shape), order, readonly=not writable)


def _names(program: Standalone, python: _Python) -> dict[str, Any]:
    """Return the globals of the function."""
    arrays = [_array_type(layout, "C") for layout in program.result_layouts]
    is_single = isinstance(program.result, Placeholder)
    names = {
        "np": np, "objmode": numba.objmode, "before": python.before, "after": python.after, "failed": python.failed,
        "result_type": arrays[0] if is_single else Tuple(arrays) if arrays else types.none,
        **{f"d{number}": layout.type.numpy.type for number, layout in enumerate(program.result_layouts)},
    }
    for linked in program.linked.machine_code:  # at most one
        names["run"] = caller(linked, program.linked.table, [*program.lines], program.one_thread)
    return names


def _text(program: Standalone) -> str:
    arguments = [f"x{number}" for number in range(len(program.argument_layouts))]
    results = [f"y{number}" for number in range(len(program.result_layouts))]
    lines = []
    for name, layout in zip(arguments, program.argument_layouts, strict=True):
        lines += _checks(name, layout)
    for number in program.changed:
        for other in range(len(arguments)):
            lines += _overlap_check(program, number, other) if other != number else []
    for number, layout in enumerate(program.result_layouts):
        lines.append(f"y{number} = np.empty({layout.shape}, d{number})")
    if program.guard.conditions or program.effects:
        lines += ["with objmode():", "    before()"]
    if program.linked.machine_code:
        addresses = "".join([f"{[*arguments, *results][number]}.ctypes.data, " for number in program.lines.values()])
        lines += [
            f"step = run(({addresses}))", "if step != 0:", "    with objmode(result=result_type):",
            f"        result = failed({', '.join(['step', *arguments])})", "    return result",
        ]
    if program.versions or program.gradients:
        lines += ["with objmode():", "    after()"]
    is_single = isinstance(program.result, Placeholder)
    lines.append(f"return {results[0] if is_single else ''.join([f'{name}, ' for name in results])}")
    return "\n".join([f"def program({', '.join(arguments)}):", *["    " + line for line in lines]])


def _checks(name: str, layout: Layout) -> list[str]:
    """Return statements that raise an error if the layout of an array differs from that of the recorded argument."""
    strides = tuple([step * layout.type.dtype.itemsize for step in layout.strides])
    requirement = f"argument {name[1:]} must be of shape {layout.shape} and " + (
        "contiguous" if layout.contiguous else f"of strides {strides} in bytes"
    )
    checks = [f"{name}.shape != {layout.shape}"] if layout.shape else []
    for dim, (extent, step) in enumerate(zip(layout.shape, strides, strict=True)):
        if layout.size and extent > 1:
            checks.append(f"{name}.strides[{dim}] != {step}")
    return [f"if {' or '.join(checks)}:", f"    raise ValueError({requirement!r})"] if checks else []


def _overlap_check(program: Standalone, changed: int, other: int) -> list[str]:
    """Return statements that raise an error if an argument that the program changes overlaps another one."""

    def bounds(number: int) -> tuple[str, str]:
        layout = program.argument_layouts[number]
        size = span(layout.shape, layout.strides) * layout.type.dtype.itemsize
        return f"x{number}.ctypes.data", f"x{number}.ctypes.data + {size}"

    (begin, end), (start, stop) = bounds(changed), bounds(other)
    text = f"argument {changed} is changed and must not overlap argument {other}"
    return [f"if {begin} < {stop} and {start} < {end}:", f"    raise ValueError({text!r})"]


class _Python:
    """The part of a run that needs Python."""

    def __init__(
        self, program: Standalone, function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]
    ):
        self._program, self._function = program, function
        self._arguments = with_placeholders((tuple(args), keywords), tensors_in((args, keywords)))
        self._records = is_grad_enabled()

    def before(self) -> None:
        """Check the environment, and perform the actions of Python before the steps.

        Raises:
            RuntimeError: the environment has changed.
        """
        guard = self._program.guard
        if not guard.environment_holds():
            what = ", ".join(guard.failed()) or "hooks"
            raise RuntimeError(f"objects that the function depends on have changed since ({what}): call njit() again")
        advance_all(self._program.effects)

    def after(self) -> None:
        """Increment version counters, and set the gradients of tensors."""
        for counter, by in self._program.versions:
            counter[0] += by
        for tensor, grad in self._program.gradients:
            tensor._grad = grad

    def failed(self, step: int, *arrays: np.ndarray) -> Any:
        """Return the result of the function itself for these arrays, after a step has reported an error.

        Raises:
            RuntimeError: the program was already running in another thread.
        """
        undo_all(self._program.effects)
        if step == BUSY:
            raise RuntimeError("the function is running in another thread: create one function per thread with njit()")
        self._program.linked.clear_reports()
        tensors = [from_array(array) for array in arrays]
        for tensor, requires_grad in zip(tensors, self._program.requires_grad, strict=True):
            tensor.requires_grad = requires_grad
        args, keywords = filled(self._arguments, tensors)
        with set_grad_enabled(self._records):
            result = self._function(*args, **keywords)
        copies = [np.array(tensor.detach().numpy(), order="C") for tensor in tensors_in(result)]
        return copies[0] if isinstance(result, Tensor) else tuple(copies) or None
