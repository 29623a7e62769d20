"""Names that functions reference: globals, attributes and modules in their bytecode and in that of library classes.

A program depends only on the objects that its functions read, and functions can read only objects that their code
names.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import importlib.util
import inspect
import operator
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from operator import attrgetter, methodcaller
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..nn.modules.module import Module
from .object_kinds import is_own

#: Functions and classes that can read any attribute, and names that show that code does so.
_READERS = (vars, dir, attrgetter, methodcaller, dataclasses.asdict, dataclasses.astuple, inspect.getmembers)
_ANY_NAME = frozenset({"__dict__", "__getattribute__", "MATCH_CLASS", *[reader.__name__ for reader in _READERS]})

#: Functions that take an object and the name of an attribute.
_BY_NAME = (getattr, hasattr, setattr, delattr)
_BY_NAME_NAMES = frozenset([function.__name__ for function in _BY_NAME])

#: Functions and methods that find globals and modules by any name, or objects by their identity.
_FINDERS = (globals, eval, exec, __import__, importlib.import_module, id, hash)
_FINDER_NAMES = frozenset([finder.__name__ for finder in _FINDERS])
_FINDER_METHODS = frozenset({"import_module", "__hash__", "__subclasses__"})

#: Methods and functions that compare the identities of tensors.
_COMPARING = frozenset({"CONTAINS_OP", "index", "count", "remove", "discard", "set", "frozenset"})

#: Methods that run when an object is created.
CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"})

_PRINTING = frozenset({"__repr__", "__str__", "__format__"})

#: Attributes that code can read only by name.
NOT_CALLED = CONSTRUCTORS | _PRINTING | {
    "__module__", "__qualname__", "__doc__", "__annotations__", "__annotations_cache__", "__slots__", "__match_args__",
    "extra_repr", "reset_parameters",
}

#: Attributes of classes that cannot be read through their objects.
NOT_READ = frozenset({
    "__dict__", "__weakref__", "__dataclass_fields__", "__dataclass_params__", "__abstractmethods__", "_abc_impl",
    "__orig_bases__", "__parameters__", "__firstlineno__", "__static_attributes__", "__annotate_func__",
})

#: Names of functions that traverse everything registered in a module, and of those whose result depends on the order.
_IN_ORDER = frozenset({
    "parameters", "named_parameters", "buffers", "named_buffers", "modules", "named_modules", "children",
    "named_children", "state_dict", "apply", "deepcopy", "stack_module_state", "_buffers", "_modules", "_parameters",
})
_TRAVERSING = _IN_ORDER | {
    "load_state_dict", "zero_grad", "requires_grad_", "train", "eval", "get_parameter", "get_buffer", "get_submodule",
    "update_parameters",
}

#: Methods that code calls implicitly, by the names or instructions that call them.
_IMPLICIT_CALLS = {
    "type": CONSTRUCTORS, "__class__": CONSTRUCTORS, "replace": CONSTRUCTORS, "hasHandlers": frozenset({"handlers"}),
    **dict.fromkeys(
        ("repr", "str", "format", "print", "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"),
        _PRINTING | {"extra_repr"},
    ),
}

#: Instructions that read nothing.
_SILENT = frozenset({"CACHE", "PRECALL", "PUSH_NULL", "NOP", "EXTENDED_ARG"})

#: Instructions that add a constant to an attribute.
_INCREMENT = [["LOAD_ATTR", load, "BINARY_OP", "SWAP", "STORE_ATTR"] for load in ("LOAD_CONST", "LOAD_SMALL_INT")]

#: Instructions that load one object.
_LOADS = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME"})
_GLOBAL_LOADS = ("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTE_LOADS = ("LOAD_ATTR", "LOAD_METHOD")


@dataclass
class CodeNames:
    """Names in the code of a function, and of functions within it.

    Attributes:
        globals: names of globals and built-in functions.
        names: names of attributes, and texts, which may be names.
        counters: names of attributes that the code only increments by a constant; they are not in ``names``.
        paths: names of globals, each with the attributes that directly follow it, as in ``np.random.rand``.
        imports: modules, each with the number of packages that a relative import goes up.
        looked_up: names of attributes that an object may lack, in code that looks them up as texts.
        any_name: True if the code reads attributes by names computed at run time.
        catches: True if the code catches errors, so that an object may lack any attribute.
        unseen: names of functions by which the code finds globals or objects that it does not name.
        compares: True if the code may distinguish equal objects.
    """

    globals: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    counters: set[str] = field(default_factory=set)
    paths: set[tuple[str, ...]] = field(default_factory=set)
    imports: set[tuple[str, int]] = field(default_factory=set)
    looked_up: set[str] = field(default_factory=set)
    any_name: bool = False
    catches: bool = False
    unseen: set[str] = field(default_factory=set)
    compares: bool = False

    def add(self, others: CodeNames) -> set[str]:
        """Add the names in other code, and return the attributes that are new."""
        new = others.names - self.names
        for name, value in vars(others).items():
            setattr(self, name, operator.ior(getattr(self, name), value))
        return new


class ReferencedNames(CodeNames):
    """The names in the code of all functions of a program; the search for the program's environment adds to them."""

    @property
    def optional(self) -> set[str]:
        """The attributes that an object may lack."""
        return self.names if self.catches else self.looked_up

    def only_counts(self, name: Any) -> bool:
        """Return True if all code only increments attributes of this name."""
        return name in self.counters and name not in self.names and not self.any_name

    def __contains__(self, name: str) -> bool:
        """Return True if an attribute, a global or a text has this name."""
        return name in self.names or name in self.globals

    def may_miss(self) -> bool:
        """Return True if the program may continue after an object lacked an attribute."""
        return self.any_name or bool(self.optional)

    def traverses_modules(self, in_order: bool = False) -> bool:
        """Return True if the program traverses all that is registered in a module, or does so ``in_order``."""
        return self.any_name or not self.names.isdisjoint(_IN_ORDER if in_order else _TRAVERSING)


