"""What a function finds around it: the tensors, modules and optimizers that it reaches, and by which way.

A recorded program works on the memory of parameters and of other tensors that its function finds in its closure, in
globals that it names, in attributes and in containers.  It may be replayed only as long as the function would still
find them there.  So each object is kept with the way to it: the place that it was found in, and the way to that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..core.generators import Generator
from ..core.tensor import Tensor
from ..nn.modules.module import Module
from ..optim.optimizer import Optimizer

#: Objects that are looked at, at most: a function that reaches more is one that reaches everything.
LIMIT = 20_000

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep

#: What has no tensors in it.
_PLAIN = (
    int, float, complex, str, bytes, type(None), type, ModuleType, BuiltinFunctionType, np.ndarray, np.generic,
    CodeType,
)


#: Attributes of modules whose items users call attributes of the module.
_UNNAMED = ("_buffers", "_modules", "_parameters")


@dataclass(eq=False)
class Found:
    """An object, and where it was found.

    Attributes:
        value: the object.
        holder: a dictionary, list or cell; None for what the function itself is made of, which does not change.
        key: under which it is there; of a cell None.
        way: to the object that the holder belongs to.
    """

    value: Any
    holder: Any = None
    key: Any = None
    way: Found | None = None

    def name(self) -> str:
        """How messages call it: ``model.fc.weight``."""
        before = "" if self.way is None else self.way.name()
        if self.key in _UNNAMED:
            return before
        key = "" if self.key is None else str(self.key) if isinstance(self.key, str) else f"[{_key_text(self.key)}]"
        return f"{before}.{key}".strip(".") if not key.startswith("[") else before + key


def _key_text(key: Any) -> str:
    """A key, a tensor without its elements."""
    return f"a tensor of shape {list(key.shape)}" if isinstance(key, Tensor) else str(key)


class Surroundings:
    """What a function reaches, by itself and by arguments that are no tensors.

    Attributes:
        tensors, modules, optimizers, generators: by identity, each with the way to it.
    """

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any] = ()):
        self.tensors: dict[int, Found] = {}
        self.modules: dict[int, Found] = {}
        self.optimizers: dict[int, Found] = {}
        self.generators: dict[int, Found] = {}
        self._seen: set[int] = set()
        self._left = [Found(one) for one in (function, *arguments)]
        while self._left and len(self._seen) < LIMIT:
            self._look(self._left.pop())

    def _look(self, found: Found) -> None:
        value = found.value
        if isinstance(value, _PLAIN) or id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, Tensor):
            self.tensors[id(value)] = found
            self._left += self._in_dictionary(value.__dict__, found)
            return
        if isinstance(value, Module):
            self.modules[id(value)] = found
        elif isinstance(value, Optimizer):
            self.optimizers[id(value)] = found
        elif isinstance(value, Generator):
            self.generators[id(value)] = found
            return
        self._left += self._parts(value, found)

    def _parts(self, value: Any, found: Found) -> Iterator[Found]:
        """What an object consists of."""
        if isinstance(value, FunctionType):
            yield from self._of_function(value, found)
        elif isinstance(value, MethodType):
            yield Found(value.__self__, key="self", way=found)
            yield Found(value.__func__, way=found)
        elif isinstance(value, dict):
            yield from self._in_dictionary(value, found)
        elif isinstance(value, list | tuple | set | frozenset):
            for number, one in enumerate(value):
                yield Found(one, value if isinstance(value, list) else None, number, found)
        else:
            yield from self._in_dictionary(getattr(value, "__dict__", None) or {}, found)
            for cls in type(value).__mro__:
                yield from (Found(one, way=found) for one in vars(cls).values() if _is_users(one))
            function = getattr(value, "func", None)  # of functools.partial
            if callable(function):
                yield from (Found(one, way=found) for one in (function, *value.args, *value.keywords.values()))

    def _in_dictionary(self, items: dict[Any, Any], way: Found) -> Iterator[Found]:
        for key, one in items.items():
            if isinstance(key, Tensor):
                yield Found(key, None, None, way)
            yield Found(one, items, key, way)

    def _of_function(self, function: FunctionType, found: Found) -> Iterator[Found]:
        names = set(_names(function.__code__)) if _is_users(function) else set()
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                yield Found(cell.cell_contents, cell, None, Found(None, key=name))
            except ValueError:  # it is empty
                continue
        for name in sorted(names & function.__globals__.keys()):
            yield Found(function.__globals__[name], function.__globals__, name, None)
        for one in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            yield Found(one, way=found)


def _is_users(function: Any) -> bool:
    """Whether this is a function that is no part of this package, whose own keep no tensors of a program's."""
    return isinstance(function, FunctionType) and not function.__code__.co_filename.startswith(_PACKAGE)


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function's code uses, and that of functions within it."""
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _names(one)
