"""What a function finds around it: the tensors, modules and optimizers that it reaches, and by which way.

A recorded program works on the memory of parameters and of other tensors that its function finds in its closure, in
globals that it names, in attributes and in containers.  It may be replayed only as long as the function would still
find them there.  So each object is kept with the way to it: the place that it was found in, and the way to that.

What the function reads is looked at first.  Attributes and methods wait until some code that is reached mentions their
names; an optimizer's parts come next, of which guards know what a step reads; and in the end what nothing reads.
"""

from __future__ import annotations

import builtins
import functools
import gc
import logging
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter, methodcaller
from types import FunctionType, GetSetDescriptorType, MappingProxyType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..devices.generators import Generator
from ..nn.modules.module import Module
from ..optim.optimizer import Optimizer
from .kinds import (
    BUILT_IN,
    CACHING,
    CONTAINERS,
    PLAIN,
    VALUES,
    VIEWS,
    cached_by,
    is_class_of,
    is_library,
    is_looked_into,
    is_ours,
    is_read_by_paths,
    kept_apart,
)
from .known import is_opaque, state_behind
from .mentions import (
    FINDS_ALL,
    MAKES,
    MAKING,
    NOT_CALLED,
    NOT_READ,
    READS_ALL,
    Mentioned,
    Mentions,
    attributes_of,
    imported,
    is_installed,
    is_open,
    is_own,
    mentions_of,
    names_of_class,
    overrides,
)
from .places import ABSENT, LARGEST_ARRAY, UNNAMED, Found, cells_of, items_of, same, same_items

#: Objects that are looked at, at most: a function that reaches more is one that reaches everything.
LIMIT = 20_000

#: What functions of the library's keep to call it.
_CALLED = (FunctionType, MethodType, functools.partial, Module)

#: Attributes of modules that are read whenever they are called.
_ALWAYS = frozenset({*UNNAMED, "forward"})

#: An optimizer's attributes of which guards know what a step reads.
_OPTIONS = frozenset({"param_groups", "state", "defaults"})


