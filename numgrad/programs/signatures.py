"""Signatures: properties of the arguments of a call, by which its programs are looked up.

These are the layouts of tensors, whether they require gradients, which of them share memory, and the values of numbers
and other objects.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MethodType
from typing import Any

import numpy as np

from ..autograd.locations import Location
from ..core import types
from ..devices.buffers import DeviceBuffer
from ..devices.generators import Generator
from ..nn.modules.module import Module
from ..optim.optimizer import Optimizer
from ..tensors.tensor import Tensor
from .attached import has_tensor_hooks
from .recorded_steps import root_of, start_address
from .trees import DEEPEST, DICTIONARIES, fields_of, is_dataclass_value

#: Classes whose values are part of a signature.
_COMPARED = (int, float, complex, bool, str, bytes, type(None))


@dataclass
class Guarded:
    """A program and its guard."""

    guard: Any
    program: Any


@dataclass
class Signature:
    """The programs and the history of calls with one signature.

    Attributes:
        call: a description of the arguments of the first call.
        programs: the programs, the latest first.
        eager: the reason why calls run uncompiled, with its location; None if they run compiled.
        failed: for each recording after the first, the conditions of guards that had failed.
        postponed: the number of calls that were not recorded because they created objects for later calls.
        unchecked: the number of replays still to be compared with the function itself.
        recorded: the time of the latest recorded or postponed call.
    """

    call: str
    programs: list[Guarded] = field(default_factory=list)
    eager: tuple[str, Location | None] | None = None
    failed: list[list[str]] = field(default_factory=list)
    postponed: int = 0
    unchecked: int = 0
    recorded: float = 0.0


class UnknownArgumentError(TypeError):
    """A signature cannot distinguish arguments of a class."""


def key_of(mode: int, args: Sequence[Any], keywords: dict[str, Any]) -> tuple[Hashable, list[Tensor]]:
    """Return the key of a call's signature in this mode, and the tensors among its arguments.

    Raises:
        UnknownArgumentError: a signature cannot distinguish an argument from others.
    """
    tensors: list[Tensor] = []
    key: list[Any] = [mode]
    for value in args:
        if value.__class__ is Tensor:
            tensors.append(value)
            key.append(value._layout)
            if value._requires_grad:
                plain = value._edge is value._view is value._grad is value._hooks is None
                key.append(_LEAF if plain else _gradient_facts(value))
            elif value._grad is not None:
                key.append(_gradient_facts(value))
        else:
            _describe(value, key, tensors)
    if keywords:
        for name, value in keywords.items():
            key.append(name)
            _describe(value, key, tensors)
    if len(tensors) > 1:
        roots = set()
        for tensor in tensors:
            memory = tensor._storage
            base = memory.base if memory.__class__ is _ARRAY else memory
            if base is not None:  # usually the owner itself
                memory = base if base.__class__ is _ARRAY and base.base is None else root_of(memory)
            roots.add(id(memory))
        if len(roots) < len(tensors):
            key += _sharing(tensors)
    return tuple(key), tensors


def unknown_argument(arguments: dict[str, Any]) -> str:
    """Return the name of the first argument that no key can have, for messages; an empty text if there is none."""
    for name, value in arguments.items():
        try:
            hash(key_of(0, (value,), {})[0])
        except (TypeError, RecursionError):
            return f" (argument {name!r})"
    return ""


_ARRAY = np.ndarray

#: Flags of tensors that require gradients or have one.
_REQUIRES_GRAD, _IS_LEAF, _HAS_GRAD, _HAS_HOOKS = 1, 2, 4, 8

#: The flags of a leaf that requires a gradient and has none yet.
_LEAF = _REQUIRES_GRAD + _IS_LEAF


def _gradient_facts(tensor: Tensor) -> int:
    """Return the flags of a tensor."""
    facts = _HAS_GRAD * (tensor._grad is not None)
    if tensor.requires_grad:
        is_leaf = tensor._edge is None and tensor._view is None
        facts += _REQUIRES_GRAD + _IS_LEAF * is_leaf + _HAS_HOOKS * has_tensor_hooks(tensor)
    return facts


def _sharing(tensors: Sequence[Tensor]) -> list[int]:
    """Return which tensors share memory, each with its offset from the first, and which are the same object."""
    roots, identities = [id(root_of(tensor._storage)) for tensor in tensors], [*map(id, tensors)]
    first = [roots.index(root) for root in roots]
    offsets = [begin_of(tensor) - begin_of(tensors[number]) for tensor, number in zip(tensors, first, strict=True)]
    return first + offsets + [identities.index(identity) for identity in identities]


def begin_of(tensor: Tensor) -> int:
    """Return the address of a tensor's first element, or its offset in bytes if it has no memory."""
    start = start_address(tensor._storage) if isinstance(tensor._storage, np.ndarray | DeviceBuffer) else 0
    return start + tensor._offset * tensor._layout.type.dtype.itemsize


def _describe(value: Any, key: list[Any], tensors: list[Tensor], depth: int = 0) -> None:
    """Add an argument to a key, and its tensors to ``tensors``."""
    if depth > DEEPEST:
        raise UnknownArgumentError(f"an argument nested more than {DEEPEST} deep")
    cls = value.__class__
    if cls is Tensor or isinstance(value, Tensor):
        tensors.append(value)
        key.append(value._layout)
        if value._requires_grad or value._grad is not None:
            key.append(_gradient_facts(value))
        if cls is not Tensor:
            key.append(cls)
    elif cls in _COMPARED:
        key += cls, value.hex() if cls is float else repr(value) if cls is complex else value
    elif isinstance(value, tuple) or cls is list:
        key += cls, len(value)
        for item in value:
            _describe(item, key, tensors, depth + 1)
    elif cls in DICTIONARIES:
        key += cls, len(value)
        for name, item in value.items():
            exact = repr(name) if isinstance(name, float | complex | tuple) else None  # (1,) is equal to (True,)
            key.append((name.__class__, name, exact))
            _describe(item, key, tensors, depth + 1)
    elif isinstance(value, types.dtype | types.device):
        key.append(value)
    elif cls is slice or cls is range:
        key.append(cls)
        for part in (value.start, value.stop, value.step):
            _describe(part, key, tensors, depth + 1)
    elif isinstance(value, np.generic):
        key += cls, value.tobytes()
    elif isinstance(value, MethodType):  # each access creates a new method
        key += MethodType, _Identity(value.__func__), _Identity(value.__self__)
    elif isinstance(value, Module | Optimizer | Generator | Enum) or callable(value):
        key.append(_Identity(value))
    elif is_dataclass_value(value):
        key.append(cls)
        for name, item in fields_of(value).items():
            key.append(name)
            _describe(item, key, tensors, depth + 1)
    else:
        instead = "numgrad.from_numpy() of it" if isinstance(value, np.ndarray) else "its tensors and numbers"
        raise UnknownArgumentError(f"an argument of the class {cls.__name__}: pass {instead}")


class _Identity:
    """An object in a key, which equals only itself."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.value is self.value
