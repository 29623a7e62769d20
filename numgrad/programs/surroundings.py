"""What a function finds around it: the tensors, modules and optimizers that it reaches, and by which way.

A recorded program works on the memory of parameters and of other tensors that its function finds in its closure, in
globals that it names, in attributes and in containers.  It may be replayed only as long as the function would still
find them there.  So each object is kept with the way to it: the place that it was found in, and the way to that.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
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

#: Bytes of arrays that are compared before each call with what they were.
LARGEST_ARRAY = 1 << 16

#: Where code lies that is not a program's own: this package, Python's library, and what is installed.
_INSTALLED = tuple({
    os.path.dirname(os.path.dirname(__file__)) + os.sep,
    *[sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")],
})

#: What has no tensors in it, and what is compared by value.
_PLAIN = (
    int, float, complex, str, bytes, type(None), type, ModuleType, BuiltinFunctionType, np.ndarray, np.generic,
    CodeType,
)
_VALUES = (int, float, complex, str, bytes)


#: What has items that may be others later.
CONTAINERS = (list, set, dict, deque)

#: Methods of modules that are not called when these are.
_NOT_CALLED = ("__init__", "__repr__", "extra_repr", "reset_parameters")

#: What a function mentions that reads attributes of any names.
_ANY_NAME = frozenset({"vars", "__dict__", "asdict", "astuple"})

#: Where classes are whose objects hold what users put there: learning rate schedules, distributions, namespaces.
_OPEN = (
    "argparse", "types",
    *(f"{__name__.partition('.')[0]}.{name}" for name in ("amp", "distributions", "optim", "utils")),
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
        among: names that the program mentions, in collections, for an attribute: only if it is one of these it is read.
    """

    value: Any
    holder: Any = None
    key: Any = None
    way: Found | None = None
    among: Any = None

    @property
    def owner(self) -> int:
        """The identity of the object that it belongs to; 0 for what the function itself has."""
        return 0 if self.way is None or self.way.value is None else id(self.way.value)

    @property
    def is_read(self) -> bool:
        """Whether the program reads this place, as far as that can be told."""
        return self.among is None or any(self.key in names for names in self.among)

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

    It looks into containers, into functions and objects of the program's own, and into modules and optimizers.

    Attributes:
        tensors, modules, optimizers, generators: by identity, each with the way to it.
        values: the numbers and texts in dictionaries, and the lengths of lists, by holder and key.
        places: where something may be put that the program would find there.
        complete: whether all was looked at.
    """

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any] = ()):
        self.tensors: dict[int, Found] = {}
        self.modules: dict[int, Found] = {}
        self.optimizers: dict[int, Found] = {}
        self.generators: dict[int, Found] = {}
        self.values: dict[tuple[int, Any], tuple[Any, Found]] = {}
        self.places: list[Found] = []
        self._ways: dict[int, list[Found]] = {}
        self._mentioned: set[str] = set()
        self._by_any_name = False  # whether attributes are read whose names are made while it runs
        self._given = {id(one) for argument in arguments for one in _containers(argument)}  # signatures tell of them
        self._left = [Found(one) for one in (function, *arguments)]
        while self._left and len(self._ways) < LIMIT:
            self._look(self._left.pop())
        self.complete = not self._left

    def ways(self, objects: Iterable[Any]) -> Iterator[Found]:
        """All ways to these objects, and to what they go through."""
        left, seen = [*objects], set()
        while left:
            value = left.pop()
            if id(value) not in seen:
                seen.add(id(value))
                for found in self._ways.get(id(value), ()):
                    yield found
                    if found.way is not None:
                        left.append(found.way.value)

    def read(self) -> tuple[list[Found], list[Found]]:
        """The places that the program reads, and what it comes by that may have more items or attributes later."""
        reached = {key: found for key, found in self._reached.items() if key not in self._given}
        places = [
            found for found in self.places
            if self._reads(found) and (not found.owner or found.owner in reached) and not _is_unused(found)
        ]
        return places, [found for found in reached.values() if _may_grow(found)]

    def mentions(self, name: str) -> bool:
        """Whether a function of the program's own that it comes by mentions this attribute, global or text."""
        functions = [found.value for found in self._reached.values() if isinstance(found.value, FunctionType)]
        own = [one.__code__ for one in functions if not _is_installed(one.__code__.co_filename)]
        return any(name in _attributes(code) | _names(code) for code in own)

    @functools.cached_property
    def _reached(self) -> dict[int, Found]:
        """By identity, what the program comes by through places that it reads."""
        below: dict[int, list[Found]] = {}
        for ways in self._ways.values():
            for found in ways:
                below.setdefault(found.owner, []).append(found)
        left, reached = [0], {}
        while left:
            for found in below.get(left.pop(), ()):
                if self._reads(found) and id(found.value) not in reached:
                    reached[id(found.value)] = found
                    left.append(id(found.value))
        return reached

    def _reads(self, found: Found) -> bool:
        return found.is_read or (self._by_any_name and bool(found.among))

    def changed(self, later: Surroundings) -> list[str]:
        """The numbers, texts and lengths that are others in what was found later, by name."""
        names = []
        for key, (value, found) in later.values.items():
            before = self.values.get(key, (None, None))[0]
            same = before == value or (before != before and value != value)
            if before.__class__ is not value.__class__ or not same:
                names.append(found.name())
        return names

    def _look(self, found: Found) -> None:
        value = found.value
        if found.holder is not None:
            self.places.append(found)
        if isinstance(value, _PLAIN) and not (isinstance(value, type) and _is_own(value)):
            return
        known = self._ways.setdefault(id(value), [])
        known.append(found)
        if len(known) > 1:
            return
        if isinstance(value, Tensor):
            self.tensors[id(value)] = found
            self._left += self._in_dictionary(value.__dict__, found, [self._mentioned])
        elif isinstance(value, Generator):
            self.generators[id(value)] = found
        else:
            if isinstance(value, Module):
                self.modules[id(value)] = found
            elif isinstance(value, Optimizer):
                self.optimizers[id(value)] = found
            self._left += self._parts(value, found)

    def _parts(self, value: Any, found: Found) -> Iterator[Found]:
        """What an object consists of."""
        if isinstance(value, FunctionType):
            yield from self._of_function(value, found)
        elif isinstance(value, MethodType):
            yield Found(value.__self__, key="self", way=found)
            yield Found(value.__func__, way=found)
        elif isinstance(value, functools.partial):
            yield from (Found(one, way=found) for one in (value.func, *value.args, *value.keywords.values()))
        elif isinstance(value, dict):
            yield from self._in_dictionary(value, found)
        elif isinstance(value, list | tuple | set | frozenset | deque):
            self.values[id(value), "len"] = len(value), found
            for number, one in enumerate(value):
                yield Found(one, value if isinstance(value, list) else None, number, found)
        elif isinstance(value, type):
            yield from self._of_class(value, found)
        elif isinstance(wrapped := getattr(value, "__wrapped__", None), FunctionType | MethodType | Module):
            yield Found(wrapped, way=found)
        elif isinstance(value, Optimizer):  # guards know what a step reads
            for key in [key for key in value.__dict__ if not key.startswith("_")]:
                yield Found(value.__dict__[key], value.__dict__, key, found, ())
            yield from self._of_own_classes(value, found)
        elif isinstance(value, Module) or _is_own(value.__class__) or value.__class__.__module__.startswith(_OPEN):
            among: list[Any] = [self._mentioned, _names_of_class(value.__class__)]
            if isinstance(value, Module):
                among.append(frozenset(_UNNAMED))
            yield from self._in_dictionary(getattr(value, "__dict__", None) or {}, found, among)
            yield from self._of_own_classes(value, found)

    def _of_own_classes(self, value: Any, found: Found) -> Iterator[Found]:
        for cls in type(value).__mro__:
            if _is_own(cls):
                yield from self._of_class(cls, found)

    def _of_class(self, cls: type, found: Found) -> Iterator[Found]:
        """The functions and values of a class of the program's own."""
        for key, one in vars(cls).items():
            if isinstance(one, FunctionType | int | float | complex | str | bytes | list | dict):
                yield Found(one, vars(cls), key, found, [self._mentioned])
            elif isinstance(one, staticmethod | classmethod | property):
                yield Found(one.fget if isinstance(one, property) else one.__func__, None, key, found)

    def _in_dictionary(self, items: dict[Any, Any], way: Found, among: Any = None) -> Iterator[Found]:
        self.values[id(items), None] = len(items), way
        for key, one in items.items():
            if isinstance(key, Tensor):
                yield Found(key, None, None, way)
            found = Found(one, items, key, way, among)
            if isinstance(one, _VALUES):
                self.values[id(items), key] = one, found
            elif isinstance(one, np.ndarray) and one.nbytes <= LARGEST_ARRAY:
                self.values[id(items), key] = one.tobytes(), found
            yield found

    def _of_function(self, function: FunctionType, found: Found) -> Iterator[Found]:
        if _is_installed(function.__code__.co_filename):  # it may be one around a function of the program's
            yield Found(getattr(function, "__wrapped__", None), way=found)
            return
        self._mentioned |= _attributes(function.__code__)
        self._by_any_name |= not _ANY_NAME.isdisjoint(_names(function.__code__) | _attributes(function.__code__))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                yield Found(cell.cell_contents, cell, None, Found(None, key=name))
            except ValueError:  # it is empty
                continue
        for name in sorted(_names(function.__code__) & function.__globals__.keys()):
            one = function.__globals__[name]
            yield Found(one, function.__globals__, name, None)
            if isinstance(one, ModuleType) and not _is_installed(getattr(one, "__file__", None) or _INSTALLED[0]):
                for key in sorted(_attributes(function.__code__) & vars(one).keys()):
                    yield Found(vars(one)[key], vars(one), key, None)
        for one in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            yield Found(one, way=found)