class Surroundings:
    """What a function reaches, by itself and by arguments that are no tensors.

    It looks into containers, into functions and objects of the program's own, and into modules and optimizers.

    Attributes:
        tensors, modules, optimizers, generators: by identity, each with the way to it.
        values: what is held, by holder and key, and what containers and arrays consist of.
        states: functions that return what operations on these depend on.
        read: the places that the program reads.
        reached: by identity, what the program comes by through these.
        mentioned: what the functions mention that it comes by.
        complete: whether all was looked at.
    """

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any] = ()):
        self.tensors: dict[int, Found] = {}
        self.modules: dict[int, Found] = {}
        self.optimizers: dict[int, Found] = {}
        self.generators: dict[int, Found] = {}
        self.values: dict[tuple[int, Any], tuple[Any, Found]] = {}
        self.read: list[Found] = []
        self.states = set[Callable[[], Any]]()
        self._ways: dict[int, list[Found]] = {}
        self.mentioned = Mentioned()
        self._can_be_made: set[type] = set()  # classes that are found by themselves
        self._classes = dict.fromkeys(Tensor.__mro__[:-1])  # of the library's, of objects or found by themselves
        self._waiting: dict[Any, list[Found]] = {}
        self._is_reading, self._known_ways = True, frozenset[int]()
        self._beside: list[Found] = []
        self._libraries: dict[int, Found] = {}  # modules of which anything may be read that code mentions
        self._left = [Found(one) for one in (function, *arguments)]
        self._look_at_all()
        while len(self._ways) < LIMIT and (missing := [*self._missing()]):
            self._left = missing
            self._look_at_all()
        self._is_reading = False
        self.reached = {key: ways[0] for key, ways in self._ways.items()}
        self._left = self._beside
        self._look_at_all()
        self._known_ways = frozenset(self._ways)
        while self._waiting:
            waiting = [one for ones in self._waiting.values() for one in ones]
            self._waiting = {}
            self._left = [one for one in waiting if one.way is None or not isinstance(one.way.value, ModuleType)]
            self._look_at_all()
        self.complete = len(self._ways) < LIMIT

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

    def changed(self, later: Surroundings) -> list[tuple[Found, Any]]:
        """Return what has another value in what was found later, and the value that it had."""
        found_changed = []
        for key, (value, found) in later.values.items():
            before = self.values.get(key, (ABSENT, None))[0]
            is_list = type(value) is type(before) is list
            if not (same_items(value, before) if is_list else same(value, before)):
                found_changed.append((found, before))
        return found_changed

    # -- what is asked before a replay ----------------------------------------------------------------------

    def growing(self, found: Found) -> Iterator[Any]:
        """Yield the containers and dictionaries of attributes of an object to which it matters that something is added.

        An attribute of an object stands before one of its class.
        """
        value: Any = found.value
        if isinstance(value, CONTAINERS) and not self.is_unused(found):
            yield value
        if isinstance(value, type):
            if is_own(value) or (is_ours(value) and self.mentioned.may_miss()):
                yield vars(value)
        elif isinstance(items := attributes_of(value), dict):
            is_plain = isinstance(value, Tensor | FunctionType) and not is_open(value)
            if self.mentioned.may_miss() if is_plain else isinstance(value, Module) or is_open(value):
                yield items

    def is_unused(self, found: Found) -> bool:
        """Whether this is where a module of the library's keeps parameters, buffers or modules, and neither has it a
        use for any, nor does the program ask what there is.
        """
        if found.key not in UNNAMED or found.value or found.way is None or not isinstance(found.way.value, Module):
            return False
        cls: Any = type(found.way.value)
        if is_own(cls) or any(found.key in names for names in names_of_class(cls)):
            return False
        return not self.mentioned.goes_through() and not self.mentioned.may_miss()

    # -- looking --------------------------------------------------------------------------------------------

    def _look_at_all(self) -> None:
        while self._left and len(self._ways) < LIMIT:
            self._look(self._left.pop())

    def _look(self, found: Found) -> None:
        value = found.value
        if found.holder is not None and (self._is_reading or issubclass(type(value), VALUES)):
            self.values[id(found.holder), found.key] = value, found
            if self._is_reading:
                self.read.append(found)
        if id(value) in FINDS_ALL and self._is_reading and found.holder is not vars(builtins):
            self._mention(FINDS_ALL[id(value)])
        if is_opaque(value):
            self._ways.setdefault(id(value), []).append(found)
            return
        if (state := state_behind(value)) is not None and not is_class_of(found):
            self.states.add(state)
        if self._is_reading:
            bases = value.__mro__ if isinstance(value, type) else type(value).__mro__
            self._classes.update(dict.fromkeys(filter(is_ours, bases)))
        if is_library(value):
            if self._is_reading and not is_read_by_paths(found):
                self._look_at_library(found)
            return
        if isinstance(value, PLAIN) and not is_looked_into(value):
            if isinstance(value, type):
                self._ways.setdefault(id(value), []).append(found)
            return
        if id(value) in self._known_ways:
            return
        if isinstance(value, type) and not is_class_of(found):
            self._can_be_made.update(value.__mro__)
            self._left += [one for name in MAKING for one in self._waiting.pop(name, ()) if not self._waits(one)]
        known = self._ways.setdefault(id(value), [])
        known.append(found)
        if len(known) > 1:
            return
        if isinstance(value, Tensor):
            self.tensors[id(value)] = found
            self._find(self._in_dictionary(value.__dict__, found, [self.mentioned.names]))
            self._find(self._of_classes(value, found))
        elif isinstance(value, Generator):
            self.generators[id(value)] = found
        else:
            if isinstance(value, np.ndarray) and value.nbytes <= LARGEST_ARRAY:
                self.values[id(value), ...] = value.tobytes(), found
            if isinstance(value, Module):
                self.modules[id(value)] = found
            elif isinstance(value, Optimizer):
                self.optimizers[id(value)] = found
            self._find(self._parts(value, found))

    def _find(self, parts: Iterable[Found]) -> None:
        self._left += [found for found in parts if not self._waits(found)]

    def _waits(self, found: Found) -> bool:
        """Whether nothing that was looked at reads this place; then it waits until something does."""
        read = found.is_read or (self.mentioned.any_name and bool(found.among))
        if read or (found.key in MAKING and isinstance(found.holder, type) and found.holder in self._can_be_made):
            return False
        if found.among != ():
            self._waiting.setdefault(found.attribute, []).append(found)
        elif self._is_reading:
            self._beside.append(found)
        return found.among != () or self._is_reading

    def _mention(self, found: Mentions) -> None:
        """Look at what has waited for what code mentions."""
        new = self.mentioned.add(found)
        for library in [*self._libraries.values()] if new else ():
            self._look_at_library(library, new)
        for name in [*self._waiting] if self.mentioned.any_name else new & self._waiting.keys():
            self._find(self._waiting.pop(name, ()))

    def _missing(self) -> Iterator[Found]:
        """Find where attributes of own modules are not there that are read if they are, and what code mentions of
        classes of this library, which a program may replace.
        """
        for one in [ways[0] for ways in self._ways.values() if issubclass(type(ways[0].value), ModuleType)]:
            items = vars(one.value)
            for name in self.mentioned.optional - items.keys():
                if (id(items), name) not in self.values:
                    yield Found(ABSENT, items, name, one)
        for cls in self._classes:
            way = self._ways.setdefault(id(cls), [Found(cls, key=cls.__name__)])[0]
            names = self.mentioned.names & vars(cls).keys()
            for name in names | {"forward"} if issubclass(cls, Module) and cls is not Module else names:
                one = vars(cls).get(name, ABSENT)
                is_fixed = name.startswith("__") or isinstance(one, MemberDescriptorType | GetSetDescriptorType)
                if not is_fixed and (id(cls), name) not in self.values:
                    yield Found(one, cls, name, way)

    def _look_at_library(self, found: Found, names: Iterable[str] | None = None) -> None:
        """Look at what a library's module has under names that code mentions; the module may be read anywhere."""
        self._libraries.setdefault(id(found.value), found)
        items = vars(found.value)
        for name in (self.mentioned.names if names is None else names) & items.keys():
            part = Found(items[name], items, name, found)
            self._left.append(part)
            if is_library(part.value) and id(part.value) not in self._libraries:
                self._look_at_library(part)

    def _on_path(self, path: Sequence[str], names: dict[str, Any]) -> Iterator[Found]:
        """Find what a global and attributes lead to through modules of libraries."""
        found = Found(names.get(path[0], ABSENT), names, path[0])
        for name in path[1:]:
            if not is_library(found.value) or not hasattr(found.value, name):  # which may import a module
                return
            if name not in vars(found.value):
                return
            found = Found(vars(found.value)[name], vars(found.value), name, found)
            yield found
        if is_library(found.value):  # it is kept, or given to a function
            self._look_at_library(found)

    # -- what objects consist of ----------------------------------------------------------------------------

    def _parts(self, value: Any, found: Found) -> Iterator[Found]:
        cls: Any = type(value)
        for key in kept_apart(cls):
            part = getattr(value, key) if isinstance(key, str) else key.__get__(value)
            yield Found(part, value, key, found, [self.mentioned.names])
        if isinstance(value, FunctionType):
            if self._is_reading:
                yield from self._of_function(value, found)
        elif isinstance(value, MethodType):
            yield Found(value.__self__, key="self", way=found)
            yield Found(value.__func__, way=found)
        elif isinstance(value, BUILT_IN):
            yield Found(value.__self__, key="self", way=found)
        elif isinstance(value, VIEWS):
            yield from (Found(one, way=found) for one in gc.get_referents(value))
        elif isinstance(value, attrgetter | methodcaller):
            if self._is_reading:
                self._mention(READS_ALL)
        elif isinstance(value, functools.partial | functools.partialmethod):
            yield from (Found(getattr(value, key), value, key, found) for key in ("func", "args", "keywords"))
        elif isinstance(value, dict | list | tuple | set | frozenset | deque | MappingProxyType):
            yield from self._of_container(value, found)
            if is_own(cls):
                yield from self._of_object(value, found)
        elif isinstance(value, type):
            yield from self._of_class(value, found)
        elif isinstance(value, property):
            yield from (Found(one, way=found) for one in (value.fget, value.fset, value.fdel))
        elif isinstance(value, functools.cached_property):
            yield Found(value.func, way=found)
        elif isinstance(value, functools.singledispatchmethod):
            yield from (Found(one, way=found) for one in (value.func, value.dispatcher))
        elif isinstance(value, type(os.environ)):
            yield Found(attributes_of(value)["_data"], way=found)
        elif isinstance(value, logging.Logger):
            held = attributes_of(value)
            yield from (Found(held[key], held, key, found) for key in ("level", "disabled", "propagate", "parent"))
            yield from (Found(held[key], held, key, found, [self.mentioned.names]) for key in ("handlers", "filters"))
            manager = vars(value.manager)
            yield Found(manager["_disable"], manager, "_disable", found)
        elif isinstance(value, staticmethod | classmethod):
            if isinstance(value, classmethod) and self._is_reading:  # it may make objects
                self._mention(MAKES)
            yield Found(value.__func__, way=found)
        elif isinstance(value, ModuleType):
            yield from self._in_dictionary(vars(value), found, [self.mentioned.names])
        elif isinstance(wrapped := attributes_of(value).get("__wrapped__"), FunctionType | MethodType | Module):
            yield Found(wrapped, way=found)
            if self._is_reading:
                yield from self._given_to(value, found)
            if isinstance(value, CACHING):
                yield from (Found(one, way=found) for one in cached_by(value))
        elif isinstance(value, Optimizer):
            for key, one in attributes_of(value).items():
                if is_own(cls) and key not in _OPTIONS:
                    yield Found(one, value.__dict__, key, found, [self.mentioned.names])
                elif not key.startswith("_"):
                    yield Found(one, value.__dict__, key, found, ())
            yield from self._of_classes(value, found)
        elif isinstance(value, Module) or is_open(value):
            yield from self._of_object(value, found)

    def _given_to(self, value: Any, found: Found) -> Iterator[Found]:
        """The attributes that a program has given to what wraps a function."""
        init = getattr(type(value).__init__, "__code__", None)
        own = frozenset() if init is None else mentions_of(init).attributes
        for one in self._in_dictionary(attributes_of(value), found, [self.mentioned.names]):
            if one.key not in own and not one.key.startswith("_"):
                yield one

    def _of_container(self, value: Any, found: Found) -> Iterator[Found]:
        if isinstance(value, dict | MappingProxyType):
            yield from self._in_dictionary(value, found)
            return
        if not isinstance(value, tuple | frozenset):
            items = items_of(value)
            self.values[id(value), ...] = items if self._is_reading else len(items), found
        for number, one in enumerate(items_of(value)):
            yield Found(one, value if isinstance(value, list) else None, number, found)

    def _of_object(self, value: Any, found: Found) -> Iterator[Found]:
        kind: Any = type(value)
        among = [self.mentioned.names, *names_of_class(kind)]
        if isinstance(value, Module):
            among.append(_ALWAYS)
        if isinstance(items := attributes_of(value), dict):
            yield from self._in_dictionary(items, found, among)
        for cls in kind.__mro__:
            for slot in vars(cls).values() if is_own(cls) else ():
                if isinstance(slot, MemberDescriptorType):
                    try:
                        held = slot.__get__(value)
                    except AttributeError:
                        held = ABSENT
                    yield Found(held, value, slot, found)
        yield from self._of_classes(value, found)

    def _of_classes(self, value: Any, found: Found) -> Iterator[Found]:
        yield from (Found(cls, way=found) for cls in (*type(value).__mro__, type(type(value))) if is_own(cls))

    def _of_class(self, cls: type, found: Found) -> Iterator[Found]:
        """The functions and values of a class of the program's own; those of its bases, too."""
        for key, one in vars(cls).items():
            if key not in NOT_READ and not isinstance(one, MemberDescriptorType | GetSetDescriptorType):
                is_called = (key.startswith("__") and key.endswith("__")) or overrides(cls, key)
                waits = key in NOT_CALLED or not is_called
                yield Found(one, cls, key, found, [self.mentioned.names] if waits else None)
        yield from (Found(base, way=found) for base in (*cls.__mro__[1:], type(cls)) if is_own(base))

    def _in_dictionary(self, items: Any, way: Found, among: Any = None) -> Iterator[Found]:
        in_order = self._is_reading and items is way.value
        keys = items_of(items)
        self.values[id(items), ...] = keys if in_order else len(keys), way
        for key in keys:
            if isinstance(key, Tensor):
                yield Found(key, None, None, way)
            value = dict.__getitem__(items, key) if isinstance(items, dict) else items[key]
            yield Found(value, items, key, way, among)

    def _of_function(self, function: FunctionType, found: Found) -> Iterator[Found]:
        code = function.__code__
        if is_installed(code.co_filename):  # it may be one around a function of the program's
            yield from (Found(function.__dict__.get(key), way=found) for key in ("__wrapped__", "registry"))
            names = function.__globals__
            for name in sorted(mentions_of(code).globals & names.keys()):
                if isinstance(names[name], bool | int | float | str | None):
                    yield Found(names[name], names, name, found)
            yield from (Found(one.value, way=found) for one in cells_of(function) if isinstance(one.value, _CALLED))
            return
        yield Found(code, function, "__code__", found)
        if function.__defaults__:
            yield Found(function.__defaults__, function, "__defaults__", found)
        if function.__kwdefaults__:
            yield Found(function.__kwdefaults__, function, "__kwdefaults__", found)
        yield from self._in_dictionary(function.__dict__, found, [self.mentioned.names])
        yield from cells_of(function)
        mentions = mentions_of(code)
        names = function.__globals__
        yield from (Found(names.get(name, ABSENT), names, name) for name in sorted(mentions.globals))
        for path in sorted(mentions.paths):
            yield from self._on_path(path, names)
        given = mentions.globals - names.keys() & vars(builtins).keys()
        yield from (Found(vars(builtins)[name], vars(builtins), name) for name in sorted(given))
        for name, level in sorted(mentions.imports):
            for full, module in imported(name, level, names.get("__package__") or ""):
                yield Found(ABSENT if module is None else module, sys.modules, full)
        self._mention(mentions)
