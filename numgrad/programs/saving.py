"""Programs in files, with the steps, the texts of their kernels and the initial contents of memory.

Note [Programs in files]
A file is a zip archive: ``program.json`` and the bytes of each array.  It contains no machine code, which comes from
the kernel store, and no pickles.  But numbers in the file determine the memory that kernels access, and the texts of
kernels are Python code.  No check can ensure that a file is harmless, so load only files of trusted origin.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Sequence
from types import SimpleNamespace
from typing import IO, Any

import numpy as np

from ..autograd.grad_mode import LEVELS, is_grad_enabled, state
from ..core.layout import Layout, layout_of
from ..core.types import tensor_type, to_dtype
from ..devices import recording
from ..devices.cpu import address_of
from ..devices.cpu.linking import Run
from ..devices.cpu.saved_steps import VersionError, described_steps, restored_steps
from ..devices.memory import empty_buffer
from ..serialization import replace_file
from ..tensors.tensor import Tensor, tensor_of
from .linked import LinkedProgram
from .recorded_steps import Block, KernelCall
from .recorder import CaptureError
from .signatures import begin_of
from .standalone import Standalone, located
from .trees import Placeholder

#: The version of the format, and the order of bytes.
_FORM = [2, sys.byteorder]

_PROGRAM = "program.json"

#: Errors raised while a damaged file is read; the parts of the file have checksums.
_DAMAGES = (KeyError, OSError, RuntimeError, EOFError, ValueError, zipfile.BadZipFile, zlib.error, struct.error)


def save_program(program: Standalone, path: str | os.PathLike[str]) -> None:
    """Write the program to a file.

    Raises:
        CaptureError: the program depends on the process in which it was recorded.
    """
    _check(program)
    arrays = {}
    for line, what in enumerate(program.plan.lines, 2):
        if line not in program.lines:
            arrays[line] = _memory_of(what.held if isinstance(what, Block) else what)
    reports = {id(report) for report in program.plan.reports}
    described = {
        "form": _FORM,
        **described_steps([step for segment in program.plan.steps for step in segment]),
        "arena": program.plan.arena,
        "traffic": program.plan.traffic,
        "one thread": program.one_thread,
        "lines": [*program.lines.items()],
        "line count": len(program.plan.lines),
        "arrays": {line: [array.dtype.name, array.size] for line, array in arrays.items()},
        "reports": [line for line, what in enumerate(program.plan.lines, 2) if id(what) in reports],
        "messages": _messages(program),
        "given": [*map(_described, program.argument_layouts)],
        "returned": [*map(_described, program.result_layouts)],
        "result": _tree(program.result),
    }

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(_PROGRAM, json.dumps(described))
            for line, array in arrays.items():
                archive.writestr(str(line), array.tobytes())

    replace_file(os.path.realpath(path), write)


def _check(program: Standalone) -> None:
    reasons = {
        "it counts steps in Python, as optimizers do": bool(program.effects),
        "it depends on values of tensors, such as counts of averages": bool(program.conditions),
        "it sets gradients of tensors: return them": bool(program.gradients),
        "it draws random numbers": program.is_random,
        "it changes an argument: return the new value": bool(program.changed),
    }
    for reason, holds in reasons.items():
        if holds:
            raise CaptureError(f"{reason}; a saved program can only use its arguments and its own tensors")


def _memory_of(array: Any) -> np.ndarray:
    """Return all elements of an array in the order of memory."""
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise CaptureError(f"it uses an array with gaps in its memory, of shape {list(array.shape)}: copy it")
    return array.ravel(order="K")


def _described(layout: Layout) -> list[Any]:
    return [layout.type.dtype.name, layout.shape, layout.strides]


def _messages(program: Standalone) -> dict[int, str]:
    """Return the error messages of steps, by step number."""
    launches = iter([step for step in program.steps if isinstance(step, KernelCall)])
    messages = {}
    for number, step in enumerate([step for segment in program.plan.steps for step in segment], 1):
        launch = next(launches) if isinstance(step, Run) else None
        if launch is not None and step.reports:
            name = launch.operation.removesuffix("_op")
            messages[number] = located(f"{name}: an index, or a class, is out of range", launch.location)
    return messages


def _tree(value: Any) -> Any:
    """Return a result with placeholders as JSON.

    Raises:
        CaptureError: the result contains a value that JSON cannot represent.
    """
    if isinstance(value, Placeholder):
        return {"tensor": value.number}
    if isinstance(value, tuple | list):
        parts = [*map(_tree, value)]
        return {"tuple": parts} if isinstance(value, tuple) else {"list": parts}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _tree(item) for key, item in value.items()}}
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    raise CaptureError(f"it returns a {type(value).__name__}, which a file cannot keep")


# -- loading ----------------------------------------------------------------------------------------------------


class LoadedProgram:
    """A program from a file, which takes tensors of the recorded layouts and returns new tensors.

    It has no backward.  The tensors that it changes are private, and have their saved values at first.
    """

    def __init__(self, described: dict[str, Any], arrays: dict[int, np.ndarray]):
        self.argument_layouts = [*map(_layout, described["given"])]
        self._result_layouts = [*map(_layout, described["returned"])]
        self._lines, self._messages, self._result = described["lines"], described["messages"], described["result"]
        lines = [arrays.get(line) for line in range(2, 2 + described["line count"])]
        reports = [arrays[line] for line in described["reports"]]
        steps = [segment for segment in [restored_steps(described)] if segment]
        plan = SimpleNamespace(
            steps=steps, lines=lines, arena=described["arena"], traffic=described["traffic"], reports=reports
        )
        self._program = LinkedProgram(plan, described["one thread"])

    def __call__(self, *tensors: Tensor) -> Any:
        """Run the program and return its result.

        Raises:
            TypeError, ValueError: other arguments than tensors of these layouts.
            RuntimeError: an argument requires a gradient, or this is called within a transform.
            IndexError: an index, or the number of a class, is out of range.
        """
        self._check(tensors)
        recording.values_read("a program from a file")
        program = self._program
        new = [empty_buffer(layout.size, layout.type.numpy) for layout in self._result_layouts]
        addresses = [*map(begin_of, tensors), *map(address_of, new)]
        with program.lock:
            for line, number in self._lines:
                program.addresses[line] = addresses[number]
            wrong = program.run()
            if wrong:
                program.clear_reports()
        if wrong:
            raise IndexError(self._messages[str(wrong)])
        results = [tensor_of(layout, buffer, 0) for layout, buffer in zip(self._result_layouts, new, strict=True)]
        return _from_tree(self._result, results)

    def _check(self, tensors: Sequence[Any]) -> None:
        if len(tensors) != len(self.argument_layouts):
            raise TypeError(f"the program takes {len(self.argument_layouts)} tensors, not {len(tensors)}")
        for number, (tensor, layout) in enumerate(zip(tensors, self.argument_layouts, strict=True)):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"argument {number} must be a tensor, not {type(tensor).__name__}")
            if tensor._layout is not layout:
                raise ValueError(f"argument {number} must be {layout!r}, not {tensor._layout!r}")
        if is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            raise RuntimeError("a program from a file has no backward: call it with no_grad(), or detach its arguments")
        if state.mode & LEVELS:
            raise RuntimeError("a program from a file cannot be called within vmap, jvp and other transforms")


def _layout(described: Any) -> Layout:
    dtype, shape, strides = described
    return layout_of(tensor_type(to_dtype(np.dtype(dtype))), tuple(shape), tuple(strides))


def _from_tree(tree: dict[str, Any], tensors: Sequence[Tensor]) -> Any:
    """Return the result that ``_tree`` describes."""
    ((kind, parts),) = tree.items()
    if kind == "tensor":
        return tensors[parts]
    if kind == "dict":
        return {key: _from_tree(part, tensors) for key, part in parts.items()}
    if kind == "value":
        return parts
    items = [_from_tree(part, tensors) for part in parts]
    return tuple(items) if kind == "tuple" else items


def load_program(path: str | os.PathLike[str]) -> LoadedProgram:
    """Return the program in a file.

    Raises:
        RuntimeError: the file is damaged, or was written by another version.
    """
    name = f"file {os.fspath(path)!r}"
    with open(path, "rb") as file:
        try:
            archive = zipfile.ZipFile(file)
            described = json.loads(archive.read(_PROGRAM))
            if described["form"] == _FORM:
                arrays = {int(line): _array(archive.read(line), *facts) for line, facts in described["arrays"].items()}
        except _DAMAGES as error:
            raise RuntimeError(f"{name} is damaged, or holds no program: {error}") from error
    if described["form"] != _FORM:
        raise RuntimeError(f"{name} has the form {described['form']}, and this version of numgrad reads {_FORM}")
    try:
        return LoadedProgram(described, arrays)
    except VersionError as error:
        raise RuntimeError(f"{name} was written by another version of numgrad: {error}") from None


def _array(data: bytes, dtype: str, size: int) -> np.ndarray:
    array = np.frombuffer(data, dtype).copy()
    if array.size != size:
        raise ValueError(f"an array has {array.size} elements, not {size}")
    return array
