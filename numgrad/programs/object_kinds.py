"""Kinds of objects that functions use: the user's or a library's, and whether a guard can detect their changes.

A program that reads an object whose changes no guard can detect cannot be replayed.
"""

from __future__ import annotations

import abc
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import gc
import inspect
import logging
import operator
import os
import pathlib
import random
import re
import sys
import sysconfig
import types
import typing
import uuid
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from ..autograd.grad_mode import is_multithreading_enabled
from ..core.types import device, dtype, layout, memory_format
from ..devices.generators import Generator
from ..nn.modules.module import Module
from ..optim.optimizer import Optimizer
from ..tensors.tensor import Tensor
from .sources import ABSENT

_NUMGRAD = __name__.partition(".")[0]

# -- the user's code and libraries --------------------------------------------------------------------------------

#: Directories of code that is not the user's own: this package, Python's library and installed packages.
_INSTALLED = tuple({
    os.path.dirname(os.path.dirname(__file__)) + os.sep,
    *[sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")],
})

#: Names of directories of installed packages: a process may have several, such as a user's and the system's.
_PACKAGES = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))

#: Modules of classes whose objects contain values set by users: schedules, distributions, namespaces.
_OPEN = (
    "argparse", "collections", "configparser", "types",
    *(f"{_NUMGRAD}.{name}" for name in ("amp", "distributions", "optim", "utils")),
)

_NO_ATTRIBUTES: MappingProxyType[str, Any] = MappingProxyType({})


@functools.cache
def is_installed(file: str) -> bool:
    """Return True if a file belongs to a library."""
    return file.startswith(_INSTALLED) or any(name in file for name in _PACKAGES)


@functools.cache
def is_own(cls: Any) -> bool:
    """Return True if a class is the user's own."""
    module = sys.modules.get(_module_name(cls))
    return module is not None and is_own_module(module, cls.__module__)


def _module_name(cls: Any) -> str:
    """Return the name of a class's module; empty if ``__module__`` is an attribute of its objects, as in Cython.

    Classes of numgrad show names of PyTorch's modules while numgrad stands for it.
    """
    name = cls.__module__ if isinstance(cls.__module__, str) else ""
    return f"{_NUMGRAD}{name.removeprefix('torch')}" if name.partition(".")[0] == "torch" else name


def is_own_module(module: Any, name: str = "") -> bool:
    """Return True if a module is the user's own."""
    file = getattr(module, "__dict__", {}).get("__file__")
    return (name or module.__name__) not in sys.builtin_module_names and not (file and is_installed(file))


def is_library(value: Any) -> bool:
    """Return True for a module of a library."""
    return issubclass(type(value), ModuleType) and not is_own_module(value)


@functools.cache
def is_numgrad(cls: type) -> bool:
    """Return True if a class belongs to this package."""
    return _module_name(cls).partition(".")[0] == _NUMGRAD


def is_open(value: Any) -> bool:
    """Return True if an object contains values set by users."""
    cls: Any = type(value)
    return is_own(cls) or _module_name(cls).startswith(_OPEN)


# -- parts of objects ---------------------------------------------------------------------------------------------

#: Classes of objects without tensors in them.
PLAIN = (int, float, complex, str, bytes, type(None), type, np.generic, types.CodeType, type(ABSENT))

#: Classes of objects without attributes or parts; subclasses do not count.
ATOMS = frozenset({int, bool, float, complex, str, bytes, type(None)})

#: Classes of objects that are compared by value.
VALUES = (int, float, complex, str, bytes)

#: Views of dictionaries, and methods of built-in objects.
VIEWS: Any = (type({}.keys()), type({}.values()), type({}.items()))
BUILT_IN = (BuiltinFunctionType, types.MethodWrapperType)

#: Containers whose items may change.
CONTAINERS = (list, set, dict, collections.deque, MappingProxyType)

#: The class of functions that ``functools.lru_cache`` returns.
CACHING = type(functools.lru_cache(len))

