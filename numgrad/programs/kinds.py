"""Kinds of objects that functions find: which are looked into, and what such objects have in no dictionary."""

from __future__ import annotations

import functools
import gc
import sys
from collections import deque
from collections.abc import Iterator
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np

from .mentions import attributes_of, is_own, is_own_module
from .places import ABSENT, Found

#: What has no tensors in it, and what is compared by value.
PLAIN = (
    int, float, complex, str, bytes, type(None), type, np.generic, CodeType, type(ABSENT),
)

#: What belongs to a dictionary, and methods of objects that are built in.
VIEWS: Any = (type({}.keys()), type({}.values()), type({}.items()))
BUILT_IN = (BuiltinFunctionType, MethodWrapperType)
VALUES = (int, float, complex, str, bytes)

#: Attributes that stand in no dictionary, by the class of what has them; those of classes as descriptors.
_APART: dict[type, tuple[Any, ...]] = {
    FunctionType: ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"),
    type: tuple([vars(type)[name] for name in ("__name__", "__qualname__")]),
    BaseException: ("args",),
    np.ndarray: ("base",),
}

#: What has items that may be others later.
CONTAINERS = (list, set, dict, deque, MappingProxyType)

#: What ``functools.lru_cache`` makes.
CACHING = type(functools.lru_cache(len))


def is_looked_into(value: Any) -> bool:
    """Return whether a class, or the class of a number or a text, is the program's own."""
    if isinstance(value, type):
        return is_own(value)
    cls: Any = type(value)
    return isinstance(value, VALUES) and is_own(cls)


@functools.cache
def kept_apart(cls: type) -> tuple[Any, ...]:
    """Return what objects of a class have that stands in no dictionary."""
    return tuple([key for base, keys in _APART.items() if issubclass(cls, base) for key in keys])


@functools.cache
def is_ours(cls: type) -> bool:
    """Return whether a class is this library's."""
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def cached_by(function: Any) -> Iterator[Any]:
    """The results that ``functools.lru_cache`` keeps, and what they are looked up by."""
    return (
        one for one in gc.get_referents(function)
        if not isinstance(one, type | FunctionType) and type(one) is not object and one is not attributes_of(function)
    )


def is_library(value: Any) -> bool:
    return issubclass(type(value), ModuleType) and not is_own_module(value)


def is_read_by_paths(found: Found) -> bool:
    """Return whether this is a global of a function, or what such a path leads to, or a built-in function's module."""
    if found.way is None:
        return isinstance(found.holder, dict) and found.holder is not sys.modules
    return found.key == "self" or is_library(found.way.value)


def is_class_of(found: Found) -> bool:
    """Whether a class is found as that of an object, or by a method that calls one of a base."""
    way = found.way
    return found.key is None and way is not None and (found.holder is None or way.key == "__class__")
