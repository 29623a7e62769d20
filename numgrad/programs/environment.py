"""The environment of a function: the tensors, modules, optimizers and other objects that it reaches.

A recorded program works on the memory of parameters and other tensors that its function finds in its closure, in
globals that it names, in attributes and in containers.  It may be replayed only as long as the function would still
find them there.

The search begins with the objects that the function reads.  It follows attributes and methods only when the code of a
reached function names them.  Next come the parts of optimizers, whose guards compare the attributes that a step reads,
and last the objects that no code reads.
"""

from __future__ import annotations

import builtins
import functools
import gc
import itertools
import logging
import operator
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter, methodcaller
from types import FunctionType, GetSetDescriptorType, MappingProxyType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..devices.generators import Generator
from ..nn.modules.module import Module
from ..optim.lr_scheduler import LRScheduler
from ..optim.lr_scheduler.repeated import PARTS
from ..optim.optimizer import Optimizer
from ..tensors.tensor import Tensor
from . import object_kinds as kinds
from . import referenced_names
from .object_kinds import attributes_of, is_installed, is_library, is_open, is_own
from .referenced_names import CONSTRUCTORS, CodeNames, ReferencedNames, names_in_class, names_in_code
from .sources import ABSENT, REGISTRIES, Source, cells_of, equivalent, equivalent_items, items_of

#: The number of objects at which the search stops: a function that reaches more reaches everything.
LIMIT = 20_000

#: Classes of objects that functions of this package keep to call them.
_CALLED = (FunctionType, MethodType, functools.partial, Module)

#: Attributes of modules that each call of a module reads.
_READ_BY_CALLS = frozenset({*REGISTRIES, "forward"})

#: Attributes of optimizers that guards compare because a step reads them.
_OPTIONS = frozenset({"param_groups", "state", "defaults"})

#: Descriptors of slots and of built-in attributes.
_DESCRIPTORS = (MemberDescriptorType, GetSetDescriptorType)

#: Attributes of objects that combine others, by class; ``self`` is their key in messages.
_PARTS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (MethodType, ("__self__", "__func__")), (kinds.BUILT_IN, ("__self__",)), (property, ("fget", "fset", "fdel")),
    (functools.cached_property, ("func",)), (functools.singledispatchmethod, ("func", "dispatcher")),
    ((staticmethod, classmethod), ("__func__",)),
)


