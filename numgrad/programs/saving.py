"""Programs in files: the steps with the texts of their kernels, and the memory that they begin with.

Note [Programs in files]
A file is a zip archive: ``program.json`` and the bytes of each array.  It has no machine code, which the kernel store
makes or has, and no pickle.  But what kernels do with memory follows from numbers in the file, and their texts are
Python: nobody can tell whether that is harmless, so that whoever loads a program must trust whoever saved it.
"""

from __future__ import annotations

import itertools
import json
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import IO, Any

import numpy as np

from ..autograd.grad_mode import LEVELS, is_grad_enabled, state
from ..core.layout import Layout, layout_of
from ..core.tensor import Tensor, tensor_of
from ..core.types import tensor_type, to_dtype
from ..devices import recording
from ..devices.cpu import address_of
from ..devices.cpu.linking import Run
from ..devices.cpu.saved_steps import VersionError, described_steps, restored_steps
from ..devices.memory import empty_row
from ..serialization import replace_file
from .linked import LinkedProgram
from .recorder import CaptureError
from .standalone import Standalone, located
from .steps import Block, Launch

#: How files are made: a number that changes with that, and the order of bytes.
_FORM = [1, sys.byteorder]

_PROGRAM = "program.json"

#: What is raised while a file is read, each part of which has a checksum, that is not as it was written.
_DAMAGES = (KeyError, OSError, RuntimeError, EOFError, ValueError, zipfile.BadZipFile, zlib.error, struct.error)


def save_program(program: Standalone, path: str | os.PathLike[str]) -> None:
    """Write the program to a file.

    Raises:
        CaptureError: it does something that needs the process in which it was recorded.
    """
    _check(program)
    arrays = {}
    for line, what in enumerate(program.plan.lines, 2):
        if line not in program.given_lines and line not in program.returned_lines:
            arrays[line] = _memory_of(what.held if isinstance(what, Block) else what)
    reports = {id(one) for one in program.plan.reports}
    described = {
        "form": _FORM,
        **described_steps([step for stretch in program.plan.steps for step in stretch]),
        "arena": program.plan.arena,
        "traffic": program.plan.traffic,
        "one thread": program.one_thread,
        "lines": len(program.plan.lines),
        "arrays": {line: [array.dtype.name, array.size] for line, array in arrays.items()},
        "reports": [line for line, what in enumerate(program.plan.lines, 2) if id(what) in reports],
        "messages": _messages(program),
        "given": [_described(layout) for layout in program.given],
        "given lines": [*program.given_lines.items()],
        "returned": [_described(layout) for layout in program.returned],
        "returned lines": [*program.returned_lines.items()],
        "result": _tree(program.result, itertools.count()),
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
        "it sets gradients of tensors: return them": bool(program.gradients),
        "it draws random numbers": program.is_random,
        "it changes an argument: return what it becomes": bool(program.changed),
    }
    for reason, holds in reasons.items():
        if holds:
            raise CaptureError(f"{reason}; a program in a file has its arguments, and tensors of its own")


def _memory_of(array: Any) -> np.ndarray:
    """All elements of an array in the order in which they lie there."""
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise CaptureError(f"it uses memory with gaps, of an array of shape {list(array.shape)}: make a copy of that")
    return array.ravel(order="K")


def _described(layout: Layout) -> list[Any]:
    return [layout.type.dtype.name, layout.shape, layout.strides]


def _messages(program: Standalone) -> dict[int, str]:
    """By the numbers of steps that look for what is wrong: what they say then."""
    launches = iter([step for step in program.steps if isinstance(step, Launch)])
    messages = {}
    for number, step in enumerate([step for stretch in program.plan.steps for step in stretch], 1):
        launch = next(launches) if isinstance(step, Run) else None
        if launch is not None and step.reports:
            name = launch.operation.removesuffix("_op")
            messages[number] = located(f"{name}: an index, or a class, is out of range", launch.location)
    return messages


def _tree(value: Any, numbers: Iterator[int]) -> Any:
    """A result as JSON has it: tensors are counted, and all that it has no word for is refused."""
    if isinstance(value, Tensor):
        return {"tensor": next(numbers)}
    if isinstance(value, tuple | list):
        parts = [_tree(one, numbers) for one in value]
        return {"tuple": parts} if isinstance(value, tuple) else {"list": parts}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _tree(one, numbers) for key, one in value.items()}}
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    raise CaptureError(f"it returns a {type(value).__name__}, which a file cannot keep")