@functools.cache
def names_in_code(code: CodeType) -> CodeNames:
    """Return the names in a function's code."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in _SILENT]
    names = {step.argval for step in steps if step.opname in _GLOBAL_LOADS}
    counted = _increments(steps)
    attributes = {
        step.argval for number, step in enumerate(steps)
        if step.opname.endswith(("_ATTR", "_METHOD", "IMPORT_FROM")) and number not in counted
    }
    texts = {constant for constant in code.co_consts if isinstance(constant, str)}
    called = names | attributes | {step.opname for step in steps}
    attributes |= texts
    attributes |= {name for key, methods in _IMPLICIT_CALLS.items() if key in called for name in methods}
    handlers = {second.opname for first, second in pairwise(steps) if first.opname == "PUSH_EXC_INFO"}
    unseen = names & _FINDER_NAMES | attributes & _FINDER_METHODS if code.co_name != "__hash__" else set[str]()
    if any(first.argval == "sys" and second.argval == "modules" for first, second in pairwise(steps)):
        unseen.add("sys.modules")
    compares = not _COMPARING.isdisjoint(called) or any(
        second.opname == "IS_OP" and first.opname != "LOAD_CONST" for first, second in pairwise(steps)
    )
    by_name = bool(_BY_NAME_NAMES & names)
    formatted = _formatted(steps)
    attributes |= formatted or set()
    result = CodeNames(
        names,
        attributes,
        {steps[number].argval for number in counted},
        set(_paths(steps)),
        set(_imports(steps)),
        {text for text in texts if by_name and text.isidentifier()},
        not _ANY_NAME.isdisjoint(called | attributes) or (by_name and not _has_constant_names(steps))
        or formatted is None,
        bool(handlers - {"WITH_EXCEPT_START"}) or "suppress" in called,
        unseen,
        compares,
    )
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            result.add(names_in_code(constant))
    return result


def _paths(steps: list[dis.Instruction]) -> Iterator[tuple[str, ...]]:
    """Yield each global that code reads, with the attributes that directly follow it."""
    for number, step in enumerate(steps):
        if step.opname in _GLOBAL_LOADS:
            following = takewhile(lambda step: step.opname in _ATTRIBUTE_LOADS, steps[number + 1:])
            yield step.argval, *[step.argval for step in following]


def _increments(steps: list[dis.Instruction]) -> set[int]:
    """Return the indices of instructions that read or set an attribute only to add a constant integer to it."""
    result = set()
    for number, step in enumerate(steps[:-4]):
        _, constant, operation, _, setting = steps[number : number + 5]
        adds = [each.opname for each in steps[number : number + 5]] in _INCREMENT and operation.argrepr in ("+=", "-=")
        if adds and isinstance(constant.argval, int) and setting.argval == step.argval:
            result |= {number, number + 4}
    return result


def _formatted(steps: list[dis.Instruction]) -> set[str] | None:
    """Return the attributes that ``format`` reads in constant texts; None if code also formats other texts."""
    result: set[str] = set()
    for text, step in pairwise(steps):
        if step.opname in _ATTRIBUTE_LOADS and step.argval in ("format", "format_map"):
            if text.opname != "LOAD_CONST" or not isinstance(text.argval, str):
                return None
            result.update(re.findall(r"\.(\w+)", text.argval))
    return result


def _imports(steps: list[dis.Instruction]) -> Iterator[tuple[str, int]]:
    """Yield the modules that code imports, each with its level, loaded two instructions before the import."""
    for number, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            yield step.argval, steps[number - 2].argval


def _has_constant_names(steps: list[dis.Instruction]) -> bool:
    """Return True if all attributes that code looks up by name have constant names."""
    return all(
        _is_constant_lookup(steps[number + 1:]) for number, step in enumerate(steps)
        if step.opname in _GLOBAL_LOADS and step.argval in _BY_NAME_NAMES
    )


def _is_constant_lookup(steps: list[dis.Instruction]) -> bool:
    """Return True if code loads an object, a constant and at most one more object, and then calls a function."""
    if not steps or steps[0].opname not in _LOADS:
        return False
    number = 1
    while number < len(steps) and steps[number].opname == "LOAD_ATTR":
        number += 1
    steps = steps[number : number + 3]
    if not steps or steps[0].opname != "LOAD_CONST" or not isinstance(steps[0].argval, str):
        return False
    has_default = len(steps) > 1 and steps[1].opname in (*_LOADS, "LOAD_CONST", "LOAD_SMALL_INT")
    call = steps[2:] if has_default else steps[1:]
    return bool(call) and call[0].opname.startswith("CALL")


#: Names of functions that create objects.
CONSTRUCTS = CodeNames(names={*CONSTRUCTORS})

#: Names of functions that can read any attribute.
READS_ALL = CodeNames(any_name=True)

#: Names of functions and classes that can read any name, by identity, since a program may give them other names.
READERS: dict[int, CodeNames] = {
    **{id(function): READS_ALL for function in (*_READERS, *_BY_NAME)},
    **{id(finder): CodeNames(unseen={finder.__name__}) for finder in _FINDERS},
}


def imported(name: str, level: int, package: str) -> Iterator[tuple[str, ModuleType | None]]:
    """Yield the module that a statement in a function imports, and the packages around it, with their names."""
    try:
        full = importlib.util.resolve_name("." * level + name, package) if level else name
    except ImportError:
        return
    for end in [number for number, letter in enumerate(f"{full}.") if letter == "."]:
        yield full[:end], sys.modules.get(full[:end])


class _Public:
    """The collection of all public names."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and not name.startswith("_")


@functools.cache
def names_in_class(cls: type) -> tuple[Any, ...]:
    """Return the collections of attribute names that methods of the library classes among a class's bases read."""
    functions = [
        getattr(value, "fget", None) or getattr(value, "__func__", value)
        for base in cls.__mro__ if base not in Module.__mro__ and not is_own(base)
        for key, value in vars(base).items() if key not in NOT_CALLED
    ]
    collections = [names_in_code(function.__code__) for function in functions if isinstance(function, FunctionType)]
    names = frozenset[str]().union(*[each.names for each in collections])
    return (names, _Public()) if any(each.any_name for each in collections) else (names,)


@functools.cache
def overrides_library(cls: type, key: str) -> bool:
    """Return True if a library class among a class's bases has this attribute, so that its code may read it."""
    return any(key in vars(base) for base in cls.__mro__ if base is not object and not is_own(base))