class Environment:
    """The objects that a function reaches, by itself and through arguments that are not tensors.

    The search looks into containers, into functions and objects of the user's own, and into modules and optimizers.

    Attributes:
        tensors, modules, optimizers, generators: by identity, the first source of each.
        values: by holder and key, the value at each place with its source, and the contents of containers and arrays.
        states: functions that return hidden state on which operations depend.
        read: the sources that the program reads.
        reached: by identity, the first source of each object that the program may read.
        referenced: the names in the code of all functions that are reached.
        complete: True if the search has reached everything.
    """

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any] = ()):
        self.tensors: dict[int, Source] = {}
        self.modules: dict[int, Source] = {}
        self.optimizers: dict[int, Source] = {}
        self.generators: dict[int, Source] = {}
        self.values: dict[tuple[int, Any], tuple[Any, Source]] = {}
        self.read: list[Source] = []
        self.states = set[Callable[[], Any]]()
        self.referenced = ReferencedNames()
        self._sources: dict[int, list[Source]] = {}
        self._constructible: set[type] = set()  # classes that are found by themselves, with their bases
        self._classes = dict.fromkeys(Tensor.__mro__[:-1])  # this package's, of objects or found by themselves
        self._waiting: dict[Any, list[Source]] = {}  # by attribute
        self._is_reading, self._earlier = True, frozenset[int]()
        self._of_optimizers: list[Source] = []
        self._libraries: dict[int, Source] = {}  # modules of which code may read any attribute that it names
        self._left = [Source(value) for value in (function, *arguments)]
        self._search()
        while len(self._sources) < LIMIT and (missing := [*self._missing()]):
            self._left = missing
            self._search()
        self._is_reading = False
        self.reached = {key: sources[0] for key, sources in self._sources.items()}
        self._left = self._of_optimizers
        self._search()
        self._earlier = frozenset(self._sources)
        while self._waiting:
            waiting = [source for sources in self._waiting.values() for source in sources]
            self._waiting = {}
            self._left = [
                source for source in waiting
                if source.parent is None or not isinstance(source.parent.value, ModuleType)
            ]
            self._search()
        self.complete = len(self._sources) < LIMIT

    @property
    def finds_tensors(self) -> bool:
        """True if the search has reached tensors, or objects that work on them, or if it is not complete."""
        found = self.tensors or self.modules or self.optimizers or self.generators
        return bool(found) or not self.complete

    def sources_of(self, objects: Iterable[Any]) -> Iterator[Source]:
        """Yield all sources of these objects, and of the objects that lead to them."""
        left, seen = [*objects], set()
        while left:
            value = left.pop()
            if id(value) not in seen:
                seen.add(id(value))
                for source in self._sources.get(id(value), ()):
                    yield source
                    if source.parent is not None:
                        left.append(source.parent.value)

    def changed(self, later: Environment) -> list[tuple[Source, Any]]:
        """Return the sources with another value in a later environment, each with the value in this one."""
        changed = []
        for key, (value, source) in later.values.items():
            before = self.values.get(key, (ABSENT, None))[0]
            is_list = type(value) is type(before) is list
            if not (equivalent_items(value, before) if is_list else equivalent(value, before)):
                changed.append((source, before))
        return changed

    # -- for guards -------------------------------------------------------------------------------------------------

    def growing(self, source: Source) -> Iterator[Any]:
        """Yield the containers and dictionaries of an object where added items matter to the program.

        An attribute of an object hides one of its class.
        """
        value: Any = source.value
        if isinstance(value, kinds.CONTAINERS) and not self.is_unused(source):
            yield value
        if isinstance(value, type):
            if is_own(value) or (kinds.is_numgrad(value) and self.referenced.may_miss()):
                yield vars(value)
        elif isinstance(items := attributes_of(value), dict):
            is_plain = isinstance(value, Tensor | FunctionType) and not is_open(value)
            if self.referenced.may_miss() if is_plain else isinstance(value, Module) or is_open(value):
                yield items

    def is_unused(self, source: Source) -> bool:
        """Return True for an empty registry of a module that neither the module's class nor the program reads."""
        parent = source.parent
        if source.key not in REGISTRIES or source.value or parent is None or not isinstance(parent.value, Module):
            return False
        cls: Any = type(parent.value)
        if is_own(cls) or any(source.key in names for names in names_in_class(cls)):
            return False
        return not self.referenced.traverses_modules() and not self.referenced.may_miss()

    # -- the search -------------------------------------------------------------------------------------------------

    def _search(self) -> None:
        while self._left and len(self._sources) < LIMIT:
            self._visit(self._left.pop())

    def _visit(self, source: Source) -> None:
        value = source.value
        if source.holder is not None and (self._is_reading or issubclass(type(value), kinds.VALUES)):
            self.values[id(source.holder), source.key] = value, source
            if self._is_reading:
                self.read.append(source)
        if id(value) in referenced_names.READERS and self._is_reading and source.holder is not vars(builtins):
            self._reference(referenced_names.READERS[id(value)])
        if type(value) in kinds.ATOMS:
            return
        if kinds.is_opaque(value):
            self._sources.setdefault(id(value), []).append(source)
            return
        cls: Any = type(value)
        if (state := kinds.hidden_state(value)) is not None and not _is_class_of_object(source):
            self.states.add(state)
        if self._is_reading:
            bases = value.__mro__ if isinstance(value, type) else cls.__mro__
            self._classes.update(dict.fromkeys(filter(kinds.is_numgrad, bases)))
        if is_library(value):
            if self._is_reading and not _is_read_by_paths(source):
                self._read_library(source)
            return
        if kinds.is_plain(cls) and not kinds.is_explored(value):
            if isinstance(value, type):
                self._sources.setdefault(id(value), []).append(source)
            return
        if id(value) in self._earlier:
            return
        if isinstance(value, type) and not _is_class_of_object(source):
            self._constructible.update(value.__mro__)
            for name in CONSTRUCTORS:
                self._add(self._waiting.pop(name, ()))
        sources = self._sources.setdefault(id(value), [])
        sources.append(source)
        if len(sources) > 1:
            return
        self._add(self._parts(value, source))

    def _add(self, sources: Iterable[Source]) -> None:
        """Add sources to the search, or to the sources that wait until code reads them."""
        self._left += [source for source in sources if source.read_names is None or not self._waits(source)]

    def _waits(self, source: Source) -> bool:
        """Return True if nothing reads a source so far; it then waits until something does."""
        if source.is_read or (self.referenced.any_name and bool(source.read_names)):
            return False
        if source.key in CONSTRUCTORS and isinstance(source.holder, type) and source.holder in self._constructible:
            return False
        if source.read_names != ():
            self._waiting.setdefault(source.attribute, []).append(source)
        elif self._is_reading:
            self._of_optimizers.append(source)
        return source.read_names != () or self._is_reading

    def _reference(self, names: CodeNames) -> None:
        """Note the names in code, and add the sources that have waited for them."""
        knew_any = self.referenced.any_name
        new = self.referenced.add(names)
        for library in [*self._libraries.values()] if new or self.referenced.any_name != knew_any else ():
            self._read_library(library, new)
        for name in [*self._waiting] if self.referenced.any_name else new & self._waiting.keys():
            self._add(self._waiting.pop(name, ()))

    def _missing(self) -> Iterator[Source]:
        """Yield sources that appear when all names are known.

        These are attributes that the user's modules lack and that are read if they are there, attributes of this
        package's classes, which a program may replace, and those of schedulers that code uses otherwise than to step.
        """
        first = [sources[0] for sources in self._sources.values()]
        for source in [source for source in first if _is_scheduler(source.value)]:
            for key, part in () if self._only_steps(source.value) else vars(source.value).items():
                if (id(vars(source.value)), key) not in self.values:
                    yield Source(part, vars(source.value), key, source)
        for module in [source for source in first if issubclass(type(source.value), ModuleType)]:
            items = vars(module.value)
            for name in self.referenced.optional - items.keys():
                if (id(items), name) not in self.values:
                    yield Source(ABSENT, items, name, module)
        for cls in self._classes:
            parent = self._sources.setdefault(id(cls), [Source(cls, key=cls.__name__)])[0]
            names = self.referenced.names & vars(cls).keys()
            for name in names | {"forward"} if issubclass(cls, Module) and cls is not Module else names:
                value = vars(cls).get(name, ABSENT)
                is_fixed = name.startswith("__") or isinstance(value, _DESCRIPTORS)
                if not is_fixed and (id(cls), name) not in self.values:
                    yield Source(value, cls, name, parent)

    def _read_library(self, source: Source, names: Iterable[str] | None = None) -> None:
        """Add the attributes of a library's module that code may read: those that it names, or else all settings."""
        self._libraries.setdefault(id(source.value), source)
        items = vars(source.value)
        found = (self.referenced.names if names is None else names) & items.keys()
        if self.referenced.any_name:
            found |= {name for name, value in items.items() if isinstance(value, kinds.VALUES) and name[:2] != "__"}
        for name in found:
            part = Source(items[name], items, name, source)
            self._left.append(part)
            if is_library(part.value) and id(part.value) not in self._libraries:
                self._read_library(part)

    def _on_path(self, path: Sequence[str], names: dict[str, Any]) -> Iterator[Source]:
        """Yield the sources that a global and attributes lead to through modules of libraries."""
        source = Source(names.get(path[0], ABSENT), names, path[0])
        for name in path[1:]:
            if not is_library(source.value) or not hasattr(source.value, name):  # which may import a module
                return
            items = vars(source.value)
            if name not in items:
                return
            source = Source(items[name], items, name, source)
            yield source
        if is_library(source.value):  # code stores it or passes it on
            self._read_library(source)

    # -- parts of objects -------------------------------------------------------------------------------------------

    def _parts(self, value: Any, source: Source) -> Iterable[Source]:
        cls: Any = type(value)
        names = [self.referenced.names]
        result = _finder(cls)(self, value, source)
        if keys := kinds.attributes_outside_dictionary(cls):
            parts = [(getattr(value, key) if isinstance(key, str) else key.__get__(value), key) for key in keys]
            return itertools.chain([Source(part, value, key, source, names) for part, key in parts], result)
        return result

    def _of_view(self, value: Any, source: Source) -> Iterator[Source]:
        yield from (Source(part, parent=source) for part in gc.get_referents(value))

    def _of_getter(self, value: Any, source: Source) -> Iterator[Source]:
        if self._is_reading:
            self._reference(referenced_names.READS_ALL)
        yield from ()

    def _of_partial(self, value: Any, source: Source) -> Iterator[Source]:
        yield from (Source(getattr(value, key), value, key, source) for key in ("func", "args", "keywords"))

    def _of_variables(self, value: Any, source: Source) -> Iterator[Source]:
        yield Source(attributes_of(value)["_data"], parent=source)

    def _of_logger(self, value: logging.Logger, source: Source) -> Iterator[Source]:
        held, names = attributes_of(value), [self.referenced.names]
        yield from (Source(held[key], held, key, source) for key in ("level", "disabled", "propagate", "parent"))
        yield from (Source(held[key], held, key, source, names) for key in ("handlers", "filters"))
        manager = vars(value.manager)
        yield Source(manager["_disable"], manager, "_disable", source)

    def _of_module(self, value: ModuleType, source: Source) -> list[Source]:
        return self._in_dictionary(vars(value), source, [self.referenced.names])

    def _of_tensor(self, value: Tensor, source: Source) -> list[Source]:
        self.tensors[id(value)] = source
        return [
            *self._in_dictionary(value.__dict__, source, [self.referenced.names]), *self._classes_of(value, source)
        ]

    def _of_generator(self, value: Generator, source: Source) -> Iterable[Source]:
        self.generators[id(value)] = source
        return ()

    def _of_other(self, value: Any, source: Source) -> Iterator[Source]:
        if isinstance(value, np.ndarray) and value.nbytes <= kinds.LARGEST_ARRAY:
            self.values[id(value), ...] = value.tobytes(), source
        if isinstance(value, Module):
            self.modules[id(value)] = source
        elif isinstance(value, Optimizer):
            self.optimizers[id(value)] = source
        if isinstance(wrapped := attributes_of(value).get("__wrapped__"), FunctionType | MethodType | Module):
            yield Source(wrapped, parent=source)
            if self._is_reading:
                yield from self._set_on_wrapper(value, source)
            if isinstance(value, kinds.CACHING):
                yield from (Source(part, parent=source) for part in kinds.cached_by(value))
        elif isinstance(value, Optimizer):
            yield from self._of_optimizer(value, source)
        elif isinstance(value, Module) or is_open(value):
            yield from self._of_object(value, source)

    def _of_optimizer(self, value: Optimizer, source: Source) -> Iterator[Source]:
        cls: Any = type(value)
        names, is_users = [self.referenced.names], is_own(cls)
        for key, part in attributes_of(value).items():
            if is_users and key not in _OPTIONS:
                yield Source(part, value.__dict__, key, source, names)
            elif not key.startswith("_"):
                yield Source(part, value.__dict__, key, source, ())
        yield from self._classes_of(value, source)

    def _set_on_wrapper(self, value: Any, source: Source) -> Iterator[Source]:
        """Yield the attributes that a program has set on the wrapper of a function."""
        init = getattr(type(value).__init__, "__code__", None)
        set_by_class = frozenset() if init is None else names_in_code(init).attributes
        for part in self._in_dictionary(attributes_of(value), source, [self.referenced.names]):
            if part.key not in set_by_class and not part.key.startswith("_"):
                yield part

    def _in_container(self, value: Any, source: Source) -> list[Source]:
        if isinstance(value, (dict, MappingProxyType)):
            parts = self._in_dictionary(value, source)
        else:
            items, holder = items_of(value), value if isinstance(value, list) else None
            if not isinstance(value, (tuple, frozenset)):
                self.values[id(value), ...] = items if self._is_reading else len(items), source
            parts = [Source(item, holder, number, source) for number, item in enumerate(items)]
        cls: Any = type(value)
        if is_own(cls):
            parts += self._of_object(value, source)
        return parts

    def _of_combination(self, value: Any, source: Source) -> Iterator[Source]:
        """Yield the parts of an object that combines others."""
        if isinstance(value, classmethod) and self._is_reading:  # it may make objects
            self._reference(referenced_names.CONSTRUCTS)
        for key in next(keys for classes, keys in _PARTS if isinstance(value, classes)):
            yield Source(getattr(value, key), key="self" if key == "__self__" else None, parent=source)

    def _in_dictionary(self, items: Any, parent: Source, read_names: Any = None) -> list[Source]:
        in_order = self._is_reading and items is parent.value
        keys = items_of(items)
        self.values[id(items), ...] = keys if in_order else len(keys), parent
        parts, get = [], dict.__getitem__ if isinstance(items, dict) else operator.getitem
        for key in keys:
            if isinstance(key, Tensor):
                parts.append(Source(key, None, None, parent))
            parts.append(Source(get(items, key), items, key, parent, read_names))
        return parts

    def _of_object(self, value: Any, source: Source) -> Iterator[Source]:
        cls: Any = type(value)
        read_names = [self.referenced.names, *((PARTS,) if self._only_steps(value) else names_in_class(cls))]
        if isinstance(value, Module):
            read_names.append(_READ_BY_CALLS)
        if isinstance(items := attributes_of(value), dict):
            yield from self._in_dictionary(items, source, read_names)
        for base in cls.__mro__:
            for slot in vars(base).values() if is_own(base) else ():
                if isinstance(slot, MemberDescriptorType):
                    try:
                        held = slot.__get__(value)
                    except AttributeError:
                        held = ABSENT
                    yield Source(held, value, slot, source)
        yield from self._classes_of(value, source)

    def _only_steps(self, value: Any) -> bool:
        """Return True for a scheduler of which code so far calls nothing but ``step``, which effects repeat."""
        cls: Any = type(value)
        return _is_scheduler(value) and self.referenced.names.isdisjoint(_other_methods(cls))

    def _classes_of(self, value: Any, source: Source) -> Iterator[Source]:
        """Yield the user's own classes among those of an object."""
        yield from (Source(cls, parent=source) for cls in (*type(value).__mro__, type(type(value))) if is_own(cls))

    def _of_class(self, cls: type, source: Source) -> Iterator[Source]:
        """Yield the functions and values of a class of the user's own, and its bases."""
        for key, value in vars(cls).items():
            if key not in referenced_names.NOT_READ and not isinstance(value, _DESCRIPTORS):
                is_special = key.startswith("__") and key.endswith("__")
                is_called = key not in referenced_names.NOT_CALLED and (
                    is_special or referenced_names.overrides_library(cls, key)
                )
                yield Source(value, cls, key, source, None if is_called else [self.referenced.names])
        yield from (Source(base, parent=source) for base in (*cls.__mro__[1:], type(cls)) if is_own(base))

    def _of_function(self, function: FunctionType, source: Source) -> Iterator[Source]:
        if not self._is_reading:
            return
        names, namespace = names_in_code(function.__code__), function.__globals__
        if is_installed(function.__code__.co_filename):  # it may wrap a function of the user's
            yield from (Source(function.__dict__.get(key), parent=source) for key in ("__wrapped__", "registry"))
            for name in sorted(names.globals & namespace.keys()):
                if isinstance(namespace[name], bool | int | float | str | None):
                    yield Source(namespace[name], namespace, name, source)
            called = [cell.value for cell in cells_of(function) if isinstance(cell.value, _CALLED)]
            yield from (Source(value, parent=source) for value in called)
            return
        for key in ("__code__", "__defaults__", "__kwdefaults__"):
            if (part := getattr(function, key)) is not None:
                yield Source(part, function, key, source)
        yield from self._in_dictionary(function.__dict__, source, [self.referenced.names])
        yield from cells_of(function)
        yield from (Source(namespace.get(name, ABSENT), namespace, name) for name in sorted(names.globals))
        for path in sorted(names.paths):
            yield from self._on_path(path, namespace)
        built_in = vars(builtins)
        for name in sorted(names.globals - namespace.keys() & built_in.keys()):
            yield Source(built_in[name], built_in, name)
        for module_name, level in sorted(names.imports):
            for full, module in referenced_names.imported(module_name, level, namespace.get("__package__") or ""):
                yield Source(ABSENT if module is None else module, sys.modules, full)
        self._reference(names)


