"""What functions mention: the names of globals, attributes and modules in their code, and in that of library classes.

A program depends only on what its functions read.  What they may read is told from the names in their code.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import importlib.util
import inspect
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile
from operator import attrgetter, methodcaller
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

from ..nn.modules.module import Module

#: Directories of code that is not a program's own: this package, and Python's library.
_INSTALLED = tuple({
    os.path.dirname(os.path.dirname(__file__)) + os.sep,
    *[sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")],
})

#: Names of directories for installed packages, of which a process may have several: a user's, a system's.
_PACKAGES = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))

#: Functions and classes that read attributes of any names.
_READERS = (vars, dir, attrgetter, methodcaller, dataclasses.asdict, dataclasses.astuple, inspect.getmembers)

#: What a function mentions that reads attributes of any names.
_ANY_NAME = frozenset({"__dict__", "__getattribute__", "MATCH_CLASS", *[one.__name__ for one in _READERS]})

#: Functions that take an object and the name of an attribute.
_TAKERS = (getattr, hasattr, setattr, delattr)
_BY_NAME = frozenset([one.__name__ for one in _TAKERS])

#: Functions that find globals and modules by any name, or objects by their identity.
_FINDERS = (globals, eval, exec, __import__, importlib.import_module, id, hash)
_UNSEEN = frozenset([one.__name__ for one in _FINDERS])

#: Attributes that are as good as these.
_UNSEEN_METHODS = frozenset({"import_module", "__hash__", "__subclasses__"})

#: Methods and functions that tell tensors apart.
_COMPARING = frozenset({"CONTAINS_OP", "index", "count", "remove", "discard", "set", "frozenset"})

#: Methods that are called when an object is made.
MAKING = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"})

_SHOWING = frozenset({"__repr__", "__str__", "__format__"})

#: What a class has that describes it.
_DESCRIBING = frozenset({
    "__module__", "__qualname__", "__doc__", "__annotations__", "__annotations_cache__", "__slots__", "__match_args__",
})

#: Attributes that are not read when others are.
NOT_CALLED = MAKING | _SHOWING | _DESCRIBING | {"extra_repr", "reset_parameters"}

#: What a class has that its objects do not read.
NOT_READ = frozenset({
    "__dict__", "__weakref__", "__dataclass_fields__", "__dataclass_params__", "__abstractmethods__", "_abc_impl",
    "__orig_bases__", "__parameters__", "__firstlineno__", "__static_attributes__", "__annotate_func__",
})

#: What goes through all that is registered in a module, and what does so in order.
_IN_ORDER = frozenset({
    "parameters", "named_parameters", "buffers", "named_buffers", "modules", "named_modules", "children",
    "named_children", "state_dict", "apply", "deepcopy", "stack_module_state", "_buffers", "_modules", "_parameters",
})
_TRAVERSING = _IN_ORDER | {
    "load_state_dict", "zero_grad", "requires_grad_", "train", "eval", "get_parameter", "get_buffer", "get_submodule",
    "update_parameters",
}

#: Methods that are called by what a function mentions, by that.
_CALLED_BY = {
    "type": MAKING, "__class__": MAKING, "replace": MAKING, "hasHandlers": frozenset({"handlers"}),
    **dict.fromkeys(
        ("repr", "str", "format", "print", "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"),
        _SHOWING | {"extra_repr"},
    ),
}

#: Where classes are whose objects hold what users put there: learning rate schedules, distributions, namespaces.
_OPEN = (
    "argparse", "collections", "configparser", "types",
    *(f"{__name__.partition('.')[0]}.{name}" for name in ("amp", "distributions", "optim", "utils")),
)

#: Instructions between those that a program is made of.
_SILENT = frozenset({"CACHE", "PRECALL", "PUSH_NULL", "NOP", "EXTENDED_ARG"})

#: Instructions by which code adds a constant to an attribute.
_ADDING = [
    ["LOAD_ATTR", load, "BINARY_OP", "SWAP", "STORE_ATTR"] for load in ("LOAD_CONST", "LOAD_SMALL_INT")
]

#: Instructions that find one object.
_LOADS = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME"})


@dataclass(frozen=True)
class Mentions:
    """What code mentions, and functions within it.

    Attributes:
        globals: names of globals, and of what is built in.
        attributes: names of attributes, and texts, which may be such.
        counters: names of attributes to which the code adds an integer that stands in it, and that it reads for nothing
            else: they are none of the attributes.
        imports: modules, each with how many packages up it is looked for.
        optional: the attributes that may not be there.
        paths: names of globals, each with the attributes that are read from it at once: ``np.random.rand``.
        any_name: whether it reads attributes whose names are made while it runs.
        catches: whether it catches errors: all that it mentions may not be there.
        unseen: what finds globals by any name; empty if it does not.
        compares: whether it may tell objects apart that are equal.
    """

    globals: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    counters: frozenset[str] = frozenset()
    paths: frozenset[tuple[str, ...]] = frozenset()
    imports: frozenset[tuple[str, int]] = frozenset()
    optional: frozenset[str] = frozenset()
    any_name: bool = False
    catches: bool = False
    unseen: frozenset[str] = frozenset()
    compares: bool = False


class Mentioned:
    """All that functions mention, of which more and more are looked at.

    Attributes:
        names: of attributes, and texts.
        globals, any_name, unseen, compares: as with :class:`Mentions`.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.globals: set[str] = set()
        self._counters: set[str] = set()
        self.unseen: set[str] = set()
        self.any_name = self._catches = self.compares = False
        self._optional: set[str] = set()

    def add(self, found: Mentions) -> set[str]:
        """Note what one more function mentions; the attributes that none has mentioned so far are returned."""
        new = set(found.attributes - self.names)
        self.names |= new
        self._counters |= found.counters
        self.globals |= found.globals
        self.unseen |= found.unseen
        self.any_name |= found.any_name
        self._catches |= found.catches
        self.compares |= found.compares
        self._optional |= found.optional
        return new

    @property
    def optional(self) -> set[str]:
        """The attributes that may not be there."""
        return self.names if self._catches else self._optional

    def only_counts(self, name: Any) -> bool:
        """Return whether code adds numbers to attributes of this name, and does nothing else with them."""
        return name in self._counters and name not in self.names and not self.any_name

    def __contains__(self, name: str) -> bool:
        """Whether this is an attribute, a global or a text that is mentioned."""
        return name in self.names or name in self.globals

    def may_miss(self) -> bool:
        """Return whether the program goes on where an object lacks an attribute."""
        return self.any_name or bool(self.optional)

    def goes_through(self, in_order: bool = False) -> bool:
        """Whether the program goes through all that is registered in a module, and if that is asked, in order."""
        return self.any_name or not self.names.isdisjoint(_IN_ORDER if in_order else _TRAVERSING)


