"""The names of tensors in a picture: given by the caller, taken from the module, or from the program's variables."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from traceback import walk_stack
from types import FrameType
from typing import Any

from ...autograd.locations import calling_frame
from ...nn.modules.module import Module
from ...tensors.tensor import Tensor

#: Lists, tuples and dictionaries with more entries than this are not searched for tensors.
MANY = 1000

#: Longer names are shortened to this many characters, half of them from each end.
LONG = 60


class ObjectNames:
    """Names of tensors and modules.  The first name of an object is kept.

    Attributes:
        outputs: for the number of a node and of its output, the tensor known to be that output.
    """

    def __init__(self) -> None:
        self.outputs: dict[tuple[int, int], Tensor] = {}
        self._names: dict[int, tuple[str, Any]] = {}  # keeping the object alive keeps its identity unique

    def of(self, thing: Any) -> str | None:
        """Return the name of a tensor or module."""
        cached = self._names.get(id(thing))
        return cached[0] if cached is not None else None

    def of_output(self, sequence: int, number: int) -> str | None:
        """Return the name of an output of a node."""
        tensor = self.outputs.get((sequence, number))
        return None if tensor is None else self.of(tensor)

    def add(self, name: str, thing: Any) -> None:
        """Name a tensor or module."""
        self._names.setdefault(id(thing), (readable(name), thing))
        if isinstance(thing, Tensor) and thing._edge is not None and not _is_stale(thing):
            node, number = thing._edge
            self.outputs.setdefault((node.sequence, number), thing)

    def add_module(self, module: Module, prefix: str = "") -> None:
        """Name the parameters and buffers of a module."""
        for name, tensor in (*module.named_parameters(prefix), *module.named_buffers(prefix)):
            self.add(name, tensor)

    def add_variables(self, variables: Mapping[str, Any]) -> None:
        """Name the values of variables: tensors, tensors in lists and dictionaries, and parameters of modules."""
        shown = [(name, value) for name, value in variables.items() if name.isidentifier() and name[0] != "_"]
        for name, value in shown:
            if _is_a(value, Tensor) or _is_a(value, Module):
                self.add(name, value)
        for name, value in shown:
            if _is_a(value, Module):
                self.add_module(value, name)
            elif type(value) in (list, tuple, dict) and len(value) <= MANY:
                entries = value.items() if type(value) is dict else enumerate(value)
                for key, entry in list(entries):
                    if _is_a(entry, Tensor):
                        self.add(f"{name}[{key!r}]", entry)


def known_names(module: Module | None, tensors: Mapping[str, Tensor | None]) -> ObjectNames:
    """Return the names given by the caller, then those in the module, then those of the calling program's variables."""
    names = ObjectNames()
    for name, tensor in tensors.items():
        names.add(name, tensor)
    if module is not None:
        names.add_module(module)
    for variables in _calling_variables():
        names.add_variables(variables)
    return names


def printable(text: str) -> str:
    """Return text in which characters that XML or a terminal cannot show are escaped as in Python's strings."""
    return "".join([sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text])


def readable(name: str) -> str:
    """Return a name in a form fit for a picture: printable, and not too long."""
    name = printable(name)
    return name if len(name) <= LONG else f"{name[: LONG // 2]}…{name[-LONG // 2 :]}"


def _is_stale(tensor: Tensor) -> bool:
    """Return True if the tensor is a view whose base was changed since, so that its edge is out of date."""
    return tensor._view is not None and tensor._seen != tensor._counter[0]


def _is_a(value: Any, cls: type) -> bool:
    """Return True if a value is of this class, without calling any code of the value, which may be anything."""
    return issubclass(type(value), cls)


def _calling_variables() -> Iterator[dict[str, Any]]:
    """Yield the variables visible to the calling program, innermost first: of functions, then of the module or cell."""
    for frame, _ in walk_stack(calling_frame(2)):
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # a module, or a cell of a notebook
            yield dict(frame.f_locals)
            return
        yield _local_variables(frame)
        if not _is_inner(frame):
            yield dict(frame.f_globals)


def _is_inner(frame: FrameType) -> bool:
    """Return True if the calling function is in the same module, so that the module's variables are yielded with it."""
    return frame.f_back is not None and frame.f_back.f_globals is frame.f_globals


def _local_variables(frame: FrameType) -> dict[str, Any]:
    variables = frame.f_locals
    result = dict(variables)
    # Before Python 3.13, reading f_locals makes a dictionary that the frame keeps until the function ends, which would
    # keep the tensors alive.  It is cleared unless the function also holds it, as a result of locals(): then there are
    # more than three references, those of the frame, of ``variables`` and of the argument of getrefcount.
    if sys.version_info < (3, 13) and sys.getrefcount(variables) <= 3:
        variables.clear()
    return result