#: Methods that yield the parts of an object, by its class; the first class that fits counts.
_FINDERS: tuple[tuple[Any, Any], ...] = (
    (Tensor, Environment._of_tensor), (Generator, Environment._of_generator),
    *[(classes, Environment._of_combination) for classes, _ in _PARTS],
    (FunctionType, Environment._of_function), (kinds.VIEWS, Environment._of_view),
    ((attrgetter, methodcaller), Environment._of_getter),
    ((functools.partial, functools.partialmethod), Environment._of_partial),
    ((dict, list, tuple, set, frozenset, deque, MappingProxyType), Environment._in_container),
    (type, Environment._of_class), (type(os.environ), Environment._of_variables),
    (logging.Logger, Environment._of_logger), (ModuleType, Environment._of_module), (object, Environment._of_other),
)


@functools.cache
def _finder(cls: type) -> Callable[[Environment, Any, Source], Iterable[Source]]:
    return next(find for classes, find in _FINDERS if issubclass(cls, classes))


def _is_scheduler(value: Any) -> bool:
    """Return True for a scheduler of a class of this package."""
    cls: Any = type(value)
    return issubclass(cls, LRScheduler) and not is_own(cls)


@functools.cache
def _other_methods(cls: type) -> frozenset[str]:
    """Return the names of a scheduler's methods besides ``step``."""
    return frozenset([name for name in dir(cls) if not name.startswith("__") and name != "step"])


def _is_read_by_paths(source: Source) -> bool:
    """Return True if a library's module is a function's global, is found on a path, or belongs to a built-in method."""
    if source.parent is None:
        return isinstance(source.holder, dict) and source.holder is not sys.modules
    return source.key == "self" or is_library(source.parent.value)


def _is_class_of_object(source: Source) -> bool:
    """Return True if a class is found as that of an object, or by a method that calls one of a base."""
    parent = source.parent
    return source.key is None and parent is not None and (source.holder is None or parent.key == "__class__")