@functools.cache
def mentions_of(code: CodeType) -> Mentions:
    """What a function's code mentions."""
    steps = [one for one in dis.get_instructions(code) if one.opname not in _SILENT]
    names = {one.argval for one in steps if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    counted = _counted(steps)
    attributes = {
        one.argval for number, one in enumerate(steps)
        if one.opname.endswith(("_ATTR", "_METHOD", "IMPORT_FROM")) and number not in counted
    }
    texts = {one for one in code.co_consts if isinstance(one, str)}
    called = names | attributes | {one.opname for one in steps}
    attributes |= texts
    attributes |= {name for key, methods in _CALLED_BY.items() if key in called for name in methods}
    follow = {other.opname for one, other in pairwise(steps) if one.opname == "PUSH_EXC_INFO"}
    unseen = names & _UNSEEN | attributes & _UNSEEN_METHODS if code.co_name != "__hash__" else set[str]()
    unseen |= _all_modules(steps)
    compares = not _COMPARING.isdisjoint(called) or any(
        other.opname == "IS_OP" and one.opname != "LOAD_CONST" for one, other in pairwise(steps)
    )
    by_name = bool(_BY_NAME & names)
    formats = _formatted(steps)
    attributes |= formats or set()
    inner = [mentions_of(one) for one in code.co_consts if isinstance(one, CodeType)]
    return Mentions(
        frozenset(names).union(*[one.globals for one in inner]),
        frozenset(attributes).union(*[one.attributes for one in inner]),
        frozenset([steps[number].argval for number in counted]).union(*[one.counters for one in inner]),
        frozenset(_paths(steps)).union(*[one.paths for one in inner]),
        frozenset(_imports(steps)).union(*[one.imports for one in inner]),
        frozenset([one for one in texts if by_name and one.isidentifier()]).union(*[one.optional for one in inner]),
        not _ANY_NAME.isdisjoint(called | attributes) or (by_name and not _all_constant(steps)) or formats is None
        or any(one.any_name for one in inner),
        bool(follow - {"WITH_EXCEPT_START"}) or "suppress" in called or any(one.catches for one in inner),
        frozenset(unseen).union(*[one.unseen for one in inner]),
        compares or any(one.compares for one in inner),
    )


def _paths(steps: list[dis.Instruction]) -> Iterator[tuple[str, ...]]:
    """Yield each global that code reads, with the attributes that follow it."""
    for number, one in enumerate(steps):
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            follow = takewhile(lambda step: step.opname in ("LOAD_ATTR", "LOAD_METHOD"), steps[number + 1:])
            yield one.argval, *[step.argval for step in follow]


def _counted(steps: list[dis.Instruction]) -> set[int]:
    """Return which instructions read and set an attribute only to add an integer that stands in the code."""
    found = set()
    for number, step in enumerate(steps[:-4]):
        _, constant, operation, _, setting = steps[number : number + 5]
        adds = [one.opname for one in steps[number : number + 5]] in _ADDING and operation.argrepr in ("+=", "-=")
        if adds and isinstance(constant.argval, int) and setting.argval == step.argval:
            found |= {number, number + 4}
    return found


def _formatted(steps: list[dis.Instruction]) -> set[str] | None:
    """Return the attributes that texts in code read by their ``format``; None if it formats a text made elsewhere."""
    found: set[str] = set()
    for one, other in pairwise(steps):
        if other.opname in ("LOAD_ATTR", "LOAD_METHOD") and other.argval in ("format", "format_map"):
            if one.opname != "LOAD_CONST" or not isinstance(one.argval, str):
                return None
            found.update(re.findall(r"\.(\w+)", one.argval))
    return found


def _imports(steps: list[dis.Instruction]) -> Iterator[tuple[str, int]]:
    """The modules that code imports; each is preceded by how many packages up, and by a list of names."""
    for number, one in enumerate(steps):
        if one.opname == "IMPORT_NAME":
            yield one.argval, steps[number - 2].argval


def _all_modules(steps: list[dis.Instruction]) -> set[str]:
    """``sys.modules``, if code looks there."""
    found = any(one.argval == "sys" and other.argval == "modules" for one, other in pairwise(steps))
    return {"sys.modules"} if found else set()


def _all_constant(steps: list[dis.Instruction]) -> bool:
    """Whether all attributes that are looked up by name have names that stand in the code."""
    return all(
        _is_constant(steps[number + 1:]) for number, one in enumerate(steps)
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME") and one.argval in _BY_NAME
    )


def _is_constant(steps: list[dis.Instruction]) -> bool:
    """Whether what follows puts an object and a constant, and then calls, with at most one more that is simple."""
    if not steps or steps[0].opname not in _LOADS:
        return False
    rest = steps[1:]
    while rest and rest[0].opname == "LOAD_ATTR":
        rest = rest[1:]
    if not rest or rest[0].opname != "LOAD_CONST" or not isinstance(rest[0].argval, str):
        return False
    rest = rest[1:]
    if rest and rest[0].opname in (*_LOADS, "LOAD_CONST", "LOAD_SMALL_INT"):
        rest = rest[1:]
    return bool(rest) and rest[0].opname.startswith("CALL")


#: What a function mentions that makes objects, and what one does that reads attributes of any names.
MAKES = Mentions(attributes=MAKING)
READS_ALL = Mentions(any_name=True)

#: Functions and classes that find objects by any name, wherever a program keeps them.
FINDS_ALL: dict[int, Mentions] = {
    **{id(one): READS_ALL for one in (*_READERS, *_TAKERS)},
    **{id(one): Mentions(unseen=frozenset({one.__name__})) for one in _FINDERS},
}


def imported(name: str, level: int, package: str) -> Iterator[tuple[str, ModuleType | None]]:
    """The module that a statement within a function imports, and the packages that it is in, by name."""
    try:
        full = importlib.util.resolve_name("." * level + name, package) if level else name
    except ImportError:
        return
    for end in [number for number, letter in enumerate(f"{full}.") if letter == "."]:
        yield full[:end], sys.modules.get(full[:end])


@functools.cache
def is_installed(file: str) -> bool:
    """Return whether a file belongs to a library, not to the program itself."""
    return file.startswith(_INSTALLED) or any(name in file for name in _PACKAGES)


@functools.cache
def is_own(cls: Any) -> bool:
    """Whether a class is the program's own."""
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    return module is not None and cls.__module__ not in sys.builtin_module_names and not (file and is_installed(file))


def is_own_module(module: ModuleType) -> bool:
    """Whether a module is the program's own."""
    file = vars(module).get("__file__")
    return module.__name__ not in sys.builtin_module_names and not (file and is_installed(file))


def is_open(value: Any) -> bool:
    """Whether an object holds what users put there."""
    cls: Any = type(value)
    return is_own(cls) or cls.__module__.startswith(_OPEN)


def attributes_of(value: Any) -> Any:
    """The attributes of an object, for which none of its own code is called."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return _NOTHING


_NOTHING: MappingProxyType[str, Any] = MappingProxyType({})


class _Public:
    """The names of all attributes that are public."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and not name.startswith("_")

    def __iter__(self) -> Iterator[str]:
        return iter(())


PUBLIC = _Public()


@functools.cache
def names_of_class(cls: type) -> tuple[frozenset[str] | _Public, ...]:
    """The names of attributes that methods of a class mention which is not the program's own, in collections."""
    functions = [
        getattr(one, "fget", None) or getattr(one, "__func__", one)
        for base in cls.__mro__ if base not in Module.__mro__ and not is_own(base)
        for key, one in vars(base).items() if key not in NOT_CALLED
    ]
    found = [mentions_of(one.__code__) for one in functions if isinstance(one, FunctionType)]
    names = frozenset[str]().union(*[one.attributes for one in found])
    return (names, PUBLIC) if any(one.any_name for one in found) else (names,)


@functools.cache
def overrides(cls: type, key: str) -> bool:
    """Whether a class has this from a base that is not the program's own, whose code may call it."""
    return any(key in vars(base) for base in cls.__mro__ if base is not object and not is_own(base))
