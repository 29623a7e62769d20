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
import collections
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType, MethodType, ModuleType
from typing import Any

from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from . import object_kinds as kinds
from . import referenced_names
from .object_kinds import attributes_of, is_library, is_open, is_own
from .object_parts import DESCRIPTORS, ObjectParts, is_scheduler
from .referenced_names import CONSTRUCTORS, CodeNames, ReferencedNames, names_in_class
from .sources import ABSENT, REGISTRIES, Source, equivalent, equivalent_items

#: The number of objects after which the search stops: a function that reaches more may depend on anything.
LIMIT = 20_000

#: Classes of dictionaries whose items can be restored.
_DICTIONARIES = (dict, collections.defaultdict, collections.OrderedDict)

#: Classes of code, which the search for listed state ignores.
_CODE = (type, FunctionType, MethodType, functools.partial, ModuleType, *kinds.BUILT_IN)


class Environment(ObjectParts):
    """The objects that a function reaches by itself, or through arguments that are not tensors.

    The search includes the contents of containers, of the user's functions and objects, and of modules and optimizers.
    With ``referenced``, the names in the code of a function, it begins with the arguments alone, which are state that a
    user has listed, and ignores code.

    Attributes:
        states: functions that return hidden state on which operations depend.
        read: the sources that the program reads.
        reached: by identity, the first source of each object that the program may read.
        complete: True if the search has reached everything.
    """

    def __init__(
        self, function: Callable[..., Any] | None, arguments: Sequence[Any] = (),
        referenced: ReferencedNames | None = None,
    ):
        super().__init__(referenced)
        self.read: list[Source] = []
        self.states = set[Callable[[], Any]]()
        self._sources: dict[int, list[Source]] = {}
        self._constructible: set[type] = set()  # classes found other than as the class of an object, with their bases
        self._classes = dict.fromkeys(Tensor.__mro__[:-1])  # this package's classes that were found
        self._waiting: dict[Any, list[Source]] = {}  # by attribute
        self._earlier = frozenset[int]()
        self._of_optimizers: list[Source] = []
        self._libraries: dict[int, Source] = {}  # modules from which code may read any attribute that it names
        self._left = [Source(value) for value in (function, *arguments)]
        self._search()
        while not self.is_listed and len(self._sources) < LIMIT and (missing := [*self._missing()]):
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
        """True if the search has reached tensors or objects that use them, or if it is incomplete."""
        objects = self.tensors or self.modules or self.optimizers or self.generators
        return bool(objects) or not self.complete

    def sources_of(self, objects: Iterable[Any]) -> Iterator[Source]:
        """Yield all sources of these objects, and of the objects through which they are reached."""
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
        """Return the sources whose values differ in a later environment, each with its value in this one."""
        changed = []
        for key, (value, source) in later.values.items():
            before = self.values.get(key, (ABSENT, None))[0]
            is_list = type(value) is type(before) is list
            if not (equivalent_items(value, before) if is_list else equivalent(value, before)):
                changed.append((source, before))
        return changed

    def restore(self, later: Environment) -> None:
        """Undo changes of attributes, lists and dictionaries that were made until a later environment."""
        for items, keys in self.dictionaries.values():
            before = {*map(id, keys)}
            for key in [key for key in items if id(key) not in before] if items.__class__ in _DICTIONARIES else ():
                del items[key]
        for place, (value, source) in self.values.items():
            if value is later.values.get(place, (ABSENT, None))[0]:
                continue
            if place[1] is ...:
                if isinstance(source.value, list) and isinstance(value, list):
                    source.value[:] = value
            elif value is not ABSENT and source.holder.__class__ in _DICTIONARIES:
                source.holder[source.key] = value

    # -- for guards -------------------------------------------------------------------------------------------------

    def growing(self, source: Source) -> Iterator[Any]:
        """Yield the containers and dictionaries of an object to which added items would affect the program.

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
        if type(value) in kinds.ATOMS or (self.is_listed and isinstance(value, _CODE)):
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
        """Add sources to the search, or to the sources that are deferred until code reads them."""
        self._left += [source for source in sources if source.read_names is None or not self._waits(source)]

    def _waits(self, source: Source) -> bool:
        """Return True if nothing reads a source so far; it is then deferred until code reads it."""
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
        """Record the names in code, and add the deferred sources with these names."""
        knew_any = self.referenced.any_name
        new = self.referenced.add(names)
        knows_any = self.referenced.any_name and not knew_any
        for library in [*self._libraries.values()] if new or knows_any else ():
            self._read_library(library, None if knows_any else new)
        for name in [*self._waiting] if self.referenced.any_name else new & self._waiting.keys():
            self._add(self._waiting.pop(name, ()))

    def _missing(self) -> Iterator[Source]:
        """Yield the sources that can be determined only after all names are known.

        These are attributes that the user's modules lack and that code reads if they exist; attributes of this
        package's classes, which a program may replace; and attributes of schedulers, unless code only steps them.
        """
        first = [sources[0] for sources in self._sources.values()]
        for source in [source for source in first if is_scheduler(source.value)]:
            for key, part in () if self.only_steps(source.value) else vars(source.value).items():
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
                is_fixed = name.startswith("__") or isinstance(value, DESCRIPTORS)
                if not is_fixed and (id(cls), name) not in self.values:
                    yield Source(value, cls, name, parent)

    def _read_library(self, source: Source, names: Iterable[str] | None = None) -> None:
        """Add the attributes of a library's module that code may read: those that it names, or any setting.

        ``names`` are those that were added since the module was read.
        """
        self._libraries.setdefault(id(source.value), source)
        items = vars(source.value)
        read = (self.referenced.names if names is None else names) & items.keys()
        if names is None and self.referenced.any_name:
            read |= {name for name, value in items.items() if isinstance(value, kinds.VALUES) and name[:2] != "__"}
        for name in read:
            part = Source(items[name], items, name, source)
            self._left.append(part)
            if is_library(part.value) and id(part.value) not in self._libraries:
                self._read_library(part)

    def _on_path(self, path: Sequence[str], names: dict[str, Any]) -> Iterator[Source]:
        """Yield the sources along a path that begins with a global and leads through modules of libraries."""
        source = Source(names.get(path[0], ABSENT), names, path[0])
        for name in path[1:]:
            if not is_library(source.value) or not hasattr(source.value, name):  # ``hasattr`` may import a module
                return
            items = vars(source.value)
            if name not in items:
                return
            source = Source(items[name], items, name, source)
            yield source
        if is_library(source.value):  # code stores the module or passes it to a function
            self._read_library(source)


def _is_read_by_paths(source: Source) -> bool:
    """Return True if a library's module is a function's global, is found on a path, or belongs to a built-in method."""
    if source.parent is None:
        return isinstance(source.holder, dict) and source.holder is not sys.modules
    return source.key == "self" or is_library(source.parent.value)


def _is_class_of_object(source: Source) -> bool:
    """Return True if a class was found as the class of an object, or through a method that calls a method of a base."""
    parent = source.parent
    return source.key is None and parent is not None and (source.holder is None or parent.key == "__class__")