#: Attributes that the dictionary of an object lacks, by class; those of classes as descriptors.
_OUTSIDE_DICTIONARY: dict[type, tuple[Any, ...]] = {
    FunctionType: ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"),
    type: tuple([vars(type)[name] for name in ("__name__", "__qualname__")]),
    BaseException: ("args",),
    np.ndarray: ("base",),
}


def attributes_of(value: Any) -> Any:
    """Return the dictionary of an object's attributes, without running code of its class."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return _NO_ATTRIBUTES


@functools.cache
def attributes_outside_dictionary(cls: type) -> tuple[Any, ...]:
    """Return the attributes that the dictionary of a class's objects lacks."""
    return tuple([key for base, keys in _OUTSIDE_DICTIONARY.items() if issubclass(cls, base) for key in keys])


@functools.cache
def is_plain(cls: type) -> bool:
    """Return True if objects of a class contain no tensors."""
    return issubclass(cls, PLAIN)


def is_explored(value: Any) -> bool:
    """Return True for a class, number or text whose attributes belong to the user."""
    if isinstance(value, type):
        return is_own(value)
    cls: Any = type(value)
    return isinstance(value, VALUES) and is_own(cls)


def cached_by(function: Any) -> Iterator[Any]:
    """Yield the keys and results in the cache of ``functools.lru_cache``."""
    for value in gc.get_referents(function):
        is_part = isinstance(value, type | FunctionType) or type(value) is object or value is attributes_of(function)
        if not is_part:
            yield value


# -- changes that guards can detect -------------------------------------------------------------------------------

#: Bytes of the largest array that a guard compares before each call.
LARGEST_ARRAY = 1 << 16

#: Immutable classes of Python and NumPy.
_IMMUTABLE: tuple[type, ...] = (
    int, float, complex, str, bytes, range, slice, type(None), type(...), type(NotImplemented), enum.Enum, re.Pattern,
    fractions.Fraction, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo,
    pathlib.PurePath, uuid.UUID, np.generic, np.dtype, np.finfo, np.iinfo,
)

#: Classes, including subclasses, whose changes guards can detect.
_GUARDED: tuple[type, ...] = (
    *_IMMUTABLE,
    # containers and objects whose contents are examined
    tuple, frozenset, *CONTAINERS, *VIEWS, types.CellType, type(os.environ), logging.Logger, np.ndarray, Tensor,
    Generator, Module, Optimizer,
    # functions, classes, and parts of them
    type, ModuleType, FunctionType, types.MethodType, *BUILT_IN, types.CodeType, types.WrapperDescriptorType,
    types.MethodDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.GenericAlias, types.UnionType, property, staticmethod, classmethod,
    functools.cached_property, functools.partial, functools.partialmethod, functools.singledispatchmethod,
    operator.attrgetter, operator.itemgetter, operator.methodcaller, np.ufunc, inspect.Signature, inspect.Parameter,
    type(vars(inspect.FullArgSpec)["args"]), dataclasses.Field, type(dataclasses.MISSING),
    type(vars(dataclasses)["_HAS_DEFAULT_FACTORY"]), type(dataclasses.KW_ONLY), super,
)

#: Names of the classes of functions in C extensions: each library has its own class.
_C_FUNCTIONS = frozenset({
    "cython_function_or_method", "fused_cython_function", "_ArrayFunctionDispatcher", "instancemethod", "nb_func",
    "nb_method", "_lru_cache_wrapper", "_lru_list_elem",
})

#: Packages whose objects, including those of subclasses, do not change in a manner that functions could read: this
#: package, types and symbols.
_UNCHANGING = ("numgrad", "typing", "abc", "_abc", "_weakrefset", "sympy", "numba.core", "numpy.lib", "numpy._globals")

#: Bases of classes that do not determine the contents of objects.
_MARKS = (abc.ABC, typing.Generic, typing.Protocol)

#: Modules whose functions return another value in each call.
_RANDOM = ("random.", "secrets.", "uuid.", "numpy.random.")

#: Classes of random number generators of Python and NumPy.
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)

