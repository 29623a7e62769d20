"""A program as a function that users' own functions call which Numba compiles: arrays in, new arrays out.

The function is written for the program: it checks the arrays, asks for memory, and runs.  What is done in Python
besides, as in a replay, is done in between: guards are asked, optimizers count their steps, and version counters count.
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
from ..core.tensor import Tensor
from ..devices.cpu.calling import BUSY, caller
from ..ops.creation.from_data import from_array
from .recorder import CaptureError
from .standalone import Standalone
from .trees import mapped, tensors_in

#: Stands for a tensor among arguments.
_TENSOR = object()


def numba_function(
    program: Standalone, function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]
) -> Any:
    """The program of a call of ``function`` with these arguments.

    Raises:
        CaptureError: it returns something that is no tensor.
    """
    mapped(program.result, _check_result)
    text, names = _text(program), _names(program, _Python(program, function, args, keywords))
    exec(compile(text, f"<{function!r} for Numba>", "exec"), names)
    given = [_array_type(layout, "A", number in program.changed) for number, layout in enumerate(program.given)]
    return numba.njit([names["result_type"](*given)])(names["program"])


def _check_result(value: Any) -> None:
    if value is not None and not isinstance(value, Tensor):
        raise CaptureError(f"the program returns a {type(value).__name__}: this function can return tensors only")


def _array_type(layout: Layout, order: Literal["A", "C"], writable: bool = True) -> types.Array[Any]:
    return types.Array(from_dtype(layout.type.numpy), len(layout.shape), order, readonly=not writable)


def _names(program: Standalone, python: _Python) -> dict[str, Any]:
    """What the function's text speaks of."""
    arrays = [_array_type(layout, "C") for layout in program.returned]
    is_one = isinstance(program.result, Tensor)
    lines = [*program.given_lines, *program.returned_lines]
    names = {
        "np": np, "objmode": numba.objmode, "before": python.before, "after": python.after, "failed": python.failed,
        "result_type": arrays[0] if is_one else Tuple(arrays) if arrays else types.none,
        **{f"d{number}": layout.type.numpy.type for number, layout in enumerate(program.returned)},
    }
    for linked in program.linked.machine_code:  # one, or none
        names["run"] = caller(linked, program.linked.table, lines, program.one_thread)
    return names


def _text(program: Standalone) -> str:
    given, returned = [f"x{n}" for n in range(len(program.given))], [f"y{n}" for n in range(len(program.returned))]
    lines = []
    for name, layout in zip(given, program.given, strict=True):
        lines += _checks(name, layout)
    for number in program.changed:
        for other in range(len(given)):
            lines += _apart(program, number, other) if other != number else []
    for number, layout in enumerate(program.returned):
        lines.append(f"y{number} = np.empty({layout.shape}, d{number})")
    if program.guard.conditions or program.effects:
        lines += ["with objmode():", "    before()"]
    if program.linked.machine_code:
        addresses = [f"x{number}" for number in program.given_lines.values()]
        addresses += [f"y{number}" for number in program.returned_lines.values()]
        row = "".join([f"{name}.ctypes.data, " for name in addresses])
        lines += [
            f"step = run(({row}))", "if step != 0:", "    with objmode(result=result_type):",
            f"        result = failed({', '.join(['step', *given])})", "    return result",
        ]
    if program.versions or program.gradients:
        lines += ["with objmode():", "    after()"]
    result = returned[0] if isinstance(program.result, Tensor) else f"({''.join([f'{name}, ' for name in returned])})"
    lines.append(f"return {result if returned else ''}")
    return "\n".join([f"def program({', '.join(given)}):", *["    " + line for line in lines]])


def _checks(name: str, layout: Layout) -> list[str]:
    """Statements that raise an error if an array does not lie as the argument did."""
    strides = tuple([step * layout.type.dtype.itemsize for step in layout.strides])
    wanted = f"argument {name[1:]} must be of shape {layout.shape} and " + (
        "contiguous" if layout.contiguous else f"of strides {strides} in bytes"
    )
    checks = [f"{name}.shape != {layout.shape}"] if layout.shape else []
    for dim, (extent, step) in enumerate(zip(layout.shape, strides, strict=True)):
        if layout.size and extent > 1:
            checks.append(f"{name}.strides[{dim}] != {step}")
    return [f"if {' or '.join(checks)}:", f"    raise ValueError({wanted!r})"] if checks else []


def _apart(program: Standalone, one: int, other: int) -> list[str]:
    """Statements that raise an error if an argument that is changed overlaps another one."""

    def bounds(number: int) -> tuple[str, str]:
        layout = program.given[number]
        size = span(layout.shape, layout.strides) * layout.type.dtype.itemsize
        return f"x{number}.ctypes.data", f"x{number}.ctypes.data + {size}"

    (begin, end), (start, stop) = bounds(one), bounds(other)
    text = f"argument {one} is changed and must not overlap argument {other}"
    return [f"if {begin} < {stop} and {start} < {end}:", f"    raise ValueError({text!r})"]


class _Python:
    """What is done in Python for a run."""

    def __init__(
        self, program: Standalone, function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]
    ):
        self._program, self._function = program, function
        self._arguments = mapped((tuple(args), keywords), lambda one: _TENSOR if isinstance(one, Tensor) else one)
        self._records = is_grad_enabled()

    def before(self) -> None:
        """See that all is as it was, and do what comes first.

        Raises:
            RuntimeError: it is not.
        """
        guard = self._program.guard
        if not guard.stands():
            what = ", ".join(guard.failed()) or "hooks"
            raise RuntimeError(f"what the function was made of has changed since ({what}): make it anew with njit()")
        for effect in self._program.effects:
            effect.advance()

    def after(self) -> None:
        """Count changes, and give tensors their gradients."""
        for counter, by in self._program.versions:
            counter[0] += by
        for tensor, grad in self._program.gradients:
            tensor._grad = grad

    def failed(self, step: int, *arrays: np.ndarray) -> Any:
        """What the function itself makes of these arrays: a step of the program has reported that something is wrong.

        Raises:
            RuntimeError: the program did not run, as it was running already.
        """
        for effect in self._program.effects:
            effect.undo()
        if step == BUSY:
            raise RuntimeError("the function is running in another thread: make one for each with njit()")
        self._program.linked.clear_reports()
        given = [from_array(one) for one in arrays]
        for one, needed in zip(given, self._program.requires_grad, strict=True):
            one.requires_grad = needed
        tensors = iter(given)
        args, keywords = mapped(self._arguments, lambda one: next(tensors) if one is _TENSOR else one)
        with set_grad_enabled(self._records):
            result = self._function(*args, **keywords)
        made = [np.array(one.detach().numpy(), order="C") for one in tensors_in(result)]
        return made[0] if isinstance(result, Tensor) else tuple(made) or None
