"""Pickling of objects that take the place of the functions they decorate: by name, as functions are pickled."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

#: Attribute of such an object that leads to a copy of its function: see ``named_copy``.
COPY = "_named_copy"


def found(module: str | None, path: str) -> Any:
    """Return the object of a module at a path of names separated by dots; None if there is none."""
    value = sys.modules.get(module or "")
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


def is_importable(value: Any) -> bool:
    """Return True if other processes find an object by its name; what the main program defines may be missing there."""
    return value.__module__ != "__main__" and found(value.__module__, value.__qualname__) is value


def named_copy(function: FunctionType) -> FunctionType:
    """Return a copy of a function whose name leads through the object that has taken the function's place.

    ``pickle`` stores functions by name, and finds at the name of a decorated function another object.  The copy it
    finds, as the attribute ``COPY`` of that object.  Picklers that store functions of the main program by value, such
    as ``cloudpickle``, do that with the copy.
    """
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__dict__.update(function.__dict__)
    copy.__kwdefaults__, copy.__doc__, copy.__module__ = function.__kwdefaults__, function.__doc__, function.__module__
    copy.__qualname__ = f"{function.__qualname__}.{COPY}"
    return copy


def owner_of(copy: FunctionType) -> Any:
    """Return the object that a ``named_copy`` was found through; None if the copy was stored by value.

    A copy stored by value gets the function's name.
    """
    path = copy.__qualname__.removesuffix(f".{COPY}")
    owner = found(copy.__module__, path)
    if getattr(owner, COPY, None) is copy:
        return owner
    copy.__qualname__ = path
    return None