def _containers(value: Any) -> Iterator[Any]:
    """The lists, tuples and dictionaries that a value consists of."""
    if isinstance(value, list | tuple | dict):
        yield value
        for one in value.values() if isinstance(value, dict) else value:
            yield from _containers(one)


def _may_grow(found: Found) -> bool:
    """Whether it matters that something is added."""
    value = found.value
    if not isinstance(value, CONTAINERS):  # an attribute of an object stands before one of its class
        own = _is_own(value.__class__) and not isinstance(value, Optimizer)
        return isinstance(value, Module) or (own and hasattr(value, "__dict__"))
    return not _is_unused(found)


def _is_unused(found: Found) -> bool:
    """Whether this is where a module of the library's keeps parameters, buffers or modules, and it has no use for any.
    """
    if found.key not in _UNNAMED or found.value or found.way is None:
        return False
    cls = found.way.value.__class__
    return not _is_own(cls) and found.key not in _names_of_class(cls)


@functools.cache
def _is_installed(file: str) -> bool:
    return file.startswith(_INSTALLED)


@functools.cache
def _is_own(cls: type) -> bool:
    """Whether a class is the program's own."""
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    return module is not None and cls.__module__ not in sys.builtin_module_names and not (file and _is_installed(file))


@functools.cache
def _names(code: CodeType) -> frozenset[str]:
    """The globals that a function's code names, and those that functions within it name."""
    found = {one.argval for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return frozenset(found).union(*[_names(one) for one in code.co_consts if isinstance(one, CodeType)])


@functools.cache
def _attributes(code: CodeType) -> frozenset[str]:
    """The names of attributes that a function's code mentions, also as texts, and those within it."""
    found = {one.argval for one in dis.get_instructions(code) if one.opname.endswith(("_ATTR", "_METHOD"))}
    found |= {one for one in code.co_consts if isinstance(one, str)}
    return frozenset(found).union(*[_attributes(one) for one in code.co_consts if isinstance(one, CodeType)])


@functools.cache
def _names_of_class(cls: type) -> frozenset[str]:
    """The names of attributes that methods of a class mention which is not the program's own."""
    functions = [
        one for base in cls.__mro__ if base not in Module.__mro__ and not _is_own(base)
        for key, one in vars(base).items() if isinstance(one, FunctionType) and key not in _NOT_CALLED
    ]
    return frozenset().union(*[_attributes(one.__code__) for one in functions])