#: Classes of functions.
_FUNCTIONS = (FunctionType, BuiltinFunctionType)

#: Functions that return hidden state, and a pattern for the names of other functions that return or change it.
_READS_STATE = (decimal.getcontext, decimal.setcontext, decimal.localcontext, os.getenv, os.getcwd)
_STATE_NAMES = re.compile(
    r"(sys|gc|_?threading|_thread)\.(get|set|is|active|current|main|enumerate|enable|disable)|numpy\.(get|set)_?(err|buf|print)"
)


def change_unseen(value: Any) -> str | None:
    """Return the reason why a guard cannot detect changes of an object, with a remedy; None if it can.

    The reason is the end of a sentence that begins with the name of the object.
    """
    cls: Any = type(value)
    if is_opaque(value):
        return f" is of the class {cls.__name__}, whose __getattribute__ may return anything"
    if isinstance(value, np.ndarray) and value.nbytes > LARGEST_ARRAY:
        return f" is a NumPy array of {value.nbytes} bytes, which may change: make it a tensor"
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return " is a NumPy array of objects, which may change"
    if drawn := drawn_anew(value):
        return drawn
    if isinstance(value, _FUNCTIONS) and (
        any(value is function for function in _READS_STATE)
        or _STATE_NAMES.match(f"{value.__module__}.{value.__name__}")
    ):
        return "() may return another value in each call: call it outside"
    if _is_guarded(cls) or "__wrapped__" in attributes_of(value):
        return None
    return (
        f" is an object of the class {cls.__name__}, whose changes guards cannot see: pass its values as arguments"
    )


def drawn_anew(value: Any) -> str | None:
    """Return the reason if each call draws another value from an object: a random number, the time, the next item."""
    if issubclass(type(value), _GENERATORS) or (callable(value) and _is_random(value)):
        return " draws random numbers that are not numgrad's: draw them outside and pass them as an argument"
    if isinstance(value, BuiltinFunctionType) and value.__module__ == "time":
        return "() reads a clock, which a replay would not: call it outside"
    return " is an iterator, which changes when it is read" if hasattr(type(value), "__next__") else None


@functools.cache
def _is_guarded(cls: Any) -> bool:
    return (
        issubclass(cls, _GUARDED) or is_own(cls) or _module_name(cls).startswith(_OPEN) or cls.__name__ in _C_FUNCTIONS
        or any(_module_name(base).startswith(_UNCHANGING) for base in cls.__mro__[:-1] if base not in _MARKS)
    )


def is_opaque(value: Any) -> bool:
    """Return True if the class of an object computes all of its attributes."""
    return isinstance(type(value).__getattribute__, FunctionType)


def hidden_state(value: Any) -> Callable[[], Any] | None:
    """Return a function for the hidden state on which operations on an object depend; None if there is none."""
    if not isinstance(value, (type, FunctionType, decimal.Decimal)):
        return None
    if value is decimal.Decimal or isinstance(value, decimal.Decimal):
        return _decimal_context
    if value is is_multithreading_enabled:
        return is_multithreading_enabled
    is_abstract = isinstance(value, type) and type(value) is not type and issubclass(type(value), abc.ABCMeta)
    return abc.get_cache_token if is_abstract else None


def _decimal_context() -> tuple[Any, ...]:
    context = decimal.getcontext()
    limits = context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp
    return *limits, *context.traps.values()


def is_immutable(value: Any) -> bool:
    """Return True if an object cannot change, or is a tensor, whose version counter shows changes."""
    if isinstance(value, tuple | frozenset):
        return all(map(is_immutable, value))
    kinds = *_IMMUTABLE, Tensor, type, FunctionType, dtype, device, layout, memory_format
    return isinstance(value, kinds) or getattr(type(value), "unchanging", False)


def _is_random(function: Any) -> bool:
    """Return True for functions and classes that draw random numbers of Python or NumPy."""
    module = getattr(function, "__module__", None)
    return isinstance(module, str) and f"{module}.".startswith(_RANDOM)
