"""Known classes: those of objects that cannot change, or of which a guard sees every change.

An object of any other class ends a program that reads it: its state may change where no guard looks.
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
import inspect
import logging
import operator
import os
import pathlib
import random
import re
import types
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..core.types import device, dtype, layout, memory_format
from ..devices.generators import Generator
from ..nn.modules.module import Module
from ..optim.optimizer import Optimizer
from .mentions import attributes_of, is_open
from .places import LARGEST_ARRAY, Found

#: Classes of the interpreter's and of Python's library whose objects do not change.
_VALUES: tuple[type, ...] = (
    int, float, complex, str, bytes, range, slice, type(None), type(...), type(NotImplemented), enum.Enum, re.Pattern,
    fractions.Fraction, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo,
    pathlib.PurePath, uuid.UUID, np.generic, np.dtype, np.finfo, np.iinfo,
)

#: Those that are known, with classes derived from them.
_KNOWN: tuple[type, ...] = (
    *_VALUES,
    # containers and objects that are looked into
    dict, list, tuple, set, frozenset, collections.deque, types.MappingProxyType, type({}.keys()), type({}.values()),
    type({}.items()), types.CellType, type(os.environ), logging.Logger, np.ndarray, Tensor, Generator, Module,
    Optimizer,
    # functions, classes, and parts of them
    type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.CodeType,
    types.MethodWrapperType, types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType, types.GenericAlias, types.UnionType, property, staticmethod,
    classmethod, functools.cached_property, functools.partial, functools.partialmethod, functools.singledispatchmethod,
    operator.attrgetter, operator.itemgetter, operator.methodcaller, np.ufunc, inspect.Signature, inspect.Parameter,
    type(vars(inspect.FullArgSpec)["args"]), dataclasses.Field, type(dataclasses.MISSING),
    type(vars(dataclasses)["_HAS_DEFAULT_FACTORY"]),
    type(dataclasses.KW_ONLY), super,
)

#: Functions of C extensions, of which each library brings a class of its own.
_FUNCTIONS = frozenset({
    "cython_function_or_method", "fused_cython_function", "_ArrayFunctionDispatcher", "instancemethod", "nb_func",
    "nb_method", "_lru_cache_wrapper", "_lru_list_elem",
})

_PLAIN_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)

#: Packages whose objects do not change, as far as functions read them: this one's, types, symbols.
_PACKAGES = ("numgrad", "typing", "abc", "_abc", "_weakrefset", "sympy", "numba.core", "numpy.lib", "numpy._globals")

#: Modules whose functions return another value in each call.
_DRAWING = ("random", "secrets", "uuid", "numpy.random")
_CLOCK = "time"

#: Functions that return state which a program does not find otherwise.
_LOOKING = (decimal.getcontext, decimal.setcontext, decimal.localcontext, os.getenv, os.getcwd)

#: Others that do, or change it: the modules that they are in, and what their names begin with.
_OF_INTERPRETER = re.compile(
    r"(sys|gc|_?threading|_thread)\.(get|set|is|active|current|main|enumerate|enable|disable)|numpy\.(get|set)_?(err|buf|print)"
)


def changes_unseen(found: Found) -> str | None:
    """Return why a guard could not tell whether an object has changed, and what to do; None if it can tell."""
    value, what = found.value, found.name()
    cls: Any = type(value)
    if is_opaque(value):
        return f"{what} is of the class {cls.__name__}, whose __getattribute__ may return anything"
    if isinstance(value, np.ndarray) and value.nbytes > LARGEST_ARRAY:
        return f"{what} is a NumPy array of {value.nbytes} bytes, which may change: make it a tensor"
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return f"{what} is a NumPy array of objects, which may change"
    if _draws(value):
        return f"{what} draws random numbers that are not numgrad's: draw them outside and give them as an argument"
    if isinstance(value, types.BuiltinFunctionType) and value.__module__ == _CLOCK:
        return f"{what}() reads a clock, which a replay would not: call it outside"
    if any(value is one for one in _LOOKING) or (
        isinstance(value, _PLAIN_FUNCTIONS) and _OF_INTERPRETER.match(f"{value.__module__}.{value.__name__}")
    ):
        return f"{what}() returns what may be another object or value in each call: call it outside"
    if hasattr(cls, "__next__"):
        return f"{what} is an iterator, which changes when it is read"
    if isinstance(value, _KNOWN) or is_open(value):
        return None
    if cls.__name__ in _FUNCTIONS or "__wrapped__" in attributes_of(value):
        return None
    if any(base.__module__.startswith(_PACKAGES) for base in cls.__mro__[:-1]):
        return None
    return (
        f"{what} is an object of the class {cls.__name__}, which may change unseen: give what is read of it as an "
        "argument"
    )


def is_opaque(value: Any) -> bool:
    """Return whether an object has attributes only by code of its class."""
    return isinstance(type(value).__getattribute__, types.FunctionType)


def state_behind(value: Any) -> Callable[[], Any] | None:
    """Return what returns the state on which operations on an object depend; None if there is none."""
    if isinstance(value, type):
        return _decimal_context if value is decimal.Decimal else abc.get_cache_token if type(value) is not type and (
            issubclass(type(value), abc.ABCMeta)
        ) else None
    return _decimal_context if isinstance(value, decimal.Decimal) else None


def _decimal_context() -> tuple[Any, ...]:
    context = decimal.getcontext()
    limits = context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp
    return *limits, *context.traps.values()


def is_value(value: Any) -> bool:
    """Return whether an object is what it is for ever, tensors apart, of which versions tell."""
    if isinstance(value, tuple | frozenset):
        return all(map(is_value, value))
    return isinstance(value, (*_VALUES, Tensor, type, types.FunctionType, dtype, device, layout, memory_format))


def _draws(value: Any) -> bool:
    """Return whether calls of this return random numbers that Python or NumPy draws."""
    if isinstance(value, random.Random | np.random.Generator | np.random.RandomState | np.random.BitGenerator):
        return True
    if not isinstance(value, type) and not callable(value):
        return False
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and f"{module}.".startswith(tuple(f"{name}." for name in _DRAWING))