# -- loading ----------------------------------------------------------------------------------------------------


class LoadedProgram:
    """A program from a file: called with tensors of the layouts that it was recorded for, it returns new ones.

    It has no backward.  Tensors that it changes besides are its own, and begin as they were when it was saved.
    """

    def __init__(self, described: dict[str, Any], arrays: dict[int, np.ndarray]):
        self.given = [_layout(one) for one in described["given"]]
        self._returned = [_layout(one) for one in described["returned"]]
        self._given_lines, self._returned_lines = described["given lines"], described["returned lines"]
        self._messages, self._result = described["messages"], described["result"]
        lines = [arrays.get(line) for line in range(2, 2 + described["lines"])]
        reports = [arrays[line] for line in described["reports"]]
        steps = [stretch for stretch in [restored_steps(described)] if stretch]
        plan = SimpleNamespace(
            steps=steps, lines=lines, arena=described["arena"], traffic=described["traffic"], reports=reports
        )
        self._program = LinkedProgram(plan, described["one thread"])

    def __call__(self, *tensors: Tensor) -> Any:
        """What the program computes.

        Raises:
            TypeError, ValueError: other arguments than tensors of these layouts.
            RuntimeError: a gradient is wanted, or this is called within a transform.
            IndexError: an index, or the number of a class, is out of range.
        """
        self._check(tensors)
        recording.values_read("a program from a file")
        program = self._program
        made = [empty_row(layout.size, layout.type.numpy) for layout in self._returned]
        with program.lock:
            for line, number in self._given_lines:
                one = tensors[number]
                program.addresses[line] = address_of(one._storage) + one._layout.type.dtype.itemsize * one._offset
            for line, number in self._returned_lines:
                program.addresses[line] = address_of(made[number])
            wrong = program.run()
            if wrong:
                program.clear_reports()
        if wrong:
            raise IndexError(self._messages[str(wrong)])
        results = [tensor_of(layout, row, 0) for layout, row in zip(self._returned, made, strict=True)]
        return _grown(self._result, results)

    def _check(self, tensors: Sequence[Any]) -> None:
        if len(tensors) != len(self.given):
            raise TypeError(f"the program takes {len(self.given)} tensors, not {len(tensors)}")
        for number, (one, layout) in enumerate(zip(tensors, self.given, strict=True)):
            if not isinstance(one, Tensor):
                raise TypeError(f"argument {number} must be a tensor, not {type(one).__name__}")
            if one._layout is not layout:
                raise ValueError(f"argument {number} must be {layout!r}, not {one._layout!r}")
        if is_grad_enabled() and any(one.requires_grad for one in tensors):
            raise RuntimeError("a program from a file has no backward: call it with no_grad(), or detach its arguments")
        if state.mode & LEVELS:
            raise RuntimeError("a program from a file cannot be called within vmap, jvp and other transforms")


def _layout(described: Any) -> Layout:
    dtype, shape, strides = described
    return layout_of(tensor_type(to_dtype(np.dtype(dtype))), tuple(shape), tuple(strides))


def _grown(tree: dict[str, Any], tensors: Sequence[Tensor]) -> Any:
    """The result that ``_tree`` describes."""
    ((kind, parts),) = tree.items()
    if kind == "tensor":
        return tensors[parts]
    if kind == "dict":
        return {key: _grown(one, tensors) for key, one in parts.items()}
    if kind == "value":
        return parts
    made = [_grown(one, tensors) for one in parts]
    return tuple(made) if kind == "tuple" else made


def load_program(path: str | os.PathLike[str]) -> LoadedProgram:
    """The program in a file.

    Raises:
        RuntimeError: the file is damaged, or was written by another version.
    """
    name = f"file {os.fspath(path)!r}"
    with open(path, "rb") as file:
        try:
            archive = zipfile.ZipFile(file)
            described = json.loads(archive.read(_PROGRAM))
            if described["form"] == _FORM:
                arrays = {int(line): _array(archive.read(line), *one) for line, one in described["arrays"].items()}
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
