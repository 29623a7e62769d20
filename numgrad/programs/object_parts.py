"""The parts of objects, by class: the objects that a function can reach from an object that it reads.

An attribute is a part only if code mentions its name: the source of an attribute has the collections of names in which
the name must occur; see ``Source.read_names``.
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
from .object_kinds import attributes_of, is_installed, is_open, is_own
from .referenced_names import CodeNames, ReferencedNames, names_in_class, names_in_code
from .sources import ABSENT, REGISTRIES, Source, cells_of, items_of

#: Classes of objects that functions of this package store in order to call them.
_CALLED = (FunctionType, MethodType, functools.partial, Module)

#: Attributes that every call of a module reads.
_READ_BY_CALLS = frozenset({*REGISTRIES, "forward"})

#: Attributes of optimizers that guards compare because a step reads them.
_OPTIONS = frozenset({"param_groups", "state", "defaults"})

#: Descriptors of slots and of built-in attributes.
DESCRIPTORS = (MemberDescriptorType, GetSetDescriptorType)

#: Attributes of objects that combine other objects, by class; ``self`` is their key in messages.
_PARTS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (MethodType, ("__self__", "__func__")), (kinds.BUILT_IN, ("__self__",)), (property, ("fget", "fset", "fdel")),
    (functools.cached_property, ("func",)), (functools.singledispatchmethod, ("func", "dispatcher")),
    ((staticmethod, classmethod), ("__func__",)),
)


class ObjectParts:
    """A search for the parts of objects.

    Attributes:
        is_listed: True if the search is for state that a user has listed, and ignores code.
        referenced: the names in the code of all functions that are reached.
        tensors, modules, optimizers, generators: by identity, the first source of each.
        values: by holder and key, each value with its source, and the contents of containers and arrays.
        dictionaries: by identity, each dictionary with its keys.
    """

    def __init__(self, referenced: ReferencedNames | None):
        self.is_listed = referenced is not None
        self.referenced = referenced or ReferencedNames()
        self.tensors: dict[int, Source] = {}
        self.modules: dict[int, Source] = {}
        self.optimizers: dict[int, Source] = {}
        self.generators: dict[int, Source] = {}
        self.values: dict[tuple[int, Any], tuple[Any, Source]] = {}
        self.dictionaries: dict[int, tuple[Any, list[Any]]] = {}
        self._is_reading = True

    def _reference(self, names: CodeNames) -> None:
        """Record the names in code."""
        raise NotImplementedError

    def _on_path(self, path: Sequence[str], names: dict[str, Any]) -> Iterator[Source]:
        """Yield the sources along a path that begins with a global and leads through modules of libraries."""
        raise NotImplementedError

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
        """Yield the attributes that the user's program has set on the wrapper of a function."""
        init = getattr(type(value).__init__, "__code__", None)
        set_by_class = frozenset() if init is None else names_in_code(init).names
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
        """Yield the parts of an object that combines other objects."""
        if isinstance(value, classmethod) and self._is_reading:  # a class method may create objects
            self._reference(referenced_names.CONSTRUCTS)
        for key in next(keys for classes, keys in _PARTS if isinstance(value, classes)):
            yield Source(getattr(value, key), key="self" if key == "__self__" else None, parent=source)

    def _in_dictionary(self, items: Any, parent: Source, read_names: Any = None) -> list[Source]:
        in_order = self._is_reading and items is parent.value
        keys = items_of(items)
        self.values[id(items), ...] = keys if in_order else len(keys), parent
        self.dictionaries[id(items)] = items, keys
        parts, get = [], dict.__getitem__ if isinstance(items, dict) else operator.getitem
        for key in keys:
            if isinstance(key, Tensor):
                parts.append(Source(key, None, None, parent))
            parts.append(Source(get(items, key), items, key, parent, read_names))
        return parts

    def _of_object(self, value: Any, source: Source) -> Iterator[Source]:
        cls: Any = type(value)
        read_names = [self.referenced.names, *((PARTS,) if self.only_steps(value) else names_in_class(cls))]
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

    def only_steps(self, value: Any) -> bool:
        """Return True for a scheduler whose only method called so far is ``step``, which replays repeat."""
        cls: Any = type(value)
        return is_scheduler(value) and self.referenced.names.isdisjoint(_other_methods(cls))

    def _classes_of(self, value: Any, source: Source) -> Iterator[Source]:
        """Yield the user's own classes among the class of an object and its bases."""
        if not self.is_listed:
            yield from (Source(cls, parent=source) for cls in (*type(value).__mro__, type(type(value))) if is_own(cls))

    def _of_class(self, cls: type, source: Source) -> Iterator[Source]:
        """Yield the functions and values of one of the user's own classes and of its bases."""
        for key, value in vars(cls).items():
            if key not in referenced_names.NOT_READ and not isinstance(value, DESCRIPTORS):
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
        if is_installed(function.__code__.co_filename):  # it may wrap one of the user's functions
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


#: Methods that yield the parts of an object, by its class; the first matching class is used.
_FINDERS: tuple[tuple[Any, Any], ...] = (
    (Tensor, ObjectParts._of_tensor), (Generator, ObjectParts._of_generator),
    *[(classes, ObjectParts._of_combination) for classes, _ in _PARTS],
    (FunctionType, ObjectParts._of_function), (kinds.VIEWS, ObjectParts._of_view),
    ((attrgetter, methodcaller), ObjectParts._of_getter),
    ((functools.partial, functools.partialmethod), ObjectParts._of_partial),
    ((dict, list, tuple, set, frozenset, deque, MappingProxyType), ObjectParts._in_container),
    (type, ObjectParts._of_class), (type(os.environ), ObjectParts._of_variables),
    (logging.Logger, ObjectParts._of_logger), (ModuleType, ObjectParts._of_module), (object, ObjectParts._of_other),
)


@functools.cache
def _finder(cls: type) -> Callable[[ObjectParts, Any, Source], Iterable[Source]]:
    return next(find for classes, find in _FINDERS if issubclass(cls, classes))


def is_scheduler(value: Any) -> bool:
    """Return True for a scheduler whose class belongs to this package."""
    cls: Any = type(value)
    return issubclass(cls, LRScheduler) and not is_own(cls)


@functools.cache
def _other_methods(cls: type) -> frozenset[str]:
    """Return the names of a scheduler's methods besides ``step``."""
    return frozenset([name for name in dir(cls) if not name.startswith("__") and name != "step"])
